// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Attachments as the uapi header has them, and what the module tells of reports. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach.h"

int failed_points;

void point(bool ok, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("%s - ", ok ? "ok" : "not ok");
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	failed_points += !ok;
}

int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

int door_ioctl(unsigned long cmd, void *arg)
{
	int fd = open(SWIFTRDMA_SHARE_PATH, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ioctl(fd, cmd, arg) ? -errno : 0;
	close(fd);
	return err;
}

int share_open(struct share *s, const char *dev_name, uint32_t slots)
{
	struct swiftrdma_attach a = {
		.size = sizeof(a), .version = SWIFTRDMA_SHARE_VERSION, .slots = slots,
	};
	int err;

	memset(s, 0, sizeof(*s));
	snprintf(a.dev_name, sizeof(a.dev_name), "%s", dev_name);
	err = door_ioctl(SWIFTRDMA_IOC_ATTACH, &a);
	if (err)
		return err;
	*s = (struct share){
		.report_fd = a.report_fd, .control_fd = a.control_fd, .slots = a.slots,
		.report_size = a.report_size, .control_size = a.control_size,
	};
	s->report = mmap(NULL, s->report_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->report_fd, 0);
	s->control = mmap(NULL, s->control_size, PROT_READ, MAP_SHARED, s->control_fd, 0);
	if (s->report == MAP_FAILED || s->control == MAP_FAILED)
		return -errno;
	s->latency = (void *)((char *)s->report + SWIFTRDMA_REPORT_LATENCY_OFF);
	s->hol = (void *)((char *)s->report + SWIFTRDMA_REPORT_HOL_OFF);
	s->slot = (void *)((char *)s->report + SWIFTRDMA_REPORT_SLOTS_OFF);
	return 0;
}

void share_close(struct share *s)
{
	munmap(s->report, s->report_size);
	munmap((void *)s->control, s->control_size);
	close(s->report_fd);
	close(s->control_fd);
}

void share_begin(struct share *s, uint64_t generation)
{
	struct swiftrdma_report *r = s->report;

	r->version = SWIFTRDMA_SHARE_VERSION;
	r->header_size = sizeof(*r);
	r->latency_off = SWIFTRDMA_REPORT_LATENCY_OFF;
	r->hol_off = SWIFTRDMA_REPORT_HOL_OFF;
	r->hist_size = sizeof(struct swiftrdma_hist);
	r->hist_buckets = SWIFTRDMA_HIST_BUCKETS;
	r->slots_off = SWIFTRDMA_REPORT_SLOTS_OFF;
	r->slot_size = sizeof(struct swiftrdma_slot);
	r->slots = s->slots;
	r->pid = (uint32_t)getpid();
	r->generation = generation;
	__atomic_store_n(&r->magic, SWIFTRDMA_REPORT_MAGIC, __ATOMIC_RELEASE);
}

struct swiftrdma_slot *slot_begin(struct share *s, uint32_t i, uint32_t qpn, uint64_t generation)
{
	struct swiftrdma_slot *slot = &s->slot[i];

	__atomic_store_n(&slot->id.generation, 0, __ATOMIC_SEQ_CST);
	memset(slot, 0, sizeof(*slot));
	slot->id.qpn = qpn;
	if (s->report->slots_used <= i)
		s->report->slots_used = i + 1;
	__atomic_store_n(&slot->id.generation, generation, __ATOMIC_RELEASE);
	return slot;
}

bool control_job(const struct share *s, struct swiftrdma_control_job *job)
{
	const struct swiftrdma_control *c = s->control;
	uint64_t changes;

	if (c->magic != SWIFTRDMA_CONTROL_MAGIC ||
	    __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != SWIFTRDMA_CONTROL_LIVE)
		return false;
	do {
		changes = __atomic_load_n(&c->changes, __ATOMIC_ACQUIRE);
		*job = c->job[changes & 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&c->changes, __ATOMIC_RELAXED) != changes);
	return true;
}

/* REPORT_GET */

struct look {
	uint32_t dev, key;
	bool job, cached;
	struct reported *to;
	void (*each)(const struct reported *r);
};

static void take(const void *attrs, size_t len, struct reported *r)
{
	size_t n;

	for (int type = 1; type <= SWIFTRDMA_REPORT_A_MAX; type++) {
		const void *p = rawnl_find(attrs, len, type, &n);

		r->has[type] = p;
		if (!p)
			continue;
		if (n == sizeof(uint64_t))
			memcpy(&r->value[type], p, n);
		else if (n == sizeof(uint32_t))
			r->value[type] = rawnl_u32(attrs, len, type);
		else if (type == SWIFTRDMA_REPORT_A_LATENCY && n == sizeof(r->bucket))
			memcpy(r->bucket, p, n);
	}
}

static void take_answer(const void *attrs, size_t len, void *arg)
{
	struct look *look = arg;
	struct reported r = {};
	size_t n;
	const void *nest = rawnl_find(attrs, len, SWIFTRDMA_A_REPORT, &n);

	if (!nest)
		return;
	take(nest, n, &r);
	if (look->each) {
		look->each(&r);
		return;
	}
	if (r.value[SWIFTRDMA_REPORT_A_DEV_INDEX] != look->dev ||
	    r.has[SWIFTRDMA_REPORT_A_JOB] != look->job ||
	    r.value[look->job ? SWIFTRDMA_REPORT_A_JOB : SWIFTRDMA_REPORT_A_QPN] != look->key)
		return;
	r.found = true;
	r.n = look->to->n + 1;
	*look->to = r;
}

static int dump(struct look *look)
{
	static struct rawnl nl;
	static pid_t of;
	struct rawnl_reply reply;
	int err = 0;

	/* A child that read from its parent's socket would take its answers. */
	if (of != getpid()) {
		if (of)
			close(nl.fd);
		err = rawnl_open(&nl, -1);
		of = err ? 0 : getpid();
	}

	if (look->to)
		memset(look->to, 0, sizeof(*look->to));
	return err ?: rawnl_do(&nl, SWIFTRDMA_CMD_REPORT_GET, true,
			       look->cached ? "cached" : "", NULL, &reply, take_answer, look);
}

int read_job_report(uint32_t dev, uint32_t job, struct reported *r)
{
	return dump(&(struct look){ .dev = dev, .key = job, .job = true, .to = r });
}

int read_qp_report(uint32_t dev, uint32_t qpn, struct reported *r)
{
	return dump(&(struct look){ .dev = dev, .key = qpn, .to = r });
}

static void show(const struct reported *r)
{
	const uint64_t *v = r->value;

	if (r->has[SWIFTRDMA_REPORT_A_JOB])
		printf("job %lu processes %lu%s", v[SWIFTRDMA_REPORT_A_JOB],
		       v[SWIFTRDMA_REPORT_A_PROCESSES],
		       r->has[SWIFTRDMA_REPORT_A_DISTRUSTED] ? " distrusted" : "");
	else
		printf("qp %lu", v[SWIFTRDMA_REPORT_A_QPN]);
	printf(" dev %lu wrs %lu bytes %lu recv_wrs %lu done %lu samples %lu calls %lu",
	       v[SWIFTRDMA_REPORT_A_DEV_INDEX], v[SWIFTRDMA_REPORT_A_WRS],
	       v[SWIFTRDMA_REPORT_A_BYTES], v[SWIFTRDMA_REPORT_A_RECV_WRS],
	       v[SWIFTRDMA_REPORT_A_DONE], v[SWIFTRDMA_REPORT_A_SAMPLES],
	       v[SWIFTRDMA_REPORT_A_CALLS]);
	if (r->has[SWIFTRDMA_REPORT_A_DOORBELLS])
		printf(" doorbells %lu", v[SWIFTRDMA_REPORT_A_DOORBELLS]);
	if (r->has[SWIFTRDMA_REPORT_A_SLO_P99])
		printf(" slo %lu", v[SWIFTRDMA_REPORT_A_SLO_P99]);
	putchar('\n');
}

int each_report(void (*each)(const struct reported *r))
{
	return dump(&(struct look){ .each = each });
}

int show_reports(bool cached)
{
	return dump(&(struct look){ .each = show, .cached = cached });
}
