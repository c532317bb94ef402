// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/expo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

#define NSEC_PER_SEC	1000000000ULL
#define FIRST_ROOM	65536

/* --- bytes ------------------------------------------------------------------------ */

static char *make_room(struct expo *e, size_t n)
{
	size_t cap = e->cap;

	if (!e->no_memory && !array_reserve(&e->buf, &cap, e->len + n, 1))
		e->no_memory = true;
	e->cap = e->no_memory ? e->cap : cap;
	return e->no_memory ? NULL : e->buf + e->len;
}

static void put_bytes(struct expo *e, const char *s, size_t n)
{
	char *to = make_room(e, n);

	if (!to)
		return;
	memcpy(to, s, n);
	e->len += n;
}

static void put_string(struct expo *e, const char *s)
{
	put_bytes(e, s, strlen(s));
}

static void put_u64(struct expo *e, uint64_t v)
{
	char buf[24], *p = buf + sizeof(buf);

	do {
		*--p = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	put_bytes(e, p, (size_t)(buf + sizeof(buf) - p));
}

/* Seconds, exactly and without trailing zeros: "12.5". */
static void put_seconds(struct expo *e, uint64_t ns)
{
	uint64_t part = ns % NSEC_PER_SEC;
	char digits[10];
	int i = 9;

	put_u64(e, ns / NSEC_PER_SEC);
	if (!part)
		return;
	digits[0] = '.';
	for (; i; i--, part /= 10)
		digits[i] = (char)('0' + part % 10);
	for (i = 10; digits[i - 1] == '0'; i--)
		;
	put_bytes(e, digits, (size_t)i);
}

/* No figure is more precise than nine digits. Whole numbers are written exactly. */
static void put_real(struct expo *e, double v)
{
	char buf[40];

	if (isnan(v))
		put_string(e, "NaN");
	else if (isinf(v))
		put_string(e, v > 0 ? "+Inf" : "-Inf");
	else if (v >= 0 && v < 1e15 && v == floor(v))
		put_u64(e, (uint64_t)v);
	else
		put_bytes(e, buf, (size_t)snprintf(buf, sizeof(buf), "%.9g", v));
}

/* --- labels ----------------------------------------------------------------------- */

void labels_init(struct expo_labels *l)
{
	l->len = 0;
	l->text[0] = '\0';
}

/* A label that does not fit is left out. */
void labels_add(struct expo_labels *l, const char *name, const char *value)
{
	char tame[512];
	struct text t = { .buf = l->text, .cap = sizeof(l->text), .len = l->len };
	struct text plain;

	if (!*value)
		return;
	text_init(&plain, tame, sizeof(tame));
	text_tame(&plain, value);
	text_add(&t, l->len ? "," : "", name, "=\"");
	for (const char *p = tame; *p; p++) {
		if (*p == '\\' || *p == '"')
			text_mem(&t, "\\", 1);
		text_mem(&t, p, 1);
	}
	text_mem(&t, "\"", 1);
	if (t.cut)
		l->text[l->len] = '\0';
	else
		l->len = t.len;
}

void labels_add_u64(struct expo_labels *l, const char *name, uint64_t value)
{
	char buf[24];

	snprintf(buf, sizeof(buf), "%llu", (unsigned long long)value);
	labels_add(l, name, buf);
}

/* --- families --------------------------------------------------------------------- */

void expo_begin(struct expo *e, enum expo_format format, size_t limit)
{
	e->format = format;
	e->len = 0;
	e->no_memory = false;
	e->family = NULL;
	e->headed = false;
	e->limit = limit > EXPO_RESERVE ? limit - EXPO_RESERVE : 0;
	e->series = e->n_dropped = e->all_dropped = 0;
	make_room(e, FIRST_ROOM);
}

void expo_release(struct expo *e)
{
	e->limit += EXPO_RESERVE;
}

bool expo_end(struct expo *e)
{
	if (e->format == EXPO_OPENMETRICS)
		put_string(e, "# EOF\n");
	return !e->no_memory;
}

void expo_free(struct expo *e)
{
	free(e->buf);
	memset(e, 0, sizeof(*e));
}

const char *expo_content_type(enum expo_format format)
{
	return format == EXPO_OPENMETRICS ?
	       "application/openmetrics-text; version=1.0.0; charset=utf-8" :
	       "text/plain; version=0.0.4; charset=utf-8";
}

static const char *suffix_of(enum expo_type type)
{
	return type == EXPO_COUNTER ? "_total" : type == EXPO_INFO ? "_info" : "";
}

static const char *const type_names[] = { "gauge", "counter", "info", "histogram", "summary" };

static void list_family(struct expo *e, const struct expo_family *f)
{
	put_string(e, f->name);
	put_string(e, suffix_of(f->type));
	put_string(e, " ");
	put_string(e, type_names[f->type]);
	put_string(e, " ");
	put_string(e, f->help);
	put_string(e, "\n");
}

void expo_family(struct expo *e, const struct expo_family *family)
{
	e->family = family;
	e->headed = false;
	if (e->format == EXPO_LIST)
		list_family(e, family);
}

/* The text format gives types to names of samples, OpenMetrics to names of families. */
static void put_header(struct expo *e)
{
	const struct expo_family *f = e->family;
	bool open = e->format == EXPO_OPENMETRICS;
	const char *suffix = open ? "" : suffix_of(f->type);
	const char *type = !open && f->type == EXPO_INFO ? "gauge" : type_names[f->type];

	e->headed = true;
	for (int i = 0; i < 2; i++) {
		put_string(e, i ? "# TYPE " : "# HELP ");
		put_string(e, f->name);
		put_string(e, suffix);
		put_string(e, " ");
		put_string(e, i ? type : f->help);
		put_string(e, "\n");
	}
	if (!open || !f->unit)
		return;
	put_string(e, "# UNIT ");
	put_string(e, f->name);
	put_string(e, " ");
	put_string(e, f->unit);
	put_string(e, "\n");
}

static void count_dropped(struct expo *e, size_t n)
{
	size_t i;

	e->all_dropped += n;
	for (i = 0; i < e->n_dropped && e->dropped[i].family != e->family; i++)
		;
	if (i == EXPO_DROPPED)
		return;
	if (i == e->n_dropped) {
		e->dropped[e->n_dropped++].family = e->family;
		e->dropped[i].n = 0;
	}
	e->dropped[i].n += n;
}

/* Makes room for @n series. False: there is none, and the caller must write none of them. */
static bool begin_series(struct expo *e, size_t n)
{
	if (e->format == EXPO_LIST)
		return false;
	if (e->series + n > e->limit) {
		count_dropped(e, n);
		return false;
	}
	e->series += n;
	if (!e->headed)
		put_header(e);
	return true;
}

/* The part of a sample before its value; @suffix and @more, a label, may be empty. */
static void put_name(struct expo *e, const char *suffix, const struct expo_labels *l,
		     const char *more)
{
	put_string(e, e->family->name);
	put_string(e, suffix);
	if ((l && l->len) || *more) {
		put_string(e, "{");
		if (l)
			put_bytes(e, l->text, l->len);
		if (l && l->len && *more)
			put_string(e, ",");
		put_string(e, more);
		put_string(e, "}");
	}
	put_string(e, " ");
}

static bool tells_created(const struct expo *e, int64_t created)
{
	return created > 0 && e->format == EXPO_OPENMETRICS;
}

static void put_created(struct expo *e, const struct expo_labels *l, int64_t created)
{
	if (!tells_created(e, created))
		return;
	put_name(e, "_created", l, "");
	put_seconds(e, (uint64_t)created);
	put_string(e, "\n");
}

static bool begin_sample(struct expo *e, const struct expo_labels *l, int64_t created)
{
	if (!begin_series(e, 1 + tells_created(e, created)))
		return false;
	put_name(e, suffix_of(e->family->type), l, "");
	return true;
}

static void end_sample(struct expo *e, const struct expo_labels *l, int64_t created)
{
	put_string(e, "\n");
	put_created(e, l, created);
}

void expo_u64(struct expo *e, const struct expo_labels *l, uint64_t v, int64_t created)
{
	if (!begin_sample(e, l, created))
		return;
	put_u64(e, v);
	end_sample(e, l, created);
}

void expo_ns(struct expo *e, const struct expo_labels *l, uint64_t ns, int64_t created)
{
	if (!begin_sample(e, l, created))
		return;
	put_seconds(e, ns);
	end_sample(e, l, created);
}

void expo_real(struct expo *e, const struct expo_labels *l, double v, int64_t created)
{
	if (!begin_sample(e, l, created))
		return;
	put_real(e, v);
	end_sample(e, l, created);
}

static void put_count(struct expo *e, const struct expo_labels *l, uint64_t count)
{
	put_name(e, "_count", l, "");
	put_u64(e, count);
	put_string(e, "\n");
}

void expo_histogram(struct expo *e, const struct expo_labels *l, const struct expo_histogram *h,
		    int64_t created)
{
	char le[40];

	if (!begin_series(e, h->n + 3 + tells_created(e, created)))
		return;
	for (size_t i = 0; i < h->n; i++) {
		double s = (double)h->bound[i] / NSEC_PER_SEC;
		/* OpenMetrics wants a canonical number, which has a point or an exponent. */
		const char *point = s >= 1 && s == floor(s) ? ".0" : "";

		snprintf(le, sizeof(le), "le=\"%.9g%s\"", s, point);
		put_name(e, "_bucket", l, le);
		put_u64(e, h->cumulative[i]);
		put_string(e, "\n");
	}
	put_name(e, "_bucket", l, "le=\"+Inf\"");
	put_u64(e, h->count);
	put_string(e, "\n");
	put_name(e, "_sum", l, "");
	put_real(e, h->sum);
	put_string(e, "\n");
	put_count(e, l, h->count);
	put_created(e, l, created);
}

void expo_summary(struct expo *e, const struct expo_labels *l, uint64_t count, uint64_t sum_ns,
		  int64_t created)
{
	if (!begin_series(e, 2 + tells_created(e, created)))
		return;
	put_name(e, "_sum", l, "");
	put_seconds(e, sum_ns);
	put_string(e, "\n");
	put_count(e, l, count);
	put_created(e, l, created);
}

/* --- negotiation ------------------------------------------------------------------ */

/* The quality of a media range, 0 to 1000. */
static int quality_of(const char *range, size_t n)
{
	const char *q = memmem(range, n, ";q=", 3);
	double v;

	if (!q)
		q = memmem(range, n, "; q=", 4);
	if (!q)
		return 1000;
	v = strtod(strchr(q, '=') + 1, NULL);
	return v > 1 ? 1000 : v > 0 ? (int)(v * 1000) : 0;
}

/* A media range that names another version than @version does not match. */
static bool names_version(const char *range, size_t n, const char *type, const char *version)
{
	const char *v = memmem(range, n, "version=", 8);
	size_t len = strlen(type);

	if (n < len || memcmp(range, type, len))
		return false;
	if (!v)
		return true;
	v += 8;
	v += *v == '"';
	return !strncmp(v, version, strlen(version));
}

enum expo_format expo_negotiate(const char *accept)
{
	int best[EXPO_FORMATS] = { 0 };

	while (accept && *accept) {
		size_t n = strcspn(accept, ",");
		size_t skip = strspn(accept, " \t");
		enum expo_format f = EXPO_FORMATS;
		int q;

		if (skip < n) {
			const char *range = accept + skip;

			q = quality_of(range, n - skip);
			if (names_version(range, n - skip, "application/openmetrics-text", "1.0.0"))
				f = EXPO_OPENMETRICS;
			else if (names_version(range, n - skip, "text/plain", "0.0.4"))
				f = EXPO_TEXT;
			if (f < EXPO_FORMATS && q > best[f])
				best[f] = q;
		}
		accept += n + (accept[n] == ',');
	}
	/* A client that asks for neither format gets text. */
	return best[EXPO_OPENMETRICS] > best[EXPO_TEXT] ? EXPO_OPENMETRICS : EXPO_TEXT;
}
