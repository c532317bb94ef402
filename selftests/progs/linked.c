// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * linked: a program that is linked with libswiftrdma, names its job and reads its own figures.
 * Reads commands from stdin and answers each with one line, or with "COMMAND ERRNO-NAME".
 *
 *	ask JOB SLO		asks for a job (-: none) and a p99, ns
 *	open DEV		context 0, with a QP that writes to another one of the same context
 *	import			context 1, another user of the same user context, by
 *				ibv_import_device()
 *	write CONTEXT N BYTES	that many writes, one at a time
 *	device|qp CONTEXT	figures of swiftrdma_read_device() or _qp()
 *	time latency|hol	a p50 of context 0 and its samples; "right" if the library's maximum is no
 *				more than the program's own, and its mean between half of it and all,
 *				where each request is a sample
 *	job CONTEXT		the job that holds
 *	quit
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/swiftrdma.h"
#include "verbs.h"

#define BYTES 65536

static struct user {
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp, *to;
} users[2];

static char buf[BYTES];
static uint64_t own_n, own_sum, own_max;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Two QPs, the first of which writes to the second. 0 or -errno. */
static int make_qps(struct user *u)
{
	static const struct vconn conn = VCONN_DEFAULT;

	u->cq = ibv_create_cq(u->dev.ctx, 64, NULL, NULL, 0);
	u->mr = ibv_reg_mr(u->dev.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!u->cq || !u->mr)
		return complain("CQ or memory region");
	u->qp = vqp_sender(u->dev.pd, u->cq, 16);
	u->to = vqp_sender(u->dev.pd, u->cq, 1);
	if (!u->qp || !u->to)
		return complain("QP");
	return vqp_pair(&u->dev, u->qp, &u->dev, u->to, &conn);
}

static int import(void)
{
	struct user *u = &users[1];
	int fd = dup(users[0].dev.ctx->cmd_fd);

	u->dev = users[0].dev;
	u->dev.ctx = fd < 0 ? NULL : ibv_import_device(fd);
	if (!u->dev.ctx)
		return -errno;
	u->dev.pd = ibv_alloc_pd(u->dev.ctx);
	return u->dev.pd ? make_qps(u) : complain("PD");
}

/* One write, from before its post until its completion was found. */
static int write_once(const struct user *u, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = bytes, .lkey = u->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = (uintptr_t)buf, .rkey = u->mr->rkey },
	};
	uint64_t from = now_ns(), took;
	struct ibv_wc wc;
	int ret;

	if (ibv_post_send(u->qp, &wr, &bad))
		return complain("post");
	while (!(ret = ibv_poll_cq(u->cq, 1, &wc)))
		;
	if (ret < 0 || wc.status != IBV_WC_SUCCESS)
		return complain("completion");
	took = now_ns() - from;
	own_n++;
	own_sum += took;
	if (took > own_max)
		own_max = took;
	return 0;
}

static int show_figures(const char *what, const struct swiftrdma_figures *f)
{
	printf("%s wrs %" PRIu64 " bytes %" PRIu64 " calls %" PRIu64 " wcs %" PRIu64 " done %" PRIu64
	       " outstanding %" PRIu64 " errors %" PRIu64 " qps %" PRIu64 "\n", what,
	       f->wrs, f->bytes, f->calls, f->wcs, f->done, f->outstanding, f->errors, f->qps);
	return 0;
}

static int show_time(const char *which)
{
	enum swiftrdma_time time = strcmp(which, "hol") ? SWIFTRDMA_TIME_LATENCY : SWIFTRDMA_TIME_HOL;
	struct swiftrdma_quantile q;
	int ret = swiftrdma_read_quantile(users[0].dev.ctx, time, 0.5, &q, sizeof(q));

	if (ret)
		return ret;
	printf("time samples %" PRIu64 " wrs %" PRIu64 " p50 %" PRIu64 " mean %" PRIu64 " of %" PRIu64
	       " max %" PRIu64 " of %" PRIu64 " %s\n", q.samples, q.wrs, q.ns, q.mean_ns, own_sum / own_n,
	       q.max_ns, own_max,
	       q.max_ns <= own_max && q.mean_ns * q.wrs <= own_sum && 2 * q.mean_ns * q.wrs >= own_sum &&
	       q.ns <= own_max * 1.032 ? "right" : "wrong");
	return 0;
}

static int show_job(const struct user *u)
{
	struct swiftrdma_job_info job;
	int ret = swiftrdma_read_job(u->dev.ctx, &job, sizeof(job));

	if (!ret)
		printf("job %s slo %" PRIu64 " refused %d\n", *job.name ? job.name : "-", job.slo_p99_ns,
		       job.refused);
	return ret;
}

/* 0: has answered; 1: "ok" is the answer; -errno */
static int execute(const char *line)
{
	struct swiftrdma_figures f;
	unsigned int at = 0, n, bytes;
	char word[64];
	uint64_t slo;
	int ret;

	if (sscanf(line, "ask %63s %" SCNu64, word, &slo) == 2) {
		ret = swiftrdma_ask(strcmp(word, "-") ? word : NULL, slo);
		return ret ? ret : 1;
	}
	if (sscanf(line, "open %63s", word) == 1) {
		ret = vdev_open(&users[0].dev, word);
		if (!ret)
			ret = make_qps(&users[0]);
		return ret ? ret : 1;
	}
	if (!strcmp(line, "import\n")) {
		ret = import();
		return ret ? ret : 1;
	}
	if (sscanf(line, "time %63s", word) == 1)
		return show_time(word);
	if (sscanf(line, "write %u %u %u", &at, &n, &bytes) == 3 && at < 2 && bytes <= BYTES) {
		while (n-- > 0) {
			ret = write_once(&users[at], bytes);
			if (ret)
				return ret;
		}
		return 1;
	}
	if (sscanf(line, "%63s %u", word, &at) != 2 || at > 1)
		return -EINVAL;
	if (!strcmp(word, "job"))
		return show_job(&users[at]);
	ret = strcmp(word, "qp") ? swiftrdma_read_device(users[at].dev.ctx, &f, sizeof(f)) :
	      swiftrdma_read_qp(users[at].qp, &f, sizeof(f));
	return ret ? ret : show_figures(word, &f);
}

static int obey(const char *line)
{
	int ret = execute(line);

	if (ret)
		printf("%.*s %s\n", (int)strcspn(line, " \n"), line,
		       ret > 0 ? "ok" : strerrorname_np(-ret));
	return 0;
}

int main(void)
{
	return obey_lines(obey) ? EXIT_FAILURE : EXIT_SUCCESS;
}
