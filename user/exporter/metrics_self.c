// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Metrics of the exporter itself: what it costs, and what it left out. */
#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/metrics.h"

/* Bytes that are in memory; 0: not known. */
static uint64_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long size, resident = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu", &size, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint64_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	/* Not ".", ".." and the directory itself. */
	return n > 3 ? n - 3 : 0;
}

/* Names that every exporter of Prometheus has, so they have no prefix. */
static void write_process(const struct figures *f, struct expo *e)
{
	static const struct expo_family cpu = {
		"process_cpu_seconds", "CPU time of the exporter without its reader.",
		EXPO_COUNTER, "seconds",
	};
	static const struct expo_family memory = {
		"process_resident_memory_bytes", "Memory of the exporter without its reader.",
		EXPO_GAUGE, "bytes",
	};
	static const struct expo_family files = {
		"process_open_fds", "Open file descriptors.", EXPO_GAUGE, NULL,
	};
	static const struct expo_family max_files = {
		"process_max_fds", "Limit of open file descriptors.", EXPO_GAUGE, NULL,
	};
	static const struct expo_family start = {
		"process_start_time_seconds", "When the exporter was started, in seconds since 1970.",
		EXPO_GAUGE, "seconds",
	};
	struct rlimit limit;
	uint64_t bytes = resident_bytes();

	expo_family(e, &cpu);
	expo_ns(e, NULL, clock_read(CLOCK_PROCESS_CPUTIME_ID), 0);
	expo_family(e, &memory);
	if (bytes)
		expo_u64(e, NULL, bytes, 0);
	expo_family(e, &files);
	expo_u64(e, NULL, open_files(), 0);
	expo_family(e, &max_files);
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		expo_u64(e, NULL, limit.rlim_cur, 0);
	expo_family(e, &start);
	expo_ns(e, NULL, (uint64_t)(clock_epoch() + (int64_t)f->began), 0);
}

static void write_times(struct expo *e, const struct figures_times *t)
{
	uint64_t cumulative[FIGURES_BOUNDS], sum = 0;
	const struct expo_histogram h = {
		.bound = figures_bounds, .cumulative = cumulative, .n = FIGURES_BOUNDS,
		.count = t->count, .sum = (double)t->sum / 1e9,
	};

	for (size_t i = 0; i < FIGURES_BOUNDS; i++)
		cumulative[i] = sum += t->bucket[i];
	expo_histogram(e, NULL, &h, 0);
}

static void write_readings(const struct figures *f, struct expo *e)
{
	METRIC(e, EXPO_COUNTER, "exporter_readings", NULL, "Readings of the module.");
	expo_u64(e, NULL, f->readings, 0);
	METRIC(e, EXPO_COUNTER, "exporter_reading_failures", NULL, "Readings that failed.");
	expo_u64(e, NULL, f->failures, 0);
	METRIC(e, EXPO_GAUGE, "exporter_reading_age_seconds", "seconds",
	       "Age of the figures when this was written.");
	if (f->read_at)
		expo_ns(e, NULL, clock_monotonic() - f->read_at, 0);
	METRIC(e, EXPO_GAUGE, "exporter_privileged", NULL,
	       "1: the exporter sees all queue pairs and jobs; 0: only its user's queue pairs.");
	if (f->up)
		expo_u64(e, NULL, figures_snap(f)->admin, 0);
	METRIC(e, EXPO_HISTOGRAM, "exporter_reading_seconds", "seconds",
	       "Time that readings took.");
	write_times(e, &f->reading);
	METRIC(e, EXPO_HISTOGRAM, "exporter_scrape_seconds", "seconds",
	       "Time that writing of metrics took, without the reading.");
	write_times(e, &f->scrape);
	METRIC(e, EXPO_COUNTER, "exporter_reader_cpu_seconds", "seconds",
	       "CPU time of the process that reads.");
	expo_ns(e, NULL, f->reader_cpu, 0);
}

/* The counts of this scrape so far, because its last metrics are not written yet. */
static void write_bound(const struct figures *f, struct expo *e)
{
	struct expo_labels l;

	METRIC(e, EXPO_GAUGE, "exporter_series_limit", NULL,
	       "Series that a scrape has at most (--max-series).");
	expo_u64(e, NULL, f->opt.max_series, 0);
	METRIC(e, EXPO_GAUGE, "exporter_series", NULL, "Series of this scrape before these.");
	expo_u64(e, NULL, e->series, 0);
	METRIC(e, EXPO_GAUGE, "exporter_dropped_series", NULL,
	       "Series of each metric that this scrape left out because of the limit.");
	for (size_t i = 0; i < e->n_dropped; i++) {
		labels_init(&l);
		labels_add(&l, "metric", e->dropped[i].family->name);
		expo_u64(e, &l, e->dropped[i].n, 0);
	}
	METRIC(e, EXPO_COUNTER, "exporter_dropped_series_sum", NULL,
	       "Series that all scrapes left out because of the limit.");
	expo_u64(e, NULL, f->dropped_total + e->all_dropped, 0);
	METRIC(e, EXPO_GAUGE, "exporter_unnamed_owner_qps", NULL,
	       "Queue pairs counted for the owner \"rest\", because there are more owners than --max-owners.");
	expo_u64(e, NULL, f->tally.owners_over, 0);
}

static void write_page(const struct figures *f, struct expo *e)
{
	METRIC(e, EXPO_GAUGE, "exporter_page_viewers", NULL,
	       "Browsers that show the page and get each reading.");
	expo_u64(e, NULL, f->page.viewers, 0);
	METRIC(e, EXPO_COUNTER, "exporter_page_encodings", NULL,
	       "Messages written for the page: for a hundred viewers as many as for one.");
	expo_u64(e, NULL, f->page.encodings, 0);
	METRIC(e, EXPO_COUNTER, "exporter_page_encoded_bytes", "bytes",
	       "Bytes of these messages.");
	expo_u64(e, NULL, f->page.bytes, 0);
	METRIC(e, EXPO_COUNTER, "exporter_page_dropped_viewers", NULL,
	       "Viewers that were closed because they did not read fast enough.");
	expo_u64(e, NULL, f->page.dropped, 0);
}

void metrics_self(struct figures *f, struct expo *e)
{
	write_bound(f, e);
	write_page(f, e);
	write_readings(f, e);
	write_process(f, e);
}
