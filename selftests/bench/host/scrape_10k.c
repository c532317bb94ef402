// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a scrape of swiftrdma-exporter costs, on the host: a reading in which every QP, UAR and
 * job changed, from its messages to the text of the answer. The messages come from a
 * recording in memory, so inflating them counts, too, which a live reading does not need; the
 * time that the kernel needs to write them does not count. Of some runs the median counts, of
 * the format that takes longer.
 *
 *   scrape_10k				the row, as in selftests/bench/run.sh
 *   scrape_10k --record FILE QPS UARS JOBS READINGS
 *					such a recording, of a reading a second
 */
#include "bench/host/busy_nic.h"
#include "exporter/figures.h"
#include "exporter/snap_copy.h"

#define READINGS	22
#define WARM		2
#define GOAL_MS		50.0
#define GOAL_BYTES	(1024 * 1024)

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Reads all that is in the recording; of each reading its time, of the last its size. */
static size_t measure(FILE *f, enum expo_format format, double *ms, size_t *bytes, size_t *series)
{
	static const struct figures_options opt = {
		.top_uars = 20, .top_qps = 20, .max_owners = TALLY_OWNERS_DEFAULT, .max_series = 20000,
	};
	struct source s = { .fd = -1 };
	struct figures figures;
	struct player *p;
	struct expo e = { 0 };
	size_t n = 0;

	if (figures_init(&figures, &opt) || player_open(&p, f, NULL))
		return 0;
	for (;;) {
		double began = now_ms();

		if (player_next(p) != PLAYER_READING || snap_copy(&s.snap, player_snapshot(p)) ||
		    figures_take(&figures, &s, SOURCE_READING) ||
		    !metrics_write(&figures, &e, format))
			break;
		ms[n++] = now_ms() - began;
	}
	*bytes = e.len;
	*series = e.all_dropped ? 0 : e.series;
	player_close(p);
	source_close(&s);
	figures_free(&figures);
	expo_free(&e);
	return n;
}

static int row(void)
{
	double ms[EXPO_FORMATS][READINGS], median = 0;
	size_t bytes = 0, series = 0;
	char *text;
	size_t len;

	if (record(open_memstream(&text, &len), READINGS))
		return 1;
	for (int format = 0; format < EXPO_FORMATS; format++) {
		FILE *f = fmemopen(text, len, "r");
		size_t got = 0, is, n;
		double mid;

		n = f ? measure(f, format, ms[format], &got, &is) : 0;
		/* A reading that was lost, or a series that was dropped, would make it cheaper. */
		if (n != READINGS || !is) {
			fprintf(stderr, "scrape_10k: %zu readings, %zu series\n", n, is);
			return 1;
		}
		fclose(f);
		qsort(ms[format] + WARM, READINGS - WARM, sizeof(double), ascending);
		mid = ms[format][WARM + (READINGS - WARM) / 2];
		median = mid > median ? mid : median;
		bytes = got > bytes ? got : bytes;
		series = is > series ? is : series;
	}
	free(text);
	printf("{\"bench\":\"scrape_10k\",\"value\":%.3g,\"unit\":\"ms\",\"vs\":null,\"ratio\":null,\"goal\":\"value <= %g, bytes <= %d\",\"ok\":%s,\"bytes\":%zu,\"series\":%zu,\"qps\":%u,\"uars\":%u,\"jobs\":%u}\n",
	       median, GOAL_MS, GOAL_BYTES,
	       median <= GOAL_MS && bytes <= GOAL_BYTES ? "true" : "false", bytes, series,
	       n_qps, n_uars, n_jobs);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return row();
	if (argc != 7 || strcmp(argv[1], "--record") != 0) {
		fprintf(stderr, "usage: scrape_10k [--record FILE QPS UARS JOBS READINGS]\n");
		return 2;
	}
	n_qps = (uint32_t)atoi(argv[3]);
	n_uars = (uint32_t)atoi(argv[4]);
	n_jobs = (uint32_t)atoi(argv[5]);
	if (n_qps < 1 || n_uars < 1 || n_jobs < 1 || n_uars > n_qps ||
	    record(fopen(argv[2], "we"), (uint64_t)atoi(argv[6]))) {
		fprintf(stderr, "scrape_10k: no recording\n");
		return 1;
	}
	return 0;
}
