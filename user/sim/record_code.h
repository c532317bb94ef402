/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Numbers and objects as a recording has them: see record.h for the format.
 * Whatever bytes are read, nothing is read or written beyond them.
 */
#ifndef SRDMA_SIM_RECORD_CODE_H
#define SRDMA_SIM_RECORD_CODE_H

#include "sim/record_fields.h"

/* What is written. */
struct record_buf {
	unsigned char *p;
	size_t len, cap;
};

/* What is still to be read. */
struct record_source {
	const unsigned char *p, *end;
};

static inline size_t record_left(const struct record_source *in)
{
	return (size_t)(in->end - in->p);
}

/* Objects of a kind, at most. */
#define RECORD_OBJECTS_MAX	(4u << 20)

/* So many objects may follow: each takes a byte at least. */
static inline bool record_may_have(const struct record_source *in, uint64_t n)
{
	return n <= RECORD_OBJECTS_MAX && n <= record_left(in);
}

/* Of what there was nothing before, the difference is from nothing. */
extern const char record_nothing[RECORD_OBJECT_MAX];

/* False: no memory. */
bool record_put_number(struct record_buf *to, uint64_t v);
bool record_put_object(struct record_buf *to, const struct record_object *of,
		       const void *was, const void *is);

/* False: these bytes are none. */
bool record_get_number(struct record_source *in, uint64_t *v);
/* @obj: what it was, becomes what it is. */
bool record_get_object(struct record_source *in, const struct record_object *of,
		       void *obj);

/* Room for as many, what is new all nought. False: no memory. */
bool record_resize(char **array, size_t *n, size_t want, size_t size);

#endif /* SRDMA_SIM_RECORD_CODE_H */
