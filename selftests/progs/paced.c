// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that libswiftrdma, preloaded, holds back in a post: signals, kills, forks,
 * threads that are cancelled, and the end of a lease or of the module. The program brings its
 * own device (stub.h) and its own module: open() and ioctl() below stand in for
 * /proc/swiftrdma, with control files that the parent writes. Prints KTAP.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/swiftrdma_share.h>

#include "stub.h"

#define PROCS 100
#define FD_SHARE 1000	/* no descriptor */
#define S 1000000000ull

static int tests, failed;
static int report_fd, control_fd;	/* what the next attachment gets */
static uint64_t report_size, control_size;

/* One for each process: both of its files. */
static struct proc {
	pid_t pid;
	int report_fd, control_fd;
	struct swiftrdma_report *report;
	struct swiftrdma_control *control;
	struct swiftrdma_block *job;
} procs[PROCS];

static void is(int ok, const char *what)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
	failed += !ok;
	fflush(stdout);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
}

/* --- the module ----------------------------------------------------------------- */

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	if (!strcmp(path, SWIFTRDMA_SHARE_PATH) && control_fd)
		return FD_SHARE;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int close(int fd)
{
	return fd == FD_SHARE ? 0 : (int)syscall(SYS_close, fd);
}

int ioctl(int fd, unsigned long cmd, ...)
{
	struct swiftrdma_attach *a;
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != FD_SHARE)
		return (int)syscall(SYS_ioctl, fd, cmd, arg);
	a = arg;
	a->slots = 1;
	a->report_size = report_size;
	a->control_size = control_size;
	a->report_fd = dup(report_fd);
	a->control_fd = dup(control_fd);
	return 0;
}

static int memory(uint64_t bytes, void *mapped)
{
	int fd = memfd_create("share", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		exit(1);
	*(void **)mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

static void open_files(struct proc *p)
{
	report_size = (swiftrdma_report_bytes(1) + 4095) & ~4095ull;
	control_size = (swiftrdma_control_bytes(1) + 4095) & ~4095ull;
	p->report_fd = memory(report_size, &p->report);
	p->control_fd = memory(control_size, &p->control);
	p->job = (struct swiftrdma_block *)(p->control + 1);
	*p->control = (struct swiftrdma_control){
		.magic = SWIFTRDMA_CONTROL_MAGIC, .version = SWIFTRDMA_SHARE_VERSION,
		.header_size = sizeof(*p->control), .job_off = sizeof(*p->control),
		.blocks_off = sizeof(*p->control) + sizeof(*p->job), .blocks = 1,
		.block_size = sizeof(*p->job), .state = SWIFTRDMA_CONTROL_LIVE,
	};
}

static void set_rate(struct proc *p, uint64_t rate, uint64_t until)
{
	uint64_t next = p->job->changes + 1;

	p->job->knob[next & 1][SWIFTRDMA_SHARE_KNOB_WR_RATE] =
		(struct swiftrdma_knob_value){ .value = rate, .until_ns = until };
	__atomic_store_n(&p->job->changes, next, __ATOMIC_RELEASE);
}

/* --- a process -------------------------------------------------------------------- */

static struct ibv_pd pd;
static struct ibv_qp *qp;

/* The device of this process, watched by the library that is preloaded. */
static void open_device(const struct proc *p)
{
	int (*attach)(struct ibv_context *ctx) =
		(int (*)(struct ibv_context *))dlsym(RTLD_DEFAULT, "swiftrdma_attach");
	struct ibv_qp_init_attr_ex attr = {
		/* With the PD alone libibverbs would ask a provider of its own. */
		.qp_type = IBV_QPT_RC, .pd = &pd, .cap.max_send_wr = 256,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_context *ctx = stub_open_device(&stub_device);

	report_fd = p->report_fd;
	control_fd = p->control_fd;
	snprintf(stub_device.name, sizeof(stub_device.name), "stub0");
	if (!attach || attach(ctx)) {
		fprintf(stderr, "libswiftrdma is not preloaded\n");
		exit(2);
	}
	pd.context = ctx;
	attr.send_cq = stub_create_cq(ctx, 1, NULL, NULL, 0);
	attr.recv_cq = attr.send_cq;
	qp = ibv_create_qp_ex(ctx, &attr);
	if (!qp)
		exit(2);
}

static int post(int n)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr[64], *bad;
	struct ibv_wc wc[64];

	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		};
	errno = 0;
	if (ibv_post_send(qp, wr, &bad) || errno)
		return -1;
	return ibv_poll_cq(qp->send_cq, 64, wc) == n ? n : -1;
}

static _Atomic int signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/* Posts lists, each of which waits, until control ends. Exit status 0: nothing failed. */
static int held_back(struct proc *p)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	open_device(p);
	while (p->job->changes < 2 && p->control->state == SWIFTRDMA_CONTROL_LIVE)
		if (post(8) < 0)
			return 1;
	for (int i = 0; i < 1000; i++)
		if (post(8) < 0)
			return 1;
	return 0;
}

static uint64_t posts_held(const struct proc *p)
{
	return __atomic_load_n(&p->report->held[SWIFTRDMA_SHARE_KNOB_WR_RATE].posts, __ATOMIC_RELAXED);
}

/* All processes wait in a post, from one to the last. */
static int all_held(void)
{
	uint64_t end = now_ns() + 60 * S;
	int n = 0;

	for (int i = 0; i < PROCS; i++) {
		while (!posts_held(&procs[i]) && now_ns() < end)
			usleep(1000);
		n += !!posts_held(&procs[i]);
	}
	return n == PROCS;
}

static void start_all(void)
{
	fflush(stdout);
	for (int i = 0; i < PROCS; i++) {
		struct proc *p = &procs[i];

		open_files(p);
		set_rate(p, 1, UINT64_MAX);
		p->pid = fork();
		if (!p->pid)
			_exit(held_back(p));
	}
}

/* Those that ended by themselves with status 0, and those that were killed. */
static int ended(int *killed)
{
	int n = 0, status;

	*killed = 0;
	for (int i = 0; i < PROCS; i++) {
		if (waitpid(procs[i].pid, &status, 0) != procs[i].pid)
			continue;
		n += WIFEXITED(status) && !WEXITSTATUS(status);
		*killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		munmap(procs[i].report, report_size);
		munmap(procs[i].control, control_size);
		close(procs[i].report_fd);
		close(procs[i].control_fd);
	}
	return n;
}

/* --- tests --------------------------------------------------------------------------- */

static void test_kills_and_the_end_of_the_module(void)
{
	int killed;

	start_all();
	is(all_held(), "a hundred processes wait in a post");
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < PROCS; i++)
			kill(procs[i].pid, SIGUSR1);
	for (int i = 0; i < PROCS; i++)
		kill(procs[i].pid, i % 4 == 0 ? SIGKILL : i % 4 == 1 ? SIGSTOP : SIGUSR1);
	for (int i = 0; i < PROCS; i++)
		__atomic_store_n(&procs[i].control->state, SWIFTRDMA_CONTROL_ENDED, __ATOMIC_RELEASE);
	for (int i = 1; i < PROCS; i += 4)
		kill(procs[i].pid, SIGCONT);
	is(ended(&killed) == PROCS - PROCS / 4, "all that were not killed go on when control ends");
	is(killed == PROCS / 4, "the others were killed");
}

static void test_end_of_the_lease(void)
{
	int killed;

	start_all();
	is(all_held(), "a hundred processes wait in a post again");
	for (int i = 0; i < PROCS; i++)
		set_rate(&procs[i], 1, now_ns() + S / 2);
	is(ended(&killed) == PROCS, "all go on when the knob has run out, with nobody to tell them");
}

/* The share of one process at 2000 requests a second, for 1 s and more. */
static void test_rate(void)
{
	struct proc *p = &procs[0];
	uint64_t from, took;
	int n = 0;

	open_files(p);
	set_rate(p, 2000, UINT64_MAX);
	open_device(p);
	from = now_ns();
	while (now_ns() - from < 2 * S && n >= 0)
		n = post(4) < 0 ? -1 : n + 4;
	took = now_ns() - from;
	printf("# %d requests in %llu ms\n", n, (unsigned long long)(took / 1000000));
	/* The burst of 1 ms, and a list at either end. */
	is(n > 0 && (uint64_t)n <= took * 2000 / S + 2 + 8, "no more than the rate allows");
	is((uint64_t)n * 2 >= took * 2000 / S, "and not much less, however busy the host is");
	is(p->report->knob[SWIFTRDMA_SHARE_KNOB_WR_RATE].state == SWIFTRDMA_KNOB_STATE_IN_FORCE,
	   "the report says that the rate is in force");
	is(p->report->held[SWIFTRDMA_SHARE_KNOB_WR_RATE].ns > S &&
	   !p->report->held[SWIFTRDMA_SHARE_KNOB_WR_RATE].passed, "and how long posts waited");
}

static void *post_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		if (post(8) < 0)
			exit(3);
	return NULL;
}

/* A thread is cancelled while it waits, and is at its next point of cancellation. */
static void *cancelled(void *arg)
{
	post(8);
	*(int *)arg = 1;
	for (;;)
		pause();
	return NULL;
}

static void wait_until_held(const struct proc *p, uint64_t posts)
{
	while (posts_held(p) < posts)
		usleep(1000);
}

static void test_threads(void)
{
	struct proc *p = &procs[0];
	pthread_t t[2];
	int done = 0;
	void *result;
	uint64_t posts;

	set_rate(p, 1, UINT64_MAX);
	post(8);
	posts = posts_held(p);
	pthread_create(&t[0], NULL, cancelled, &done);
	wait_until_held(p, posts + 1);
	pthread_cancel(t[0]);
	pthread_join(t[0], &result);
	is(result == PTHREAD_CANCELED && done,
	   "a thread that waits ends at its own points of cancellation");
	is(post(1) == 1, "and holds nothing up");
	fflush(stdout);
	posts = posts_held(p);
	pthread_create(&t[1], NULL, post_for_ever, NULL);
	wait_until_held(p, posts + 1);
	/* main() ends, and with it the process, while the thread waits. */
}

int main(void)
{
	alarm(300);
	printf("KTAP version 1\n");
	test_kills_and_the_end_of_the_module();
	test_end_of_the_lease();
	test_rate();
	test_threads();
	printf("1..%d\n", tests);
	return !!failed;
}
