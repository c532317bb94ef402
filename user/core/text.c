// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/text.h"

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

void text_mem(struct text *t, const char *s, size_t n)
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

void text_str(struct text *t, const char *s)
{
	text_mem(t, s, strlen(s));
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
	uint64_t pow = 1, whole, frac;
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
	/* Beyond this a double has no fraction left, and soon no u64. */
	if (v >= 1e15) {
		if (v >= 1.8e19)
			text_str(t, "inf");
		else
			text_u64(t, (uint64_t)v);
		return;
	}
	if (decimals > sizeof(digits))
		decimals = sizeof(digits);
	for (i = 0; i < decimals; i++)
		pow *= 10;
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
