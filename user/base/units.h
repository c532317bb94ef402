/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Quantities as operators write them ("5us", "20 Mbit/s", "80%") and in the base units of
 * the program: times in ns, speeds in bit/s, rates in 1/s, ratios as fractions of one, sizes in
 * bytes. This is the only place that spells the names of units.
 */
#ifndef SRDMA_BASE_UNITS_H
#define SRDMA_BASE_UNITS_H

#include "base/text.h"

enum unit {
	UNIT_COUNT,
	UNIT_TIME,	/* ns */
	UNIT_BITRATE,	/* bit/s */
	UNIT_RATE,	/* 1/s */
	UNIT_RATIO,
	UNIT_ID,	/* an identifier, which has no order */
	UNIT_BYTES,
	UNIT_CLASS,	/* from here on: words, see vocab.h */
	UNIT_STATE,
	UNIT_TYPE,
	UNIT_PLACE,	/* enum swiftrdma_place */
	UNIT_SWITCH,	/* no or yes */
	UNIT_UAR,	/* a UAR to move to */
	UNITS,
};

struct quantity {
	double v;
	enum unit unit;
};

/**
 * units_parse - read a number with its unit
 * @s: text, blanks around allowed
 * @n: bytes of @s
 * @q: out: the quantity
 * @unit_at: out: offset of an unknown unit; may be NULL
 *
 * 0; -EINVAL: no number; -ERANGE: more digits than a double holds; -ENOENT: the number is
 * valid and its unit is unknown.
 */
int units_parse(const char *s, size_t n, struct quantity *q, size_t *unit_at);

/* Length of the unit at the beginning of @s; 0: there is none, or its word goes on. */
size_t units_length(const char *s);

/* The unit that @s ("mbit", "usec", "MB/s") probably means, or NULL. */
const char *units_suggest(const char *s, size_t n);

/* "a time, as in 5us": how a quantity of this unit is written. */
const char *units_describe(enum unit unit);

/* For people: about three digits. */
void units_format(struct text *t, double v, enum unit unit);
/* For files: units_parse() returns exactly the same value. */
void units_format_exact(struct text *t, double v, enum unit unit);

/* The same into a buffer of @cap bytes. Return @buf. */
const char *units_text(char *buf, size_t cap, double v, enum unit unit);
const char *units_text_exact(char *buf, size_t cap, double v, enum unit unit);

#endif /* SRDMA_BASE_UNITS_H */
