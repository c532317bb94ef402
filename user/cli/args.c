// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"

static void print_message(const char *fmt, va_list ap)
{
	fputs("swiftrdma: ", stderr);
	vfprintf(stderr, fmt, ap);
	putc('\n', stderr);
}

int args_bad(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(fmt, ap);
	va_end(ap);
	return CLI_USAGE;
}

int cli_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_message(fmt, ap);
	va_end(ap);
	return CLI_ERROR;
}

const char *args_next(struct args *a)
{
	if (a->n <= 0)
		return NULL;
	a->n--;
	return *a->word++;
}

bool args_is(const char *word, const char *full)
{
	size_t n = strlen(word);

	return n && !strncmp(word, full, n);
}

int args_match(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], word))
			return i;
	for (int i = 0; words[i]; i++)
		if (args_is(word, words[i]))
			return i;
	return -1;
}

int args_value(struct args *a, const char *what, const char **value)
{
	*value = args_next(a);
	return *value ? CLI_OK : args_bad("%s: a value is missing", what);
}

bool args_number(const char *s, uint64_t max, uint64_t *v)
{
	unsigned long long n;
	char *end;

	/* strtoull() takes blanks and a sign, and makes -1 a large number. */
	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	n = strtoull(s, &end, 0);
	if (errno || *end || n > max)
		return false;
	*v = n;
	return true;
}

int args_u64(struct args *a, const char *what, uint64_t *v)
{
	const char *s;

	if (args_value(a, what, &s))
		return CLI_USAGE;
	if (!args_number(s, UINT64_MAX, v))
		return args_bad("%s: '%s' is not a number", what, s);
	return CLI_OK;
}

int args_u32(struct args *a, const char *what, uint32_t max, uint32_t *v)
{
	const char *s;
	uint64_t n;

	if (args_value(a, what, &s))
		return CLI_USAGE;
	if (!args_number(s, max, &n))
		return args_bad("%s: '%s' is not a number from 0 to %u", what, s, max);
	*v = n;
	return CLI_OK;
}

int args_str(struct args *a, const char *what, char *buf, size_t cap)
{
	const char *s;

	if (args_value(a, what, &s))
		return CLI_USAGE;
	if (!*s)
		return args_bad("%s: must not be empty", what);
	if (strlen(s) >= cap)
		return args_bad("%s: '%s' is longer than %zu bytes", what, s, cap - 1);
	strcpy(buf, s);
	return CLI_OK;
}

int args_quantity(const char *s, const char *what, enum unit unit, double *v)
{
	struct quantity q;
	const char *hint;
	size_t at = 0;
	int err = units_parse(s, strlen(s), &q, &at);

	if (!err && (q.unit == unit || q.unit == UNIT_COUNT)) {
		*v = q.v;
		return CLI_OK;
	}
	hint = err == -ENOENT ? units_suggest(s + at, strlen(s + at)) : NULL;
	if (hint)
		return args_bad("%s: '%s': did you mean %s? It takes %s", what,
				s, hint, units_describe(unit));
	return args_bad("%s: '%s' is not %s", what, s, units_describe(unit));
}

int args_time_ms(const char *s, const char *what, uint32_t *ms)
{
	struct quantity q;
	double v;

	if (args_quantity(s, what, UNIT_TIME, &v))
		return CLI_USAGE;
	if (!units_parse(s, strlen(s), &q, NULL) && q.unit == UNIT_COUNT)
		v *= 1e9;
	if (v < 1e6 || v > UINT32_MAX * 1e6)
		return args_bad("%s: '%s' is not a time of 1ms or more", what, s);
	*ms = v / 1e6;
	return CLI_OK;
}

bool args_is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

int args_no_option(const char *word)
{
	return args_bad("'%s' is no option; see swiftrdma --help", word);
}

int args_end(const struct args *a)
{
	if (args_left(a) && args_is_option(a->word[0]))
		return args_no_option(a->word[0]);
	if (args_left(a))
		return args_bad("'%s' is not expected here: the command is complete before it", a->word[0]);
	return CLI_OK;
}
