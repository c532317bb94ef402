// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The process: settings, forks, the lock of tables and slots, statistics at the end. */
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/huge.h"
#include "lib/lib.h"

#define LOCK_WAIT_S 2
#define SAMPLE_EVERY_MAX (1u << 20)
#define HUGE_SECONDS_MAX 3600

struct settings settings = {
	.mode = MODE_LATENCY, .control = true, .huge_seconds = HUGE_SECONDS, .move_thread = true,
};

static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const alive_t *_Atomic alive;

struct recent_qps recent_qps;
struct recent_cqs recent_cqs;

/* An unknown value means the default. */
static enum mode read_mode(const char *s)
{
	if (s && !strcmp(s, "off"))
		return MODE_OFF;
	if (s && !strcmp(s, "count"))
		return MODE_COUNT;
	return MODE_LATENCY;
}

int no_cancel(void)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	return was;
}

void allow_cancel(int was)
{
	pthread_setcancelstate(was, NULL);
}

/* Whether the thread that holds the lock could be cancelled before. Written with the lock held. */
static int cancel_was;

static bool take_lock(void)
{
	struct timespec t;

	if (!pthread_mutex_trylock(&lock))
		return true;
	/* In a child of a raw clone() the holder may not exist. */
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += LOCK_WAIT_S;
	return !pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &t);
}

bool lib_lock(void)
{
	int was = no_cancel();

	if (!take_lock()) {
		allow_cancel(was);
		return false;
	}
	cancel_was = was;
	return true;
}

void lib_unlock(void)
{
	int was = cancel_was;

	pthread_mutex_unlock(&lock);
	allow_cancel(was);
}

/* The thread that holds the lock while it forks, or 0. Written with the lock held. */
static uintptr_t forking;

static void before_fork(void)
{
	if (lib_lock())
		__atomic_store_n(&forking, self_thread(), __ATOMIC_RELAXED);
}

static void after_fork_in_parent(void)
{
	/* Two processes have the QPs from now on, and only one of them would know of a move. */
	move_forked = true;
	if (__atomic_load_n(&forking, __ATOMIC_RELAXED) != self_thread())
		return;
	__atomic_store_n(&forking, 0, __ATOMIC_RELAXED);
	lib_unlock();
}

static void after_fork_in_child(void)
{
	if (forking == self_thread())
		allow_cancel(cancel_was);
	forking = 0;
	/* What the child opens itself is its own. */
	move_forked = false;
	pthread_mutex_init(&lock, NULL);
}

static void read_settings(void)
{
	/* secure_getenv(): the caller of a set-user-ID program must not choose files that it writes. */
	const char *s = secure_getenv("SWIFTRDMA_SAMPLE");
	const char *control = secure_getenv("SWIFTRDMA_CONTROL");
	const char *huge = secure_getenv("SWIFTRDMA_HUGE_PAGES");
	const char *huge_time = secure_getenv("SWIFTRDMA_HUGE_TIME");
	const char *chunk = secure_getenv("SWIFTRDMA_CHUNK");
	const char *move = secure_getenv("SWIFTRDMA_MOVE");
	unsigned long every = s ? strtoul(s, NULL, 10) : 0;
	unsigned long seconds = huge_time ? strtoul(huge_time, NULL, 10) : 0;

	settings.mode = read_mode(secure_getenv("SWIFTRDMA_MODE"));
	settings.control = !control || strcmp(control, "off");
	settings.huge_pages = huge && !strcmp(huge, "yes");
	if (seconds)
		settings.huge_seconds = seconds < HUGE_SECONDS_MAX ? (uint32_t)seconds : HUGE_SECONDS_MAX;
	settings.move = move && !strcmp(move, "yes");
	settings.move_fail = move_step_named(secure_getenv("SWIFTRDMA_MOVE_FAIL"));
	settings.move_stop = move_state_named(secure_getenv("SWIFTRDMA_MOVE_STOP"));
	settings.chunk = chunk && !strcmp(chunk, "yes");
	settings.sample_every = every < SAMPLE_EVERY_MAX ? (uint32_t)every : SAMPLE_EVERY_MAX;
	settings.place = place_named(secure_getenv("SWIFTRDMA_PLACE"));
	settings.stats = secure_getenv("SWIFTRDMA_STATS");
	if (settings.stats)
		settings.stats = strdup(settings.stats);
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

const alive_t *life_alive(void)
{
	const alive_t *a = atomic_load_explicit(&alive, memory_order_acquire);

	return a && *a ? a : NULL;
}

/* A child that opens devices itself starts anew, without its parent's objects. */
static const alive_t *create_alive_word(void)
{
	alive_t *word = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (word == MAP_FAILED)
		return NULL;
	if (madvise(word, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK) ||
	    madvise(&recent_qps, sizeof(recent_qps), MADV_WIPEONFORK) ||
	    madvise(&recent_cqs, sizeof(recent_cqs), MADV_WIPEONFORK)) {
		munmap(word, (size_t)sysconf(_SC_PAGESIZE));
		return NULL;
	}
	/* If this fails, bias_lock_slow() biases no lock. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	device_forget_all();
	qp_forget_all();
	cq_forget_all();
	atomic_store(word, 1);
	atomic_store(&alive, word);
	return word;
}

const alive_t *life_begin(void)
{
	const alive_t *a;

	pthread_once(&settings_once, read_settings);
	if (settings.mode == MODE_OFF)
		return NULL;
	a = life_alive();
	if (a || !lib_lock())
		return a;
	a = life_alive();
	if (!a)
		a = create_alive_word();
	lib_unlock();
	return a;
}

__attribute__((destructor)) static void write_stats_at_exit(void)
{
	if (life_alive() && settings.stats)
		stats_write();
}
