// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * moved: traffic on one RC connection that is checked in every byte, while its QPs move.
 *
 *	moved DEV PORT MOVES [HOST]
 *
 * Two of them, one with HOST (the other's address), work as the two ends. Each posts sends with and
 * without immediate data, writes that a send announces, writes with immediate data, reads, and atomic
 * additions, most of them unsignalled and some inline. While the peer's receives run out, it posts
 * only reads, so that at least 8 requests are outstanding at nearly any time. It checks
 * order, length, immediate data and bytes of what it receives, the order of its own completions, and
 * the sum of the additions.
 *
 * If libswiftrdma is preloaded, a thread calls swiftrdma_move_qp() for the QP at random times meanwhile,
 * until MOVES of these calls have moved it. The traffic ends when the threads of both ends have ended. A
 * thread also ends when none of its calls has moved the QP for 30 s.
 *
 * In its environment:
 *	MOVED_POLLER=1	another thread polls and posts the receives
 *	MOVED_POSTERS=1	two threads post, in turns that chance decides
 *	MOVED_CM=ADDR	the QPs are connected by rdma_cm; ADDR is that of the end that listens
 *	MOVED_FORK=N	a child is forked after N moves, and ends
 *	MOVED_WR=1	each second list is a batch of ibv_wr_*(); without MOVED_CM
 *	MOVED_ENTRIES=1	the completion queue is an extended one, which is read entry by entry
 *	MOVED_SRQ=1	the receives are in a shared receive queue
 *	MOVED_EVENTS=all	the queue is polled after an event, until it is empty
 *	MOVED_EVENTS=few	at most 4 completions are polled after an event, as a program may on mlx5, where
 *			a queue that is armed and not empty causes an event at once
 *	MOVED_ASYNC=1	a thread waits for asynchronous events. At the end of the traffic the QP is set to ERR, which
 *			causes one; goes with MOVED_SRQ, without MOVED_CM
 *	MOVED_PORT=N	mlx5dv_modify_qp_lag_port() is called after N moves
 *	MOVED_QPS=N	N connections of one context, each in a thread of its own, which meet at PORT and those
 *			after it
 *	MOVED_UNTIL=FILE	the traffic goes on until FILE exists
 *	MOVED_RETRY=N	the connection's retries, 7 otherwise; without MOVED_CM
 *	MOVED_GAP=MS	so long at least between two of the calls of a thread
 *
 * SIGINT: as if MOVES had taken place. With 4294967295 MOVES nothing else ends it, also where no QP can move.
 * On SIGUSR1 the program forks a child, which exits. On SIGUSR2 it sets the QP to the state ERR. On SIGTERM it
 * destroys the QP with requests outstanding, prints "destroyed" and exits.
 *
 * Prints "refused: ERRNO" when a call fails otherwise than the last one that failed, and at the end
 * "moved N failed N busy N errno..", "ops N received N", and "right" or what was wrong.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>

#include "moved.h"
#include "stat.h"

#define FOR_EVER UINT32_MAX
#define PATIENCE_NS 30000000000ull
#define GONE_NS 30000000000ull	/* longer than a move is in doubt */

static int (*move)(struct ibv_qp *qp);
static volatile sig_atomic_t asked_to_end, asked_to_fork, asked_to_fail, asked_to_destroy;
static unsigned int moves_wanted, fork_after, port_after, gap_ms;
static const char *host, *until;
static bool watches;

static void *post_at_will(void *arg)
{
	c = arg;
	while (!c->posts_alone) {
		post_ops();
		usleep(10);
	}
	return NULL;
}

static void *poll_at_will(void *arg)
{
	c = arg;
	while (!c->over) {
		/* The thread that posts gets time to fill the window, also where CPUs are few. */
		if (c->posted - c->done < WINDOW / 2)
			usleep(100);
		poll_once();
	}
	return NULL;
}

/* The child uses nothing that it inherited. */
static void fork_once(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	if (child < 0 || waitpid(child, NULL, 0) != child)
		wrong("fork");
}

static void *move_at_will(void *arg)
{
	uint64_t last = now_ns();
	int err;

	c = arg;
	while (c->moved < moves_wanted && !c->over && !asked_to_end &&
	       (moves_wanted == FOR_EVER || now_ns() - last < PATIENCE_NS)) {
		usleep(vrnd(&c->seed) % 3000 + gap_ms * 1000);
		err = move(c->qp);
		if (!err) {
			c->moved++;
			if (c->moved == fork_after)
				fork_once();
			err = c->moved == port_after ? mlx5dv_modify_qp_lag_port(c->qp, 1) : 0;
			if (err)
				wrong("the port cannot be set: %s", strerrorname_np(err));
			last = now_ns();
		} else if (err == -EBUSY) {
			c->busy++;
		} else {
			c->failed++;
			if (c->last_error != -err)
				printf("refused: %s\n", strerrorname_np(-err));
			c->last_error = -err;
			if ((err == -EOPNOTSUPP || err == -ECONNREFUSED) && moves_wanted < FOR_EVER)
				break;
		}
	}
	c->moving = false;
	return NULL;
}

/*
 * The peer's process has ended too early. A completion with an error says so first, if not of what is
 * outstanding, then of what is posted from now on.
 */
static void end_without_peer(void)
{
	for (uint64_t until = now_ns() + GONE_NS; now_ns() < until;) {
		post_ops();
		wait_a_moment();
	}
	wrong("the other end is gone");
}

/* Does what signals asked for, in the thread that posts. */
static void obey_signals(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (asked_to_fork) {
		asked_to_fork = 0;
		fork_once();
	}
	if (asked_to_fail) {
		asked_to_fail = 0;
		if (ibv_modify_qp(c->qp, &attr, IBV_QP_STATE))
			wrong("the QP cannot be set to ERR");
	}
	if (asked_to_destroy) {
		if (ibv_destroy_qp(c->qp))
			wrong("the QP cannot be destroyed");
		puts("destroyed");
		exit(0);
	}
}

/* Until both ends have moved as often as they want, and the file is there that ends it. */
static bool goes_on(void)
{
	char byte = 0;
	ssize_t got;

	if (until && access(until, F_OK))
		return true;
	if (!c->moving && !c->told_over && write(c->peer_fd, &byte, 1) == 1)
		c->told_over = true;
	got = c->peer_over ? -1 : recv(c->peer_fd, &byte, 1, MSG_DONTWAIT);
	if (!got)
		end_without_peer();
	c->peer_over |= got == 1;
	return !c->told_over || !c->peer_over;
}

static void note_signal(int signal)
{
	switch (signal) {
	case SIGUSR1:
		asked_to_fork = 1;
		break;
	case SIGUSR2:
		asked_to_fail = 1;
		break;
	case SIGTERM:
		asked_to_destroy = 1;
		break;
	default:
		asked_to_end = 1;
	}
}

static void *converse(void *arg)
{
	struct { uint64_t posted, adds; } mine, theirs;
	pthread_t thread, poller, poster;
	char byte = 0;
	ssize_t got;

	c = arg;
	if (!set_up(host, getenv("MOVED_CM")))
		wrong("no connection");
	if (watches)
		watch_qp(c->qp);
	swap_with_peer(&byte, &byte, 1);
	if (getenv("MOVED_POLLER")) {
		c->polls_alone = true;
		if (pthread_create(&poller, NULL, poll_at_will, c))
			wrong("no thread");
	}
	if (getenv("MOVED_POSTERS")) {
		c->posts_alone = false;
		if (pthread_create(&poster, NULL, post_at_will, c))
			wrong("no thread");
	}
	if (move && moves_wanted) {
		c->moving = true;
		if (pthread_create(&thread, NULL, move_at_will, c))
			wrong("no thread");
	}
	while (goes_on()) {
		obey_signals();
		post_ops();
		wait_a_moment();
	}
	if (!c->posts_alone) {
		c->posts_alone = true;
		while (pthread_tryjoin_np(poster, NULL))
			wait_a_moment();
	}
	post_to_the_end();
	while (c->done < c->posted || c->reads_credit || c->fillers)
		wait_a_moment();
	mine.posted = c->posted;
	mine.adds = c->adds;
	if (write(c->peer_fd, &mine, sizeof(mine)) != sizeof(mine))
		wrong("the other end is gone");
	do {
		wait_a_moment();
		got = recv(c->peer_fd, &theirs, sizeof(theirs), MSG_DONTWAIT);
	} while (got < 0);
	if (got != sizeof(theirs))
		end_without_peer();
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
	if (watches)
		expect_last_wqe(c->qp);
	tear_down();
	return NULL;
}

static unsigned int number_in(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned int)strtoul(value, NULL, 10) : otherwise;
}

static struct conn *conn_new(int port)
{
	struct conn *new = aligned_alloc(4096, sizeof(*new));

	if (!new)
		wrong("no memory");
	memset(new, 0, sizeof(*new));
	pthread_mutex_init(&new->posting, NULL);
	new->port = port;
	new->peer_fd = -1;
	new->posts_alone = true;
	new->seed = (uint32_t)now_ns() ^ (uint32_t)getpid();
	return new;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = NULL;
	pthread_t threads[CONNS_MAX];

	setlinebuf(stdout);
	signal(SIGINT, note_signal);
	signal(SIGUSR1, note_signal);
	signal(SIGUSR2, note_signal);
	signal(SIGTERM, note_signal);
	signal(SIGPIPE, SIG_IGN);
	if (argc < 4)
		return 2;
	moves_wanted = (unsigned int)strtoul(argv[3], NULL, 10);
	host = argc > 4 ? argv[4] : NULL;
	until = getenv("MOVED_UNTIL");
	fork_after = number_in("MOVED_FORK", 0);
	port_after = number_in("MOVED_PORT", 0);
	gap_ms = number_in("MOVED_GAP", 0);
	conns = number_in("MOVED_QPS", 1);
	if (!conns || conns > CONNS_MAX)
		return 2;
	move = (int (*)(struct ibv_qp *))dlsym(RTLD_DEFAULT, "swiftrdma_move_qp");
	if (!open_device(argv[1], &ctx))
		wrong("no device");
	watches = getenv("MOVED_ASYNC");
	if (watches)
		watch_events(ctx);
	for (unsigned int i = 0; i < conns; i++)
		if (pthread_create(&threads[i], NULL, converse, conn_new(atoi(argv[2]) + (int)i)))
			wrong("no thread");
	for (unsigned int i = 0; i < conns; i++)
		pthread_join(threads[i], NULL);
	if (watches)
		stop_watching();
	puts("right");
	return 0;
}
