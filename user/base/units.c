// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/units.h"

#include <errno.h>
#include <string.h>

/*
 * Value in base units = number * mul / div. Two exact integers rather than one factor, because
 * 80 / 100 rounds once and 80 * 0.01 twice: 80% would not equal 80%.
 */
static const struct spelling {
	const char *name;
	enum unit unit;
	double mul, div;
	bool formats;	/* output uses the spelling, if it is the largest that fits */
} spellings[] = {
	{ "",	    UNIT_COUNT,	  1,	1,   true },
	{ "k",	    UNIT_COUNT,	  1e3,	1,   false },
	{ "M",	    UNIT_COUNT,	  1e6,	1,   false },
	{ "ns",	    UNIT_TIME,	  1,	1,   true },
	{ "us",	    UNIT_TIME,	  1e3,	1,   true },
	{ "ms",	    UNIT_TIME,	  1e6,	1,   true },
	{ "s",	    UNIT_TIME,	  1e9,	1,   true },
	{ "bit/s",  UNIT_BITRATE, 1,	1,   true },
	{ "kbit/s", UNIT_BITRATE, 1e3,	1,   true },
	{ "Mbit/s", UNIT_BITRATE, 1e6,	1,   true },
	{ "Gbit/s", UNIT_BITRATE, 1e9,	1,   true },
	{ "Tbit/s", UNIT_BITRATE, 1e12, 1,   true },
	{ "/s",	    UNIT_RATE,	  1,	1,   true },
	{ "1/s",    UNIT_RATE,	  1,	1,   false },
	{ "k/s",    UNIT_RATE,	  1e3,	1,   false },
	{ "M/s",    UNIT_RATE,	  1e6,	1,   false },
	{ "%",	    UNIT_RATIO,	  1,	100, true },
	{ "B",	    UNIT_BYTES,	  1,	1,   true },
	{ "KiB",    UNIT_BYTES,	  1024,	1,   true },
	{ "MiB",    UNIT_BYTES,	  1048576, 1, true },
	{ "GiB",    UNIT_BYTES,	  1073741824, 1, true },
};

#define N_SPELLINGS (sizeof(spellings) / sizeof(spellings[0]))

/* Spellings of other tools. */
static const struct {
	const char *wrong, *right;
} aliases[] = {
	{ "bit", "bit/s" },	{ "bps", "bit/s" },
	{ "kbit", "kbit/s" },	{ "Kbit/s", "kbit/s" },	{ "kbps", "kbit/s" },
	{ "mbit", "Mbit/s" },	{ "Mbit", "Mbit/s" },	{ "mbit/s", "Mbit/s" },
	{ "Mbps", "Mbit/s" },	{ "mbps", "Mbit/s" },	{ "Mb/s", "Mbit/s" },
	{ "MB/s", "Mbit/s, in bits" },
	{ "gbit", "Gbit/s" },	{ "Gbit", "Gbit/s" },	{ "gbit/s", "Gbit/s" },
	{ "Gbps", "Gbit/s" },	{ "gbps", "Gbit/s" },	{ "Gb/s", "Gbit/s" },
	{ "GB/s", "Gbit/s, in bits" },
	{ "nsec", "ns" },	{ "usec", "us" },	{ "\xc2\xb5s", "us" },
	{ "msec", "ms" },	{ "sec", "s" },		{ "secs", "s" },
	{ "min", "s" },		{ "m", "ms" },		{ "u", "us" },
	{ "percent", "%" },	{ "pct", "%" },
	{ "Hz", "/s" },		{ "hz", "/s" },		{ "per second", "/s" },
	{ "kB", "KiB" },	{ "KB", "KiB" },	{ "kiB", "KiB" },
	{ "MB", "MiB" },	{ "GB", "GiB" },
	{ "qps", "/s" },	{ "wr/s", "/s" },	{ "K", "k" },
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

size_t units_length(const char *s)
{
	size_t k, len;

	for (k = 0; k < N_SPELLINGS; k++) {
		const char *name = spellings[k].name;
		char after;

		len = strlen(name);
		/* "1/s" is not matched: in an expression it may be a quotient. */
		if (!len || is_digit(*name) || strncmp(s, name, len))
			continue;
		after = s[len];
		if (spellings[k].unit == UNIT_RATIO ||
		    !(is_letter(after) || is_digit(after) || after == '.' ||
		      (after == '/' && *name != '/')))
			return len;
	}
	return 0;
}

static double scale_mantissa(double mantissa, unsigned int frac,
			     const struct spelling *sp)
{
	double div = sp->div;

	while (frac--)
		div *= 10;
	return mantissa * sp->mul / div;
}

int units_parse(const char *s, size_t n, struct quantity *q, size_t *unit_at)
{
	uint64_t mantissa = 0;
	unsigned int frac = 0, seen = 0;
	bool point = false;
	size_t i = 0, k, len;

	while (n && is_blank(s[n - 1]))
		n--;
	while (i < n && is_blank(s[i]))
		i++;
	for (; i < n && (is_digit(s[i]) || (s[i] == '.' && !point)); i++) {
		if (s[i] == '.') {
			point = true;
			continue;
		}
		if (mantissa >= 100000000000000ULL)
			return -ERANGE;
		mantissa = mantissa * 10 + (uint64_t)(s[i] - '0');
		frac += point;
		seen++;
	}
	if (!seen || s[i - 1] == '.')
		return -EINVAL;
	while (i < n && is_blank(s[i]))
		i++;
	len = n - i;
	for (k = 0; k < N_SPELLINGS; k++) {
		if (strlen(spellings[k].name) != len ||
		    memcmp(spellings[k].name, s + i, len))
			continue;
		q->unit = spellings[k].unit;
		q->v = scale_mantissa((double)mantissa, frac, &spellings[k]);
		return 0;
	}
	if (unit_at)
		*unit_at = i;
	return -ENOENT;
}

const char *units_suggest(const char *s, size_t n)
{
	size_t i;

	while (n && is_blank(s[n - 1]))
		n--;
	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strlen(aliases[i].wrong) == n &&
		    !memcmp(aliases[i].wrong, s, n))
			return aliases[i].right;
	return NULL;
}

const char *units_describe(enum unit unit)
{
	switch (unit) {
	case UNIT_COUNT:
		return "a plain number, as in 512";
	case UNIT_TIME:
		return "a time, as in 5us (ns, us, ms or s)";
	case UNIT_BITRATE:
		return "a speed, as in 20Mbit/s (bit/s, kbit/s, Mbit/s, Gbit/s)";
	case UNIT_RATE:
		return "a rate, as in 100/s (/s, k/s, M/s)";
	case UNIT_RATIO:
		return "a ratio, as in 80%";
	case UNIT_ID:
		return "a number that names something, as in 3";
	case UNIT_CLASS:
		return "a job class: latency, balanced, throughput, best-effort";
	case UNIT_STATE:
		return "a QP state: RESET, INIT, RTR, RTS, SQD, SQE, ERR";
	case UNIT_TYPE:
		return "a QP type: SMI, GSI, RC, UC, UD, RAW_PACKET, XRC_INI, XRC_TGT, DRIVER";
	case UNIT_BYTES:
		return "a size, as in 64KiB (B, KiB, MiB, GiB)";
	case UNIT_PLACE:
		return "where new QPs go: default, lightest, by-thread";
	case UNIT_SWITCH:
		return "yes or no";
	case UNIT_UAR:
		return "lightest";
	case UNITS:
		break;
	}
	return "a value";
}

static const struct spelling *best_scale(double v, enum unit unit)
{
	const struct spelling *best = NULL, *sp = spellings;
	const struct spelling *end = spellings + N_SPELLINGS;

	/* Entries of one unit are adjacent, the smallest scale first. */
	while (sp < end && sp->unit != unit)
		sp++;
	for (; sp < end && sp->unit == unit; sp++) {
		if (!sp->formats)
			continue;
		if (best && v * sp->div < sp->mul)
			break;
		best = sp;
	}
	return best;
}

static void write_scaled(struct text *t, double v, const struct spelling *sp,
			 unsigned int decimals)
{
	text_fixed(t, sp ? v * sp->div / sp->mul : v, decimals);
	if (!sp || !sp->name[0])
		return;
	if (sp->unit != UNIT_RATE)
		text_str(t, " ");
	text_str(t, sp->name);
}

void units_format(struct text *t, double v, enum unit unit)
{
	const struct spelling *sp = best_scale(v, unit);
	double shown = sp ? v * sp->div / sp->mul : v;

	write_scaled(t, v, sp, shown >= 10 ? 1 : 2);
}

void units_format_exact(struct text *t, double v, enum unit unit)
{
	const struct spelling *sp = best_scale(v, unit);
	unsigned int decimals;
	char buf[64];
	struct text probe;
	struct quantity q;

	for (decimals = 0; decimals <= 9; decimals++) {
		text_init(&probe, buf, sizeof(buf));
		write_scaled(&probe, v, sp, decimals);
		if (!units_parse(buf, probe.len, &q, NULL) && q.v == v)
			break;
	}
	/* In this unit the number is an infinite fraction: use the base unit. */
	if (decimals > 9) {
		text_init(&probe, buf, sizeof(buf));
		write_scaled(&probe, v, best_scale(0, unit), 9);
	}
	text_mem(t, buf, probe.len);
}

const char *units_text(char *buf, size_t cap, double v, enum unit unit)
{
	struct text t;

	text_init(&t, buf, cap);
	units_format(&t, v, unit);
	return buf;
}

const char *units_text_exact(char *buf, size_t cap, double v, enum unit unit)
{
	struct text t;

	text_init(&t, buf, cap);
	units_format_exact(&t, v, unit);
	return buf;
}
