// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Operations that are posted, and completions, of which each is checked. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "moved.h"

#define POLLED 4		/* few at once, so that most of the window stays outstanding */
#define AHEAD 112		/* messages that the peer's program has not taken yet, at most */
#define CREDIT (1ull << 63)	/* wr_id of a read of .taken */
#define FILLER (1ull << 62)	/* wr_id of a read that only keeps the QP busy */

enum op { OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_ADD, OPS };

_Thread_local struct conn *c;
unsigned int conns = 1;

void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* The lock keeps what other threads print out of this line. */
	flockfile(stdout);
	printf("wrong: ");
	vprintf(format, args);
	putchar('\n');
	funlockfile(stdout);
	va_end(args);
	exit(1);
}

static char byte_of(uint64_t i, unsigned int k)
{
	return (char)(i * 31 + k * 7 + (i >> 8));
}

static unsigned int length_of(uint64_t i)
{
	return 1 + (unsigned int)(i * 2654435761u >> 7) % SLOT;
}

static void fill(char *to, uint64_t i, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++)
		to[k] = byte_of(i, k);
}

static void check_bytes(const char *what, const char *from, uint64_t i, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++)
		if (from[k] != byte_of(i, k))
			wrong("%s %lu: byte %u of %u is %d, and not %d", what, i, k, n, from[k],
			      byte_of(i, k));
}

bool takes_receive(uint64_t i)
{
	return i % OPS != OP_READ && i % OPS != OP_ADD;
}

/* --- posting --------------------------------------------------------------------------- */

static void post_recv(void)
{
	unsigned int at = (unsigned int)(c->recv_posted % RECVS);
	struct ibv_sge sge = { .addr = (uintptr_t)c->mem.in[at], .length = SLOT, .lkey = c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = c->recv_posted, .sg_list = &sge, .num_sge = 1 }, *bad;
	int ret = c->srq ? ibv_post_srq_recv(c->srq, &wr, &bad) : ibv_post_recv(c->qp, &wr, &bad);

	if (ret)
		wrong("post_recv %lu: %s", c->recv_posted, strerrorname_np(ret));
	c->recv_posted++;
}

void fill_constant(void)
{
	fill(c->mem.shared.constant, 77, SLOT);
}

void post_recvs(void)
{
	while (c->recv_posted < RECVS)
		post_recv();
}

/* Reads @n bytes at @offset of what the peer shares. */
static void read_shared(uint64_t wr_id, void *to, uint32_t n, size_t offset)
{
	struct ibv_sge sge = { .addr = (uintptr_t)to, .length = n, .lkey = c->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { c->peer.addr + offset, c->peer.rkey },
	}, *bad;

	if (ibv_post_send(c->qp, &wr, &bad))
		wrong("post_send of a read");
}

/* How far the peer's program is, so that its receives never run out. */
static void read_credit(void)
{
	if (c->reads_credit)
		return;
	c->reads_credit = true;
	read_shared(CREDIT, &c->mem.peer_taken, sizeof(uint64_t), offsetof(struct shared, taken));
}

static bool is_peer_behind(void)
{
	return c->sent - c->mem.peer_taken >= AHEAD;
}

static bool may_post(void)
{
	if (c->sent - c->mem.peer_taken > AHEAD / 2)
		read_credit();
	return c->posted - c->done < WINDOW && !is_peer_behind();
}

static void post_fillers(void)
{
	while (c->fillers < FILLERS) {
		c->fillers++;
		read_shared(FILLER, c->mem.filler, SLOT, offsetof(struct shared, constant));
	}
}

static void build(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	qpx->wr_id = wr->wr_id;
	qpx->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, wr->imm_data);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	default:
		ibv_wr_atomic_fetch_add(qpx, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		ibv_wr_set_inline_data(qpx, (void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length);
	else
		ibv_wr_set_sge_list(qpx, (size_t)wr->num_sge, wr->sg_list);
}

/* By the one interface or the other, in turns. */
static int post_list(struct ibv_send_wr *wr, uint64_t i)
{
	struct ibv_send_wr *bad;

	if (!c->qpx || i / 3 % 2)
		return ibv_post_send(c->qp, wr, &bad);
	ibv_wr_start(c->qpx);
	for (; wr; wr = wr->next)
		build(c->qpx, wr);
	return ibv_wr_complete(c->qpx);
}

static void post_op(uint64_t i)
{
	enum op op = i % OPS;
	unsigned int n = length_of(i), at = (unsigned int)(i % SLOTS);
	uint64_t shared = c->peer.addr;
	struct ibv_sge sge = { .addr = (uintptr_t)c->mem.out[at], .length = n, .lkey = c->mr->lkey };
	struct ibv_sge note = sge;
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.send_flags = i % EVERY == EVERY - 1 || op == OP_READ || op == OP_ADD ? IBV_SEND_SIGNALED : 0,
	}, first = { .wr_id = i, .sg_list = &note, .num_sge = 1, .next = &wr }, *head = &wr;
	int ret;

	fill(c->mem.out[at], i, n);
	if (n <= INLINE && op != OP_READ && op != OP_ADD)
		wr.send_flags |= IBV_SEND_INLINE;
	switch (op) {
	case OP_SEND:
		wr.opcode = IBV_WR_SEND;
		break;
	case OP_SEND_IMM:
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		wr.imm_data = htonl((uint32_t)i);
		break;
	case OP_WRITE:
		first.opcode = IBV_WR_RDMA_WRITE;
		first.wr.rdma.remote_addr = shared + offsetof(struct shared, written) + at * SLOT;
		first.wr.rdma.rkey = c->peer.rkey;
		wr.opcode = IBV_WR_SEND;
		head = &first;
		break;
	case OP_WRITE_IMM:
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl((uint32_t)i);
		wr.wr.rdma.remote_addr = shared + offsetof(struct shared, written) + at * SLOT;
		wr.wr.rdma.rkey = c->peer.rkey;
		break;
	case OP_READ:
		sge.addr = (uintptr_t)c->mem.got[at];
		sge.length = SLOT;
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = shared + offsetof(struct shared, constant);
		wr.wr.rdma.rkey = c->peer.rkey;
		break;
	default:
		sge.addr = (uintptr_t)&c->mem.before[at];
		sge.length = sizeof(uint64_t);
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = shared + offsetof(struct shared, sum);
		wr.wr.atomic.rkey = c->peer.rkey;
		wr.wr.atomic.compare_add = i;
		c->adds += i;
	}
	c->sent += takes_receive(i);
	ret = post_list(head, i);
	if (ret)
		wrong("post_send %lu: %s", i, strerrorname_np(ret));
}

void post_ops(void)
{
	pthread_mutex_lock(&c->posting);
	while (may_post())
		post_op(c->posted++);
	if (is_peer_behind())
		post_fillers();
	pthread_mutex_unlock(&c->posting);
}

void post_to_the_end(void)
{
	while (c->posted % EVERY) {
		if (may_post())
			post_op(c->posted++);
		else
			wait_a_moment();
	}
}

/* --- completions -------------------------------------------------------------------------- */

static void end_op(uint64_t i)
{
	unsigned int at = (unsigned int)(i % SLOTS);

	if (i < c->done)
		wrong("operation %lu completed after %lu", i, c->done);
	c->done = i + 1;
	if (i % OPS == OP_READ)
		check_bytes("read", c->mem.got[at], 77, SLOT);
	if (i % OPS == OP_ADD) {
		if (c->mem.before[at] < c->last_before)
			wrong("addition %lu found %lu after %lu", i, c->mem.before[at], c->last_before);
		c->last_before = c->mem.before[at] + i;
	}
}

static void end_filler(void)
{
	check_bytes("read", c->mem.filler, 77, SLOT);
	c->fillers--;
}

static void take_message(const struct ibv_wc *wc)
{
	uint64_t i = c->received;
	unsigned int n, at;
	bool imm;

	if (wc->wr_id != c->recv_done)
		wrong("receive %lu completed in place of %lu", wc->wr_id, c->recv_done);
	c->recv_done++;
	while (!takes_receive(i))
		i++;
	c->received = i + 1;
	n = length_of(i);
	at = (unsigned int)(i % SLOTS);
	imm = i % OPS == OP_SEND_IMM || i % OPS == OP_WRITE_IMM;
	if (wc->byte_len != n)
		wrong("message %lu has %u bytes, and not %u", i, wc->byte_len, n);
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != imm || (imm && ntohl(wc->imm_data) != (uint32_t)i))
		wrong("message %lu: immediate data", i);
	if (i % OPS != OP_WRITE_IMM)
		check_bytes("message", c->mem.in[wc->wr_id % RECVS], i, n);
	if (i % OPS == OP_WRITE || i % OPS == OP_WRITE_IMM)
		check_bytes("write", c->mem.shared.written[at], i, n);
	post_recv();
	c->mem.shared.taken = c->recv_done;
}

static void take(const struct ibv_wc *wc)
{
	if (wc->status)
		wrong("a completion: %s", ibv_wc_status_str(wc->status));
	if (wc->qp_num != c->qp->qp_num)
		wrong("a completion of QP %u, not %u", wc->qp_num, c->qp->qp_num);
	if (wc->opcode & IBV_WC_RECV)
		take_message(wc);
	else if (wc->wr_id == CREDIT)
		c->reads_credit = false;
	else if (wc->wr_id == FILLER)
		end_filler();
	else
		end_op(wc->wr_id);
}

/* Entry by entry; it posts the receives while the poll is open. */
static int poll_entries(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int n = 0;

	if (ibv_start_poll(cq, &attr))
		return 0;
	do {
		struct ibv_wc wc = {
			.wr_id = cq->wr_id, .status = cq->status, .qp_num = ibv_wc_read_qp_num(cq),
		};

		if (!wc.status) {
			wc.opcode = ibv_wc_read_opcode(cq);
			wc.byte_len = ibv_wc_read_byte_len(cq);
			wc.imm_data = ibv_wc_read_imm_data(cq);
			wc.wc_flags = ibv_wc_read_wc_flags(cq);
		}
		take(&wc);
	} while (++n < POLLED && !ibv_next_poll(cq));
	ibv_end_poll(cq);
	return n;
}

static int poll_few(void)
{
	struct ibv_wc wc[POLLED];
	int n;

	if (c->cqx)
		return poll_entries(c->cqx);
	n = ibv_poll_cq(c->cq, POLLED, wc);
	for (int i = 0; i < n; i++)
		take(&wc[i]);
	return n;
}

/* Takes an event, and arms the queue for the next one. */
static bool take_event(void)
{
	struct pollfd fd = { .fd = c->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, 1) < 1)
		return false;
	if (ibv_get_cq_event(c->channel, &cq, &context) || cq != c->cq)
		wrong("an event of another queue");
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0))
		wrong("the queue cannot be armed");
	return true;
}

bool poll_once(void)
{
	int n;

	if (c->channel && !take_event())
		return false;
	do {
		n = poll_few();
	} while (c->channel && !c->few_an_event && n == POLLED);
	return n > 0;
}

void wait_a_moment(void)
{
	if (c->polls_alone)
		usleep(20);
	else if (!poll_once() && conns > 1)
		usleep(500);	/* leaves the CPU to the others */
}
