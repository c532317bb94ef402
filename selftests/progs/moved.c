// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * moved: traffic on one RC connection that is checked in every byte, while its QPs move.
 *
 *	moved DEV PORT MOVES [HOST]
 *
 * Two of them, one with HOST (the other's address), work as the two ends. Each posts sends with and
 * without immediate data, writes that a send announces, writes with immediate data, reads, and atomic
 * additions, most of them unsignalled and some inline. It keeps at least 8 outstanding, and checks
 * order, length, immediate data and bytes of what it receives, the order of its own completions, and
 * the sum of the additions. Meanwhile a thread asks for moves of the QP, at random times, until MOVES
 * have taken place, by swiftrdma_move_qp() where libswiftrdma is preloaded. The traffic ends when
 * that is so at both ends, or no move has taken place for 30 s.
 *
 * With MOVED_POLLER=1 in its environment another thread polls and posts the receives. With MOVED_QPS=N
 * there are N connections of one context, each in a thread of its own, which meet at PORT and those
 * after it. With MOVED_UNTIL=FILE the traffic goes on until FILE exists.
 *
 * Prints "moved N failed N busy N errno..", "ops N received N", and "right" or what was wrong.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define SLOTS 256		/* of each ring; a power of two */
#define SLOT 256		/* bytes */
#define RECVS 128
#define WINDOW 40		/* operations outstanding, at most */
#define EVERY 4			/* one in so many operations is signalled */
#define INLINE 64
#define POLLED 4		/* few at once, so that most of the window stays outstanding */
#define AHEAD 112		/* messages that the peer's program has not taken yet, at most */
#define CREDIT (1ull << 63)	/* wr_id of a read of .taken */
#define PATIENCE_NS 30000000000ull

enum op { OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_ADD, OPS };

/* What the peer may write to and read from. */
struct shared {
	uint64_t sum;				/* the peer adds to it */
	_Atomic uint64_t taken;			/* messages of the peer */
	char written[SLOTS][SLOT];
	char constant[SLOT];
};

/* One connection. */
struct conn {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct {
		struct shared shared;
		char out[SLOTS][SLOT], in[RECVS][SLOT], got[SLOTS][SLOT];
		uint64_t before[SLOTS];			/* results of additions */
		_Atomic uint64_t peer_taken;		/* as it was last read */
	} mem __attribute__((aligned(4096)));
	struct vpeer peer;
	int peer_fd;
	_Atomic uint64_t posted, done, sent, received, adds, recv_posted, recv_done;
	_Atomic bool reads_credit, polls_alone;
	uint64_t last_before;
	_Atomic bool moving, over;
	bool told_over, peer_over;
	unsigned int moved, failed, busy;
	int last_error;
	uint32_t seed;
	int port;				/* of the meeting of both ends */
};

static struct vdev dev;
static _Thread_local struct conn *c;		/* the calling thread's */
static int (*move)(struct ibv_qp *qp);
static unsigned int moves_wanted, conns;
static const char *host, *until;

static void wrong(const char *format, ...)
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

static bool takes_receive(uint64_t i)
{
	return i % OPS != OP_READ && i % OPS != OP_ADD;
}

/* --- posting --------------------------------------------------------------------------- */

static void post_recv(void)
{
	unsigned int at = (unsigned int)(c->recv_posted % RECVS);
	struct ibv_sge sge = { .addr = (uintptr_t)c->mem.in[at], .length = SLOT, .lkey = c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = c->recv_posted, .sg_list = &sge, .num_sge = 1 }, *bad;
	int ret = ibv_post_recv(c->qp, &wr, &bad);

	if (ret)
		wrong("post_recv %lu: %s", c->recv_posted, strerrorname_np(ret));
	c->recv_posted++;
}

/* How far the peer's program is, so that its receives never run out. */
static void read_credit(void)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)&c->mem.peer_taken, .length = sizeof(uint64_t), .lkey = c->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = CREDIT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { c->peer.addr + offsetof(struct shared, taken), c->peer.rkey },
	}, *bad;

	if (c->reads_credit)
		return;
	c->reads_credit = true;
	if (ibv_post_send(c->qp, &wr, &bad))
		wrong("post_send of a read");
}

static bool may_post(void)
{
	if (c->sent - c->mem.peer_taken > AHEAD / 2)
		read_credit();
	return c->posted - c->done < WINDOW && c->sent - c->mem.peer_taken < AHEAD;
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
	}, first = { .wr_id = i, .sg_list = &note, .num_sge = 1, .next = &wr }, *head = &wr, *bad;
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
	ret = ibv_post_send(c->qp, head, &bad);
	if (ret)
		wrong("post_send %lu: %s", i, strerrorname_np(ret));
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

static bool poll_once(void)
{
	struct ibv_wc wc[POLLED];
	int n = ibv_poll_cq(c->cq, POLLED, wc);

	for (int i = 0; i < n; i++) {
		if (wc[i].status)
			wrong("a completion: %s", ibv_wc_status_str(wc[i].status));
		if (wc[i].qp_num != c->qp->qp_num)
			wrong("a completion of QP %u, not %u", wc[i].qp_num, c->qp->qp_num);
		if (wc[i].opcode & IBV_WC_RECV)
			take_message(&wc[i]);
		else if (wc[i].wr_id == CREDIT)
			c->reads_credit = false;
		else
			end_op(wc[i].wr_id);
	}
	return n > 0;
}

/* The thread that posts has nothing to post at the moment. Of many, each leaves the CPU to others. */
static void wait_a_moment(void)
{
	if (c->polls_alone)
		usleep(20);
	else if (!poll_once() && conns > 1)
		usleep(500);
}

static void *poll_at_will(void *arg)
{
	c = arg;
	while (!c->over)
		poll_once();
	return NULL;
}

/* --- moves --------------------------------------------------------------------------------- */

static void *move_at_will(void *arg)
{
	uint64_t last = now_ns();
	int err;

	c = arg;
	while (c->moved < moves_wanted && !c->over && now_ns() - last < PATIENCE_NS) {
		usleep(vrnd(&c->seed) % 3000);
		err = move(c->qp);
		if (!err) {
			c->moved++;
			last = now_ns();
		} else if (err == -EBUSY) {
			c->busy++;
		} else {
			c->failed++;
			c->last_error = -err;
			if (err == -EOPNOTSUPP || err == -ECONNREFUSED)
				break;
		}
	}
	c->moving = false;
	return NULL;
}

/* --- the connection --------------------------------------------------------------------------- */

static int meet(int port, const char *to_host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, got;

	if (to_host) {
		inet_pton(AF_INET, to_host, &to.sin_addr);
		for (int i = 0; i < 300; i++) {
			if (!connect(fd, (void *)&to, sizeof(to)))
				return fd;
			usleep(100000);
		}
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (void *)&to, sizeof(to)) || listen(fd, 1))
		return -1;
	got = accept(fd, NULL, NULL);
	close(fd);
	return got;
}

static void swap_with_peer(void *mine, void *theirs, size_t n)
{
	if (write(c->peer_fd, mine, n) != (ssize_t)n ||
	    recv(c->peer_fd, theirs, n, MSG_WAITALL) != (ssize_t)n)
		wrong("the other end is gone");
}

static bool set_up(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * WINDOW + 3, .max_recv_wr = RECVS,
			 .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = INLINE },
	};
	struct vconn conn = VCONN_DEFAULT;
	struct vpeer own;
	struct ibv_qp_attr init_attr = { .qp_state = IBV_QPS_INIT };
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	fill(c->mem.shared.constant, 77, SLOT);
	c->mr = ibv_reg_mr(dev.pd, &c->mem, sizeof(c->mem), access);
	c->cq = ibv_create_cq(dev.ctx, 2 * WINDOW + 3 + RECVS, NULL, NULL, 0);
	init.send_cq = init.recv_cq = c->cq;
	c->qp = c->mr && c->cq ? ibv_create_qp(dev.pd, &init) : NULL;
	if (!c->qp)
		return false;
	own = vdev_peer(&dev, c->qp, vrnd(&c->seed));
	own.addr = (uintptr_t)&c->mem.shared;
	own.rkey = c->mr->rkey;
	swap_with_peer(&own, &c->peer, sizeof(own));
	conn.rd_atomic = 4;
	conn.timeout = 14;
	init_attr.port_num = dev.port;
	init_attr.qp_access_flags = (unsigned int)access;
	if (vqp_init(&dev, c->qp) || ibv_modify_qp(c->qp, &init_attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
						IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    vqp_rtr(&dev, c->qp, &c->peer, &conn))
		return false;
	while (c->recv_posted < RECVS)
		post_recv();
	return !vqp_rts(c->qp, own.psn, &conn);
}

/* Until both ends have moved as often as they want, and the file is there that ends it. */
static bool goes_on(void)
{
	char byte = 0;

	if (until && access(until, F_OK))
		return true;
	if (!c->moving && !c->told_over && write(c->peer_fd, &byte, 1) == 1)
		c->told_over = true;
	if (!c->peer_over && recv(c->peer_fd, &byte, 1, MSG_DONTWAIT) == 1)
		c->peer_over = true;
	return !c->told_over || !c->peer_over;
}

static void *converse(void *arg)
{
	struct { uint64_t posted, adds; } mine, theirs;
	pthread_t thread, poller;
	char byte = 0;

	c = arg;
	c->peer_fd = meet(c->port, host);
	if (c->peer_fd < 0 || !set_up())
		wrong("no connection");
	swap_with_peer(&byte, &byte, 1);
	if (getenv("MOVED_POLLER")) {
		c->polls_alone = true;
		if (pthread_create(&poller, NULL, poll_at_will, c))
			wrong("no thread");
	}
	if (move && moves_wanted) {
		c->moving = true;
		if (pthread_create(&thread, NULL, move_at_will, c))
			wrong("no thread");
	}
	while (goes_on()) {
		while (may_post())
			post_op(c->posted++);
		wait_a_moment();
	}
	while (c->posted % EVERY) {
		if (may_post())
			post_op(c->posted++);
		else
			wait_a_moment();
	}
	/* The last operation is a signalled one. */
	while (c->done < c->posted || c->reads_credit)
		wait_a_moment();
	mine.posted = c->posted;
	mine.adds = c->adds;
	if (write(c->peer_fd, &mine, sizeof(mine)) != sizeof(mine))
		wrong("the other end is gone");
	while (recv(c->peer_fd, &theirs, sizeof(theirs), MSG_DONTWAIT) != sizeof(theirs))
		wait_a_moment();
	for (uint64_t end = now_ns() + 20000000000ull; now_ns() < end;) {
		uint64_t next = c->received;

		while (next < theirs.posted && !takes_receive(next))
			next++;
		if (next >= theirs.posted)
			break;
		wait_a_moment();
	}
	c->over = true;
	if (move && moves_wanted)
		pthread_join(thread, NULL);
	if (c->polls_alone)
		pthread_join(poller, NULL);
	printf("moved %u failed %u busy %u error %s\n", c->moved, c->failed, c->busy,
	       c->last_error ? strerrorname_np(c->last_error) : "-");
	printf("ops %lu received up to %lu of %lu\n", c->posted, c->received, theirs.posted);
	if (c->mem.shared.sum != theirs.adds)
		wrong("the sum is %lu, and not %lu", c->mem.shared.sum, theirs.adds);
	for (; c->received < theirs.posted && !takes_receive(c->received); c->received++)
		;
	if (c->received != theirs.posted)
		wrong("messages are missing");
	swap_with_peer(&byte, &byte, 1);
	if (ibv_destroy_qp(c->qp) || ibv_destroy_cq(c->cq))
		wrong("the QP cannot be destroyed");
	return NULL;
}

int main(int argc, char **argv)
{
	const char *qps = getenv("MOVED_QPS");
	struct conn *all;
	pthread_t *thread;

	setlinebuf(stdout);
	if (argc < 4)
		return 2;
	moves_wanted = (unsigned int)strtoul(argv[3], NULL, 10);
	host = argc > 4 ? argv[4] : NULL;
	until = getenv("MOVED_UNTIL");
	conns = qps ? (unsigned int)strtoul(qps, NULL, 10) : 1;
	move = (int (*)(struct ibv_qp *))dlsym(RTLD_DEFAULT, "swiftrdma_move_qp");
	all = aligned_alloc(4096, conns * sizeof(*all));
	thread = calloc(conns, sizeof(*thread));
	if (!all || !thread || vdev_open(&dev, argv[1]))
		wrong("no device");
	memset(all, 0, conns * sizeof(*all));
	for (unsigned int i = 0; i < conns; i++) {
		all[i].port = atoi(argv[2]) + (int)i;
		all[i].peer_fd = -1;
		all[i].seed = (uint32_t)now_ns() ^ (uint32_t)getpid();
		if (pthread_create(&thread[i], NULL, converse, &all[i]))
			wrong("no thread");
	}
	for (unsigned int i = 0; i < conns; i++)
		pthread_join(thread[i], NULL);
	puts("right");
	return 0;
}
