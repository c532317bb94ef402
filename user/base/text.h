/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Appends words and numbers to a buffer of the caller. Text that does not fit is cut, and .cut
 * is set; the buffer always ends with a NUL.
 *
 * snprintf() cannot be used: what is written must not depend on the locale.
 */
#ifndef SRDMA_BASE_TEXT_H
#define SRDMA_BASE_TEXT_H

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
/* Appends text that may not fit. */
void text_cut(struct text *t, const char *s, size_t n);

/*
 * Inline, because a reason consists of about seventy pieces, most of which are literals of
 * known length.
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

/* Appends several strings. */
#define text_add(t, ...) text_list(t, (const char *const[]){ __VA_ARGS__, NULL })

/* Appends the strings of a NULL-terminated list. */
void text_list(struct text *t, const char *const *list);
void text_u64(struct text *t, uint64_t v);
/* Length of the UTF-8 sequence at @str (RFC 3629). 0: there is none. */
unsigned int text_utf8(const char *str);
/*
 * Appends a name that a process or a file chose, with '?' for bytes that could control a
 * terminal: ASCII control characters, U+0080 to U+009F, which include the start of escape
 * sequences, and invalid UTF-8, which is such a character in other encodings.
 */
void text_tame(struct text *t, const char *name);
/* Appends @v rounded to @decimals (0 to 9), without trailing zeros. */
void text_fixed(struct text *t, double v, unsigned int decimals);

#endif /* SRDMA_BASE_TEXT_H */
