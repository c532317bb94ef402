/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Metrics of made-up snapshots, as text that tests search. */
#ifndef SELFTESTS_UNIT_EXPO_RIG_H
#define SELFTESTS_UNIT_EXPO_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exporter/figures.h"
#include "exporter/snap_copy.h"
#include "unit/snap_build.h"

static const struct figures_options rig_options = {
	.top_uars = 1, .top_qps = 1, .max_owners = 10, .max_series = 10000,
};

/* Hands a snapshot over, as the reader would. */
static inline void rig_take(struct figures *f, const struct snapshot *snap)
{
	struct source s = { .fd = -1 };

	assert_int_equal(snap_copy(&s.snap, snap), 0);
	assert_int_equal(figures_take(f, &s, SOURCE_READING), 0);
	source_close(&s);
}

/* A reading of job kv, which has a target of 100 us, and @fast and @slow samples so far. */
static inline void rig_latencies(struct figures *f, struct made *m, uint64_t ms, uint64_t fast,
				 uint64_t slow)
{
	struct snap_job_report *r;

	made_scene(m, ms, 0);
	r = made_job_report(m, 1, 0, 1);
	r->slo_p99 = 100000;
	made_latencies(r, 30000, fast, 2);
	made_latencies(r, 300000, slow, 2);
	rig_take(f, &m->s);
}

/* The text of all metrics, which ends with a NUL. */
static inline char *rig_text(struct figures *f, struct expo *e, enum expo_format format)
{
	char *text;

	assert_true(metrics_write(f, e, format));
	text = malloc(e->len + 1);
	assert_non_null(text);
	memcpy(text, e->buf, e->len);
	text[e->len] = '\0';
	return text;
}

/* The value of a sample: what stands behind @name on its line. NULL: there is no such sample. */
static inline const char *rig_value(const char *text, const char *name)
{
	static char value[64];
	size_t n = strlen(name);

	for (const char *p = strstr(text, name); p; p = strstr(p + 1, name)) {
		if ((p != text && p[-1] != '\n') || p[n] != ' ')
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(p + n + 1, "\n"), p + n + 1);
		return value;
	}
	return NULL;
}

#define assert_metric(text, name, value)					\
	do {									\
		const char *is_ = rig_value(text, name);			\
										\
		if (!is_)							\
			print_error("no sample %s in:\n%s", name, text);	\
		assert_non_null(is_);						\
		assert_string_equal(is_, value);				\
	} while (0)

#endif /* SELFTESTS_UNIT_EXPO_RIG_H */
