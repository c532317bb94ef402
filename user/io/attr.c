// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>

#include "io/attr.h"

const struct nlattr *srdma_next_attr(const void **pos, size_t *left, bool *bad)
{
	const struct nlattr *a = *pos;
	size_t step;

	/* A rest that is shorter than a header is padding. */
	if (*left < sizeof(*a))
		return NULL;
	if (a->nla_len < sizeof(*a) || a->nla_len > *left) {
		*bad = true;
		return NULL;
	}
	step = NLA_ALIGN(a->nla_len);
	if (step > *left)
		step = *left;
	*pos = (const char *)*pos + step;
	*left -= step;
	return a;
}

static bool put(const struct srdma_field *f, char *obj, const void *data,
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

int srdma_fill(const struct srdma_set *set, struct srdma_reading *r, void *obj,
	       const void *pos, size_t left, uint64_t *seen_out)
{
	const struct nlattr *a;
	uint64_t seen = 0;
	uint64_t has = 0;
	bool bad = false;

	while ((a = srdma_next_attr(&pos, &left, &bad))) {
		unsigned int type = a->nla_type & NLA_TYPE_MASK;
		const void *data = (const char *)a + NLA_HDRLEN;
		size_t len = a->nla_len - NLA_HDRLEN;
		const struct srdma_field *f;
		int err;

		if (type >= set->n)
			continue;
		f = &set->fields[type];
		if (f->kind == SKIP)
			continue;
		if (f->kind == NEST) {
			err = set->nest(r, obj, type, data, len);
			if (err)
				return err;
		} else if (!put(f, obj, data, len)) {
			return -EBADMSG;
		}
		seen |= BIT(type);
		has |= f->has;
	}
	if (bad || !ALL(seen, set->required))
		return -EBADMSG;
	if (set->has_offset != NO_HAS)
		*(uint64_t *)((char *)obj + set->has_offset) = has;
	if (seen_out)
		*seen_out = seen;
	return 0;
}
