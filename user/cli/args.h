/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The words of a command, one after the other. What is wrong with one is said
 * at once on stderr, with what would be right; the functions then return
 * CLI_USAGE, the command's exit status.
 */
#ifndef SRDMA_CLI_ARGS_H
#define SRDMA_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/units.h"

/* Exit statuses, which functions of the command return as they are. */
enum {
	CLI_OK = 0,
	CLI_ERROR = 1,
	CLI_USAGE = 2,
};

struct args {
	char **word;
	int n;
};

/* An error on stderr, after the program's name. Returns CLI_USAGE. */
int args_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

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
 * args_match - a word among several, which may be cut short
 * @words: NULL-terminated; of those that begin alike the first is meant
 * @word: what was given
 *
 * Index or -1. The whole word goes before an abbreviation.
 */
int args_match(const char *const *words, const char *word);
bool args_is(const char *word, const char *full);

/* The value after keyword @what. */
int args_value(struct args *a, const char *what, const char **value);
int args_u32(struct args *a, const char *what, uint32_t max, uint32_t *v);
int args_u64(struct args *a, const char *what, uint64_t *v);
/* Bounded, without its NUL. */
int args_str(struct args *a, const char *what, char *buf, size_t cap);

/* A number on its own; false: it is none, or greater than @max. */
bool args_number(const char *s, uint64_t max, uint64_t *v);

/* "10s", "500ms"; without a unit seconds. */
int args_time_ms(const char *s, const char *what, uint32_t *ms);
/* A quantity of this unit, or a plain number, which is in base units. */
int args_quantity(const char *s, const char *what, enum unit unit, double *v);

/* What a word that nobody understands is told if it looks like an option. */
bool args_is_option(const char *word);
int args_late_option(const char *word);

/* Nothing may be left. */
int args_end(const struct args *a);

#endif /* SRDMA_CLI_ARGS_H */
