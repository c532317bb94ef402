/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Diagnostics: mistakes of a file, each with its place. All are collected, so that an operator
 * can correct them at once.
 */
#ifndef SRDMA_POLICY_DIAG_H
#define SRDMA_POLICY_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define DIAG_MAX 16
#define DIAG_MSG 320
#define DIAG_SOURCE 160

struct diag_entry {
	unsigned int line, col;		/* from 1; 0: the file as a whole */
	bool warning;
	char source[DIAG_SOURCE];	/* the line, cut to fit */
	char msg[DIAG_MSG];		/* "what is wrong; what would be right" */
};

struct diag {
	const char *name;		/* of the file */
	struct diag_entry v[DIAG_MAX];
	size_t n;
	size_t total;			/* errors, also those that are not in .v */
	size_t warnings;		/* the same */
	const char *text;		/* text of the file, while it is read */
	size_t text_len;
};

void diag_init(struct diag *r, const char *name);
void diag_at(struct diag *r, unsigned int line, unsigned int col,
	     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A warning does not keep the file from being used. */
void diag_warn(struct diag *r, unsigned int line, unsigned int col,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* An error or a warning. */
void diag_add(struct diag *r, bool warning, unsigned int line,
	      unsigned int col, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));
/* Sorts by line and column. */
void diag_sort(struct diag *r);
/* "file:line:col: message"; returns @buf. */
const char *diag_line(const struct diag *r, size_t i, char *buf,
		      size_t cap);
/* Prints each message with its line of the file and a caret. */
void diag_print(const struct diag *r, FILE *f);

/**
 * suggest - find the known word that is most similar
 * @word: the unknown word
 * @n: its length
 * @pick: returns known word number i, NULL after the last
 * @arg: for @pick
 *
 * Returns NULL if no word is similar enough.
 */
const char *suggest(const char *word, size_t n,
		    const char *(*pick)(size_t i, const void *arg),
		    const void *arg);
/* The same over a NULL-terminated list. */
const char *suggest_list(const char *word, size_t n,
			 const char *const *list);

#endif /* SRDMA_POLICY_DIAG_H */
