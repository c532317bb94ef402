// SPDX-License-Identifier: GPL-2.0
/*
 * Max-min division of a job's ceiling among its processes. This file uses nothing of the
 * kernel but its division, so that the unit tests can compile it.
 */
#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/minmax.h>
#else
#include <stdbool.h>
#define div64_u64(a, b)	((a) / (b))
#define min(a, b)	((a) < (b) ? (a) : (b))
#define max(a, b)	((a) > (b) ? (a) : (b))
#endif

#include "divide.h"

/*
 * 1/SPARE_PART of the whole is shared out equally, on top of what each process wants. A
 * process that begins to send has this to begin with, and shows by posts that wait that it
 * wants more. What a process does not use of its part is lost until the next look.
 */
#define SPARE_PART	128
/* Posts that wait for less than 1/BRIEF_PART of the time came in a small bunch. */
#define BRIEF_PART	8

__u64 srdma_want(const struct srdma_use *u, __u64 total)
{
	__u64 used = min(u->used, total), held = u->held, window = u->window, part;
	bool is_full = used >= u->share - u->share / 4;

	if (!held)
		return used;
	/* A process that was held with less than the fair share may want any amount. */
	if (u->share < u->fair && (!is_full || held >= window / BRIEF_PART))
		return total;
	if (held >= window / 2 && (is_full || held >= window - window / 4))
		return total;
	/* The process was held, but used little of its share: it has stopped sending since. */
	if (!is_full)
		return used;
	/* Without the waits it would have used more, in proportion to the time that it waited. */
	part = div64_u64(held << 10, window - held);
	return min(used + (used * part >> 10), total);
}

static __u64 excess_want(const struct srdma_need *p, __u64 base)
{
	return p->want > base ? p->want - base : 0;
}

/* Does @rest cover what all processes want beyond @base, up to @level each? */
static bool level_covers(const struct srdma_need *first, __u64 base, __u64 level, __u64 rest)
{
	const struct srdma_need *p;
	__u64 more;

	for (p = first; p; p = p->next) {
		more = min(excess_want(p, base), level);
		if (more > rest)
			return false;
		rest -= more;
	}
	return true;
}

/* The highest level that @rest covers, @rest at most. */
static __u64 find_level(const struct srdma_need *first, __u64 base, __u64 rest)
{
	__u64 low = 0, high = rest, middle;

	while (low < high) {
		middle = high - (high - low) / 2;
		if (level_covers(first, base, middle, rest))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Share out @left equally among @n processes: those that want more than @level, or all. */
static void share_out(struct srdma_need *first, __u64 left, __u64 n, bool all, __u64 base,
		      __u64 level, __u64 turn)
{
	__u64 each = div64_u64(left, n), odd = left - each * n, i;
	struct srdma_need *p;

	/* The place of the first process, counted from the one whose turn it is. */
	i = n - (turn - div64_u64(turn, n) * n);
	for (p = first; p; p = p->next) {
		if (!all && excess_want(p, base) <= level)
			continue;
		if (i >= n)
			i = 0;
		p->share += each + (i++ < odd);
	}
}

__u64 srdma_divide(struct srdma_need *first, __u64 total, __u64 least, __u64 turn)
{
	__u64 n = 0, eager = 0, more = 0, base, level, left;
	struct srdma_need *p;

	for (p = first; p; p = p->next) {
		p->had = p->share;
		n++;
	}
	if (!n)
		return 0;
	total = max(total, n * least);
	base = max(div64_u64(total / SPARE_PART, n), least);
	left = total - base * n;
	level = find_level(first, base, left);
	for (p = first; p; p = p->next) {
		p->share = base + min(excess_want(p, base), level);
		left -= p->share - base;
		eager += excess_want(p, base) > level;
	}
	share_out(first, left, eager ?: n, !eager, base, level, turn);
	for (p = first; p; p = p->next)
		more += p->share > p->had ? p->share - p->had : 0;
	return more;
}
