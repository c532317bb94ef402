// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Processes that do with their attachments whatever comes, and die at any moment. What is
 * right is not known; what must not be is that the kernel complains, that a process hangs, or
 * that a figure leaves its bounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"

#define STEPS 60
#define CHILD_MS 200

static uint32_t seed;
static const char *dev_name;
static struct vdev dev;
static struct share s;
static bool attached;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static int mail[2];

static uint32_t below(uint32_t n)
{
	return vrnd(&seed) % n;
}

static uint64_t any_number(void)
{
	static const uint64_t odd[] = { 0, 1, 63, 64, 4096, 1ull << 31, 1ull << 32, ~0ull, ~0ull >> 1 };

	if (below(2))
		return odd[below(sizeof(odd) / sizeof(odd[0]))];
	return (uint64_t)vrnd(&seed) << 40 ^ (uint64_t)vrnd(&seed) << 20 ^ vrnd(&seed);
}

static void do_attach(void)
{
	static const uint32_t sizes[] = { 1, 2, 16, 64, 300 };
	struct share fresh;

	if (share_open(&fresh, dev_name, sizes[below(5)]))
		return;
	if (attached && below(2))
		share_close(&s);
	s = fresh;
	attached = true;
	if (below(4))
		share_begin(&s, below(3) + 1);
}

static void do_write(void)
{
	uint64_t *word = (uint64_t *)s.report;
	size_t words, at;

	if (!attached)
		return;
	words = s.report_size / sizeof(*word);
	at = below((uint32_t)words);
	for (uint32_t n = 1 + below(500); n && at < words; n--)
		word[at++] = any_number();
	if (below(2))
		share_begin(&s, below(4) + 1);
}

static void do_slot(void)
{
	struct swiftrdma_slot *slot;
	uint32_t i;

	if (!attached)
		return;
	i = below(s.slots);
	slot = slot_begin(&s, i, below(2) && qp ? qp->qp_num : below(300), any_number());
	slot->post_owner.wrs = any_number();
	slot->id.flags = below(256);
}

static void do_ioctl(void)
{
	struct swiftrdma_attach a = {
		.size = below(2) ? sizeof(a) : (uint32_t)any_number(),
		.version = below(4) ? SWIFTRDMA_SHARE_VERSION : (uint32_t)any_number(),
		.slots = below(2) ? below(40) : (uint32_t)any_number(),
		.flags = below(8) ? 0 : (uint32_t)any_number(),
	};
	static const unsigned long cmds[] = { SWIFTRDMA_IOC_ATTACH, SWIFTRDMA_IOC_ASK };
	unsigned char bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)below(256);
	if (below(2)) {
		snprintf(a.dev_name, sizeof(a.dev_name), "%s", dev_name);
		memcpy(bytes, &a, sizeof(a));
	} else {
		bytes[2] = bytes[3] = 0;
	}
	/* Descriptors that come so are lost until this process ends, which is soon. */
	door_ioctl(below(8) ? cmds[below(2)] : (unsigned long)any_number(), bytes);
}

static void do_ask(void)
{
	struct swiftrdma_ask ask = { .size = sizeof(ask), .slo_p99_ns = any_number() };

	snprintf(ask.job, sizeof(ask.job), "job%u", below(3));
	door_ioctl(SWIFTRDMA_IOC_ASK, &ask);
}

static void do_map(void)
{
	int prot = (int)below(8), flags = below(2) ? MAP_SHARED : MAP_PRIVATE;
	void *p;

	if (!attached)
		return;
	p = mmap(NULL, 4096 * (1 + below(8)), prot, flags, below(2) ? s.report_fd : s.control_fd,
		 4096 * below(4));
	if (p == MAP_FAILED)
		return;
	madvise(p, 4096, (int)below(20));
	mprotect(p, 4096, (int)below(8));
	munmap(p, 4096);
}

static void do_fd(void)
{
	int fd;

	if (!attached)
		return;
	fd = dup(below(2) ? s.report_fd : s.control_fd);
	if (!ftruncate(fd, (off_t)below(100000)))
		abort();	/* both are sealed */
	fallocate(fd, (int)below(4), (off_t)below(100000), (off_t)below(100000) + 1);
	if (below(2) && pwrite(fd, &fd, sizeof(fd), (off_t)below(60000)) < 0)
		errno = 0;
	fcntl(fd, F_ADD_SEALS, below(32));
	close(fd);
}

/* To whoever takes it, which may be nobody. */
static void do_mail(void)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = "", byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fds[2] = { s.report_fd, s.control_fd };

	if (below(2) || !attached) {
		if (recvmsg(mail[0], &msg, MSG_DONTWAIT) > 0 && CMSG_FIRSTHDR(&msg)) {
			memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fds));
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
		}
		return;
	}
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(cmsg), fds, sizeof(fds));
	sendmsg(mail[1], &msg, MSG_DONTWAIT);
}

static void do_fork(void)
{
	pid_t pid = below(2) ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid)
		return;
	do_write();
	do_ioctl();
	_exit(0);
}

static void do_qp(void)
{
	if (!dev.ctx)
		return;
	if (qp) {
		ibv_destroy_qp(qp);
		qp = NULL;
		return;
	}
	if (!cq)
		cq = ibv_create_cq(dev.ctx, 8, NULL, NULL, 0);
	qp = cq ? vqp_small(&dev, cq) : NULL;
}

static void do_close(void)
{
	if (!attached || below(3))
		return;
	share_close(&s);
	attached = false;
}

static void do_read(void)
{
	struct reported r;

	read_job_report(dev.index, 0, &r);
}

static void live(uint32_t with)
{
	static void (*const steps[])(void) = {
		do_attach, do_write, do_write, do_slot, do_slot, do_ioctl, do_ask, do_map, do_fd,
		do_mail, do_fork, do_qp, do_close, do_read,
	};

	seed = with;
	if (vdev_open(&dev, dev_name))
		_exit(1);
	for (int i = 0; i < STEPS; i++)
		steps[below(sizeof(steps) / sizeof(steps[0]))]();
	_exit(0);
}

/*
 * Jobs, which a suite's rules may have given the processes, and which may have had processes
 * before. Bounds as check_bounds() of figures.c has them, on what was added since; the age of
 * all attachments together bounds that of a job.
 */
#define JOBS 64
#define V(name) value[SWIFTRDMA_REPORT_A_##name]

static struct {
	uint64_t job, wrs, done, bytes, latency_max, processes;
} jobs[JOBS];
static unsigned int n_jobs;
static uint64_t most, age, grown, processes;
static bool bounded;

/* Of the job at the beginning of the fuzz; NULL: there are too many jobs. */
static typeof(&jobs[0]) job_of(const struct reported *r)
{
	for (unsigned int i = 0; i < n_jobs; i++)
		if (jobs[i].job == r->V(JOB))
			return &jobs[i];
	if (n_jobs == JOBS)
		return NULL;
	jobs[n_jobs].job = r->V(JOB);
	return &jobs[n_jobs++];
}

static bool is_ours(const struct reported *r)
{
	return r->has[SWIFTRDMA_REPORT_A_JOB] && r->V(DEV_INDEX) == dev.index;
}

static void remember_job(const struct reported *r)
{
	typeof(&jobs[0]) b = is_ours(r) ? job_of(r) : NULL;

	if (!b)
		return;
	b->wrs = r->V(WRS);
	b->done = r->V(DONE);
	b->bytes = r->V(BYTES);
	b->latency_max = r->V(LATENCY_MAX);
	b->processes = r->V(PROCESSES);
}

/* A module that was loaded meanwhile began at 0. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now < before ? now : now - before;
}

static void check_job(const struct reported *r)
{
	typeof(&jobs[0]) b = is_ours(r) ? job_of(r) : NULL;

	if (!b)
		return;
	grown += since(r->V(WRS), b->wrs);
	processes += r->V(PROCESSES) > b->processes ? r->V(PROCESSES) - b->processes : 0;
	if (since(r->V(WRS), b->wrs) <= most && since(r->V(DONE), b->done) <= most &&
	    since(r->V(BYTES), b->bytes) / 1024 <= most &&
	    (r->V(LATENCY_MAX) <= age || r->V(LATENCY_MAX) == b->latency_max))
		return;
	printf("# job %lu: wrs %lu of at most %lu\n", r->V(JOB), since(r->V(WRS), b->wrs), most);
	bounded = false;
}

static bool are_bounded(uint64_t began, unsigned int attachments)
{
	bounded = true;
	grown = 0;
	processes = 0;
	age = now_ns() - began;
	most = 2 * age * attachments;
	each_report(check_job);
	return bounded;
}

/* Two at a time, which may find each other's descriptors. */
int fuzz(const char *name, uint32_t with, unsigned int rounds)
{
	unsigned int killed = 0, ended = 0, odd = 0, leaks = 0;
	uint64_t began;
	pid_t pid[2];
	int status;

	dev_name = name;
	seed = with;
	if (vdev_open(&dev, name) || socketpair(AF_UNIX, SOCK_DGRAM, 0, mail))
		return 2;
	began = now_ns();
	each_report(remember_job);
	for (unsigned int i = 0; i < rounds; i++) {
		uint32_t seeds[2] = { vrnd(&seed), vrnd(&seed) };

		for (int k = 0; k < 2; k++) {
			pid[k] = fork();
			if (!pid[k])
				live(seeds[k]);
		}
		usleep(1000 * below(CHILD_MS));
		for (int k = 0; k < 2; k++) {
			if (below(2))
				kill(pid[k], SIGKILL);
			waitpid(pid[k], &status, 0);
			killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
			ended += WIFEXITED(status) && !WEXITSTATUS(status);
			odd += WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
		}
		leaks += !are_bounded(began, 2 * (i + 1) * 8);
	}
	/* Descriptors that nobody took go with the socket; children may still be at it. */
	close(mail[0]);
	close(mail[1]);
	for (int i = 0; i < 100; i++) {
		leaks += !are_bounded(began, 2 * rounds * 8);
		if (!processes)
			break;
		usleep(100000);
	}
	printf("# seed %u: %u ended, %u were killed; %lu wrs in %u jobs\n", with, ended, killed,
	       grown, n_jobs);
	point(ended + killed > rounds && !odd, "fuzz: %u rounds are over", rounds);
	point(!leaks, "fuzz: the figures of all jobs stayed within their bounds");
	point(grown, "fuzz: ... and are those of the processes");
	point(!processes, "fuzz: no attachment is left");
	vdev_close(&dev);
	return !!failed_points;
}
