// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

#define WORD_MAX 48

void diag_init(struct diag *r, const char *name)
{
	memset(r, 0, sizeof(*r));
	r->name = name;
}

static void quote_line(const struct diag *r, struct diag_entry *e)
{
	const char *p = r->text, *end = r->text + r->text_len, *eol;
	unsigned int line = 1;
	size_t n;

	if (!p || !e->line)
		return;
	for (; line < e->line && p < end; line++) {
		eol = memchr(p, '\n', (size_t)(end - p));
		p = eol ? eol + 1 : end;
	}
	eol = memchr(p, '\n', (size_t)(end - p));
	n = (size_t)((eol ? eol : end) - p);
	if (n >= sizeof(e->source))
		n = sizeof(e->source) - 1;
	memcpy(e->source, p, n);
	e->source[n] = '\0';
}

static struct diag_entry *add_entry(struct diag *r, unsigned int line,
				      unsigned int col)
{
	struct diag_entry *e;

	if (r->n == DIAG_MAX)
		return NULL;
	e = &r->v[r->n++];
	memset(e, 0, sizeof(*e));
	e->line = line;
	e->col = col;
	quote_line(r, e);
	return e;
}

void diag_add(struct diag *r, bool warning, unsigned int line,
	      unsigned int col, const char *fmt, va_list ap)
{
	struct diag_entry *e = add_entry(r, line, col);

	if (warning)
		r->warnings++;
	else
		r->total++;
	if (!e)
		return;
	e->warning = warning;
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
}

void diag_at(struct diag *r, unsigned int line, unsigned int col,
	     const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_add(r, false, line, col, fmt, ap);
	va_end(ap);
}

void diag_warn(struct diag *r, unsigned int line, unsigned int col,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_add(r, true, line, col, fmt, ap);
	va_end(ap);
}

static int compare_places(const void *a, const void *b)
{
	const struct diag_entry *x = a, *y = b;

	return ARRAY_CMP_2(x, y, line, col);
}

void diag_sort(struct diag *r)
{
	qsort(r->v, r->n, sizeof(r->v[0]), compare_places);
}

const char *diag_line(const struct diag *r, size_t i, char *buf,
		      size_t cap)
{
	const struct diag_entry *e = &r->v[i];
	const char *warning = e->warning ? "warning: " : "";

	if (e->line)
		snprintf(buf, cap, "%s:%u:%u: %s%s", r->name, e->line, e->col,
			 warning, e->msg);
	else
		snprintf(buf, cap, "%s: %s%s", r->name, warning, e->msg);
	return buf;
}

static void print_caret(const struct diag_entry *e, FILE *f)
{
	unsigned int i;

	if (!e->source[0] || e->col > strlen(e->source) + 1)
		return;
	fprintf(f, "    %s\n    ", e->source);
	/* The blanks have the tabs of the line, so that the caret is aligned. */
	for (i = 0; i + 1 < e->col; i++)
		if ((e->source[i] & 0xc0) != 0x80)
			fputc(e->source[i] == '\t' ? '\t' : ' ', f);
	fprintf(f, "^\n");
}

void diag_print(const struct diag *r, FILE *f)
{
	char buf[DIAG_MSG + 512];
	size_t i;

	for (i = 0; i < r->n; i++) {
		fprintf(f, "%s\n", diag_line(r, i, buf, sizeof(buf)));
		print_caret(&r->v[i], f);
	}
	if (r->total + r->warnings > r->n)
		fprintf(f, "%s: and %zu more\n", r->name,
			r->total + r->warnings - r->n);
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edit distance of two words, without regard to case. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[WORD_MAX + 1], i, j;

	for (j = 0; j <= m; j++)
		row[j] = j;
	for (i = 1; i <= n; i++) {
		size_t diag = row[0];

		row[0] = i;
		for (j = 1; j <= m; j++) {
			size_t up = row[j];
			bool same = !strncasecmp(&a[i - 1], &b[j - 1], 1);

			row[j] = min_size(min_size(up, row[j - 1]) + 1, diag + !same);
			diag = up;
		}
	}
	return row[m];
}

const char *suggest(const char *word, size_t n,
		    const char *(*pick)(size_t i, const void *arg),
		    const void *arg)
{
	/* Suggest nothing if more than a third of the word differs. */
	size_t best_d = n / 3 + 1, i;
	const char *best = NULL, *w;

	if (!n || n > WORD_MAX)
		return NULL;
	for (i = 0; (w = pick(i, arg)); i++) {
		size_t m = strlen(w), d;

		if (m > WORD_MAX)
			continue;
		d = edit_distance(word, n, w, m);
		if (d < best_d || (d == best_d && !best)) {
			best_d = d;
			best = w;
		}
	}
	return best;
}

static const char *pick_list(size_t i, const void *arg)
{
	const char *const *list = arg;

	return list[i];
}

const char *suggest_list(const char *word, size_t n, const char *const *list)
{
	return suggest(word, n, pick_list, list);
}
