// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Requests that are refused, each for its reason, and that leave nothing behind. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach.h"

static const char *dev_name;
static uint32_t dev_index;

static struct swiftrdma_attach good(void)
{
	struct swiftrdma_attach a = {
		.size = sizeof(a), .version = SWIFTRDMA_SHARE_VERSION, .slots = 1,
	};

	snprintf(a.dev_name, sizeof(a.dev_name), "%s", dev_name);
	return a;
}

/* It fails so, and no descriptor is left. */
static void refused(const char *what, unsigned long cmd, void *arg, int err)
{
	int fds = open_fds(), ret = door_ioctl(cmd, arg);

	if (ret != -err)
		printf("# got %s\n", ret ? strerrorname_np(-ret) : "0");
	point(ret == -err && open_fds() == fds, "%s: %s", what, strerrorname_np(err));
}

#define REFUSED(what, change, err) do {				\
		struct swiftrdma_attach a = good();		\
								\
		change;						\
		refused(what, SWIFTRDMA_IOC_ATTACH, &a, err);	\
	} while (0)

static void fields(void)
{
	REFUSED("attach: size 0", a.size = 0, EINVAL);
	REFUSED("attach: a byte less than version 1", a.size--, EINVAL);
	REFUSED("attach: a size beyond all", a.size = ~0u, E2BIG);
	REFUSED("attach: a flag", a.flags = 1, EINVAL);
	REFUSED("attach: what is reserved", a.reserved = 1, EINVAL);
	REFUSED("attach: version 0", a.version = 0, EINVAL);
	REFUSED("attach: the next version", a.version++, EINVAL);
	REFUSED("attach: no slots", a.slots = 0, EINVAL);
	REFUSED("attach: a slot too many", a.slots = SWIFTRDMA_SLOTS_MAX + 1, EINVAL);
	REFUSED("attach: very many slots", a.slots = ~0u, EINVAL);
	REFUSED("attach: a name without an end", memset(a.dev_name, 'x', sizeof(a.dev_name)),
		EINVAL);
	REFUSED("attach: no such device", strcpy(a.dev_name, "no0"), ENODEV);
	REFUSED("attach: no such index", a.dev_name[0] = 0; a.dev_index = 4711, ENODEV);
}

static void larger(void)
{
	struct { struct swiftrdma_attach a; char more[64]; } big = { .a = good() };
	int err;

	big.a.size = sizeof(big);
	big.more[63] = 1;
	refused("attach: more than the kernel knows", SWIFTRDMA_IOC_ATTACH, &big, E2BIG);
	big.more[63] = 0;
	err = door_ioctl(SWIFTRDMA_IOC_ATTACH, &big);
	point(!err, "a newer caller's larger structure is taken where its end is 0");
	if (!err) {
		close(big.a.report_fd);
		close(big.a.control_fd);
	}
}

static void pointers(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct swiftrdma_attach a = good();

	munmap(p + page, page);
	refused("attach: NULL", SWIFTRDMA_IOC_ATTACH, NULL, EFAULT);
	refused("attach: the kernel's memory", SWIFTRDMA_IOC_ATTACH, (void *)~0xfffl, EFAULT);
	refused("ask: NULL", SWIFTRDMA_IOC_ASK, NULL, EFAULT);
	memcpy(p + page - sizeof(a) + 1, &a, sizeof(a) - 1);
	refused("attach: memory that ends within", SWIFTRDMA_IOC_ATTACH, p + page - sizeof(a) + 1,
		EFAULT);
	memcpy(p, &a, sizeof(a));
	mprotect(p, page, PROT_READ);
	refused("attach: memory that cannot be written", SWIFTRDMA_IOC_ATTACH, p, EFAULT);
	munmap(p, page);
}

/*
 * A page whose fault this process would never end. It does not wait: nor would then the
 * end of the module.
 */
static void endless_fault(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = { (uintptr_t)p, page }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		printf("# no userfaultfd here: %s\n", strerrorname_np(errno));
		return;
	}
	alarm(60);
	refused("attach: a page that never comes", SWIFTRDMA_IOC_ATTACH, p, EFAULT);
	alarm(0);
	munmap(p, page);
	close(fd);
}

static void numbers(void)
{
	struct swiftrdma_attach a = good();

	refused("no such ioctl: 0", _IO(SWIFTRDMA_IOC_MAGIC, 0), &a, ENOTTY);
	refused("no such ioctl: 6", _IO(SWIFTRDMA_IOC_MAGIC, 6), &a, ENOTTY);
	refused("no such ioctl: 1 with a size", _IOWR(SWIFTRDMA_IOC_MAGIC, 1, a), &a, ENOTTY);
	refused("no such ioctl: another driver's", _IO('U', 1), &a, ENOTTY);
}

/* Room for none, and for one of the two. */
static void descriptors(void)
{
	int n = open_fds(), door = open(SWIFTRDMA_SHARE_PATH, O_RDONLY | O_CLOEXEC);
	int next[2] = { dup(0), dup(0) }, ret;
	struct swiftrdma_attach a;
	struct rlimit was, now;

	close(next[0]);
	close(next[1]);
	getrlimit(RLIMIT_NOFILE, &was);
	now = was;
	for (int room = 0; room < 2; room++) {
		a = good();
		now.rlim_cur = (rlim_t)next[room];
		setrlimit(RLIMIT_NOFILE, &now);
		ret = ioctl(door, SWIFTRDMA_IOC_ATTACH, &a) ? errno : 0;
		setrlimit(RLIMIT_NOFILE, &was);
		if (ret != EMFILE)
			printf("# got %s\n", strerrorname_np(ret));
		point(ret == EMFILE && open_fds() == n + 1,
		      "attach: room for %d descriptors: EMFILE", room);
	}
	close(door);
}

static void asks(void)
{
	struct swiftrdma_ask ask = { .size = sizeof(ask) };

	refused("ask before attach", SWIFTRDMA_IOC_ASK, &ask, ENXIO);
	ask.size--;
	refused("ask: a byte less", SWIFTRDMA_IOC_ASK, &ask, EINVAL);
	ask.size++;
	ask.flags = 1;
	refused("ask: a flag", SWIFTRDMA_IOC_ASK, &ask, EINVAL);
	ask.flags = 0;
	ask.reserved = 1;
	refused("ask: what is reserved", SWIFTRDMA_IOC_ASK, &ask, EINVAL);
	ask.reserved = 0;
	memset(ask.job, 'x', sizeof(ask.job));
	refused("ask: a name without an end", SWIFTRDMA_IOC_ASK, &ask, EINVAL);
}

/* Before the process is attached. */
static void relays(void)
{
	struct swiftrdma_listen listen = {
		.size = sizeof(listen), .dev_index = dev_index, .event_fd = -1,
	};
	struct swiftrdma_tell tell = {
		.size = sizeof(tell), .dev_index = dev_index, .qpn = 17, .length = 1,
	};
	struct swiftrdma_hear hear = { .size = sizeof(hear), .dev_index = dev_index };
	int event = eventfd(0, EFD_CLOEXEC), null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	refused("listen: no descriptor", SWIFTRDMA_IOC_LISTEN, &listen, EBADF);
	listen.event_fd = null;
	refused("listen: no eventfd", SWIFTRDMA_IOC_LISTEN, &listen, EINVAL);
	listen.event_fd = event;
	refused("listen before attach", SWIFTRDMA_IOC_LISTEN, &listen, ENXIO);
	listen.flags = 1;
	refused("listen: a flag", SWIFTRDMA_IOC_LISTEN, &listen, EINVAL);
	listen.flags = 0;
	listen.size--;
	refused("listen: a byte less", SWIFTRDMA_IOC_LISTEN, &listen, EINVAL);
	listen.size++;
	listen.dev_index = 4711;
	refused("listen: no such device", SWIFTRDMA_IOC_LISTEN, &listen, ENODEV);
	refused("tell before attach", SWIFTRDMA_IOC_TELL, &tell, ENXIO);
	tell.length = 0;
	refused("tell: no byte", SWIFTRDMA_IOC_TELL, &tell, EMSGSIZE);
	tell.length = SWIFTRDMA_TELL_BYTES + 1;
	refused("tell: a byte too many", SWIFTRDMA_IOC_TELL, &tell, EMSGSIZE);
	tell.length = 1;
	tell.reserved = 1;
	refused("tell: what is reserved", SWIFTRDMA_IOC_TELL, &tell, EINVAL);
	tell.reserved = 0;
	tell.flags = 1;
	refused("tell: a flag", SWIFTRDMA_IOC_TELL, &tell, EINVAL);
	refused("tell: NULL", SWIFTRDMA_IOC_TELL, NULL, EFAULT);
	refused("hear before attach", SWIFTRDMA_IOC_HEAR, &hear, ENXIO);
	hear.reserved = 1;
	refused("hear: what is reserved", SWIFTRDMA_IOC_HEAR, &hear, EINVAL);
	hear.reserved = 0;
	hear.dev_index = 4711;
	refused("hear: no such device", SWIFTRDMA_IOC_HEAR, &hear, ENODEV);
	refused("hear: NULL", SWIFTRDMA_IOC_HEAR, NULL, EFAULT);
	close(event);
	close(null);
}

static void by_index(void)
{
	struct swiftrdma_attach a = good();
	int err;

	a.dev_name[0] = 0;
	a.dev_index = dev_index;
	err = door_ioctl(SWIFTRDMA_IOC_ATTACH, &a);
	point(!err && !strcmp(a.dev_name, dev_name), "attach by index tells the name");
	if (!err) {
		close(a.report_fd);
		close(a.control_fd);
	}
}

/* The first attachment ends where the second begins. */
static void again(void)
{
	struct share one, two;
	struct reported r;

	if (share_open(&one, dev_name, 4) || share_open(&two, dev_name, 4)) {
		point(false, "attach twice");
		return;
	}
	point(one.control->state == SWIFTRDMA_CONTROL_ENDED &&
	      two.control->state == SWIFTRDMA_CONTROL_LIVE, "attach again ends the first one");
	one.report->gone.wrs = 1000;
	share_begin(&one, 1);
	two.report->gone.wrs = 1;
	share_begin(&two, 1);
	point(!read_job_report(dev_index, 0, &r) && r.found &&
	      r.value[SWIFTRDMA_REPORT_A_WRS] == 1 &&
	      r.value[SWIFTRDMA_REPORT_A_PROCESSES] == 1, "and nobody reads its report");
	share_close(&one);
	share_close(&two);
}

int test_bad(const char *name)
{
	struct vdev dev;
	int door = open(SWIFTRDMA_SHARE_PATH, O_RDONLY);
	char byte;

	dev_name = name;
	point(read(door, &byte, 1) < 0 && write(door, "x", 1) < 0 &&
	      mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, door, 0) == MAP_FAILED,
	      "the door is not read, written or mapped");
	close(door);
	REFUSED("attach without a context", (void)0, ENXIO);
	if (vdev_open(&dev, name))
		return 2;
	dev_index = dev.index;
	asks();
	relays();
	fields();
	pointers();
	endless_fault();
	numbers();
	descriptors();
	refused("none of these attached: ask", SWIFTRDMA_IOC_ASK,
		&(struct swiftrdma_ask){ .size = sizeof(struct swiftrdma_ask) }, ENXIO);
	larger();
	by_index();
	again();
	vdev_close(&dev);
	return !!failed_points;
}
