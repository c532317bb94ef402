// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/text.h"

#include <string.h>

void text_init(struct text *t, char *buf, size_t cap)
{
	t->buf = buf;
	t->cap = cap;
	t->len = 0;
	t->cut = false;
	if (cap)
		buf[0] = '\0';
}

void text_cut(struct text *t, const char *s, size_t n)
{
	size_t room = t->cap ? t->cap - 1 - t->len : 0;

	if (n > room) {
		n = room;
		t->cut = true;
	}
	if (!n)
		return;
	memcpy(t->buf + t->len, s, n);
	t->len += n;
	t->buf[t->len] = '\0';
}

void text_list(struct text *t, const char *const *list)
{
	for (; *list; list++)
		text_str(t, *list);
}

unsigned int text_utf8(const char *str)
{
	const unsigned char *s = (const unsigned char *)str;
	unsigned int n, cp, min;

	if (*s >= 0xc2 && *s <= 0xdf)
		n = 2, cp = *s & 0x1f, min = 0x80;
	else if ((*s & 0xf0) == 0xe0)
		n = 3, cp = *s & 0x0f, min = 0x800;
	else if (*s >= 0xf0 && *s <= 0xf4)
		n = 4, cp = *s & 0x07, min = 0x10000;
	else
		return 0;
	for (unsigned int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		cp = cp << 6 | (s[i] & 0x3f);
	}
	if (cp < min || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 0;
	return n;
}

void text_tame(struct text *t, const char *name)
{
	unsigned int len;

	for (; *name && !t->cut; name += len) {
		unsigned char c = (unsigned char)*name;

		len = c < 0x80 ? 1 : text_utf8(name);
		if (!len || c < 0x20 || c == 0x7f ||
		    (c == 0xc2 && (unsigned char)name[1] < 0xa0)) {
			text_mem(t, "?", 1);
			len = 1;
		} else if (t->len + len < t->cap) {
			text_mem(t, name, len);
		} else {
			t->cut = true;	/* not in the middle of a character */
		}
	}
}

void text_u64(struct text *t, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	text_mem(t, digits + n, sizeof(digits) - n);
}

void text_fixed(struct text *t, double v, unsigned int decimals)
{
	static const uint64_t pows[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
		1000000000,
	};
	uint64_t pow, whole, frac;
	char digits[9];
	unsigned int i;

	if (v != v) {
		text_str(t, "nan");
		return;
	}
	if (v < 0) {
		text_str(t, "-");
		v = -v;
	}
	/* From here on a double has hardly a fraction. Beyond 1.8e19 it may not fit in a u64. */
	if (v >= 1e15) {
		if (v >= 1.8e19)
			text_str(t, "inf");
		else
			text_u64(t, (uint64_t)v);
		return;
	}
	if (decimals > sizeof(digits))
		decimals = sizeof(digits);
	pow = pows[decimals];
	whole = (uint64_t)v;
	frac = (uint64_t)((v - (double)whole) * (double)pow + 0.5);
	if (frac >= pow) {
		frac -= pow;
		whole++;
	}
	text_u64(t, whole);
	if (!frac)
		return;
	for (i = decimals; i > 0; i--) {
		digits[i - 1] = (char)('0' + frac % 10);
		frac /= 10;
	}
	while (decimals && digits[decimals - 1] == '0')
		decimals--;
	text_str(t, ".");
	text_mem(t, digits, decimals);
}
