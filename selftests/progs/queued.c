// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * queued: QPs whose send queues are busy now and then, and how long requests took as the
 * program saw it. Each QP is connected to itself and has up to --depth requests under way, with
 * --sges SGEs each; one in --signal has a completion. A request of 2 SGEs takes one WQEBB (64
 * bytes of the send queue), one of 6 takes two. --mixed: at random, one SGE or --sges. A QP with
 * room posts the next --signal of them with a chance of --chance percent at each look, so that
 * queues fill and run dry at times of their own.
 *
 * --log FILE: a line for each request, complete at the end: time posted, latency (ns)
 *
 *	ready PID			at the start
 *	requests N mean_ns N		at SIGTERM: from post until a completion was polled that
 *					covers the request
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define MAX_DEPTH 64
#define MAX_SGES 8

struct queue {
	struct ibv_qp *qp;
	uint64_t posted, done;	/* requests */
	uint64_t at[MAX_DEPTH];	/* ns, when they were posted */
};

static struct {
	const char *dev, *log;
	uint64_t qps, depth, signal, chance, step_us, sges;
	bool mixed;
} opt = { .qps = 1, .depth = 1, .signal = 1, .chance = 30, .step_us = 500, .sges = 1 };

static struct vdev dev;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct queue *queues;
static char buf[64];
static uint64_t requests, sum_ns;
static FILE *log_file;
static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static int post(struct queue *q, uint32_t *seed)
{
	struct ibv_sge sge[MAX_SGES];
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uintptr_t)q, .sg_list = sge,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)buf + 32, .rkey = mr->rkey },
	};
	uint64_t i;

	for (i = 0; i < MAX_SGES; i++)
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)buf, .length = 1, .lkey = mr->lkey };
	for (i = 1; i <= opt.signal; i++) {
		wr.num_sge = opt.mixed && vrnd(seed) % 2 ? 1 : (int)opt.sges;
		wr.send_flags = i == opt.signal ? IBV_SEND_SIGNALED : 0;
		q->at[q->posted++ % MAX_DEPTH] = now_ns();
		if (ibv_post_send(q->qp, &wr, &bad))
			return complain("queued: post");
	}
	return 0;
}

static void complete(uint64_t posted, uint64_t now)
{
	requests++;
	sum_ns += now - posted;
	if (log_file)
		fprintf(log_file, "%" PRIu64 " %" PRIu64 "\n", posted, now - posted);
}

static int reap(void)
{
	struct ibv_wc wc[64];
	int n = ibv_poll_cq(cq, 64, wc), i;
	uint64_t now = now_ns(), k;

	for (i = 0; i < n; i++) {
		struct queue *q = (struct queue *)(uintptr_t)wc[i].wr_id;

		if (wc[i].status) {
			fprintf(stderr, "queued: %s\n", ibv_wc_status_str(wc[i].status));
			return -EIO;
		}
		for (k = 0; k < opt.signal; k++)
			complete(q->at[q->done++ % MAX_DEPTH], now);
	}
	return n;
}

static int look(uint32_t *seed)
{
	uint64_t i;
	int n;

	do
		n = reap();
	while (n == 64);
	for (i = 0; i < opt.qps && n >= 0; i++) {
		struct queue *q = &queues[i];

		while (q->posted - q->done + opt.signal <= opt.depth &&
		       vrnd(seed) % 100 < opt.chance)
			if (post(q, seed))
				return -EIO;
	}
	return n < 0 ? n : 0;
}

static int open_queue(struct queue *q)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq,
		.cap = {
			.max_send_wr = MAX_DEPTH, .max_recv_wr = 1,
			.max_send_sge = (uint32_t)opt.sges, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct vconn c = VCONN_DEFAULT;
	struct vpeer self;

	q->qp = ibv_create_qp(dev.pd, &attr);
	if (!q->qp)
		return complain("queued: create QP");
	self = vdev_peer(&dev, q->qp, 0);
	return vqp_init(&dev, q->qp) || vqp_rtr(&dev, q->qp, &self, &c) ||
	       vqp_rts(q->qp, 0, &c) ? -1 : 0;
}

static void parse(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "qps", 1, NULL, 'q' }, { "depth", 1, NULL, 'D' },
		{ "signal", 1, NULL, 's' }, { "chance", 1, NULL, 'c' }, { "step", 1, NULL, 'u' },
		{ "log", 1, NULL, 'l' }, { "sges", 1, NULL, 'g' }, { "mixed", 0, NULL, 'm' }, { 0 }
	};
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': opt.dev = optarg; break;
		case 'q': opt.qps = number("qps", optarg, 1, 1000); break;
		case 'D': opt.depth = number("depth", optarg, 1, MAX_DEPTH); break;
		case 's': opt.signal = number("signal", optarg, 1, MAX_DEPTH); break;
		case 'c': opt.chance = number("chance", optarg, 1, 100); break;
		case 'u': opt.step_us = number("step", optarg, 50, 1000000); break;
		case 'l': opt.log = optarg; break;
		case 'g': opt.sges = number("sges", optarg, 1, MAX_SGES); break;
		case 'm': opt.mixed = true; break;
		default: exit(2);
		}
	}
	if (opt.signal > opt.depth) {
		fputs("queued: a completion would never come: --signal is above --depth\n", stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct timespec step;
	uint32_t seed = 1;
	uint64_t i;

	parse(argc, argv);
	step = (struct timespec){ .tv_nsec = (long)(opt.step_us % 1000000) * 1000,
				  .tv_sec = (time_t)(opt.step_us / 1000000) };
	if (opt.log) {
		log_file = fopen(opt.log, "w");
		if (!log_file)
			return -complain("queued: log");
	}
	queues = calloc(opt.qps, sizeof(*queues));
	if (!queues || vdev_open(&dev, opt.dev))
		return 1;
	cq = ibv_create_cq(dev.ctx, (int)(opt.qps * MAX_DEPTH), NULL, NULL, 0);
	mr = ibv_reg_mr(dev.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!cq || !mr)
		return -complain("queued: CQ or MR");
	for (i = 0; i < opt.qps; i++)
		if (open_queue(&queues[i]))
			return 1;
	signal(SIGTERM, on_term);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (!stop) {
		if (look(&seed))
			return 1;
		nanosleep(&step, NULL);
	}
	printf("requests %" PRIu64 " mean_ns %" PRIu64 "\n", requests,
	       requests ? sum_ns / requests : 0);
	return log_file && fclose(log_file) ? -complain("queued: log") : 0;
}
