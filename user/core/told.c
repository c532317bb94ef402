// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/told.h"

#include <string.h>

#define OPENS " [tick "
#define NEXT ", next in "
#define STEPS " steps left"
#define ACTS " acts left"

static void note(struct text *t, const struct policy_decision *d)
{
	text_str(t, OPENS);
	text_u64(t, d->tick);
	if (d->cooldown) {
		text_str(t, NEXT);
		units_format(t, (double)d->cooldown, UNIT_TIME);
	}
	if (d->steps_left != UINT32_MAX) {
		text_str(t, ", ");
		text_u64(t, d->steps_left);
		text_str(t, STEPS);
	}
	if (d->acts_left != UINT32_MAX) {
		text_str(t, ", ");
		text_u64(t, d->acts_left);
		text_str(t, ACTS);
	}
	text_str(t, "]");
}

/* Where what was done begins: behind the last colon. */
static size_t outcome_at(const char *s)
{
	size_t i, at = strlen(s);

	for (i = 0; s[i]; i++)
		if (s[i] == ':' && s[i + 1] == ' ')
			at = i;
	return at;
}

void told_write(char *buf, size_t cap, const struct policy_decision *d)
{
	size_t at = outcome_at(d->reason), len = strlen(d->reason), keep = at;
	char end[128];
	struct text t;

	text_init(&t, end, sizeof(end));
	note(&t, d);
	if (len + t.len >= cap) {
		/* Three dots take the place of as much as they need. */
		keep = len - at + t.len + 3;
		keep = keep < cap ? cap - 1 - keep : 0;
		if (keep > at)
			keep = at;
		while (keep && (d->reason[keep] & 0xc0) == 0x80)
			keep--;
	}
	text_init(&t, buf, cap);
	text_mem(&t, d->reason, keep);
	if (keep < at)
		text_str(&t, "...");
	text_str(&t, d->reason + at);
	text_str(&t, end);
}

/* A number at @s, and where it ends. NULL: there is none, or too large a one. */
static const char *number(const char *s, uint64_t *v)
{
	const char *from = s;

	for (*v = 0; *s >= '0' && *s <= '9'; s++) {
		if (*v > (UINT64_MAX - 9) / 10)
			return NULL;
		*v = *v * 10 + (uint64_t)(*s - '0');
	}
	return s == from ? NULL : s;
}

static const char *after(const char *s, const char *word)
{
	size_t n = strlen(word);

	return strncmp(s, word, n) ? NULL : s + n;
}

static const char *read_cooldown(const char *s, struct told *t)
{
	size_t n = strcspn(s, ",]");
	struct quantity q;

	if (units_parse(s, n, &q, NULL) || q.unit != UNIT_TIME || q.v > 1e18)
		return NULL;
	t->has_cooldown = true;
	t->cooldown = (uint64_t)q.v;
	return s + n;
}

static const char *read_left(const char *s, struct told *t)
{
	const char *end;
	uint64_t v;

	s = number(s, &v);
	if (!s || v >= UINT32_MAX)
		return NULL;
	end = after(s, STEPS);
	if (end) {
		t->steps_left = (uint32_t)v;
		return end;
	}
	end = after(s, ACTS);
	if (end)
		t->acts_left = (uint32_t)v;
	return end;
}

bool told_read(const char *reason, struct told *t)
{
	const char *colon = strstr(reason, ": "), *s = NULL, *p, *next;

	for (p = reason; (p = strstr(p, OPENS)); p++)
		s = p;
	if (!s || !colon || colon > s ||
	    (size_t)(colon - reason) >= sizeof(t->policy))
		return false;
	memset(t, 0, sizeof(*t));
	t->steps_left = UINT32_MAX;
	t->acts_left = UINT32_MAX;
	memcpy(t->policy, reason, (size_t)(colon - reason));
	s = number(s + strlen(OPENS), &t->tick);
	while (s && *s == ',') {
		next = after(s, NEXT);
		s = next ? read_cooldown(next, t) :
		    s[1] == ' ' ? read_left(s + 2, t) : NULL;
	}
	return s && !strcmp(s, "]");
}
