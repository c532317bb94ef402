/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a check of swiftrdma probe found, and the verdict on it. Plain data: nothing here knows
 * verbs, so the unit tests need no device.
 */
#ifndef SRDMA_PROBE_VERDICT_H
#define SRDMA_PROBE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In order of severity. */
enum probe_verdict {
	PROBE_AS_ASSUMED,
	PROBE_CANNOT,		/* could not be tried; .found says why */
	PROBE_DIFFERS,
	PROBE_VERDICTS,
};

/* How a figure is compared with what is assumed. */
enum probe_compare {
	PROBE_SHOWN,		/* not at all */
	PROBE_EXACT,
	PROBE_NEAR,		/* within .tolerance, a fraction of .assumed */
	PROBE_AT_MOST,
	PROBE_AT_LEAST,
};

#define PROBE_NAME	48
#define PROBE_FOUND	400
#define PROBE_FIGURES	40

struct probe_figure {
	char name[PROBE_NAME];
	const char *unit;
	enum probe_compare compare;
	double assumed, found, tolerance;
	bool has_model;
	double model;		/* what the preset of the contention model says */
	bool off;		/* not as assumed */
};

struct probe_finding {
	const char *check;	/* its name */
	const char *assumed;	/* what SwiftRDMA assumes, as a sentence */
	const char *source;	/* where SwiftRDMA assumes it, and the document or measurement behind that */
	enum probe_verdict verdict;
	char found[PROBE_FOUND];
	struct probe_figure figures[PROBE_FIGURES];
	size_t n_figures;
};

/*
 * Each adds a figure. A figure that is not as assumed makes the verdict %PROBE_DIFFERS.
 * finding_compare() returns the figure, NULL if there are %PROBE_FIGURES already.
 */
struct probe_figure *finding_compare(struct probe_finding *f, enum probe_compare how,
				     const char *unit, double assumed, double found,
				     const char *name, ...)
	__attribute__((format(printf, 6, 7)));

/* Replaces the sentence that says what was found. */
void finding_say(struct probe_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, with a verdict; a worse verdict stays, and its sentence with it. */
void finding_cannot(struct probe_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void finding_differs(struct probe_finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The status of the command: 0 all as assumed, 1 some could not be tried, 2 some differ. */
int findings_status(const struct probe_finding *f, size_t n);

extern const char *const probe_verdict_words[PROBE_VERDICTS];

#endif /* SRDMA_PROBE_VERDICT_H */
