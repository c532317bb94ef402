// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcaqueues DEV: queues that change under traffic. A CQ is resized while it holds
 * completions, an SRQ tells when it runs low, once for each time it is armed.
 *
 * Prints a line "ok - NAME" or "not ok - NAME" for each.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"
#include "verbs.h"

#define SIZE		64
#define SENDS		48
#define SRQ_WRS		32
#define SRQ_LIMIT	16
#define WAIT_NS		10000000000ull

struct rig {
	struct vdev dev;
	struct ibv_cq *cq, *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *peer;
	struct ibv_mr *mr;
	uint8_t buf[2][SIZE];
	uint64_t posted, seen;
};

static bool failed;

static void point(bool ok, const char *name)
{
	printf("%s - %s\n", ok ? "ok" : "not ok", name);
	failed |= !ok;
}

static struct ibv_qp *make_qp(struct rig *r, struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = r->rcq, .srq = srq,
		.cap = {
			.max_send_wr = SENDS, .max_recv_wr = srq ? 0 : 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	return ibv_create_qp(r->dev.pd, &attr);
}

static int rig_open(struct rig *r, const char *name)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = SRQ_WRS, .max_sge = 1 } };
	const struct vconn conn = VCONN_DEFAULT;
	struct vpeer a, b;
	int fd;

	if (vdev_open(&r->dev, name))
		return -ENODEV;
	fd = r->dev.ctx->async_fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	r->cq = ibv_create_cq(r->dev.ctx, SENDS, NULL, NULL, 0);
	r->rcq = ibv_create_cq(r->dev.ctx, 4 * SENDS, NULL, NULL, 0);
	r->srq = ibv_create_srq(r->dev.pd, &attr);
	r->mr = ibv_reg_mr(r->dev.pd, r->buf, sizeof(r->buf), IBV_ACCESS_LOCAL_WRITE);
	if (!r->cq || !r->rcq || !r->srq || !r->mr)
		return -errno;
	r->qp = make_qp(r, r->cq, NULL);
	r->peer = make_qp(r, r->rcq, r->srq);
	if (!r->qp || !r->peer)
		return -errno;
	a = vdev_peer(&r->dev, r->qp, 0);
	b = vdev_peer(&r->dev, r->peer, 0);
	if (vqp_init(&r->dev, r->qp) || vqp_init(&r->dev, r->peer) ||
	    vqp_rtr(&r->dev, r->qp, &b, &conn) || vqp_rtr(&r->dev, r->peer, &a, &conn) ||
	    vqp_rts(r->qp, 0, &conn) || vqp_rts(r->peer, 0, &conn))
		return -EIO;
	return 0;
}

static int fill_srq(struct rig *r, int n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->buf[1], .length = SIZE, .lkey = r->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	int ret = 0;

	while (n-- && !ret)
		ret = ibv_post_srq_recv(r->srq, &wr, &bad);
	return ret;
}

static int send_some(struct rig *r, int n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->buf[0], .length = SIZE, .lkey = r->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};
	int ret = 0;

	while (n-- && !ret) {
		wr.wr_id = r->posted++;
		ret = ibv_post_send(r->qp, &wr, &bad);
	}
	return ret;
}

/* @n completions of sends, in order and good. */
static bool reap(struct rig *r, int n)
{
	uint64_t end = now_ns() + WAIT_NS;
	struct ibv_wc wc;

	while (n && now_ns() < end) {
		if (ibv_poll_cq(r->cq, 1, &wc) != 1)
			continue;
		if (wc.status || wc.wr_id != r->seen)
			return false;
		r->seen++;
		n--;
	}
	return !n;
}

/* @n receives; they show that the sends are done, whose CQ nobody polls. */
static bool received(struct rig *r, int n)
{
	uint64_t end = now_ns() + WAIT_NS;
	struct ibv_wc wc;

	while (n && now_ns() < end)
		if (ibv_poll_cq(r->rcq, 1, &wc) == 1 && !wc.status)
			n--;
	return !n;
}

static void test_resize(struct rig *r)
{
	point(!fill_srq(r, SRQ_WRS) && !send_some(r, 20) && received(r, 20),
	      "20 completions wait in a CQ");
	point(reap(r, 5), "5 of them are taken");
	point(!ibv_resize_cq(r->cq, 4 * SENDS) && r->cq->cqe >= 4 * SENDS, "the CQ grows");
	point(reap(r, 15), "the others are in the new one");
	point(!fill_srq(r, 20) && !send_some(r, 30) && received(r, 30), "30 more");
	point(ibv_resize_cq(r->cq, 15), "a CQ does not shrink below what it holds");
	point(reap(r, 10), "10 are taken");
	point(!ibv_resize_cq(r->cq, 31), "it shrinks to what it holds");
	point(reap(r, 20), "nothing is lost");
	point(!fill_srq(r, 30) && !send_some(r, 12) && reap(r, 12) && received(r, 12),
	      "and it goes on");
}

/* Limit events that are there, after a while in which one might come. */
static int limits(struct rig *r)
{
	struct pollfd fd = { .fd = r->dev.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;
	int n = 0;

	while (poll(&fd, 1, 500) > 0 && !ibv_get_async_event(r->dev.ctx, &e)) {
		n += e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && e.element.srq == r->srq;
		ibv_ack_async_event(&e);
	}
	return n;
}

static void test_limit(struct rig *r)
{
	struct ibv_srq_attr attr = { .srq_limit = SRQ_LIMIT }, now;

	/* Emptied of what is left there, so that it is known how many there are. */
	point(!send_some(r, 20) && reap(r, 20) && received(r, 20), "an SRQ is used up");
	point(!fill_srq(r, 28) && !ibv_query_srq(r->srq, &now) && !now.srq_limit && !limits(r),
	      "it is filled, and not armed");
	point(!ibv_modify_srq(r->srq, &attr, IBV_SRQ_LIMIT), "a limit is set");
	point(!send_some(r, 8) && reap(r, 8) && received(r, 8) && !limits(r), "above it, nothing");
	point(!send_some(r, 6) && reap(r, 6) && received(r, 6) && limits(r) == 1,
	      "below it, an event, once");
	point(!ibv_query_srq(r->srq, &now) && !now.srq_limit, "and disarmed by that");
	point(!send_some(r, 2) && reap(r, 2) && received(r, 2) && !limits(r), "it is not told again");
	attr.srq_limit = 4;
	point(!fill_srq(r, 20) && !ibv_modify_srq(r->srq, &attr, IBV_SRQ_LIMIT), "armed again");
	point(!send_some(r, 20) && reap(r, 20) && received(r, 20) && !limits(r),
	      "above the new limit, nothing");
	point(!send_some(r, 9) && reap(r, 9) && received(r, 9) && limits(r) == 1,
	      "below it, an event");
}

int main(int argc, char **argv)
{
	struct rig *r = calloc(1, sizeof(*r));
	int ret;

	if (argc != 2 || !r) {
		fprintf(stderr, "usage: hcaqueues DEV\n");
		return 2;
	}
	setlinebuf(stdout);
	ret = rig_open(r, argv[1]);
	if (ret) {
		fprintf(stderr, "hcaqueues: %s\n", strerror(-ret));
		return 3;
	}
	test_resize(r);
	test_limit(r);
	return failed;
}
