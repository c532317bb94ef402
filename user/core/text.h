/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Words and numbers appended to a buffer the caller owns. What does not fit is
 * cut and remembered in .cut; the buffer always ends with a NUL.
 *
 * Not snprintf(): reasons are written while a policy is evaluated, which must
 * neither allocate nor depend on the process's locale.
 */
#ifndef SRDMA_CORE_TEXT_H
#define SRDMA_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	char *buf;
	size_t cap, len;
	bool cut;
};

void text_init(struct text *t, char *buf, size_t cap);
/* The same, where it may not fit. */
void text_cut(struct text *t, const char *s, size_t n);

/*
 * Inline: a reason is made of some seventy pieces, most of which are written down
 * here, and of a length that is known.
 */
static inline void text_mem(struct text *t, const char *s, size_t n)
{
	if (n + t->len >= t->cap) {
		text_cut(t, s, n);
		return;
	}
	memcpy(t->buf + t->len, s, n);
	t->len += n;
	t->buf[t->len] = '\0';
}

static inline void text_str(struct text *t, const char *s)
{
	text_mem(t, s, strlen(s));
}

void text_u64(struct text *t, uint64_t v);
/* The length of the UTF-8 sequence at @str, 0: it is none (RFC 3629). */
unsigned int text_utf8(const char *str);
/*
 * A name that a process or a file chose: what would move a terminal's cursor is a
 * '?'. That is control characters of one byte, of two (U+0080 to U+009F, among them
 * the beginning of terminals' sequences), and bytes that are no UTF-8, which may be
 * the same to a terminal of another encoding.
 */
void text_tame(struct text *t, const char *name);
/* Rounded to @decimals (0 to 9), trailing zeros dropped. */
void text_fixed(struct text *t, double v, unsigned int decimals);

#endif /* SRDMA_CORE_TEXT_H */
