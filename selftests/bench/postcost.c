// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * postcost: what one ibv_post_send() costs its caller, in ns, and what the ibv_poll_cq()
 * costs that finds its completion. Meant for `scripts/vm --icount`, where time follows
 * the instructions that were executed. The QP is connected to itself; between two posts all
 * completions are awaited, so that a post finds room and no other thread has work. Of the
 * posts the median is told, because another thread sometimes runs in between. Of the polls the
 * least is told: the device's thread interrupts many of those that find a completion.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat.h"
#include "verbs.h"

static int post(struct ibv_cq *cq, struct ibv_qp *qp, struct ibv_mr *mr, struct samples *s,
		struct samples *polls)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = 8, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
		.wr.rdma = { .remote_addr = (uintptr_t)mr->addr + 64, .rkey = mr->rkey },
	}, *bad;
	uint64_t start = now_ns();
	struct ibv_wc wc;
	int n;

	if (ibv_post_send(qp, &wr, &bad))
		return -1;
	if (samples_add(s, now_ns() - start))
		return -1;
	do {
		start = now_ns();
		n = ibv_poll_cq(cq, 1, &wc);
	} while (!n);
	if (samples_add(polls, now_ns() - start))
		return -1;
	return n < 0 || wc.status ? -1 : 0;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "posts", 1, NULL, 'n' }, { 0 }
	};
	static char buf[128] __attribute__((aligned(64)));
	uint64_t posts = 2000, i;
	struct samples s = { 0 }, polls = { 0 };
	const char *name = NULL;
	struct vpeer self;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct vdev dev;
	int c;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 'd': name = optarg; break;
		case 'n': posts = number("posts", optarg, 1, 100000000); break;
		default:
			fputs("usage: postcost [--dev DEV] [--posts N]\n", stderr);
			return 2;
		}
	}
	if (vdev_open(&dev, name))
		return 1;
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	mr = ibv_reg_mr(dev.pd, buf, sizeof(buf),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	qp = cq ? vqp_small(&dev, cq) : NULL;
	if (!cq || !mr || !qp) {
		perror("postcost: CQ, MR or QP");
		return 1;
	}
	self = vdev_peer(&dev, qp, 0);
	if (vqp_take(&dev, qp, &self, V_RTS) != V_RTS)
		return 1;
	for (i = 0; i < posts; i++) {
		if (post(cq, qp, mr, &s, &polls)) {
			fputs("postcost: a post failed\n", stderr);
			return 1;
		}
	}
	printf("{\"median_ns\":%" PRIu64 ",\"min_ns\":%" PRIu64 ",\"poll_ns\":%" PRIu64
	       ",\"posts\":%" PRIu64 "}\n",
	       samples_quantile(&s, 50), samples_quantile(&s, 0), samples_quantile(&polls, 0),
	       posts);
	return 0;
}
