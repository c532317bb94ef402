// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *const probe_verdict_words[PROBE_VERDICTS] = {
	[PROBE_AS_ASSUMED] = "as assumed",
	[PROBE_CANNOT] = "cannot",
	[PROBE_DIFFERS] = "differs",
};

static bool is_off(const struct probe_figure *g)
{
	/* A figure that is no number was not measured. */
	if (g->compare != PROBE_SHOWN && isnan(g->found))
		return true;
	switch (g->compare) {
	case PROBE_SHOWN:
		return false;
	case PROBE_EXACT:
		return g->found != g->assumed;
	case PROBE_NEAR:
		return fabs(g->found - g->assumed) > fabs(g->assumed) * g->tolerance;
	case PROBE_AT_MOST:
		return g->found > g->assumed;
	case PROBE_AT_LEAST:
		return g->found < g->assumed;
	}
	return true;
}

/* The only tolerance in use: of rates, which other traffic on the NIC disturbs. */
#define TOLERANCE	0.25

struct probe_figure *finding_compare(struct probe_finding *f, enum probe_compare how,
				     const char *unit, double assumed, double found,
				     const char *name, ...)
{
	struct probe_figure *g;
	va_list ap;

	if (f->n_figures == PROBE_FIGURES)
		return NULL;
	g = &f->figures[f->n_figures++];
	va_start(ap, name);
	vsnprintf(g->name, sizeof(g->name), name, ap);
	va_end(ap);
	g->unit = unit;
	g->compare = how;
	g->assumed = assumed;
	g->found = found;
	g->tolerance = how == PROBE_NEAR ? TOLERANCE : 0;
	g->off = is_off(g);
	if (g->off)
		f->verdict = PROBE_DIFFERS;
	return g;
}

static void say_words(struct probe_finding *f, enum probe_verdict verdict, const char *fmt,
		      va_list ap)
{
	if (verdict < f->verdict && f->found[0])
		return;
	if (verdict > f->verdict)
		f->verdict = verdict;
	vsnprintf(f->found, sizeof(f->found), fmt, ap);
}

void finding_say(struct probe_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_words(f, f->verdict, fmt, ap);
	va_end(ap);
}

void finding_cannot(struct probe_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_words(f, PROBE_CANNOT, fmt, ap);
	va_end(ap);
}

void finding_differs(struct probe_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_words(f, PROBE_DIFFERS, fmt, ap);
	va_end(ap);
}

int findings_status(const struct probe_finding *f, size_t n)
{
	enum probe_verdict worst = PROBE_AS_ASSUMED;

	for (size_t i = 0; i < n; i++)
		if (f[i].verdict > worst)
			worst = f[i].verdict;
	return (int)worst;
}
