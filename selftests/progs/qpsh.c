// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * qpsh: does with QPs what each line of its stdin says, and answers with one:
 *
 *	create [N]			qp QPN..., or: error ERRNO
 *	ud				qp QPN, a UD QP that may send
 *	take QPN init|rtr|rts [TCLASS [SL [PEER [ADDRESS]]]]	ok (connected to itself,
 *					or to PEER's QPN of the same device, or to
 *					that of the device with the ADDRESS: IPv4, or
 *					lid:N)
 *	class QPN			class TCLASS, as ibv_query_qp() has it (rxe
 *					keeps no SL)
 *	destroy QPN			ok
 *	attach				ok: attached to the module
 *	listen				ok: it has an inbox
 *	tell QPN WORD [N]		told N: messages WORD1 to WORDN for the other end, or
 *					one, WORD; or the first error
 *	hear				heard QPN WORD dropped N
 *	flood QPN N			flooded TOLD again N: N messages were sent, of which TOLD
 *					were told, and N failed with EAGAIN
 *	wait MS				woken N, by messages or the end of the attachment
 *	leave				child PID: it holds the QPs and waits, and this
 *					process ends
 *	quit				its QPs go, and it
 *
 * The end of stdin is another way to quit. --comm NAME: what it calls itself.
 * --no-grh: its QPs address their peers by LID alone, on InfiniBand.
 * --threads: each create is a thread's, which ends with it. --reopen N: the device is
 * closed and opened again, N times, before that.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "relay.h"
#include "verbs.h"

#define QPS_MAX	4096

static struct vdev dev;
static struct ibv_cq *cq;
static struct ibv_qp *qps[QPS_MAX];
static unsigned int n_qps;
static bool threads, no_grh;

static void error(int err)
{
	printf("error %s\n", strerrorname_np(err < 0 ? -err : err) ?: "?");
}

static struct ibv_qp **find(uint32_t qpn)
{
	for (unsigned int i = 0; i < n_qps; i++)
		if (qps[i]->qp_num == qpn)
			return &qps[i];
	return NULL;
}

/* All of them, or those up to the first error and then that. */
static void create(const char *args)
{
	unsigned long n = *args ? strtoul(args, NULL, 10) : 1;
	struct ibv_qp *qp;

	for (; n && n_qps < QPS_MAX; n--) {
		qp = vqp_small(&dev, cq);
		if (!qp) {
			error(errno);
			return;
		}
		qps[n_qps++] = qp;
		printf("qp %u%s", qp->qp_num, n > 1 ? " " : "\n");
	}
}

static struct ibv_qp *make_ud(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	struct ibv_qp *qp = ibv_create_qp(dev.pd, &init);

	if (!qp)
		return NULL;
	if (!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_QKEY)) {
		attr.qp_state = IBV_QPS_RTR;
		if (!ibv_modify_qp(qp, &attr, IBV_QP_STATE)) {
			attr.qp_state = IBV_QPS_RTS;
			if (!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
				return qp;
		}
	}
	ibv_destroy_qp(qp);
	return NULL;
}

static void ud(void)
{
	struct ibv_qp *qp = n_qps < QPS_MAX ? make_ud() : NULL;

	if (!qp) {
		error(errno);
		return;
	}
	qps[n_qps++] = qp;
	printf("qp %u\n", qp->qp_num);
}

static void *create_here(void *args)
{
	create(args);
	return NULL;
}

static void create_in_thread(const char *args)
{
	pthread_t thread;
	int ret = pthread_create(&thread, NULL, create_here, (void *)args);

	if (ret)
		error(ret);
	else
		pthread_join(thread, NULL);
}

static int take(struct ibv_qp *qp, const char *state, uint8_t tclass, uint8_t sl, uint32_t to_qpn,
		const char *address)
{
	struct vpeer peer = vdev_peer(&dev, qp, 0);
	struct vconn conn = VCONN_DEFAULT;
	int to = vstate_parse(state), ret = 0;

	conn.tclass = tclass;
	conn.sl = sl;
	conn.no_grh = no_grh;
	if (to_qpn)
		peer.qpn = to_qpn;
	if (!strncmp(address, "lid:", 4))
		peer.lid = strtoul(address + 4, NULL, 0);
	/* A GID of an IPv4 address ends with it (RFC 4291, 2.5.5.2). */
	else if (*address && inet_pton(AF_INET, address, peer.gid.raw + 12) != 1)
		return EINVAL;
	if (to == V_INIT || qp->state == IBV_QPS_RESET)
		ret = vqp_init(&dev, qp);
	if (!ret && to >= V_RTR && qp->state == IBV_QPS_INIT)
		ret = vqp_rtr(&dev, qp, &peer, &conn);
	if (!ret && to >= V_RTS)
		ret = vqp_rts(qp, 0, &conn);
	return ret;
}

static void class(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp(qp, &attr, IBV_QP_AV, &init);

	if (ret)
		error(ret);
	else
		printf("class %u\n", attr.ah_attr.grh.traffic_class);
}

/* Messages WORD, or WORD1 to WORDN. */
static void tell(uint32_t qpn, const char *word, unsigned int n)
{
	char text[SWIFTRDMA_TELL_BYTES];
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < (n ? n : 1); i++) {
		if (n)
			snprintf(text, sizeof(text), "%s%u", word, i + 1);
		else
			snprintf(text, sizeof(text), "%s", word);
		err = relay_tell(dev.index, qpn, text, (uint32_t)strlen(text) + 1);
	}
	if (err)
		error(err);
	else
		printf("told %u\n", i);
}

static void hear(void)
{
	struct swiftrdma_hear h;
	int err = relay_hear(dev.index, &h);

	if (err)
		error(err);
	else
		printf("heard %u %.*s dropped %llu\n", h.qpn, (int)h.length, (char *)h.bytes,
		       (unsigned long long)h.dropped);
}

/* Goes on whatever the errors. */
static void flood(uint32_t qpn, unsigned int n)
{
	unsigned int told = 0, again = 0;
	int err;

	for (unsigned int i = 0; i < n; i++) {
		err = relay_tell(dev.index, qpn, "flood", 6);
		told += !err;
		again += err == -EAGAIN;
	}
	printf("flooded %u again %u\n", told, again);
}

static void wait_for_event(int ms)
{
	int n = relay_wait(ms);

	if (n < 0)
		error(n);
	else
		printf("woken %d\n", n);
}

static void say_whether(int err)
{
	if (err)
		error(err);
	else
		puts("ok");
}

/* What needs no QP of this process. False: it is another command. */
static bool obey_relay(const char *word, const char *args)
{
	char text[64] = "";
	unsigned int qpn = 0, n = 0;

	if (!strcmp(word, "attach")) {
		say_whether(relay_attach(ibv_get_device_name(dev.ctx->device)));
	} else if (!strcmp(word, "listen")) {
		say_whether(relay_listen(dev.index));
	} else if (!strcmp(word, "tell")) {
		sscanf(args, "%u %63s %u", &qpn, text, &n);
		tell(qpn, text, n);
	} else if (!strcmp(word, "hear")) {
		hear();
	} else if (!strcmp(word, "flood")) {
		sscanf(args, "%u %u", &qpn, &n);
		flood(qpn, n);
	} else if (!strcmp(word, "wait")) {
		wait_for_event(atoi(args));
	} else {
		return false;
	}
	return true;
}

/* The QPs have no process of their own any more that lives. */
static void leave(void)
{
	pid_t child = fork();

	if (child < 0) {
		error(errno);
		return;
	}
	if (!child)
		for (;;)
			pause();
	printf("child %d\n", child);
	fflush(stdout);
	_exit(0);
}

/* Goes on after an error, which the test reads. */
static int obey(const char *line)
{
	char word[16] = "", state[16] = "", address[INET_ADDRSTRLEN] = "";
	unsigned int qpn = 0, tclass = 0, sl = 0, peer = 0;
	struct ibv_qp **qp;
	int ret, at = 0;

	sscanf(line, "%15s %n", word, &at);
	if (!strcmp(word, "create")) {
		if (threads)
			create_in_thread(line + at);
		else
			create(line + at);
		return 0;
	}
	if (!strcmp(word, "ud")) {
		ud();
		return 0;
	}
	if (obey_relay(word, line + at))
		return 0;
	if (!strcmp(word, "leave")) {
		leave();
		return 0;
	}
	sscanf(line + at, "%u %15s %u %u %u %15s", &qpn, state, &tclass, &sl, &peer, address);
	qp = find(qpn);
	if (!qp) {
		error(ENOENT);
		return 0;
	}
	if (!strcmp(word, "class")) {
		class(*qp);
		return 0;
	}
	if (!strcmp(word, "take")) {
		ret = take(*qp, state, tclass, sl, peer, address);
	} else if (!strcmp(word, "destroy")) {
		ret = ibv_destroy_qp(*qp);
		if (!ret)
			*qp = qps[--n_qps];
	} else {
		ret = EINVAL;
	}
	if (ret)
		error(ret);
	else
		puts("ok");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "dev", required_argument, NULL, 'd' }, { "comm", required_argument, NULL, 'c' },
		{ "threads", no_argument, NULL, 't' }, { "no-grh", no_argument, NULL, 'g' },
		{ "reopen", required_argument, NULL, 'r' }, { 0 }
	};
	const char *name = "rxe0";
	int reopen = 0, c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'd')
			name = optarg;
		else if (c == 'c')
			prctl(PR_SET_NAME, optarg);
		else if (c == 't')
			threads = true;
		else if (c == 'g')
			no_grh = true;
		else if (c == 'r')
			reopen = atoi(optarg);
		else
			return 2;
	}
	for (; reopen > 0; reopen--) {
		if (vdev_open(&dev, name))
			return 1;
		vdev_close(&dev);
	}
	if (vdev_open(&dev, name))
		return 1;
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	if (!cq)
		return 1;
	obey_lines(obey);
	while (n_qps)
		ibv_destroy_qp(qps[--n_qps]);
	ibv_destroy_cq(cq);
	vdev_close(&dev);
	return 0;
}
