// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "meet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs.h"

#define RESOLVE_MS 5000

/* Until the listener is there; both ends are started at the same time. */
static int connect_to(int fd, const struct sockaddr_in *to)
{
	for (int i = 0; i < 300; i++) {
		if (!connect(fd, (const void *)to, sizeof(*to)))
			return fd;
		usleep(100000);
	}
	return complain("connect");
}

int meet(int port, const char *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, got;

	if (host) {
		inet_pton(AF_INET, host, &to.sin_addr);
		return connect_to(fd, &to);
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&to, sizeof(to)) || listen(fd, 1))
		return complain("listen");
	got = accept(fd, NULL, NULL);
	close(fd);
	return got;
}

/* Waits for an event of this kind, and keeps what the peer gave with it. */
static int await(struct cm_end *e, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	const struct rdma_conn_param *conn;
	int err = 0;

	if (rdma_get_cm_event(e->events, &event))
		return complain("rdma_get_cm_event");
	if (event->event != type) {
		errno = event->status < 0 ? -event->status : EPROTO;
		err = complain(rdma_event_str(event->event));
	}
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		e->id = event->id;
	conn = &event->param.conn;
	if (conn->private_data) {
		e->from_peer_len = conn->private_data_len < sizeof(e->from_peer) ?
				   conn->private_data_len : sizeof(e->from_peer);
		memcpy(e->from_peer, conn->private_data, e->from_peer_len);
	}
	rdma_ack_cm_event(event);
	return err;
}

int cm_open(struct cm_end *e, const char *address, const char *port, int listens)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	struct rdma_cm_id *id;

	*e = (struct cm_end){ .events = rdma_create_event_channel() };
	inet_pton(AF_INET, address, &to.sin_addr);
	if (!e->events || rdma_create_id(e->events, &id, NULL, RDMA_PS_TCP))
		return complain("rdma_create_id");
	if (listens) {
		e->listener = id;
		if (rdma_bind_addr(id, (void *)&to) || rdma_listen(id, 1))
			return complain("rdma_listen");
		return await(e, RDMA_CM_EVENT_CONNECT_REQUEST);
	}
	e->id = id;
	if (rdma_resolve_addr(id, NULL, (void *)&to, RESOLVE_MS) ||
	    await(e, RDMA_CM_EVENT_ADDR_RESOLVED) || rdma_resolve_route(id, RESOLVE_MS))
		return complain("rdma_resolve_addr");
	return await(e, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

int cm_connect(struct cm_end *e, const void *mine, void *theirs, size_t n)
{
	struct rdma_conn_param param = {
		.private_data = mine, .private_data_len = (uint8_t)n, .responder_resources = 4,
		.initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7,
	};
	int err;

	if (e->listener ? rdma_accept(e->id, &param) : rdma_connect(e->id, &param))
		return complain("rdma_connect");
	err = await(e, RDMA_CM_EVENT_ESTABLISHED);
	if (err)
		return err;
	if (e->from_peer_len < n) {
		errno = EPROTO;
		return complain("what the peer gave");
	}
	memcpy(theirs, e->from_peer, n);
	return 0;
}

int cm_disconnect(struct cm_end *e)
{
	if (rdma_disconnect(e->id))
		return complain("rdma_disconnect");
	return await(e, RDMA_CM_EVENT_DISCONNECTED);
}

void cm_close(struct cm_end *e)
{
	rdma_destroy_id(e->id);
	if (e->listener)
		rdma_destroy_id(e->listener);
	rdma_destroy_event_channel(e->events);
}
