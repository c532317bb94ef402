// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const kinds[TREND_KINDS] = {
	[TREND_TX] = "tx", [TREND_RX] = "rx",
	[TREND_CLASS_TX] = "class_tx", [TREND_CLASS_RX] = "class_rx",
	[TREND_P99] = "p99", [TREND_SLO] = "slo",
};

int trend_init(struct trend *t, size_t points)
{
	*t = (struct trend){ .cap = points };
	t->ms = calloc(points, sizeof(*t->ms));
	return t->ms ? 0 : -ENOMEM;
}

void trend_free(struct trend *t)
{
	for (size_t i = 0; i < t->n_series; i++)
		free(t->series[i].v);
	free(t->series);
	free(t->ms);
	*t = (struct trend){ 0 };
}

static void forget_series(struct trend *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n_series; i++) {
		if (t->series[i].last >= trend_first(t))
			t->series[kept++] = t->series[i];
		else
			free(t->series[i].v);
	}
	t->n_series = kept;
}

void trend_begin(struct trend *t, int64_t ms)
{
	t->ms[t->n % t->cap] = ms;
	for (size_t i = 0; i < t->n_series; i++)
		t->series[i].v[t->n % t->cap] = NAN;
	t->n++;
	forget_series(t);
}

/* The place where the series is, or would be, in the list. The caller compares the name. */
static size_t find_series(const struct trend *t, const char *name)
{
	return array_find(t->n_series, i, strcmp(t->series[i].name, name) < 0);
}

static struct trend_series *add_series(struct trend *t, size_t at, const char *name)
{
	struct trend_series new = { .v = NULL };

	if (t->n_series == TREND_SERIES ||
	    !array_reserve(&t->series, &t->cap_series, t->n_series + 1, sizeof(*t->series)))
		return NULL;
	new.v = malloc(t->cap * sizeof(*new.v));
	if (!new.v)
		return NULL;
	for (size_t i = 0; i < t->cap; i++)
		new.v[i] = NAN;
	memcpy(new.name, name, strlen(name) + 1);
	memmove(&t->series[at + 1], &t->series[at], (t->n_series - at) * sizeof(*t->series));
	t->series[at] = new;
	t->n_series++;
	return &t->series[at];
}

void trend_set(struct trend *t, enum trend_kind kind, const char *object, const char *part,
	       double v)
{
	char name[TREND_NAME];
	struct trend_series *s;
	struct text text;
	size_t at;

	text_init(&text, name, sizeof(name));
	text_add(&text, kinds[kind], "|", object);
	if (part)
		text_add(&text, "|", part);
	at = find_series(t, name);
	s = at < t->n_series && !strcmp(t->series[at].name, name) ? &t->series[at] :
	    add_series(t, at, name);
	if (!s) {
		t->dropped++;
		return;
	}
	s->v[(t->n - 1) % t->cap] = (float)v;
	s->last = t->n - 1;
}
