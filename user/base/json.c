// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

static void write_newline(struct json *j)
{
	putc_unlocked('\n', j->f);
	for (unsigned int i = 0; j->pretty && i < j->depth; i++)
		fputs_unlocked("    ", j->f);
}

/* Between values. Even when terse, each element of the outer list has a line. */
static void write_separator(struct json *j)
{
	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (!j->first)
		putc_unlocked(',', j->f);
	if (j->depth && (j->pretty || (j->list && j->depth == 1 && !j->first)))
		write_newline(j);
	j->first = false;
}

void json_begin(struct json *j, char open)
{
	write_separator(j);
	putc_unlocked(open, j->f);
	if (!j->depth)
		j->list = open == '[';
	j->depth++;
	j->first = true;
}

void json_end(struct json *j, char close)
{
	j->depth--;
	if (j->pretty && !j->first)
		write_newline(j);
	putc_unlocked(close, j->f);
	j->first = false;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void write_string(struct json *j, const char *str)
{
	const unsigned char *s = (const unsigned char *)str;

	putc_unlocked('"', j->f);
	while (*s) {
		unsigned int n = 0;

		while (is_plain(s[n]))
			n++;
		if (!n && *s >= 0x80)
			n = text_utf8(str + (s - (const unsigned char *)str));
		if (n) {
			fwrite_unlocked(s, 1, n, j->f);
			s += n;
		} else if (*s >= 0x80) {
			fputs_unlocked("\\ufffd", j->f);
			s++;
		} else if (*s == '"' || *s == '\\') {
			putc_unlocked('\\', j->f);
			putc_unlocked(*s++, j->f);
		} else {
			fprintf(j->f, "\\u%04x", *s++);
		}
	}
	putc_unlocked('"', j->f);
}

void json_key(struct json *j, const char *key)
{
	write_separator(j);
	write_string(j, key);
	putc_unlocked(':', j->f);
	if (j->pretty)
		putc_unlocked(' ', j->f);
	j->keyed = true;
}

void json_u64(struct json *j, uint64_t v)
{
	char buf[20], *p = buf + sizeof(buf);

	write_separator(j);
	do {
		*--p = '0' + v % 10;
		v /= 10;
	} while (v);
	fwrite_unlocked(p, 1, buf + sizeof(buf) - p, j->f);
}

void json_s64(struct json *j, int64_t v)
{
	write_separator(j);
	fprintf(j->f, "%" PRId64, v);
}

void json_real(struct json *j, double v)
{
	write_separator(j);
	if (isfinite(v))
		fprintf(j->f, "%.10g", v);
	else
		fputs_unlocked("null", j->f);
}

void json_boolean(struct json *j, bool v)
{
	write_separator(j);
	fputs_unlocked(v ? "true" : "false", j->f);
}

void json_str(struct json *j, const char *s)
{
	write_separator(j);
	write_string(j, s);
}
