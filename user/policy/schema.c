// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/schema.h"

#include <stdlib.h>
#include <string.h>

#include "policy/expr.h"

static const char *kind_name(const struct node *n)
{
	switch (n->kind) {
	case NODE_SCALAR:
		return n->len ? "a single value" : "nothing";
	case NODE_LIST:
		return "a list";
	case NODE_MAP:
		return "a map";
	}
	return "something else";
}

static void list_keys(char *buf, size_t cap, const char *const *keys)
{
	struct text t;

	text_init(&t, buf, cap);
	for (; *keys; keys++) {
		if (t.len)
			text_str(&t, ", ");
		text_str(&t, *keys);
	}
}

bool check_map(struct diag *r, const struct node *n, const char *what,
	       const char *const *keys)
{
	const struct node *e;
	char known[160];
	bool ok = true;
	size_t i;

	list_keys(known, sizeof(known), keys);
	if (n->kind != NODE_MAP) {
		diag_node(r, n, -1,
			  "%s is a map with the keys %s, not %s", what,
			  known, kind_name(n));
		return false;
	}
	for (e = n->first; e; e = e->next) {
		const char *near;

		i = 0;
		while (keys[i] && strcmp(keys[i], e->key->text))
			i++;
		if (keys[i])
			continue;
		ok = false;
		near = suggest_list(e->key->text, e->key->len, keys);
		if (near)
			diag_node(r, e->key, -1,
				  "unknown key '%.40s' in %s; did you mean '%s'?",
				  e->key->text, what, near);
		else
			diag_node(r, e->key, -1,
				  "unknown key '%.40s' in %s; known are %s",
				  e->key->text, what, known);
	}
	return ok;
}

bool check_list(struct diag *r, const struct node *n, const char *what)
{
	if (n->kind == NODE_LIST)
		return true;
	diag_node(r, n, -1,
		  "%s is a list, not %s; begin each entry with '- '", what,
		  kind_name(n));
	return false;
}

const struct node *need(struct diag *r, const struct node *map,
			const char *key, const char *what,
			const char *example)
{
	const struct node *n = node_get(map, key);

	if (!n)
		diag_node(r, map, -1, "%s lacks '%s:'; for instance '%s'",
			  what, key, example);
	return n;
}

bool get_text(struct diag *r, const struct node *n, const char *what,
	      const char **s)
{
	if (n->kind != NODE_SCALAR || !n->len) {
		diag_node(r, n, -1, "%s is a single value, not %s", what,
			  kind_name(n));
		return false;
	}
	*s = n->text;
	return true;
}

bool get_string(struct diag *r, const struct node *n, const char *what,
		char *buf, size_t cap)
{
	const char *s;

	if (!get_text(r, n, what, &s))
		return false;
	if (n->len >= cap) {
		diag_node(r, n, -1,
			  "%s is %zu bytes long; at most %zu are possible",
			  what, n->len, cap - 1);
		return false;
	}
	memset(buf, 0, cap);
	memcpy(buf, s, n->len);
	return true;
}

bool get_name(struct diag *r, const struct node *n, const char *what,
	      char *buf)
{
	size_t ok;

	if (!get_string(r, n, what, buf, SNAP_NAME))
		return false;
	ok = strspn(buf, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");
	if (!buf[ok])
		return true;
	diag_node(r, n, ok,
		  "'%s': %s is made of letters, digits and _ . - only", buf,
		  what);
	return false;
}

bool get_value(struct diag *r, const struct node *n, const char *what,
	       enum unit unit, double min, double max, double *v)
{
	char lo[32], hi[32];
	struct expr_error e;
	const char *s;

	if (!get_text(r, n, what, &s))
		return false;
	if (!expr_value(s, n->len, unit, v, &e)) {
		diag_node(r, n, e.at, "%s: %s", what, e.msg);
		return false;
	}
	if (*v >= min && *v <= max)
		return true;
	diag_node(r, n, 0, "%s %.40s is out of range; it is %s to %s", what, s,
		  units_text(lo, sizeof(lo), min, unit),
		  units_text(hi, sizeof(hi), max, unit));
	return false;
}

bool get_uint(struct diag *r, const struct node *n, const char *what,
	      uint32_t min, uint32_t max, uint32_t *v)
{
	double d;

	if (!get_value(r, n, what, UNIT_COUNT, min, max, &d))
		return false;
	if (d != (double)(uint32_t)d) {
		diag_node(r, n, 0, "%s is a whole number, not %.40s", what,
			  n->text);
		return false;
	}
	*v = (uint32_t)d;
	return true;
}

bool get_time(struct diag *r, const struct node *n, const char *what,
	      uint64_t min, uint64_t max, uint64_t *ns)
{
	double d;

	if (!get_value(r, n, what, UNIT_TIME, (double)min, (double)max, &d))
		return false;
	*ns = (uint64_t)d;
	return true;
}

bool opt_string(struct diag *r, const struct node *map, const char *key,
		char *buf, size_t cap)
{
	const struct node *n = node_get(map, key);

	return !n || get_string(r, n, key, buf, cap);
}

bool opt_uint(struct diag *r, const struct node *map, const char *key,
	      uint32_t min, uint32_t max, uint32_t *v)
{
	const struct node *n = node_get(map, key);

	return !n || get_uint(r, n, key, min, max, v);
}

bool opt_value(struct diag *r, const struct node *map, const char *key,
	       enum unit unit, double min, double max, double *v)
{
	const struct node *n = node_get(map, key);

	return !n || get_value(r, n, key, unit, min, max, v);
}

bool opt_time(struct diag *r, const struct node *map, const char *key,
	      uint64_t min, uint64_t max, uint64_t *ns)
{
	const struct node *n = node_get(map, key);

	return !n || get_time(r, n, key, min, max, ns);
}

void *get_array(struct diag *r, size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		diag_at(r, 0, 0, "out of memory");
	return p;
}

static const char *pick_job(size_t i, const void *arg)
{
	const struct config *cfg = arg;

	return i < cfg->n_jobs ? cfg->jobs[i].name : NULL;
}

const char *suggest_job(const struct config *cfg, const char *name, size_t n)
{
	return suggest(name, n, pick_job, cfg);
}
