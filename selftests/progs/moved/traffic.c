// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Operations that are posted, and completions, of which each is checked. */
#include <arpa/inet.h>
#include <errno.h>
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

enum op { OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_ADD, OPS };

struct memory mem __attribute__((aligned(4096)));
_Atomic uint64_t posted, done, received, adds;
_Atomic bool reads_credit, polls_alone, posts_alone = true;

static _Atomic uint64_t sent, recv_posted, recv_done;
static pthread_mutex_t posting = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_before;

void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("wrong: ");
	vprintf(format, args);
	putchar('\n');
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
	unsigned int at = (unsigned int)(recv_posted % RECVS);
	struct ibv_sge sge = { .addr = (uintptr_t)mem.in[at], .length = SLOT, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = recv_posted, .sg_list = &sge, .num_sge = 1 }, *bad;
	int ret = ibv_post_recv(qp, &wr, &bad);

	if (ret)
		wrong("post_recv %lu: %s", recv_posted, strerrorname_np(ret));
	recv_posted++;
}

void fill_constant(void)
{
	fill(mem.shared.constant, 77, SLOT);
}

void post_recvs(void)
{
	while (recv_posted < RECVS)
		post_recv();
}

/* How far the peer's program is, so that its receives never run out. */
static void read_credit(void)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)&mem.peer_taken, .length = sizeof(uint64_t), .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = CREDIT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { peer.addr + offsetof(struct shared, taken), peer.rkey },
	}, *bad;

	if (reads_credit)
		return;
	reads_credit = true;
	if (ibv_post_send(qp, &wr, &bad))
		wrong("post_send of a read");
}

static bool may_post(void)
{
	if (sent - mem.peer_taken > AHEAD / 2)
		read_credit();
	return posted - done < WINDOW && sent - mem.peer_taken < AHEAD;
}

static void post_op(uint64_t i)
{
	enum op op = i % OPS;
	unsigned int n = length_of(i), at = (unsigned int)(i % SLOTS);
	uint64_t shared = peer.addr;
	struct ibv_sge sge = { .addr = (uintptr_t)mem.out[at], .length = n, .lkey = mr->lkey };
	struct ibv_sge note = sge;
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1,
		.send_flags = i % EVERY == EVERY - 1 || op == OP_READ || op == OP_ADD ? IBV_SEND_SIGNALED : 0,
	}, first = { .wr_id = i, .sg_list = &note, .num_sge = 1, .next = &wr }, *head = &wr, *bad;
	int ret;

	fill(mem.out[at], i, n);
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
		first.wr.rdma.rkey = peer.rkey;
		wr.opcode = IBV_WR_SEND;
		head = &first;
		break;
	case OP_WRITE_IMM:
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl((uint32_t)i);
		wr.wr.rdma.remote_addr = shared + offsetof(struct shared, written) + at * SLOT;
		wr.wr.rdma.rkey = peer.rkey;
		break;
	case OP_READ:
		sge.addr = (uintptr_t)mem.got[at];
		sge.length = SLOT;
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = shared + offsetof(struct shared, constant);
		wr.wr.rdma.rkey = peer.rkey;
		break;
	default:
		sge.addr = (uintptr_t)&mem.before[at];
		sge.length = sizeof(uint64_t);
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = shared + offsetof(struct shared, sum);
		wr.wr.atomic.rkey = peer.rkey;
		wr.wr.atomic.compare_add = i;
		adds += i;
	}
	sent += takes_receive(i);
	ret = ibv_post_send(qp, head, &bad);
	if (ret)
		wrong("post_send %lu: %s", i, strerrorname_np(ret));
}

void post_ops(void)
{
	pthread_mutex_lock(&posting);
	while (may_post())
		post_op(posted++);
	pthread_mutex_unlock(&posting);
}

void post_to_the_end(void)
{
	while (posted % EVERY) {
		if (may_post())
			post_op(posted++);
		else
			wait_a_moment();
	}
}

/* --- completions -------------------------------------------------------------------------- */

static void end_op(uint64_t i)
{
	unsigned int at = (unsigned int)(i % SLOTS);

	if (i < done)
		wrong("operation %lu completed after %lu", i, done);
	done = i + 1;
	if (i % OPS == OP_READ)
		check_bytes("read", mem.got[at], 77, SLOT);
	if (i % OPS == OP_ADD) {
		if (mem.before[at] < last_before)
			wrong("addition %lu found %lu after %lu", i, mem.before[at], last_before);
		last_before = mem.before[at] + i;
	}
}

static void take_message(const struct ibv_wc *wc)
{
	uint64_t i = received;
	unsigned int n, at;
	bool imm;

	if (wc->wr_id != recv_done)
		wrong("receive %lu completed in place of %lu", wc->wr_id, recv_done);
	recv_done++;
	while (!takes_receive(i))
		i++;
	received = i + 1;
	n = length_of(i);
	at = (unsigned int)(i % SLOTS);
	imm = i % OPS == OP_SEND_IMM || i % OPS == OP_WRITE_IMM;
	if (wc->byte_len != n)
		wrong("message %lu has %u bytes, and not %u", i, wc->byte_len, n);
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != imm || (imm && ntohl(wc->imm_data) != (uint32_t)i))
		wrong("message %lu: immediate data", i);
	if (i % OPS != OP_WRITE_IMM)
		check_bytes("message", mem.in[wc->wr_id % RECVS], i, n);
	if (i % OPS == OP_WRITE || i % OPS == OP_WRITE_IMM)
		check_bytes("write", mem.shared.written[at], i, n);
	post_recv();
	mem.shared.taken = recv_done;
}

bool poll_once(void)
{
	struct ibv_wc wc[POLLED];
	int n = ibv_poll_cq(cq, POLLED, wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].status)
			wrong("a completion: %s", ibv_wc_status_str(wc[i].status));
		if (wc[i].qp_num != qp->qp_num)
			wrong("a completion of QP %u, not %u", wc[i].qp_num, qp->qp_num);
		if (wc[i].opcode & IBV_WC_RECV)
			take_message(&wc[i]);
		else if (wc[i].wr_id == CREDIT)
			reads_credit = false;
		else
			end_op(wc[i].wr_id);
	}
	return n > 0;
}

void wait_a_moment(void)
{
	if (polls_alone)
		usleep(20);
	else
		poll_once();
}
