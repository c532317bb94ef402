// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * posters DEV N: starts N processes. Each opens the device, connects a QP to itself, and has a thread that
 * posts a request, polls for its completion, and begins again. The parent reads commands from stdin and
 * answers each with one line.
 *
 *	count		"count LEAST MOST": the fewest and the most posts of a living process since the
 *			last count
 *	signal		sends each posting thread a signal: "signal N", of which N ran their handler
 *	fork		each process forks a child, which exits at once: "fork N"
 *	kill K		SIGKILL to each K-th process: "kill N"
 *	stop K, cont K	SIGSTOP and SIGCONT to the process before each K-th: "stop N", "cont N"
 *	end		each process ends its thread, destroys what it has, and exits:
 *			"end N killed N failed N"
 *	quit
 *
 * A process has failed if a post, a completion, or the destruction of an object failed.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define BYTES		64
#define PATIENCE	120	/* s, until all processes have answered */

/* What a process shares with its parent. */
struct poster {
	_Atomic uint64_t posts, answers;
	/* Written by the parent alone. */
	uint64_t counted, asked;	/* posts at the last count, answers before the last question */
	pid_t pid;			/* 0: the process was killed */
};

static struct poster *posters;
static uint64_t n_posters;

/* --- a process ---------------------------------------------------------------------- */

static struct poster *self;
static struct vdev dev;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t buf[BYTES];
static atomic_bool ending;

static void answer_signal(int number)
{
	(void)number;
	self->answers++;
}

static int post_one(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, BYTES, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)buf, mr->rkey },
	}, *bad;
	struct ibv_wc wc;
	int n;

	errno = ibv_post_send(qp, &wr, &bad);
	if (errno)
		return complain("post");
	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	return n == 1 && wc.status == IBV_WC_SUCCESS ? 0 : complain("completion");
}

static void *post_all(void *failed)
{
	while (!ending) {
		if (post_one()) {
			*(bool *)failed = true;
			break;
		}
		self->posts++;
	}
	return NULL;
}

static int open_device(const char *name)
{
	struct vpeer me;

	if (vdev_open(&dev, name))
		return -ENODEV;
	cq = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	qp = cq ? vqp_small(&dev, cq) : NULL;
	mr = ibv_reg_mr(dev.pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!qp || !mr)
		return complain("set up");
	me = vdev_peer(&dev, qp, 0);
	return vqp_take(&dev, qp, &me, V_RTS) == V_RTS ? 0 : -EIO;
}

static int close_device(void)
{
	errno = ibv_destroy_qp(qp);
	if (!errno)
		errno = ibv_dereg_mr(mr);
	if (!errno)
		errno = ibv_destroy_cq(cq);
	if (errno)
		return complain("destroy");
	vdev_close(&dev);
	return 0;
}

/* The main thread takes SIGUSR2 and SIGTERM; the one that posts gets SIGUSR1. Returns the exit status. */
static int be_poster(const char *name)
{
	struct sigaction sa = { .sa_handler = answer_signal };
	pthread_t thread;
	bool failed = false;
	sigset_t mine, theirs;
	int number, status;
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR2);
	sigaddset(&mine, SIGTERM);
	sigemptyset(&theirs);
	sigaddset(&theirs, SIGUSR1);
	sigaction(SIGUSR1, &sa, NULL);
	sigprocmask(SIG_BLOCK, &mine, NULL);
	if (open_device(name) || pthread_create(&thread, NULL, post_all, &failed))
		return 1;
	pthread_sigmask(SIG_BLOCK, &theirs, NULL);
	while (!sigwait(&mine, &number) && number == SIGUSR2) {
		child = fork();
		if (!child)
			_exit(0);
		failed |= waitpid(child, &status, 0) != child || status;
		self->answers++;
	}
	ending = true;
	pthread_join(thread, NULL);
	return close_device() || failed;
}

/* --- the parent ---------------------------------------------------------------------- */

static int start(const char *name)
{
	for (uint64_t i = 0; i < n_posters; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return complain("fork");
		if (!pid) {
			self = &posters[i];
			_exit(be_poster(name));
		}
		posters[i].pid = pid;
	}
	return 0;
}

/* Sends a signal to each @every-th living process, from number @first. Returns their number. */
static uint64_t send_signal(int number, uint64_t first, uint64_t every)
{
	uint64_t n = 0;

	for (uint64_t i = first; i < n_posters; i += every)
		n += posters[i].pid && !kill(posters[i].pid, number);
	return n;
}

/* Sends a signal to each process. Returns how many processes answered within PATIENCE. */
static uint64_t ask_all(int number)
{
	uint64_t end = now_ns() + PATIENCE * 1000000000ull, n = 0;

	for (uint64_t i = 0; i < n_posters; i++)
		posters[i].asked = posters[i].answers;
	send_signal(number, 0, 1);
	for (uint64_t i = 0; i < n_posters; i++) {
		const struct poster *p = &posters[i];

		while (p->pid && p->answers == p->asked && now_ns() < end)
			usleep(1000);
		n += p->answers > p->asked;
	}
	return n;
}

static void count(void)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint64_t i = 0; i < n_posters; i++) {
		uint64_t posts = posters[i].posts, more = posts - posters[i].counted;

		if (!posters[i].pid)
			continue;
		posters[i].counted = posts;
		least = more < least ? more : least;
		most = more > most ? more : most;
	}
	printf("count %" PRIu64 " %" PRIu64 "\n", least, most);
}

static uint64_t kill_some(uint64_t every)
{
	uint64_t n = send_signal(SIGKILL, 0, every);

	for (uint64_t i = 0; i < n_posters; i += every) {
		waitpid(posters[i].pid, NULL, 0);
		posters[i].pid = 0;
	}
	return n;
}

static void end(void)
{
	uint64_t ended = 0, killed = 0, failed = 0;
	int status;

	send_signal(SIGTERM, 0, 1);
	for (uint64_t i = 0; i < n_posters; i++) {
		if (!posters[i].pid)
			killed++;
		else if (waitpid(posters[i].pid, &status, 0) == posters[i].pid && !status)
			ended++;
		else
			failed++;
	}
	printf("end %" PRIu64 " killed %" PRIu64 " failed %" PRIu64 "\n", ended, killed, failed);
}

static int obey(const char *line)
{
	uint64_t every;

	if (!strcmp(line, "count\n"))
		count();
	else if (!strcmp(line, "signal\n"))
		printf("signal %" PRIu64 "\n", ask_all(SIGUSR1));
	else if (!strcmp(line, "fork\n"))
		printf("fork %" PRIu64 "\n", ask_all(SIGUSR2));
	else if (sscanf(line, "kill %" SCNu64, &every) == 1 && every)
		printf("kill %" PRIu64 "\n", kill_some(every));
	else if (sscanf(line, "stop %" SCNu64, &every) == 1 && every)
		printf("stop %" PRIu64 "\n", send_signal(SIGSTOP, every - 1, every));
	else if (sscanf(line, "cont %" SCNu64, &every) == 1 && every)
		printf("cont %" PRIu64 "\n", send_signal(SIGCONT, every - 1, every));
	else if (!strcmp(line, "end\n"))
		end();
	else
		return -EINVAL;
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "posters DEV N\n");
		return 2;
	}
	n_posters = number("N", argv[2], 1, 1000);
	posters = mmap(NULL, n_posters * sizeof(*posters), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (posters == MAP_FAILED || start(argv[1]))
		return complain("start") ? 2 : 0;
	return obey_lines(obey) ? 1 : 0;
}
