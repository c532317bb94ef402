// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * wqebbs: QPs that post work requests of many sizes and know how many WQEBBs (blocks
 * of 64 bytes in the send queue) these took, for an mlx5 device. Each QP is
 * connected to itself. What to do comes on stdin, a command a line, and each is
 * answered when it is over and everything posted has completed:
 *
 *	post N		N work requests on every QP		posted
 *	reset		every QP to RESET and back to RTS	reset
 *	show		per QP "qp QPN WQEBBS"			shown
 *	destroy N	the first N QPs that are left		destroyed
 *	class SL	(of QPs connected from now on)		class
 *	fork		a child that holds all and waits	forked PID
 *	exec		in the child's place: sleep		(none)
 *	quit
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define DEPTH		64	/* WRs of one QP under way */
#define MAX_SGE		4
#define MAX_INLINE	400
#define LIST		4	/* WRs of one post */
#define BB		64

struct options {
	const char *dev;
	uint64_t qps, threads, domains;
};

struct work {
	struct ibv_qp *qp;
	uint64_t wqebbs, wrs, left;
	uint32_t outstanding;
};

struct rig {
	struct options o;
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_td **td;
	struct ibv_pd **pd;
	struct work *work;
	uint8_t sl;
	uint8_t buf[4096];
};

static struct rig rig;

/* What a WR takes: control and remote address segments, then data segments, or a
 * length and the data itself, all in units of 16 bytes.
 */
static unsigned int wqebbs_of(const struct ibv_send_wr *wr)
{
	unsigned int bytes = 16 + 16;

	if (wr->send_flags & IBV_SEND_INLINE)
		bytes += (4 + wr->sg_list[0].length + 15) / 16 * 16;
	else
		bytes += 16 * wr->num_sge;
	return (bytes + BB - 1) / BB;
}

/* The n-th work request of a QP: 1 to 7 WQEBBs. */
static void make_wr(struct work *w, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	static const unsigned int inl[] = { 8, 64, 200, MAX_INLINE };
	unsigned int k = w->wrs % 8, i;

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = (uintptr_t)w;
	wr->opcode = IBV_WR_RDMA_WRITE;
	wr->send_flags = IBV_SEND_SIGNALED;
	wr->sg_list = sge;
	wr->num_sge = k < 4 ? k + 1 : 1;
	wr->wr.rdma.remote_addr = (uintptr_t)rig.buf + 2048;
	wr->wr.rdma.rkey = rig.mr->rkey;
	for (i = 0; i < MAX_SGE; i++) {
		sge[i].addr = (uintptr_t)rig.buf;
		sge[i].length = 8;
		sge[i].lkey = rig.mr->lkey;
	}
	if (k >= 4) {
		wr->send_flags |= IBV_SEND_INLINE;
		sge[0].length = inl[k - 4];
	}
	w->wrs++;
	w->wqebbs += wqebbs_of(wr);
}

static int post_list(struct work *w)
{
	struct ibv_sge sge[LIST][MAX_SGE];
	struct ibv_send_wr wr[LIST], *bad;
	int n, i;

	n = w->left < LIST ? (int)w->left : LIST;
	for (i = 0; i < n; i++) {
		make_wr(w, &wr[i], sge[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	w->left -= n;
	w->outstanding += n;
	return ibv_post_send(w->qp, wr, &bad);
}

static int reap(void)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(rig.cq, 32, wc), i;

	for (i = 0; i < n; i++) {
		if (wc[i].status) {
			fprintf(stderr, "wqebbs: %s\n", ibv_wc_status_str(wc[i].status));
			return -1;
		}
		((struct work *)(uintptr_t)wc[i].wr_id)->outstanding--;
	}
	return n;
}

static int post(uint64_t n)
{
	uint64_t i, busy = 1;

	for (i = 0; i < rig.o.qps; i++)
		rig.work[i].left = rig.work[i].qp ? n : 0;
	while (busy) {
		busy = 0;
		for (i = 0; i < rig.o.qps; i++) {
			struct work *w = &rig.work[i];

			while (w->left && w->outstanding + LIST <= DEPTH)
				if (post_list(w))
					return -1;
			busy += w->left || w->outstanding;
		}
		if (reap() < 0)
			return -1;
	}
	return 0;
}

static int connect_qp(struct work *w)
{
	struct vpeer self = vdev_peer(&rig.dev, w->qp, 0);
	struct vconn c = VCONN_DEFAULT;

	c.sl = rig.sl;
	return vqp_init(&rig.dev, w->qp) || vqp_rtr(&rig.dev, w->qp, &self, &c) ||
	       vqp_rts(w->qp, 0, &c);
}

static int reset(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	uint64_t i;

	for (i = 0; i < rig.o.qps; i++)
		if (rig.work[i].qp && (ibv_modify_qp(rig.work[i].qp, &attr, IBV_QP_STATE) ||
				       connect_qp(&rig.work[i])))
			return -1;
	return 0;
}

static int make_qp(uint64_t i)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq,
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = 1,
			.max_send_sge = MAX_SGE, .max_recv_sge = 1,
			.max_inline_data = MAX_INLINE,
		},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_pd *pd = rig.o.domains ? rig.pd[i % rig.o.domains] : rig.dev.pd;

	rig.work[i].qp = ibv_create_qp(pd, &attr);
	if (!rig.work[i].qp) {
		perror("wqebbs: create QP");
		return -1;
	}
	return connect_qp(&rig.work[i]);
}

/* A thread makes every so many-th QP. */
static void *maker(void *arg)
{
	uint64_t i;

	for (i = (uintptr_t)arg; i < rig.o.qps; i += rig.o.threads)
		if (make_qp(i))
			return (void *)1;
	return NULL;
}

static int make_domains(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = rig.dev.pd };
	struct ibv_td_init_attr td = { 0 };
	uint64_t i;

	rig.td = calloc(rig.o.domains, sizeof(struct ibv_td *));
	rig.pd = calloc(rig.o.domains, sizeof(struct ibv_pd *));
	if (!rig.td || !rig.pd)
		return -1;
	for (i = 0; i < rig.o.domains; i++) {
		rig.td[i] = ibv_alloc_td(rig.dev.ctx, &td);
		attr.td = rig.td[i];
		rig.pd[i] = rig.td[i] ? ibv_alloc_parent_domain(rig.dev.ctx, &attr) : NULL;
		if (!rig.pd[i]) {
			perror("wqebbs: thread domain");
			return -1;
		}
	}
	return 0;
}

static int make_qps(void)
{
	pthread_t *t = calloc(rig.o.threads, sizeof(*t));
	uint64_t i;
	void *bad;
	int ret = 0;

	if (!t)
		return -1;
	for (i = 0; i < rig.o.threads; i++)
		if (pthread_create(&t[i], NULL, maker, (void *)(uintptr_t)i))
			return -1;
	for (i = 0; i < rig.o.threads; i++)
		if (pthread_join(t[i], &bad) || bad)
			ret = -1;
	free(t);
	return ret;
}

static void show(void)
{
	uint64_t i;

	for (i = 0; i < rig.o.qps; i++)
		if (rig.work[i].qp)
			printf("qp %u %" PRIu64 "\n", rig.work[i].qp->qp_num,
			       rig.work[i].wqebbs);
}

static int destroy(uint64_t n)
{
	uint64_t i;

	for (i = 0; i < rig.o.qps && n; i++) {
		if (!rig.work[i].qp)
			continue;
		if (ibv_destroy_qp(rig.work[i].qp))
			return -1;
		rig.work[i].qp = NULL;
		n--;
	}
	return 0;
}

static int do_fork(bool exec)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		if (exec)
			execlp("sleep", "sleep", "1000", (char *)NULL);
		pause();
		_exit(0);
	}
	printf("forked %d\n", (int)pid);
	return 0;
}

/* One command; 1: it was the last. */
static int obey(char *line)
{
	uint64_t n = 0;
	char word[16];

	if (sscanf(line, "%15s %" SCNu64, word, &n) < 1)
		return 0;
	if (!strcmp(word, "post")) {
		if (post(n))
			return -1;
		puts("posted");
	} else if (!strcmp(word, "reset")) {
		if (reset())
			return -1;
		puts("reset");
	} else if (!strcmp(word, "show")) {
		show();
		puts("shown");
	} else if (!strcmp(word, "destroy")) {
		if (destroy(n))
			return -1;
		puts("destroyed");
	} else if (!strcmp(word, "class")) {
		rig.sl = n;
		puts("class");
	} else if (!strcmp(word, "fork")) {
		if (do_fork(false))
			return -1;
	} else if (!strcmp(word, "exec")) {
		if (do_fork(true))
			return -1;
	} else if (!strcmp(word, "quit")) {
		return 1;
	} else {
		fprintf(stderr, "wqebbs: %s?\n", word);
		return -1;
	}
	fflush(stdout);
	return 0;
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "qps", 1, NULL, 'q' }, { "threads", 1, NULL, 't' },
		{ "domains", 1, NULL, 'D' }, { 0 }
	};
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': o->dev = optarg; break;
		case 'q': o->qps = number("qps", optarg, 1, 100000); break;
		case 't': o->threads = number("threads", optarg, 1, 1000); break;
		case 'D': o->domains = number("domains", optarg, 0, 512); break;
		default:
			fputs("usage: wqebbs [--dev DEV] [--qps N] [--threads N] [--domains N]\n",
			      stderr);
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	char line[64];
	int ret = 0;

	rig.o.qps = 4;
	rig.o.threads = 1;
	parse(argc, argv, &rig.o);
	rig.work = calloc(rig.o.qps, sizeof(*rig.work));
	if (!rig.work || vdev_open(&rig.dev, rig.o.dev))
		return 1;
	rig.cq = ibv_create_cq(rig.dev.ctx, rig.o.qps * DEPTH < 65536 ? rig.o.qps * DEPTH : 65536,
			       NULL, NULL, 0);
	rig.mr = ibv_reg_mr(rig.dev.pd, rig.buf, sizeof(rig.buf),
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!rig.cq || !rig.mr) {
		perror("wqebbs: CQ or MR");
		return 1;
	}
	if ((rig.o.domains && make_domains()) || make_qps())
		return 1;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	while (!ret && fgets(line, sizeof(line), stdin))
		ret = obey(line);
	if (ret < 0)
		fprintf(stderr, "wqebbs: failed: %s\n", line);
	return ret < 0;
}
