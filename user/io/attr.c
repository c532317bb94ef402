// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "io/attr.h"

static bool put_field(const struct srdma_field *f, char *obj, const void *data,
		      size_t len)
{
	char *to = obj + f->offset;
	size_t n;

	/* Nearly all attributes are of these kinds. */
	if (f->kind <= U64) {
		if (len != f->size)
			return false;
		if (len == sizeof(uint32_t))
			memcpy(to, data, sizeof(uint32_t));
		else
			memcpy(to, data, sizeof(uint64_t));
		return true;
	}
	switch (f->kind) {
	case FLAG:
		*(bool *)to = true;
		return len == 0;
	case STR:
		n = strnlen(data, len);
		if (n >= f->size)
			n = f->size - 1u;
		memcpy(to, data, n);
		to[n] = '\0';
		return true;
	case BIN:
		if (len != f->size)
			return false;
		memcpy(to, data, len);
		return true;
	default:
		return true;
	}
}

static struct srdma_shape *shape_of(const struct srdma_set *set, struct srdma_reading *r)
{
	return set == &srdma_qp_set ? &r->qp_shape : set == &srdma_uar_set ? &r->uar_shape : NULL;
}

/* Remembers attribute @i of an object. */
static void remember_attr(struct srdma_shape *shape, size_t i, const struct nlattr *a,
			  const struct srdma_field *f)
{
	struct srdma_shape_attr *at = &shape->attrs[i];

	at->size = 0;
	if (!f || f->kind > U64 || f->kind == SKIP)
		return;
	memcpy(&at->header, a, sizeof(uint32_t));
	at->offset = f->offset;
	at->size = f->size;
	at->seen = BIT(a->nla_type & NLA_TYPE_MASK);
	at->has = f->has;
}

/* Of the attributes of an object that have been read: bits of their types, and of .has. */
struct filled {
	uint64_t seen, has;
};

/* Reads attributes from the @i-th on while they are as remembered. Returns their number. */
static size_t fill_as_before(const struct srdma_shape *shape, size_t i, char *obj,
			     const void **pos, size_t *left, struct filled *filled)
{
	const struct srdma_shape_attr *at = &shape->attrs[i];
	const size_t most = NLA_HDRLEN + sizeof(uint64_t);
	const char *p = *pos, *last;
	/* Local, because the compiler must assume that a write to @obj changes @filled. */
	uint64_t seen = 0, has = 0;

	if (*left < most)
		return 0;
	last = p + *left - most;
	/* The element after the last one has no size. */
	for (; p <= last && !memcmp(p, &at->header, sizeof(uint32_t)); at++) {
		if (at->size == sizeof(uint64_t))
			memcpy(obj + at->offset, p + NLA_HDRLEN, sizeof(uint64_t));
		else if (at->size == sizeof(uint32_t))
			memcpy(obj + at->offset, p + NLA_HDRLEN, sizeof(uint32_t));
		else
			break;
		p += NLA_HDRLEN + at->size;
		seen |= at->seen;
		has |= at->has;
	}
	filled->seen |= seen;
	filled->has |= has;
	*left -= (size_t)(p - (const char *)*pos);
	*pos = p;
	return (size_t)(at - &shape->attrs[i]);
}

/* Reads one attribute. */
static int fill_one(const struct srdma_set *set, struct srdma_reading *r, void *obj,
		    const struct nlattr *a, const struct srdma_field *f, struct filled *filled)
{
	unsigned int type = a->nla_type & NLA_TYPE_MASK;
	const void *data = (const char *)a + NLA_HDRLEN;
	size_t len = a->nla_len - NLA_HDRLEN;
	int err;

	if (f->kind == NEST) {
		err = set->nest(r, obj, (int)type, data, len);
		if (err)
			return err;
	} else if (!put_field(f, obj, data, len)) {
		return -EBADMSG;
	}
	filled->seen |= BIT(type);
	filled->has |= f->has;
	return 0;
}

/* NULL: the attribute is not known. */
static const struct srdma_field *find_field(const struct srdma_set *set, const struct nlattr *a)
{
	unsigned int type = a->nla_type & NLA_TYPE_MASK;

	return type < set->n && set->fields[type].kind != SKIP ? &set->fields[type] : NULL;
}

int srdma_fill(const struct srdma_set *set, struct srdma_reading *r, void *obj,
	       const void *pos, size_t left, uint64_t *seen_out)
{
	struct srdma_shape *shape = shape_of(set, r);
	struct filled filled = { 0 };
	const struct nlattr *a;
	bool bad = false;
	size_t i = 0;

	for (;; i++) {
		const struct srdma_field *f;
		int err;

		if (shape && i < SRDMA_SHAPE)
			i += fill_as_before(shape, i, obj, &pos, &left, &filled);
		a = srdma_next_attr(&pos, &left, &bad);
		if (!a)
			break;
		f = find_field(set, a);
		if (shape && i < SRDMA_SHAPE)
			remember_attr(shape, i, a, f);
		err = f ? fill_one(set, r, obj, a, f, &filled) : 0;
		if (err)
			return err;
	}
	if (bad || !ALL(filled.seen, set->required))
		return -EBADMSG;
	if (set->has_offset != NO_HAS)
		*(uint64_t *)((char *)obj + set->has_offset) = filled.has;
	if (seen_out)
		*seen_out = filled.seen;
	return 0;
}
