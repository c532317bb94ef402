/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * YAML text as a tree whose nodes have their line and column. The tree is bounded, because a
 * policy file is small and plain. Aliases, which can expand a file to gigabytes, tags and
 * several documents are refused.
 */
#ifndef SRDMA_POLICY_DOC_H
#define SRDMA_POLICY_DOC_H

#include "policy/diag.h"

#define DOC_BYTES_MAX	(1u << 20)
#define DOC_NODES_MAX	65536
#define DOC_DEPTH_MAX	16
#define DOC_KEYS_MAX	64	/* of one map */

enum node_kind {
	NODE_SCALAR,
	NODE_LIST,
	NODE_MAP,
};

struct node {
	enum node_kind kind;
	unsigned int line, col;		/* from 1; of its first character */
	/* scalars */
	char *text;			/* NUL-terminated, no NUL within */
	size_t len;
	bool plain;			/* not quoted */
	bool inline_text;		/* offset n of .text is at column text_col + n */
	unsigned int text_col;
	/* lists and maps */
	struct node *first, *last;
	size_t n;
	/* as an entry of its parent */
	struct node *key;		/* in a map */
	struct node *next;
};

struct doc {
	struct node *root;		/* NULL: the file is empty */
	struct doc_block *blocks;
};

/* False: @r has the error, and nothing needs to be freed. */
bool doc_parse(struct doc *doc, const char *text, size_t len,
	       struct diag *r);
void doc_free(struct doc *doc);

/* The value of a key. NULL: there is none, or @map is no map. */
const struct node *node_get(const struct node *map, const char *key);
/* Report an error or a warning at an offset in a scalar; -1: at the node. */
void diag_node(struct diag *r, const struct node *node, size_t offset,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void warn_node(struct diag *r, const struct node *node, size_t offset,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif /* SRDMA_POLICY_DOC_H */
