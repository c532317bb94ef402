// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * behind: reads of 64 bytes behind a large write on one QP, and how long each of them waited
 * for what stood before it. A round posts a write of --large bytes, then --reads reads, and
 * ends when all are complete; --step us later the next begins. Every request has a
 * completion. The wait of a request is the time from its post until a poll found that the
 * request before it is complete; 0 if that was known when it was posted.
 *
 * --log FILE: a line for each request, complete at the end: time posted, wait (ns)
 *
 *	ready PID QPN					at the start
 *	requests N mean_ns N reads N mean_ns N		at SIGTERM: the waits
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define READ_BYTES 64
#define MAX_READS 64

struct end {
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
};

static struct {
	const char *dev, *peer, *log;
	uint64_t large, reads, step_us;
} opt = { .large = 1 << 20, .reads = 7, .step_us = 1000 };

static struct end here, there;
static FILE *log_file;
static volatile sig_atomic_t stop;

/* Of this round; the write is request 0. */
static uint64_t at[1 + MAX_READS];	/* ns, when they were posted */
static uint64_t posted, done;

static struct {
	uint64_t n, sum_ns;
} all, reads;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void waited(uint64_t request, uint64_t ns)
{
	all.n++;
	all.sum_ns += ns;
	if (request) {
		reads.n++;
		reads.sum_ns += ns;
	}
	if (log_file)
		fprintf(log_file, "%" PRIu64 " %" PRIu64 "\n", at[request], ns);
}

static int post(void)
{
	struct ibv_sge sge = { .addr = (uintptr_t)here.buf, .lkey = here.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = posted, .sg_list = &sge, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = (uintptr_t)there.buf, .rkey = there.mr->rkey },
	};

	wr.opcode = posted ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	sge.length = posted ? READ_BYTES : opt.large;
	at[posted] = now_ns();
	if (ibv_post_send(here.qp, &wr, &bad))
		return complain("post");
	if (posted++ == done)
		waited(done, 0);
	return 0;
}

static int reap(void)
{
	struct ibv_wc wc[1 + MAX_READS];
	int n = ibv_poll_cq(here.cq, 1 + MAX_READS, wc), i;
	uint64_t now = now_ns();

	for (i = 0; i < n; i++) {
		if (wc[i].status || wc[i].wr_id != done) {
			fprintf(stderr, "behind: completion %" PRIu64 " of %" PRIu64 ": %s\n",
				(uint64_t)wc[i].wr_id, done, ibv_wc_status_str(wc[i].status));
			return -EIO;
		}
		if (++done < posted)
			waited(done, now - at[done]);
	}
	return n;
}

static void pause_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
			      .tv_nsec = (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

static int do_round(void)
{
	int n;

	posted = done = 0;
	while (posted <= opt.reads)
		if (post())
			return -1;
	while (done < posted) {
		n = reap();
		if (n < 0)
			return -1;
		if (!n)
			pause_us(20);
	}
	return 0;
}

static int open_end(struct end *e, const char *dev)
{
	if (vdev_open(&e->dev, dev))
		return -1;
	e->buf = calloc(1, opt.large);
	e->cq = ibv_create_cq(e->dev.ctx, 1 + MAX_READS, NULL, NULL, 0);
	if (!e->buf || !e->cq)
		return complain("CQ");
	e->mr = ibv_reg_mr(e->dev.pd, e->buf, opt.large,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	e->qp = vqp_sender(e->dev.pd, e->cq, 1 + MAX_READS);
	return e->mr && e->qp ? 0 : complain("MR or QP");
}

static void parse(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "peer", 1, NULL, 'p' }, { "large", 1, NULL, 'b' },
		{ "reads", 1, NULL, 'r' }, { "step", 1, NULL, 'u' }, { "log", 1, NULL, 'l' },
		{ 0 }
	};
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': opt.dev = optarg; break;
		case 'p': opt.peer = optarg; break;
		case 'b': opt.large = number("large", optarg, READ_BYTES, 1 << 30); break;
		case 'r': opt.reads = number("reads", optarg, 1, MAX_READS); break;
		case 'u': opt.step_us = number("step", optarg, 0, 1000000); break;
		case 'l': opt.log = optarg; break;
		default: exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	struct vconn c = VCONN_DEFAULT;

	parse(argc, argv);
	if (opt.log) {
		log_file = fopen(opt.log, "w");
		if (!log_file)
			return -complain("log");
	}
	if (open_end(&here, opt.dev) || open_end(&there, opt.peer) ||
	    vqp_pair(&here.dev, here.qp, &there.dev, there.qp, &c))
		return 1;
	signal(SIGTERM, on_term);
	printf("ready %d %u\n", (int)getpid(), here.qp->qp_num);
	fflush(stdout);
	while (!stop) {
		if (do_round())
			return 1;
		pause_us(opt.step_us);
	}
	printf("requests %" PRIu64 " mean_ns %" PRIu64 " reads %" PRIu64 " mean_ns %" PRIu64 "\n",
	       all.n, all.n ? all.sum_ns / all.n : 0, reads.n, reads.n ? reads.sum_ns / reads.n : 0);
	return log_file && fclose(log_file) ? -complain("log") : 0;
}
