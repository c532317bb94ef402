// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Huge pages for memory that is about to be registered: a region in huge pages takes one
 * translation of the NIC for each 2 MiB and not for each 4 KiB.
 *
 * madvise(MADV_COLLAPSE), since Linux 6.1, copies the pages of a range into a huge page.
 * The kernel refuses it where it is not allowed (MADV_NOHUGEPAGE, PR_SET_THP_DISABLE) or not
 * possible (pinned pages: those of another region, or of a transfer by O_DIRECT). The kernel would
 * collapse memory in the following cases, too, but this file does not ask it to:
 *  - with transparent_hugepage=never, which MADV_COLLAPSE ignores;
 *  - pages that are shared with another process after a fork: each process would get a copy;
 *  - pages that are swapped out: they would be read back;
 *  - memory of files, and shared memory;
 *  - near a limit of memory. At a cgroup's limit MADV_COLLAPSE does not start the OOM killer, but
 *    it reclaims, and swaps, for a long time before it fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/huge.h"
#include "lib/lib.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define THP "/sys/kernel/mm/transparent_hugepage"

/* An entry of /proc/PID/pagemap. */
#define PM_PRESENT (1ull << 63)
#define PM_SWAP (1ull << 62)
#define PM_FILE (1ull << 61)
#define PM_GUARD (1ull << 58)
#define PM_UFFD_WP (1ull << 57)
#define PM_EXCLUSIVE (1ull << 56)

/* Small, because a thread of the program may have a small stack. */
#define LINE_BYTES 1024
#define ENTRIES 128

/* One registration. */
struct run {
	uintptr_t from, to;	/* whole ranges */
	size_t page, small;	/* bytes of a huge page, and of another */
	int pagemap;		/* descriptor */
	uint64_t began;
	uint64_t done;		/* ranges that are huge pages now */
	unsigned int tried;
	bool may_fill;		/* memory that the program has not used yet may be allocated */
	bool over;		/* the remaining ranges are left alone */
};

/* By system calls, because libc's functions may be replaced by a library that tracks memory. */
static int call_madvise(void *at, size_t length, int advice)
{
	return (int)syscall(SYS_madvise, at, length, advice);
}

static int call_disabled(void)
{
	return (int)syscall(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0);
}

int (*huge_madvise)(void *at, size_t length, int advice) = call_madvise;
int (*huge_disabled)(void) = call_disabled;

/* --- conditions ----------------------------------------------------------------- */

/* 0: the kernel has no huge pages, or no MADV_COLLAPSE. */
static size_t page_size(void)
{
	char text[32];
	unsigned long long bytes;

	if (!huge_read(THP "/hpage_pmd_size", text, sizeof(text)))
		return 0;
	bytes = strtoull(text, NULL, 10);
	if (!bytes || bytes & (bytes - 1) || bytes > SIZE_MAX / 2 || huge_madvise(NULL, 0, MADV_COLLAPSE))
		return 0;
	return (size_t)bytes;
}

/* Linux 6.8 has a setting for each size besides the one for all. */
static bool is_never(size_t page)
{
	char text[64], path[96];

	snprintf(path, sizeof(path), THP "/hugepages-%zukB/enabled", page / 1024);
	if (huge_read(path, text, sizeof(text)) && !strstr(text, "[inherit]"))
		return strstr(text, "[never]");
	return !huge_read(THP "/enabled", text, sizeof(text)) || strstr(text, "[never]");
}

static bool is_allowed(size_t page)
{
	return !is_never(page) && !huge_disabled();
}

uint32_t huge_state(enum huge_wish wish)
{
	size_t page = page_size();

	if (!page)
		return SWIFTRDMA_KNOB_STATE_NONE;
	if (wish == HUGE_YES && !is_allowed(page))
		return SWIFTRDMA_KNOB_STATE_UNABLE;
	return wish == HUGE_UNSAID ? SWIFTRDMA_KNOB_STATE_IDLE : SWIFTRDMA_KNOB_STATE_IN_FORCE;
}

static bool is_wanted(struct device *dev)
{
	enum huge_wish wish = atomic_load_explicit(&dev->knobs.huge, memory_order_relaxed);

	/* The system's settings may have changed since the knob was set. */
	if (wish == HUGE_YES)
		control_state(dev, SWIFTRDMA_SHARE_KNOB_HUGE_PAGES, huge_state(wish));
	return wish == HUGE_UNSAID ? settings.huge_pages : wish == HUGE_YES;
}

/* --- one range -------------------------------------------------------------------- */

enum pages { PAGES_LEAVE, PAGES_NONE, PAGES_SOME };

/* What the range at @at consists of. */
static enum pages look_at_pages(const struct run *r, uintptr_t at)
{
	uint64_t entry[ENTRIES];
	size_t left = r->page / r->small, n;
	bool some = false;

	for (; left; left -= n, at += n * r->small) {
		n = left < ENTRIES ? left : ENTRIES;
		if (syscall(SYS_pread64, r->pagemap, entry, n * sizeof(entry[0]),
			    at / r->small * sizeof(entry[0])) != (long)(n * sizeof(entry[0])))
			return PAGES_LEAVE;
		for (size_t i = 0; i < n; i++) {
			if (entry[i] & (PM_SWAP | PM_FILE | PM_GUARD | PM_UFFD_WP))
				return PAGES_LEAVE;
			if (!(entry[i] & PM_PRESENT))
				continue;
			/* A page of several processes, or the zero page, which memory that was only read has. */
			if (!(entry[i] & PM_EXCLUSIVE))
				return PAGES_LEAVE;
			some = true;
		}
	}
	return some ? PAGES_SOME : PAGES_NONE;
}

/* Is there memory for the next HUGE_BATCH ranges, and for others after that? */
static bool has_memory(struct run *r)
{
	if (r->tried++ % HUGE_BATCH)
		return true;
	return huge_memory_left() / r->page >= 2 * HUGE_BATCH;
}

/* Returns whether the range is a huge page now. */
static bool collapse_range(struct run *r, uintptr_t at)
{
	enum pages pages = look_at_pages(r, at);

	if (pages == PAGES_LEAVE || (pages == PAGES_NONE && !r->may_fill))
		return false;
	if (!has_memory(r)) {
		r->over = true;
		return false;
	}
	/*
	 * The kernel does not collapse memory that was never used. So one page of it is allocated
	 * first; the registration would allocate all of them anyway.
	 */
	if (pages == PAGES_NONE && huge_madvise((void *)at, r->small, MADV_POPULATE_WRITE))
		return false;
	if (!huge_madvise((void *)at, r->page, MADV_COLLAPSE))
		return true;
	/* No huge page is free, or the cgroup is at its limit after all. */
	r->over = errno == ENOMEM || errno == EBUSY;
	return false;
}

static void collapse_mapping(struct run *r, uintptr_t from, uintptr_t to)
{
	unsigned int refused = 0;

	for (uintptr_t at = from; at < to && !r->over; at += r->page) {
		if (lib_clock() - r->began >= settings.huge_seconds * 1000000000ull) {
			r->over = true;
		} else if (collapse_range(r, at)) {
			r->done++;
			refused = 0;
		} else if (++refused == HUGE_REFUSALS) {
			return;
		}
	}
}

/* --- mappings -------------------------------------------------------------------- */

struct mapping {
	unsigned long start, end;
};

/* Parses a line of /proc/PID/maps; true: private memory of no file, to be read and written. */
static bool parse_mapping(const char *line, struct mapping *m)
{
	unsigned long inode;
	unsigned int major, minor;
	char perms[5];
	int name = 0;

	m->end = 0;
	if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &m->start, &m->end, perms, &major, &minor,
		   &inode, &name) != 6)
		return false;
	if (perms[0] != 'r' || perms[1] != 'w' || perms[3] != 'p' || major || minor || inode)
		return false;
	return !line[name] || !strcmp(line + name, "[heap]") ||
	       !strncmp(line + name, "[anon:", strlen("[anon:"));
}

/* Lines of a file. A line that does not fit is cut off. */
struct lines {
	int fd;
	size_t at, end;
	bool cut;
	char buf[LINE_BYTES];
};

/* NULL: there is no more, or no more can be read. */
static char *next_line(struct lines *l)
{
	for (;;) {
		char *line = l->buf + l->at, *newline = memchr(line, '\n', l->end - l->at);
		bool rest = l->cut;
		long n;

		if (newline) {
			*newline = '\0';
			l->at = (size_t)(newline + 1 - l->buf);
			l->cut = false;
			if (!rest)
				return line;
			continue;
		}
		if (l->end - l->at == sizeof(l->buf) - 1) {
			l->buf[l->end] = '\0';
			l->at = l->end;
			l->cut = true;
			if (!rest)
				return line;
			continue;
		}
		memmove(l->buf, line, l->end - l->at);
		l->end -= l->at;
		l->at = 0;
		n = syscall(SYS_read, l->fd, l->buf + l->end, sizeof(l->buf) - 1 - l->end);
		if (n <= 0)
			return NULL;
		l->end += (size_t)n;
	}
}

static void collapse_mappings(struct run *r)
{
	struct lines lines = { .fd = huge_open("/proc/self/maps") };
	struct mapping m;
	char *line;

	while (!r->over && lines.fd >= 0 && (line = next_line(&lines))) {
		bool suits = parse_mapping(line, &m);
		uintptr_t from, to;

		if (m.end && m.start >= r->to)
			break;
		if (!suits || m.end <= r->from)
			continue;
		from = m.start < r->from ? r->from : (m.start + r->page - 1) & ~(r->page - 1);
		to = m.end > r->to ? r->to : m.end & ~(r->page - 1);
		collapse_mapping(r, from, to);
	}
	if (lines.fd >= 0)
		huge_close(lines.fd);
}

/* --- a registration ---------------------------------------------------------------- */

/*
 * Whether pages may be allocated here. A registration that exceeds the limit fails before it
 * allocates anything, unless the user has the right to exceed the limit.
 */
static bool may_fill(size_t length)
{
	struct rlimit limit;

	return !geteuid() || (!getrlimit(RLIMIT_MEMLOCK, &limit) && length <= limit.rlim_cur);
}

/* The whole ranges of a region; false: it has none. */
static bool find_ranges(struct run *r, uintptr_t addr, size_t length)
{
	r->page = page_size();
	if (!r->page || addr > UINTPTR_MAX - r->page || length > UINTPTR_MAX - addr)
		return false;
	r->from = (addr + r->page - 1) & ~(r->page - 1);
	r->to = (addr + length) & ~(r->page - 1);
	return r->from < r->to;
}

static void collapse_region(struct device *dev, const void *addr, size_t length)
{
	struct run r = { .began = lib_clock(), .small = (size_t)sysconf(_SC_PAGESIZE) };
	uint64_t ranges;

	if (!find_ranges(&r, (uintptr_t)addr, length))
		return;
	r.may_fill = may_fill(length);
	r.pagemap = is_allowed(r.page) ? huge_open("/proc/self/pagemap") : -1;
	if (r.pagemap >= 0) {
		collapse_mappings(&r);
		huge_close(r.pagemap);
	}
	ranges = (r.to - r.from) / r.page;
	count_any(&dev->report->huge_regions, 1);
	count_any(&dev->report->huge_ranges, r.done);
	count_any(&dev->report->huge_left, ranges - r.done);
}

void huge_before_reg(struct context *c, const void *addr, size_t length, unsigned int access)
{
	int err = errno;

	if (!c)
		return;
	/* Each registration reads control. hugetlbfs has huge pages already; on-demand paging pins nothing. */
	control_update(c->dev, lib_clock());
	if (length >= HUGE_REGION_MIN && !(access & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB)) &&
	    is_wanted(c->dev))
		collapse_region(c->dev, addr, length);
	errno = err;
}
