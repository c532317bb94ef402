// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * sharedqp: threads that all post to the same QPs. The main thread makes the QPs, each connected to
 * itself, and polls. Each thread posts messages to the QPs in turn, a receive before each send;
 * every second thread sends by ibv_wr_*(). At the end all is destroyed, and each call is checked.
 *
 * One JSON object on stdout: what was sent and received, and completions with an error.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define DEPTH 16	/* messages of one thread under way on a QP */
#define BYTES 8
#define RECV (1ull << 63)

struct poster {
	pthread_t thread;
	uint64_t index;
	_Atomic uint32_t *outstanding;	/* by QP */
};

static struct {
	const char *dev;
	uint64_t qps, threads, messages;
	struct vdev from;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp **qp;
	struct poster *poster;
	uint64_t sent, received, errors;
	atomic_bool failed;
	uint8_t buf[4096];
} rig = { .qps = 4, .threads = 4, .messages = 1000 };

static struct ibv_sge sge_of(void)
{
	return (struct ibv_sge){ (uintptr_t)rig.buf, BYTES, rig.mr->lkey };
}

static uint64_t wr_id(const struct poster *p, uint64_t k)
{
	return p->index << 32 | k;
}

static int post_recv(struct poster *p, uint64_t k)
{
	struct ibv_sge sge = sge_of();
	struct ibv_recv_wr wr = { .wr_id = RECV | wr_id(p, k), .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(rig.qp[k], &wr, &bad);
}

static int post_send(struct poster *p, uint64_t k)
{
	struct ibv_sge sge = sge_of();
	struct ibv_send_wr wr = {
		.wr_id = wr_id(p, k), .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
	}, *bad;

	return ibv_post_send(rig.qp[k], &wr, &bad);
}

static int build_send(struct poster *p, uint64_t k)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(rig.qp[k]);

	ibv_wr_start(qp);
	qp->wr_id = wr_id(p, k);
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, rig.mr->lkey, (uintptr_t)rig.buf, BYTES);
	return ibv_wr_complete(qp);
}

static void *post_all(void *arg)
{
	struct poster *p = arg;

	for (uint64_t i = 0; i < rig.messages && !rig.failed; i++) {
		uint64_t k = (i + p->index) % rig.qps;

		while (p->outstanding[k] == DEPTH && !rig.failed)
			usleep(50);
		p->outstanding[k]++;
		if (post_recv(p, k) || (p->index % 2 ? build_send(p, k) : post_send(p, k)))
			rig.failed = true;
	}
	return NULL;
}

static void reap(void)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(rig.cq, 32, wc);

	if (n < 0)
		rig.failed = true;
	for (int i = 0; i < n; i++) {
		if (wc[i].status) {
			rig.errors++;
			rig.failed = true;
		} else if (wc[i].wr_id & RECV) {
			rig.received++;
		} else {
			rig.sent++;
			rig.poster[wc[i].wr_id >> 32].outstanding[(uint32_t)wc[i].wr_id]--;
		}
	}
}

static int make_qp(uint64_t k)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = DEPTH * rig.threads, .max_recv_wr = 2 * DEPTH * rig.threads,
			.max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = BYTES,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = rig.from.pd, .send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct vconn conn = VCONN_DEFAULT;
	struct vpeer self;

	rig.qp[k] = ibv_create_qp_ex(rig.from.ctx, &attr);
	if (!rig.qp[k])
		return complain("create QP");
	if (rig.qp[k]->pd != rig.from.pd)
		return complain("the QP's PD");
	self = vdev_peer(&rig.from, rig.qp[k], 0);
	return vqp_init(&rig.from, rig.qp[k]) || vqp_rtr(&rig.from, rig.qp[k], &self, &conn) ||
	       vqp_rts(rig.qp[k], 0, &conn);
}

static int make_all(void)
{
	if (vdev_open(&rig.from, rig.dev))
		return -1;
	rig.qp = calloc(rig.qps, sizeof(struct ibv_qp *));
	rig.poster = calloc(rig.threads, sizeof(*rig.poster));
	rig.cq = ibv_create_cq(rig.from.ctx, (int)(3 * DEPTH * rig.threads * rig.qps), NULL, NULL, 0);
	rig.mr = ibv_reg_mr(rig.from.pd, rig.buf, sizeof(rig.buf), IBV_ACCESS_LOCAL_WRITE);
	if (!rig.qp || !rig.poster || !rig.cq || !rig.mr)
		return complain("CQ or MR");
	for (uint64_t k = 0; k < rig.qps; k++)
		if (make_qp(k))
			return -1;
	return 0;
}

static int destroy_all(void)
{
	for (uint64_t k = 0; k < rig.qps; k++)
		if (ibv_destroy_qp(rig.qp[k]))
			return complain("destroy QP");
	if (ibv_dereg_mr(rig.mr) || ibv_destroy_cq(rig.cq))
		return complain("destroy MR or CQ");
	if (ibv_dealloc_pd(rig.from.pd))
		return complain("deallocate PD");
	return ibv_close_device(rig.from.ctx) ? complain("close") : 0;
}

static int run(void)
{
	uint64_t all = rig.threads * rig.messages;

	for (uint64_t i = 0; i < rig.threads; i++) {
		struct poster *p = &rig.poster[i];

		p->index = i;
		p->outstanding = calloc(rig.qps, sizeof(*p->outstanding));
		if (!p->outstanding || pthread_create(&p->thread, NULL, post_all, p))
			return complain("thread");
	}
	while (!rig.failed && (rig.sent < all || rig.received < all))
		reap();
	for (uint64_t i = 0; i < rig.threads; i++)
		pthread_join(rig.poster[i].thread, NULL);
	return rig.failed ? -1 : 0;
}

static void parse(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "qps", 1, NULL, 'q' }, { "threads", 1, NULL, 't' },
		{ "messages", 1, NULL, 'm' }, { 0 }
	};
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': rig.dev = optarg; break;
		case 'q': rig.qps = number("qps", optarg, 1, 1000); break;
		case 't': rig.threads = number("threads", optarg, 1, 16); break;
		case 'm': rig.messages = number("messages", optarg, 1, 1000000); break;
		default:
			fputs("usage: sharedqp [--dev DEV] [--qps N] [--threads N] [--messages N]\n",
			      stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	int ret;

	parse(argc, argv);
	if (make_all())
		return 1;
	ret = run();
	printf("{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"errors\":%" PRIu64 "}\n", rig.sent,
	       rig.received, rig.errors);
	return ret || destroy_all();
}
