// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT		1
#define LIST_MAX	16
#define PAGE		4096
#define IDLE_POLLS	200	/* of an empty CQ, before the thread sleeps */
#define IDLE_US		20

static __thread char words[200];

const char *nic_words(void)
{
	return words;
}

void nic_say(const char *s)
{
	snprintf(words, sizeof(words), "%s", s);
}

static int nic_failed(const char *what, int error)
{
	error = error ? error : EIO;
	snprintf(words, sizeof(words), "%s: %s", what, strerror(error));
	return -error;
}

uint64_t nic_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void nic_sleep_us(uint32_t us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

/* --- contexts ----------------------------------------------------------------- */

/* RoCE v2 of an IPv4 address is what routers and their classes of traffic know. */
static int grade_gid(const struct ibv_gid_entry *e)
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };

	if (e->gid_type != IBV_GID_TYPE_ROCE_V2)
		return 1;
	return memcmp(e->gid.raw, ipv4, sizeof(ipv4)) ? 2 : 3;
}

static int pick_gid(struct nic *nic, int entries)
{
	struct ibv_gid_entry e;
	int best = 0;

	for (int i = 0; i < entries; i++) {
		if (ibv_query_gid_ex(nic->ctx, PORT, (uint32_t)i, &e, 0) || grade_gid(&e) <= best)
			continue;
		best = grade_gid(&e);
		nic->gid = e.gid;
		nic->gid_index = (uint8_t)i;
	}
	return best ? 0 : nic_failed("no GID", ENODEV);
}

static int read_port(struct nic *nic)
{
	struct ibv_port_attr attr;
	int err = ibv_query_port(nic->ctx, PORT, &attr);

	if (err)
		return nic_failed("ibv_query_port", err);
	if (attr.state != IBV_PORT_ACTIVE)
		return nic_failed("port 1 is not active", ENETDOWN);
	nic->lid = attr.lid;
	nic->mtu = attr.active_mtu;
	nic->eth = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	return pick_gid(nic, attr.gid_tbl_len);
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	errno = ENODEV;
	for (int i = 0; list && list[i]; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		ctx = ibv_open_device(list[i]);
		break;
	}
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

static int open_memory(struct nic *nic)
{
	nic->pd = ibv_alloc_pd(nic->ctx);
	nic->cq = nic->pd ? ibv_create_cq(nic->ctx, NIC_CQES, NULL, NULL, 0) : NULL;
	nic->buf = aligned_alloc(PAGE, NIC_BUFFER);
	if (!nic->cq || !nic->buf)
		return nic_failed("PD, CQ and memory", errno);
	memset(nic->buf, 0, NIC_BUFFER);
	nic->mr = ibv_reg_mr(nic->pd, nic->buf, NIC_BUFFER,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ);
	return nic->mr ? 0 : nic_failed("ibv_reg_mr", errno);
}

int nic_open(struct nic *nic, const char *name, bool bare)
{
	int err;

	memset(nic, 0, sizeof(*nic));
	nic->name = name;
	if (bare)
		setenv("MLX5_SHUT_UP_BF", "1", 1);
	nic->ctx = open_named(name);
	err = nic->ctx ? 0 : nic_failed("it cannot be opened", errno);
	if (bare)
		unsetenv("MLX5_SHUT_UP_BF");
	if (!err)
		err = read_port(nic);
	if (!err)
		err = open_memory(nic);
	if (err)
		nic_close(nic);
	return err;
}

void nic_close(struct nic *nic)
{
	if (nic->mr)
		ibv_dereg_mr(nic->mr);
	if (nic->cq)
		ibv_destroy_cq(nic->cq);
	if (nic->pd)
		ibv_dealloc_pd(nic->pd);
	if (nic->ctx)
		ibv_close_device(nic->ctx);
	free(nic->buf);
	memset(nic, 0, sizeof(*nic));
}

struct ibv_pd *nic_own_register(struct nic *nic, struct ibv_td **td)
{
	struct ibv_td_init_attr init = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = nic->pd };
	struct ibv_pd *pd = NULL;

	*td = ibv_alloc_td(nic->ctx, &init);
	attr.td = *td;
	if (*td)
		pd = ibv_alloc_parent_domain(nic->ctx, &attr);
	if (!pd)
		nic_failed("thread domain", errno);
	if (!pd && *td)
		ibv_dealloc_td(*td);
	return pd;
}

/* --- pairs --------------------------------------------------------------------- */

struct ibv_qp *nic_create_qp(struct nic *nic, const struct nic_want *want)
{
	struct ibv_cq *cq = want->cq ? want->cq : nic->cq;
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq,
		.cap = {
			.max_send_wr = want->depth, .max_recv_wr = LIST_MAX,
			.max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = want->inline_bytes,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(want->pd ? want->pd : nic->pd, &attr);

	if (!qp)
		nic_failed("ibv_create_qp", errno);
	return qp;
}

static int make_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int make_rtr(struct ibv_qp *qp, const struct nic *own, const struct nic *peer,
		    uint32_t peer_qpn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = own->mtu < peer->mtu ? own->mtu : peer->mtu,
		.dest_qp_num = peer_qpn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,	/* 0.64 ms */
		.ah_attr = {
			.is_global = 1,
			.dlid = peer->lid,
			.port_num = PORT,
			.grh = {
				.dgid = peer->gid,
				.sgid_index = own->gid_index,
				.hop_limit = 64,
			},
		},
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER);
}

static int make_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 18,		/* 1.07 s */
		.retry_cnt = 7,
		.rnr_retry = 7,		/* for ever: check_counters.c queries a queue that waits */
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int connect_pair(struct nic_pair *p)
{
	int err = make_init(p->a);

	if (!err)
		err = make_init(p->b);
	if (!err)
		err = make_rtr(p->a, p->from, p->to, p->b->qp_num);
	if (!err)
		err = make_rtr(p->b, p->to, p->from, p->a->qp_num);
	if (!err)
		err = make_rts(p->a);
	if (!err)
		err = make_rts(p->b);
	return err ? nic_failed("connecting two QPs", err) : 0;
}

int nic_pair_open(struct nic_pair *p, struct nic *from, struct nic *to,
		  const struct nic_want *want)
{
	const struct nic_want receiver = { .depth = 1 };
	int err = -ENOMEM;

	memset(p, 0, sizeof(*p));
	p->from = from;
	p->to = to;
	p->a = nic_create_qp(from, want);
	p->b = p->a ? nic_create_qp(to, &receiver) : NULL;
	if (p->b)
		err = connect_pair(p);
	if (err)
		nic_pair_close(p);
	return err;
}

void nic_pair_close(struct nic_pair *p)
{
	struct ibv_wc wc[32];

	if (p->a)
		ibv_destroy_qp(p->a);
	if (p->b)
		ibv_destroy_qp(p->b);
	/* Drop completions of receives, and of sends that were not waited for. */
	if (p->from)
		while (ibv_poll_cq(p->from->cq, 32, wc) > 0)
			;
	if (p->to && p->to != p->from)
		while (ibv_poll_cq(p->to->cq, 32, wc) > 0)
			;
	memset(p, 0, sizeof(*p));
}

/* --- work requests --------------------------------------------------------------- */

/* @n requests in one list. */
static int post_list(struct nic_pair *p, uint32_t n, const struct ibv_send_wr *like)
{
	struct ibv_send_wr wr[LIST_MAX], *bad;
	int err;

	if (!n || n > LIST_MAX)
		return nic_failed("ibv_post_send", EINVAL);
	for (uint32_t i = 0; i < n; i++) {
		wr[i] = *like;
		wr[i].wr_id = (uintptr_t)p;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	err = ibv_post_send(p->a, wr, &bad);
	if (err)
		return nic_failed("ibv_post_send", err);
	p->outstanding += n;
	return 0;
}

int nic_write(struct nic_pair *p, uint32_t n, uint32_t bytes, bool in_wqe)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->from->buf, .length = bytes, .lkey = p->from->mr->lkey,
	};
	const struct ibv_send_wr like = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = in_wqe ? IBV_SEND_INLINE : 0,
		.wr.rdma = { (uintptr_t)p->to->buf, p->to->mr->rkey },
	};

	return post_list(p, n, &like);
}

int nic_send(struct nic_pair *p, uint32_t n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->from->buf, .length = 8, .lkey = p->from->mr->lkey,
	};
	const struct ibv_send_wr like = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
	};

	return post_list(p, n, &like);
}

int nic_receive(struct nic_pair *p, uint32_t n)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->to->buf, .length = 8, .lkey = p->to->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = 0;

	while (!err && n--)
		err = ibv_post_recv(p->b, &wr, &bad);
	return err ? nic_failed("ibv_post_recv", err) : 0;
}

int nic_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n)
{
	int got = ibv_poll_cq(cq, n, wc);

	if (got < 0)
		return nic_failed("ibv_poll_cq", EIO);
	for (int i = 0; i < got; i++) {
		if (wc[i].status) {
			snprintf(words, sizeof(words), "a completion failed: %s",
				 ibv_wc_status_str(wc[i].status));
			return -EIO;
		}
	}
	return got;
}

int nic_wait(struct nic_pair *p, uint32_t left)
{
	uint64_t end = nic_now() + NIC_WAIT_MS * 1000000ull;
	uint32_t idle = 0;
	struct ibv_wc wc[32];
	int n;

	while (p->outstanding > left) {
		n = nic_poll(p->from->cq, wc, 32);
		if (n < 0)
			return n;
		/* A loopback pair has the completions of its receives here, too. */
		for (int i = 0; i < n; i++)
			p->outstanding -= wc[i].wr_id == (uintptr_t)p;
		idle = n ? 0 : idle + 1;
		if (idle < IDLE_POLLS)
			continue;
		if (nic_now() > end)
			return nic_failed("writes do not complete", ETIMEDOUT);
		nic_sleep_us(IDLE_US);
	}
	return 0;
}
