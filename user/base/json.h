/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Writes JSON value by value, without a tree, because a list of ten thousand
 * QPs has a quarter of a million values. The output is valid JSON for any
 * name: a process chooses the bytes of its name.
 */
#ifndef SRDMA_BASE_JSON_H
#define SRDMA_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *f;
	bool pretty;
	unsigned int depth;
	bool first;		/* in the innermost list or object */
	bool keyed;		/* a key was written, its value is next */
	bool list;		/* the outermost is a list */
};

void json_begin(struct json *j, char open);	/* '[' or '{' */
void json_end(struct json *j, char close);
void json_key(struct json *j, const char *key);
void json_u64(struct json *j, uint64_t v);
void json_s64(struct json *j, int64_t v);
void json_real(struct json *j, double v);
void json_boolean(struct json *j, bool v);
void json_str(struct json *j, const char *s);

#endif /* SRDMA_BASE_JSON_H */
