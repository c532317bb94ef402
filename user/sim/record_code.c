// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/record_code.h"

#include <stdlib.h>
#include <string.h>

const char record_nothing[RECORD_OBJECT_MAX];

static uint64_t number(const char *obj, const struct record_field *f)
{
	uint64_t v;
	uint32_t w;

	obj += f->at;
	if (f->kind == RECORD_BOOL)
		return *obj != 0;
	if (f->size == sizeof(w)) {
		memcpy(&w, obj, sizeof(w));
		return w;
	}
	memcpy(&v, obj, sizeof(v));
	return v;
}

/* A bool is 0 or 1 whatever the file says. */
static void set_number(char *obj, const struct record_field *f, uint64_t v)
{
	uint32_t w = (uint32_t)v;

	obj += f->at;
	if (f->kind == RECORD_BOOL)
		*obj = v != 0;
	else if (f->size == sizeof(w))
		memcpy(obj, &w, sizeof(w));
	else
		memcpy(obj, &v, sizeof(v));
}

/* --- Writing ---------------------------------------------------------------------- */

static bool put_byte(struct record_buf *to, unsigned int b)
{
	unsigned char *p;

	if (to->len == to->cap) {
		p = realloc(to->p, to->cap ? 2 * to->cap : 4096);
		if (!p)
			return false;
		to->p = p;
		to->cap = to->cap ? 2 * to->cap : 4096;
	}
	to->p[to->len++] = (unsigned char)b;
	return true;
}

bool record_put_number(struct record_buf *to, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		if (!put_byte(to, (unsigned int)(v & 127) | 128))
			return false;
	return put_byte(to, (unsigned int)v);
}

static bool put_bytes(struct record_buf *to, const char *p, size_t n)
{
	for (; n > 0; n--)
		if (!put_byte(to, (unsigned char)*p++))
			return false;
	return true;
}

static bool stands_still(const struct record_field *f, const char *was,
			 const char *is)
{
	switch (f->kind) {
	case RECORD_TEXT:
		return !strncmp(was + f->at, is + f->at, f->size);
	case RECORD_BYTES:
		return !memcmp(was + f->at, is + f->at, f->size);
	default:
		return number(was, f) == number(is, f);
	}
}

static bool put_field(struct record_buf *to, const struct record_field *f,
		      const char *was, const char *is)
{
	uint64_t d;
	size_t len;

	switch (f->kind) {
	case RECORD_TEXT:
		len = strnlen(is + f->at, f->size - 1u);
		return record_put_number(to, len) &&
		       put_bytes(to, is + f->at, len);
	case RECORD_BYTES:
		return put_bytes(to, is + f->at, f->size);
	default:
		/* Small steps either way are small numbers. */
		d = number(is, f) - number(was, f);
		return record_put_number(to, d << 1 ^ -(d >> 63));
	}
}

bool record_put_object(struct record_buf *to, const struct record_object *of,
		       const void *was, const void *is)
{
	uint64_t moved = 0;
	unsigned int i;

	for (i = 0; i < of->n; i++)
		if (!stands_still(&of->fields[i], was, is))
			moved |= 1ULL << i;
	if (!record_put_number(to, moved))
		return false;
	for (i = 0; i < of->n; i++)
		if (moved & 1ULL << i && !put_field(to, &of->fields[i], was, is))
			return false;
	return true;
}

/* --- Reading ---------------------------------------------------------------------- */

bool record_get_number(struct record_source *in, uint64_t *v)
{
	unsigned int shift = 0;

	*v = 0;
	for (; in->p < in->end && shift < 64; shift += 7) {
		unsigned char b = *in->p++;

		*v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return true;
	}
	return false;
}

static bool get_bytes(struct record_source *in, char *to, size_t n)
{
	if (n > record_left(in))
		return false;
	memcpy(to, in->p, n);
	in->p += n;
	return true;
}

static bool get_field(struct record_source *in, const struct record_field *f,
		      char *obj)
{
	uint64_t v;

	if (f->kind == RECORD_BYTES)
		return get_bytes(in, obj + f->at, f->size);
	if (!record_get_number(in, &v))
		return false;
	if (f->kind == RECORD_TEXT) {
		if (v >= f->size)
			return false;
		memset(obj + f->at, 0, f->size);
		return get_bytes(in, obj + f->at, v);
	}
	set_number(obj, f, number(obj, f) + (v >> 1 ^ -(v & 1)));
	return true;
}

bool record_get_object(struct record_source *in, const struct record_object *of,
		       void *obj)
{
	uint64_t moved;
	unsigned int i;

	if (!record_get_number(in, &moved) ||
	    (of->n < RECORD_FIELDS_MAX && moved >> of->n))
		return false;
	for (i = 0; moved; i++, moved >>= 1)
		if (moved & 1 && !get_field(in, &of->fields[i], obj))
			return false;
	return true;
}

bool record_resize(char **array, size_t *n, size_t want, size_t size)
{
	char *p = realloc(*array, (want ? want : 1) * size);

	if (!p)
		return false;
	*array = p;
	if (want > *n)
		memset(p + *n * size, 0, (want - *n) * size);
	*n = want;
	return true;
}
