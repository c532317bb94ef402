// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the two files are, and that control cannot be written by any way. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"

static bool fails(long ret, int err)
{
	if (ret < 0 && errno == err)
		return true;
	printf("# got %ld, %s; wanted %s\n", ret, strerrorname_np(errno), strerrorname_np(err));
	return false;
}

static void sizes(const struct share *s)
{
	long page = sysconf(_SC_PAGESIZE);
	struct stat report, control;

	fstat(s->report_fd, &report);
	fstat(s->control_fd, &control);
	point((size_t)report.st_size == s->report_size &&
	      (size_t)control.st_size == s->control_size, "the files are as large as said");
	point(s->report_size >= swiftrdma_report_bytes(s->slots) && !(s->report_size % page) &&
	      s->report_size < swiftrdma_report_bytes(s->slots) + page,
	      "report has room for its slots, and whole pages");
	point(s->control_size >= swiftrdma_control_bytes(s->slots) && !(s->control_size % page) &&
	      s->control_size < swiftrdma_control_bytes(s->slots) + page, "so has control");
	point((fcntl(s->report_fd, F_GETFL) & O_ACCMODE) == O_RDWR &&
	      (fcntl(s->control_fd, F_GETFL) & O_ACCMODE) == O_RDONLY &&
	      fcntl(s->report_fd, F_GETFD) == FD_CLOEXEC &&
	      fcntl(s->control_fd, F_GETFD) == FD_CLOEXEC,
	      "report is to read and write, control to read, both go at an exec");
}

static void is_zero(const struct share *s)
{
	const char *p = (const char *)s->report;
	const struct swiftrdma_block *job;
	size_t i;

	for (i = 0; i < s->report_size && !p[i]; i++)
		;
	point(i == s->report_size, "a new report is zero");
	p = (const char *)s->control;
	/* The job's block is valid, which its generation says, and has nothing else. */
	job = (const void *)(p + s->control->job_off);
	for (i = sizeof(*s->control); i < s->control_size; i++)
		if (p[i] && (p + i < (const char *)&job->generation ||
			     p + i >= (const char *)(&job->generation + 1)))
			break;
	point(job->generation == 1 && i == s->control_size,
	      "control has no knobs, and nothing else that was in memory");
}

static void control_says(const struct share *s)
{
	const struct swiftrdma_control *c = s->control;

	point(c->magic == SWIFTRDMA_CONTROL_MAGIC && c->version == SWIFTRDMA_SHARE_VERSION &&
	      c->header_size == sizeof(*c) && c->state == SWIFTRDMA_CONTROL_LIVE &&
	      c->blocks == s->slots && c->block_size == sizeof(struct swiftrdma_block) &&
	      c->job_off >= sizeof(*c) && c->blocks_off >= c->job_off + c->block_size &&
	      c->blocks_off + (uint64_t)c->blocks * c->block_size <= s->control_size,
	      "control says what it is, and that it is live");
}

static void seals(const struct share *s)
{
	int report = fcntl(s->report_fd, F_GET_SEALS), control = fcntl(s->control_fd, F_GET_SEALS);

	point(report == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW), "the seals of report");
	point(control == (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE),
	      "the seals of control");
	point(fails(fcntl(s->report_fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM), "no seal can be added");
	point(fails(ftruncate(s->report_fd, 0), EPERM) &&
	      fails(ftruncate(s->report_fd, (off_t)s->report_size * 2), EPERM),
	      "report neither shrinks nor grows");
	point(fails(fallocate(s->report_fd, 0, (off_t)s->report_size, 4096), EPERM),
	      "... by fallocate neither");
}

/* With the descriptor that we have. */
static void no_write(const struct share *s)
{
	struct iovec from = { "x", 1 }, to = { (void *)s->control, 1 };
	int mem = open("/proc/self/mem", O_RDWR);

	point(fails(write(s->control_fd, "x", 1), EBADF), "control: no write()");
	point(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, s->control_fd, 0) == MAP_FAILED &&
	      errno == EACCES, "... no writable mapping");
	point(fails(mprotect((void *)s->control, 4096, PROT_READ | PROT_WRITE), EACCES),
	      "... no mprotect()");
	point(fails(fallocate(s->control_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096),
		    EBADF), "... no hole");
	point(madvise((void *)s->control, 4096, MADV_REMOVE) < 0, "... no MADV_REMOVE");
	point(mem < 0 || pwrite(mem, "x", 1, (off_t)(uintptr_t)s->control) < 0,
	      "... no way by /proc/self/mem, which forces what it can");
	point(process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0, "... nor process_vm_writev()");
	close(mem);
}

/* A tracer's write is forced, too. */
static void no_poke(const struct share *s)
{
	pid_t pid = fork();
	long ret;

	if (!pid) {
		for (;;)
			pause();
	}
	ret = ptrace(PTRACE_SEIZE, pid, 0, 0) ?: ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	if (!ret) {
		waitpid(pid, NULL, 0);
		ret = ptrace(PTRACE_POKEDATA, pid, s->control, -1L);
	}
	point(ret < 0, "... nor a tracer's");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A private copy is the process's own. */
static void private_copy(const struct share *s)
{
	struct swiftrdma_control *copy = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE,
					      s->control_fd, 0);

	if (copy != MAP_FAILED)
		copy->state = 77;
	point(copy == MAP_FAILED || s->control->state == SWIFTRDMA_CONTROL_LIVE,
	      "a private copy that is written changes nothing");
	if (copy != MAP_FAILED)
		munmap(copy, 4096);
}

/* By root even, for whom no mode is in the way. */
static void no_reopen(const struct share *s)
{
	int fd, flags = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->control_fd);
	point(fails(fchmod(s->control_fd, 0666), EPERM), "control: no other mode");
	point(open(path, O_RDWR) < 0 && open(path, O_WRONLY | O_TRUNC) < 0,
	      "... it is not opened again for writing");
	/* Where the file system lets root take this off, the seals are still there. */
	ioctl(s->control_fd, FS_IOC_SETFLAGS, &flags);
	fd = open(path, O_RDWR);
	point(fd < 0 || (mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
			 write(fd, "x", 1) < 0 && ftruncate(fd, 0) < 0 &&
			 fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0),
	      "... and if it were, it could not be written");
	close(fd);
	fd = open(path, O_RDONLY);
	point(fd >= 0 && mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED,
	      "it is opened again for reading");
	close(fd);
}

/* The NIC does not write it for us. */
static void no_dma(const struct share *s, struct vdev *dev)
{
	struct ibv_mr *mr = ibv_reg_mr(dev->pd, (void *)s->control, 4096, IBV_ACCESS_LOCAL_WRITE);

	point(!mr, "control: no memory region to write to");
	if (mr)
		ibv_dereg_mr(mr);
}

static void no_userfault(const struct share *s)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t)s->control, 4096 }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	point(fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range) < 0,
	      "... and no pages by userfaultfd");
	close(fd);
}

/* Holes in report are its own business: the module goes on with the pages that it has. */
static void holes(const struct share *s, uint32_t dev)
{
	struct reported r;

	point(!fallocate(s->report_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			 (off_t)s->report_size) && !read_job_report(dev, 0, &r),
	      "a process may make a hole of its report");
}

int test_seals(const char *name)
{
	char *before;
	struct share s;
	struct vdev dev;
	int err;

	if (vdev_open(&dev, name))
		return 2;
	err = share_open(&s, name, 100);
	point(!err, "attach (%s)", err ? strerrorname_np(-err) : "0");
	if (err)
		return 1;
	sizes(&s);
	is_zero(&s);
	control_says(&s);
	seals(&s);
	before = malloc(s.control_size);
	memcpy(before, s.control, s.control_size);
	no_write(&s);
	no_poke(&s);
	private_copy(&s);
	no_reopen(&s);
	no_dma(&s, &dev);
	no_userfault(&s);
	point(!memcmp(before, s.control, s.control_size), "after all this control is as it was");
	holes(&s, dev.index);
	free(before);
	share_close(&s);
	vdev_close(&dev);
	return !!failed_points;
}
