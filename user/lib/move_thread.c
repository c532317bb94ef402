// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The thread that carries out moves, one for the process. It sleeps until a message comes or a move is
 * asked for; while QPs move, it goes on with all moves in turn, one round after the other.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/channel.h"
#include "lib/lib.h"

#define DEVICES_MAX 64
#define MS 1000000ull
#define POLL_NS 50000

_Atomic bool move_forked;

static int kick = -1;
static const alive_t *started;

static struct move *move_at(const struct qp *q)
{
	return __atomic_load_n(&q->key, __ATOMIC_ACQUIRE) ?
	       atomic_load_explicit(&q->move, memory_order_acquire) : NULL;
}

/* Finds a move by the number of a QP in the kernel: of the QP in use, or of the shadow. */
static struct move *move_by_number(const struct device *dev, uint32_t qpn)
{
	for (struct qp *q = qp_all(); q; q = q->next_all) {
		struct move *m = move_at(q);
		bool found;

		if (!m || q->ctx->dev != dev)
			continue;
		pthread_mutex_lock(&m->life);
		found = !m->dead && (m->now->qp_num == qpn || (m->next && m->next->qp_num == qpn));
		pthread_mutex_unlock(&m->life);
		if (found)
			return m;
	}
	return NULL;
}

/* The peer of a QP that cannot move is told so, and need not wait. */
static void refuse_move(const struct device *dev, uint32_t qpn, const struct move_msg *asked)
{
	struct move_msg msg = {
		.magic = asked->magic, .type = htonl(MOVE_ABORT), .id = asked->id,
		.reason = htonl(EOPNOTSUPP),
	};

	if (ntohl(asked->type) == MOVE_PREPARE)
		channel_tell(dev, qpn, &msg, sizeof(msg));
}

static void hear_all(const struct device *dev)
{
	struct swiftrdma_hear h;
	struct move_msg msg;
	struct move *m;

	while (channel_hear(dev, &h)) {
		if (h.length != sizeof(msg))
			continue;
		memcpy(&msg, h.bytes, sizeof(msg));
		if (ntohl(msg.magic) != MOVE_MAGIC)
			continue;
		m = move_by_number(dev, h.qpn);
		if (m)
			move_heard(m, &msg);
		else
			refuse_move(dev, h.qpn, &msg);
	}
}

int64_t move_round(void)
{
	enum move_pace pace = MOVE_AT_REST, p;
	struct move *m;

	move_round_begins();
	for (const struct device *dev = devices; dev; dev = dev->next)
		if (channel_signalled(dev))
			hear_all(dev);
	for (struct device *dev = devices; dev; dev = dev->next)
		move_read_control(dev);
	for (const struct qp *q = qp_all(); q; q = q->next_all) {
		m = move_at(q);
		p = m ? move_turn(m) : MOVE_AT_REST;
		if (p > pace)
			pace = p;
	}
	if (pace == MOVE_POLLS)
		return POLL_NS;
	if (pace == MOVE_WAITS)
		return 20 * MS;
	return -1;
}

static void wait_for_event(int64_t ns)
{
	struct pollfd fds[DEVICES_MAX + 1] = { { .fd = kick, .events = POLLIN } };
	struct timespec t = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	nfds_t n = 1;
	uint64_t kicks;

	for (const struct device *dev = devices; dev && n <= DEVICES_MAX; dev = dev->next)
		if (channel_event(dev) >= 0)
			fds[n++] = (struct pollfd){ .fd = channel_event(dev), .events = POLLIN };
	if (ppoll(fds, n, ns < 0 ? NULL : &t, NULL) > 0 && fds[0].revents &&
	    read(kick, &kicks, sizeof(kicks)) < 0)
		return;
}

static void *move_loop(void *arg)
{
	const alive_t *alive = arg;

	while (*alive)
		wait_for_event(move_round());
	return NULL;
}

bool move_thread_start(void)
{
	const alive_t *alive = life_alive();
	sigset_t all, was;
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	/*
	 * fork() copies .started but no thread. A child that opens devices has another .alive, and
	 * starts a thread of its own.
	 */
	if (!alive || started == alive)
		return alive;
	kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kick < 0)
		return false;
	started = alive;
	if (!settings.move_thread)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &attr, move_loop, (void *)alive);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (err)
		started = NULL;
	return !err;
}

void move_kick(void)
{
	uint64_t one = 1;

	if (kick >= 0 && write(kick, &one, sizeof(one)) < 0)
		return;
}

int move_now(struct qp *q)
{
	struct move *m = move_at(q);
	uint64_t ends;
	int cancel, result;

	if (!m)
		return -EOPNOTSUPP;
	cancel = life_lock(m);
	ends = m->ends;
	if (m->state == MOVE_IDLE)
		m->wanted = true;
	move_kick();
	while (!m->dead && ends == m->ends)
		pthread_cond_wait(&m->ended, &m->life);
	result = m->dead ? -ENOENT : m->result;
	life_unlock(m, cancel);
	return result;
}
