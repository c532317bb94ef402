// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/doc.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#define BLOCK_BYTES 16384

struct doc_block {
	struct doc_block *next;
	size_t used, cap;
	char bytes[] __attribute__((aligned(16)));
};

/*
 * Uses libyaml's events, not its yaml_document_t. A document has aliases resolved and anchors
 * dropped, which this reader refuses with line and column, and libyaml builds it as a whole
 * before its size can be checked.
 */
struct reader {
	yaml_parser_t parser;
	struct doc *doc;
	struct diag *r;
	size_t nodes;
};

/* Zeroed memory that doc_free() frees. */
static void *doc_alloc(struct doc *doc, size_t n)
{
	struct doc_block *b = doc->blocks;
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (!b || b->cap - b->used < n) {
		size_t cap = n > BLOCK_BYTES ? n : BLOCK_BYTES;

		b = malloc(sizeof(*b) + cap);
		if (!b)
			return NULL;
		b->next = doc->blocks;
		b->used = 0;
		b->cap = cap;
		doc->blocks = b;
	}
	p = b->bytes + b->used;
	b->used += n;
	return memset(p, 0, n);
}

void doc_free(struct doc *doc)
{
	while (doc->blocks) {
		struct doc_block *b = doc->blocks;

		doc->blocks = b->next;
		free(b);
	}
	doc->root = NULL;
}

const struct node *node_get(const struct node *map, const char *key)
{
	const struct node *n;

	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (n = map->first; n; n = n->next)
		if (!strcmp(n->key->text, key))
			return n;
	return NULL;
}

/* The column of a place in a scalar; of the node if the place is not known. */
static unsigned int find_column(const struct node *node, size_t offset)
{
	if (offset != (size_t)-1 && node->inline_text)
		return node->text_col + (unsigned int)offset;
	return node->col;
}

void diag_node(struct diag *r, const struct node *node, size_t offset,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_add(r, false, node->line, find_column(node, offset), fmt, ap);
	va_end(ap);
}

void warn_node(struct diag *r, const struct node *node, size_t offset,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_add(r, true, node->line, find_column(node, offset), fmt, ap);
	va_end(ap);
}

static void report_mark(struct reader *rd, const yaml_mark_t *m, const char *msg)
{
	diag_at(rd->r, (unsigned int)m->line + 1, (unsigned int)m->column + 1, "%s", msg);
}

/*
 * Reports an error of libyaml. A tab in the indentation gets a message of its own, because
 * libyaml's is about a "token".
 */
static void report_parser_error(struct reader *rd, const char *text, size_t len)
{
	yaml_parser_t *p = &rd->parser;
	size_t line = p->problem_mark.line, i, n = 0;

	if (p->error == YAML_READER_ERROR) {
		diag_at(rd->r, 0, 0,
			"byte %zu is not UTF-8 text (%s); save the file as UTF-8",
			p->problem_offset, p->problem ? p->problem : "");
		return;
	}
	if (p->error == YAML_MEMORY_ERROR) {
		diag_at(rd->r, 0, 0, "out of memory");
		return;
	}
	for (i = 0; i < len && n < line; i++)
		n += text[i] == '\n';
	for (n = i; n < len && (text[n] == ' ' || text[n] == '\t'); n++) {
		if (text[n] != '\t')
			continue;
		diag_at(rd->r, (unsigned int)line + 1, (unsigned int)(n - i) + 1,
			"a tab in the indentation; YAML indents with spaces");
		return;
	}
	diag_at(rd->r, (unsigned int)line + 1, (unsigned int)p->problem_mark.column + 1,
		"not YAML: %s%s%s; see the examples in swiftrdma-policy(5)",
		p->problem ? p->problem : "syntax error",
		p->context ? " " : "", p->context ? p->context : "");
}

static struct node *make_node(struct reader *rd, enum node_kind kind,
			     const yaml_event_t *ev)
{
	struct node *n;

	if (++rd->nodes > DOC_NODES_MAX) {
		diag_at(rd->r, (unsigned int)ev->start_mark.line + 1,
			(unsigned int)ev->start_mark.column + 1,
			"more than %d values in one file; split it up",
			DOC_NODES_MAX);
		return NULL;
	}
	n = doc_alloc(rd->doc, sizeof(*n));
	if (!n) {
		diag_at(rd->r, 0, 0, "out of memory");
		return NULL;
	}
	n->kind = kind;
	n->line = (unsigned int)ev->start_mark.line + 1;
	n->col = (unsigned int)ev->start_mark.column + 1;
	return n;
}

static struct node *make_scalar(struct reader *rd, const yaml_event_t *ev)
{
	yaml_scalar_style_t style = ev->data.scalar.style;
	struct node *n = make_node(rd, NODE_SCALAR, ev);
	size_t len = ev->data.scalar.length, raw;

	if (!n)
		return NULL;
	if (memchr(ev->data.scalar.value, '\0', len)) {
		diag_node(rd->r, n, -1,
			  "a NUL byte in a value; leave it out");
		return NULL;
	}
	n->text = doc_alloc(rd->doc, len + 1);
	if (!n->text) {
		diag_at(rd->r, 0, 0, "out of memory");
		return NULL;
	}
	memcpy(n->text, ev->data.scalar.value, len);
	n->len = len;
	n->plain = style == YAML_PLAIN_SCALAR_STYLE;
	/* On one line, and as long as its source: the text is the source. */
	raw = ev->end_mark.index - ev->start_mark.index;
	n->inline_text = ev->start_mark.line == ev->end_mark.line &&
			 raw == len + (n->plain ? 0 : 2);
	n->text_col = n->col + !n->plain;
	return n;
}

/* Adds @n to a list, or to a map at @key. False: stop. */
static bool add_child(struct reader *rd, struct node *parent, struct node *key,
		      struct node *n)
{
	if (key) {
		const struct node *twin;

		/* The bound also keeps the search for equal keys from becoming quadratic. */
		if (parent->n == DOC_KEYS_MAX) {
			diag_node(rd->r, key, -1,
				  "more than %d keys in one map; none of a policy file needs as many",
				  DOC_KEYS_MAX);
			return false;
		}
		twin = node_get(parent, key->text);
		if (twin) {
			diag_node(rd->r, key, -1,
				  "'%s' is given twice, first in line %u; keep one of them",
				  key->text, twin->key->line);
			return true;
		}
	}
	n->key = key;
	if (parent->last)
		parent->last->next = n;
	else
		parent->first = n;
	parent->last = n;
	parent->n++;
	return true;
}

/* The message for a part of YAML that policy files may not use. NULL: the event has none. */
static const char *describe_refused(const yaml_event_t *ev)
{
	if (ev->type == YAML_ALIAS_EVENT)
		return "an alias (*name) is not understood here; write the value out";
	if ((ev->type == YAML_SCALAR_EVENT && ev->data.scalar.anchor) ||
	    (ev->type == YAML_SEQUENCE_START_EVENT &&
	     ev->data.sequence_start.anchor) ||
	    (ev->type == YAML_MAPPING_START_EVENT &&
	     ev->data.mapping_start.anchor))
		return "an anchor (&name) is not understood here; write the value out where it is needed";
	if ((ev->type == YAML_SCALAR_EVENT && ev->data.scalar.tag) ||
	    (ev->type == YAML_SEQUENCE_START_EVENT &&
	     ev->data.sequence_start.tag) ||
	    (ev->type == YAML_MAPPING_START_EVENT &&
	     ev->data.mapping_start.tag))
		return "a tag (!name) is not understood here; leave it out";
	return NULL;
}

/*
 * Adds a parsed value to its parent, the top of the stack. The first of two values in a map
 * is a key, which keys[] keeps for the second. False: stop.
 */
static bool attach_node(struct reader *rd, struct node **stack, struct node **keys,
			unsigned int depth, struct node *n)
{
	struct node *parent = depth ? stack[depth - 1] : NULL;

	if (!parent) {
		rd->doc->root = n;
		return true;
	}
	if (parent->kind == NODE_LIST)
		return add_child(rd, parent, NULL, n);
	if (keys[depth - 1]) {
		struct node *key = keys[depth - 1];

		keys[depth - 1] = NULL;
		return add_child(rd, parent, key, n);
	}
	if (n->kind != NODE_SCALAR) {
		diag_node(rd->r, n, -1, "a list or map as a key; a key is a word and a colon");
		return false;
	}
	keys[depth - 1] = n;
	return true;
}

/* False: stop. */
static bool handle_event(struct reader *rd, const yaml_event_t *ev,
			 struct node **stack, struct node **keys, unsigned int *depth)
{
	const char *why = describe_refused(ev);
	struct node *n;

	if (why) {
		report_mark(rd, &ev->start_mark, why);
		return false;
	}
	switch (ev->type) {
	case YAML_SCALAR_EVENT:
		n = make_scalar(rd, ev);
		return n && attach_node(rd, stack, keys, *depth, n);
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		n = make_node(rd, ev->type == YAML_MAPPING_START_EVENT ? NODE_MAP : NODE_LIST, ev);
		if (!n || !attach_node(rd, stack, keys, *depth, n))
			return false;
		if (*depth == DOC_DEPTH_MAX) {
			diag_node(rd->r, n, -1,
				  "nested deeper than %d; a policy file needs 6",
				  DOC_DEPTH_MAX);
			return false;
		}
		stack[*depth] = n;
		keys[(*depth)++] = NULL;
		return true;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		(*depth)--;
		return true;
	case YAML_DOCUMENT_START_EVENT:
		if (!rd->doc->root)
			return true;
		report_mark(rd, &ev->start_mark,
			"a second document (---) in one file; use one file each");
		return false;
	default:
		return true;
	}
}

static bool read_events(struct reader *rd, const char *text, size_t len)
{
	struct node *stack[DOC_DEPTH_MAX], *keys[DOC_DEPTH_MAX];
	unsigned int depth = 0;
	bool ok = true, end = false;
	yaml_event_t ev;

	while (ok && !end) {
		if (!yaml_parser_parse(&rd->parser, &ev)) {
			report_parser_error(rd, text, len);
			return false;
		}
		end = ev.type == YAML_STREAM_END_EVENT;
		ok = handle_event(rd, &ev, stack, keys, &depth);
		yaml_event_delete(&ev);
	}
	return ok;
}

bool doc_parse(struct doc *doc, const char *text, size_t len, struct diag *r)
{
	struct reader rd = { .doc = doc, .r = r };
	bool ok;

	memset(doc, 0, sizeof(*doc));
	if (len > DOC_BYTES_MAX) {
		diag_at(r, 0, 0, "%zu bytes; a policy file has at most %u", len, DOC_BYTES_MAX);
		return false;
	}
	if (!yaml_parser_initialize(&rd.parser)) {
		diag_at(r, 0, 0, "out of memory");
		return false;
	}
	yaml_parser_set_input_string(&rd.parser, (const unsigned char *)text, len);
	ok = read_events(&rd, text, len);
	yaml_parser_delete(&rd.parser);
	/* YAML makes an empty value of a lone "---", and of a file with only comments. */
	if (ok && doc->root && doc->root->kind == NODE_SCALAR &&
	    doc->root->plain && !doc->root->len)
		doc->root = NULL;
	if (!ok)
		doc_free(doc);
	return ok;
}
