/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is wrong with a file, each with its place. Several are collected, so
 * that an operator does not learn of them one reload at a time.
 */
#ifndef SRDMA_POLICY_REPORT_H
#define SRDMA_POLICY_REPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_MAX 16
#define REPORT_MSG 320

#define REPORT_SOURCE 160

struct report_entry {
	unsigned int line, col;		/* from 1; 0: the file as a whole */
	bool warning;
	char source[REPORT_SOURCE];	/* the line itself, as far as it fits */
	char msg[REPORT_MSG];		/* "what is wrong; what would be right" */
};

struct report {
	const char *name;		/* of the file */
	struct report_entry v[REPORT_MAX];
	size_t n;
	size_t total;			/* errors; may be more than were kept */
	size_t warnings;
	const char *text;		/* of the file, while it is read */
	size_t text_len;
};

void report_init(struct report *r, const char *name);
void report_at(struct report *r, unsigned int line, unsigned int col,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Something to think about; the file is read all the same. */
void report_warn(struct report *r, unsigned int line, unsigned int col,
		 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Either of the two. */
void report_add(struct report *r, bool warning, unsigned int line,
		unsigned int col, const char *fmt, va_list ap)
	__attribute__((format(printf, 5, 0)));
/* In order of line and column. */
void report_sort(struct report *r);
/* "file:line:col: message"; returns @buf. */
const char *report_line(const struct report *r, size_t i, char *buf,
			size_t cap);
/* Each with its line of the file below, and a caret where it is. */
void report_print(const struct report *r, FILE *f);

/**
 * suggest - the word that was probably meant
 * @word: what was written
 * @n: its bytes
 * @pick: word number i, NULL after the last
 * @arg: for @pick
 *
 * NULL if nothing is near.
 */
const char *suggest(const char *word, size_t n,
		    const char *(*pick)(size_t i, const void *arg),
		    const void *arg);
/* The same over a NULL-terminated list. */
const char *suggest_list(const char *word, size_t n,
			 const char *const *list);

#endif /* SRDMA_POLICY_REPORT_H */
