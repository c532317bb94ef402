// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A thread that waits by poll() for asynchronous events of the device. Each event must name a QP that the
 * program has created, although the library's QPs carry the requests.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "moved.h"
#include "stat.h"

static pthread_t thread;
static _Atomic bool over;
static _Atomic unsigned int last_wqes, others;

/* The QPs of all connections. */
static _Atomic(struct ibv_qp *) own[CONNS_MAX];

static bool is_own(const struct ibv_qp *qp)
{
	for (unsigned int i = 0; i < CONNS_MAX; i++)
		if (qp == own[i])
			return true;
	return false;
}

static void *watch(void *arg)
{
	struct ibv_context *ctx = arg;
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (!over) {
		if (poll(&p, 1, 100) != 1)
			continue;
		if (ibv_get_async_event(ctx, &event)) {
			if (errno != EINTR)
				wrong("no event, though the device has one: %s", strerrorname_np(errno));
			continue;
		}
		if (event.event_type == IBV_EVENT_QP_LAST_WQE_REACHED) {
			if (!is_own(event.element.qp))
				wrong("an event of a QP that the program does not have");
			last_wqes++;
		} else {
			others++;
		}
		ibv_ack_async_event(&event);
	}
	return NULL;
}

void watch_events(struct ibv_context *ctx)
{
	if (pthread_create(&thread, NULL, watch, ctx))
		wrong("no thread");
}

void watch_qp(struct ibv_qp *qp)
{
	for (unsigned int i = 0; i < CONNS_MAX; i++) {
		struct ibv_qp *none = NULL;

		if (atomic_compare_exchange_strong(&own[i], &none, qp))
			return;
	}
}

void expect_last_wqe(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (last_wqes)
		wrong("the last receive of a QP is reported, and no QP has ended");
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		wrong("the QP cannot be set to ERR");
	for (uint64_t end = now_ns() + 20000000000ull; !last_wqes && now_ns() < end;)
		usleep(1000);
	if (last_wqes != 1)
		wrong("the last receive is reported %u times", last_wqes);
	puts("last receive reported");
}

void stop_watching(void)
{
	struct timespec end;

	over = true;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	if (pthread_timedjoin_np(thread, NULL, &end))
		wrong("ibv_get_async_event() does not return");
	printf("%u other events\n", others);
}
