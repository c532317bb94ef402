/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reads the words of a command line in order. These functions print a mistake to stderr
 * with the correct form, and return CLI_USAGE, the exit status of the command.
 */
#ifndef SRDMA_CLI_ARGS_H
#define SRDMA_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

/* Exit statuses. Functions of the command return them unchanged. */
enum {
	CLI_OK = 0,
	CLI_ERROR = 1,
	CLI_USAGE = 2,
};

struct args {
	char **word;
	int n;
};

/* Print "swiftrdma: MESSAGE" to stderr. Return CLI_USAGE, CLI_ERROR. */
int args_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline bool args_left(const struct args *a)
{
	return a->n > 0;
}

static inline const char *args_peek(const struct args *a)
{
	return a->n > 0 ? a->word[0] : NULL;
}

/* NULL at the end. */
const char *args_next(struct args *a);

/**
 * args_match - find a word, or an abbreviation of it, in a list
 * @words: NULL-terminated; an ambiguous abbreviation matches the first
 * @word: the word to find
 *
 * Returns its index or -1. An exact match wins over an abbreviation.
 */
int args_match(const char *const *words, const char *word);
bool args_is(const char *word, const char *full);

/* The value after keyword @what. */
int args_value(struct args *a, const char *what, const char **value);
int args_u32(struct args *a, const char *what, uint32_t max, uint32_t *v);
int args_u64(struct args *a, const char *what, uint64_t *v);
/* Copies at most @cap - 1 bytes; a longer value is an error. */
int args_str(struct args *a, const char *what, char *buf, size_t cap);

/* Reads a number. False: @s is not a number, or is greater than @max. */
bool args_number(const char *s, uint64_t max, uint64_t *v);

/* "10s", "500ms"; without a unit seconds. */
int args_time_ms(const char *s, const char *what, uint32_t *ms);
/* A quantity of this unit, or a plain number, which is in base units. */
int args_quantity(const char *s, const char *what, enum unit unit, double *v);

/* Does @word begin with a dash? */
bool args_is_option(const char *word);
/* Prints that options come before the object. Returns CLI_USAGE. */
int args_no_option(const char *word);

/* Fails if words are left. */
int args_end(const struct args *a);

#endif /* SRDMA_CLI_ARGS_H */
