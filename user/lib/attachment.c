// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reports and control files. Without the module a report is memory of this process
 * alone: its figures are then read by the functions of swiftrdma.h, and by nobody else.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/lib.h"

#define SLOTS 1024
#define CONTROL_TRIES 64
#define IOCTL_TRIES 16
/* The most attachments of a process to one device: the report of each stays mapped. */
#define ATTACHMENTS 8

struct device *devices;

/* Field 22 of the line; the name before it may hold blanks and brackets. */
static uint64_t start_time(void)
{
	char line[1024], *s;
	uint64_t ticks = 0;
	ssize_t n;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	line[n] = '\0';
	s = strrchr(line, ')');
	if (s)
		sscanf(s + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
		       &ticks);
	return ticks;
}

/*
 * The module does not wait for @arg to be paged in, so that no caller can keep it busy: it returns
 * -EFAULT if @arg is not in memory. That is rare, because the caller has just written @arg. A write
 * brings @arg back.
 */
static int ioctl_share(unsigned long cmd, void *arg)
{
	int fd = open(SWIFTRDMA_SHARE_PATH, O_RDONLY | O_CLOEXEC), err = -EFAULT;
	volatile uint32_t *size = arg;

	if (fd < 0)
		return -ENODEV;
	for (int i = 0; err == -EFAULT && i < IOCTL_TRIES; i++) {
		*size = *size;
		err = ioctl(fd, cmd, arg) ? -errno : 0;
	}
	close(fd);
	return err;
}

int (*lib_share)(unsigned long cmd, void *arg) = ioctl_share;

static void *map_file(int fd, size_t bytes, int prot, int advice)
{
	void *p = mmap(NULL, bytes, prot,
		       fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, bytes, advice)) {
		munmap(p, bytes);
		return NULL;
	}
	return p;
}

/* Checks that the control file is as large as its header declares. */
static bool control_fits(const struct swiftrdma_control *c, uint64_t bytes, uint32_t slots)
{
	return __atomic_load_n(&c->magic, __ATOMIC_ACQUIRE) == SWIFTRDMA_CONTROL_MAGIC &&
	       c->version == SWIFTRDMA_SHARE_VERSION && c->header_size >= sizeof(*c) &&
	       c->block_size >= sizeof(struct swiftrdma_block) && c->blocks >= slots &&
	       !(c->job_off % SWIFTRDMA_SHARE_LINE) && !(c->blocks_off % SWIFTRDMA_SHARE_LINE) &&
	       !(c->block_size % SWIFTRDMA_SHARE_LINE) && c->job_off >= sizeof(*c) &&
	       c->job_off + sizeof(struct swiftrdma_block) <= bytes &&
	       c->blocks_off + (uint64_t)c->blocks * c->block_size <= bytes;
}

/* Maps both files, or none. */
static bool attach_files(struct device *dev, const char *name)
{
	struct swiftrdma_attach a = {
		.size = sizeof(a), .version = SWIFTRDMA_SHARE_VERSION, .slots = SLOTS,
	};
	struct swiftrdma_control *control = NULL;
	bool ok = false;

	snprintf(a.dev_name, sizeof(a.dev_name), "%s", name);
	if (lib_share(SWIFTRDMA_IOC_ATTACH, &a))
		return false;
	if (a.slots && a.slots <= SLOTS &&
	    a.report_size >= swiftrdma_report_bytes(a.slots) &&
	    a.control_size >= swiftrdma_control_bytes(a.slots)) {
		dev->report = map_file(a.report_fd, a.report_size, PROT_READ | PROT_WRITE,
				  MADV_DONTFORK);
		control = map_file(a.control_fd, a.control_size, PROT_READ, MADV_DONTFORK);
		ok = dev->report && control && control_fits(control, a.control_size, a.slots);
	}
	close(a.report_fd);
	close(a.control_fd);
	if (!ok) {
		if (dev->report)
			munmap(dev->report, a.report_size);
		if (control)
			munmap(control, a.control_size);
		dev->report = NULL;
		return false;
	}
	dev->control = control;
	dev->slots = a.slots;
	dev->report->dev_index = a.dev_index;
	return true;
}

static void fill_header(struct device *dev)
{
	struct swiftrdma_report *r = dev->report;

	r->version = SWIFTRDMA_SHARE_VERSION;
	r->header_size = sizeof(*r);
	r->latency_off = SWIFTRDMA_REPORT_LATENCY_OFF;
	r->hol_off = SWIFTRDMA_REPORT_HOL_OFF;
	r->hist_size = sizeof(struct swiftrdma_hist);
	r->hist_buckets = SWIFTRDMA_HIST_BUCKETS;
	r->slots_off = SWIFTRDMA_REPORT_SLOTS_OFF;
	r->slot_size = sizeof(struct swiftrdma_slot);
	r->slots = dev->slots;
	r->pid = (uint32_t)getpid();
	r->start_time = start_time();
	r->generation = 1;
	r->attached_ns = lib_clock();
	snprintf(r->lib_version, sizeof(r->lib_version), "%s", swiftrdma_version());
	dev->latency = (void *)((char *)r + r->latency_off);
	dev->hol = (void *)((char *)r + r->hol_off);
	dev->slot = (void *)((char *)r + r->slots_off);
	control_begin(dev);
	__atomic_store_n(&r->magic, SWIFTRDMA_REPORT_MAGIC, __ATOMIC_RELEASE);
}

/* @module: true: return NULL unless a module takes the report. */
static struct device *device_new(const char *name, bool module)
{
	struct device *dev = aligned_alloc(CACHE_LINE, sizeof(*dev));

	if (!dev)
		return NULL;
	memset(dev, 0, sizeof(*dev));
	snprintf(dev->name, sizeof(dev->name), "%s", name);
	/* Before the files are mapped, so that a lack of memory leaves nothing mapped. */
	dev->dead = calloc(SLOTS, sizeof(*dev->dead));
	if (!dev->dead)
		goto failed;
	if (!attach_files(dev, name)) {
		if (module)
			goto failed;
		dev->slots = SLOTS;
		dev->report = map_file(-1, swiftrdma_report_bytes(SLOTS), PROT_READ | PROT_WRITE,
				  MADV_WIPEONFORK);
	}
	if (!dev->report)
		goto failed;
	fill_header(dev);
	return dev;

failed:
	free(dev->dead);
	free(dev);
	return NULL;
}

static bool is_attached(const struct device *dev)
{
	return dev->control && __atomic_load_n(&dev->control->state, __ATOMIC_RELAXED) ==
			       SWIFTRDMA_CONTROL_LIVE;
}

/* Returns the newest attachment to the device @name; @n: the number of attachments to it. */
static struct device *device_find(const char *name, unsigned int *n)
{
	struct device *dev, *newest = NULL;

	*n = 0;
	for (dev = devices; dev; dev = dev->next) {
		if (strcmp(dev->name, name))
			continue;
		if (!newest)
			newest = dev;
		++*n;
	}
	return newest;
}

/*
 * The module ends an attachment when the process closes its last context of the device, and
 * when the module itself goes. The first context after that attaches anew, with a report that
 * begins at zero: the module has the figures of the old one. The old report stays mapped,
 * because a QP that the program did not destroy still points into it.
 */
struct device *device_get(const char *name)
{
	struct device *dev, *was;
	unsigned int n;

	was = device_find(name, &n);
	if (was && (is_attached(was) || context_uses(was) || n == ATTACHMENTS))
		return was;
	dev = device_new(name, was);
	if (!dev)
		return was;
	dev->next = devices;
	devices = dev;
	return dev;
}

/* In a forked child: forget the parent's devices, whose memory is not mapped here. */
void device_forget_all(void)
{
	devices = NULL;
}

static void add_counter(__u64 *sum, const __u64 *n)
{
	__atomic_store_n(sum, *sum + read_counter(n), __ATOMIC_RELAXED);
}

static void add_posted(struct swiftrdma_gone *sum, const struct swiftrdma_posted *p)
{
	add_counter(&sum->wrs, &p->wrs);
	add_counter(&sum->bytes, &p->bytes);
	add_counter(&sum->calls, &p->calls);
	add_counter(&sum->recv_wrs, &p->recv_wrs);
}

static void add_polled(struct swiftrdma_gone *sum, const struct swiftrdma_polled *p)
{
	add_counter(&sum->wcs, &p->wcs);
	add_counter(&sum->done_wrs, &p->wrs);
	add_counter(&sum->dropped, &p->dropped);
	add_counter(&sum->recv_wcs, &p->recv_wcs);
	add_counter(&sum->recv_bytes, &p->recv_bytes);
	add_counter(&sum->errors, &p->errors);
}

void slot_add(struct swiftrdma_gone *sum, const struct swiftrdma_slot *slot)
{
	/* Completed requests are read before posted ones, so that the sums seldom show more of the former. */
	add_polled(sum, &slot->poll_owner);
	add_polled(sum, &slot->poll_others);
	add_posted(sum, &slot->post_owner);
	add_posted(sum, &slot->post_others);
	add_counter(&sum->stopped, &slot->id.stopped);
	__atomic_store_n(&sum->qps, sum->qps + 1, __ATOMIC_RELAXED);
}

static struct swiftrdma_slot *slot_reuse(struct device *dev)
{
	struct swiftrdma_slot *slot;

	if (!dev->dead_count)
		return NULL;
	slot = &dev->slot[dev->dead[dev->dead_from]];
	dev->dead_from = (dev->dead_from + 1) % dev->slots;
	dev->dead_count--;
	__atomic_store_n(&slot->id.generation, 0, __ATOMIC_RELAXED);
	/* A reader that finds these requests in gone finds generation 0 in the slot, and counts them once. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	slot_add(&dev->report->gone, slot);
	memset(slot, 0, sizeof(*slot));
	return slot;
}

/*
 * Takes an unused slot, else that of the QP destroyed first, so that readers see destroyed QPs
 * for as long as possible.
 */
struct swiftrdma_slot *slot_take(struct device *dev)
{
	uint32_t used = dev->report->slots_used;

	if (used == dev->slots)
		return slot_reuse(dev);
	__atomic_store_n(&dev->report->slots_used, used + 1, __ATOMIC_RELEASE);
	return &dev->slot[used];
}

void slot_give(struct device *dev, struct swiftrdma_slot *slot)
{
	dev->dead[(dev->dead_from + dev->dead_count++) % dev->slots] =
		(uint32_t)(slot - dev->slot);
}

bool control_job(const struct device *dev, struct swiftrdma_control_job *job)
{
	const struct swiftrdma_control *c = dev->control;

	if (!c || __atomic_load_n(&c->state, __ATOMIC_RELAXED) != SWIFTRDMA_CONTROL_LIVE)
		return false;
	for (int i = 0; i < CONTROL_TRIES; i++) {
		uint64_t changes = __atomic_load_n(&c->changes, __ATOMIC_ACQUIRE);

		memcpy(job, &c->job[changes & 1], sizeof(*job));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&c->changes, __ATOMIC_RELAXED) == changes) {
			job->name[sizeof(job->name) - 1] = '\0';
			return true;
		}
	}
	return false;
}

int page_ask(const char *job, uint64_t slo_p99_ns)
{
	struct swiftrdma_ask ask = { .size = sizeof(ask), .slo_p99_ns = slo_p99_ns };

	if (job && strlen(job) >= sizeof(ask.job))
		return -EINVAL;
	if (job)
		strcpy(ask.job, job);
	return lib_share(SWIFTRDMA_IOC_ASK, &ask);
}
