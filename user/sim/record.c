// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "sim/record_fields.h"

#define MAGIC		"SRDMArec"
#define BYTES_MAX	(256u << 20)	/* of a record */
#define OBJECTS_MAX	(4u << 20)

static char **array_of(struct snapshot *s, const struct record_table *t)
{
	return (char **)((char *)s + t->array);
}

static size_t *count_of(struct snapshot *s, const struct record_table *t)
{
	return (size_t *)((char *)s + t->count);
}

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

static bool put_byte(struct record *r, unsigned int b)
{
	unsigned char *p;

	if (r->len == r->cap) {
		p = realloc(r->buf, r->cap ? 2 * r->cap : 4096);
		if (!p)
			return false;
		r->buf = p;
		r->cap = r->cap ? 2 * r->cap : 4096;
	}
	r->buf[r->len++] = (unsigned char)b;
	return true;
}

static bool put_varint(struct record *r, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		if (!put_byte(r, (unsigned int)(v & 127) | 128))
			return false;
	return put_byte(r, (unsigned int)v);
}

static bool put_bytes(struct record *r, const char *p, size_t n)
{
	for (; n > 0; n--)
		if (!put_byte(r, (unsigned char)*p++))
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

static bool put_field(struct record *r, const struct record_field *f,
		      const char *was, const char *is)
{
	uint64_t d;
	size_t len;

	switch (f->kind) {
	case RECORD_TEXT:
		len = strnlen(is + f->at, f->size - 1u);
		return put_varint(r, len) && put_bytes(r, is + f->at, len);
	case RECORD_BYTES:
		return put_bytes(r, is + f->at, f->size);
	default:
		/* Small steps either way are small numbers. */
		d = number(is, f) - number(was, f);
		return put_varint(r, d << 1 ^ -(d >> 63));
	}
}

static bool put_object(struct record *r, const struct record_object *of,
		       const char *was, const char *is)
{
	uint64_t moved = 0;
	unsigned int i;

	for (i = 0; i < of->n; i++)
		if (!stands_still(&of->fields[i], was, is))
			moved |= 1ULL << i;
	if (!put_varint(r, moved))
		return false;
	for (i = 0; i < of->n; i++)
		if (moved & 1ULL << i && !put_field(r, &of->fields[i], was, is))
			return false;
	return true;
}

/* Of what there was nothing before, the difference is from nothing. */
static const char nothing[RECORD_OBJECT_MAX];

static bool put_stats(struct record *r, const struct snap_job *was,
		      const struct snap_job *is)
{
	size_t i;

	for (i = 0; i < is->n_stats; i++)
		if (!put_object(r, &record_stat,
				was && i < was->n_stats ?
				(const char *)&was->stats[i] : nothing,
				(const char *)&is->stats[i]))
			return false;
	return true;
}

static bool put_table(struct record *r, struct snapshot *s, size_t which)
{
	const struct record_table *t = &record_tables[which];
	size_t n = *count_of(s, t), before = *count_of(&r->last, t), i;
	const char *is = *array_of(s, t), *was = *array_of(&r->last, t);

	if (!put_varint(r, n))
		return false;
	for (i = 0; i < n; i++, is += t->of.size) {
		const char *old = i < before ? was + i * t->of.size : nothing;

		if (!put_object(r, &t->of, old, is))
			return false;
		if (which == RECORD_JOBS &&
		    !put_stats(r, i < before ? (const void *)old : NULL,
			       (const void *)is))
			return false;
	}
	return true;
}

int record_begin(struct record *r, FILE *f)
{
	const unsigned char head[] = { RECORD_VERSION, 0, 0, 0 };

	memset(r, 0, sizeof(*r));
	r->f = f;
	r->version = RECORD_VERSION;
	if (fwrite(MAGIC, 8, 1, f) != 1 || fwrite(head, 4, 1, f) != 1 ||
	    fflush(f))
		return -EIO;
	return 0;
}

static void put_u32(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)v;
	p[1] = (unsigned char)(v >> 8);
	p[2] = (unsigned char)(v >> 16);
	p[3] = (unsigned char)(v >> 24);
}

static uint32_t get_u32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static int take(struct record *r);

int record_write(struct record *r, const struct snapshot *s)
{
	struct snapshot now = *s;
	unsigned char head[8];
	size_t i;
	int got;

	r->len = 0;
	if (!put_object(r, &record_snapshot, (const char *)&r->last,
			(const char *)&now))
		return -ENOMEM;
	for (i = 0; i < RECORD_TABLES; i++)
		if (!put_table(r, &now, i))
			return -ENOMEM;
	/* What a reader will have by then is what the next one differs from. */
	got = take(r);
	if (got < 0)
		return got;
	if (!got || r->len > BYTES_MAX)
		return -EFBIG;
	put_u32(head, (uint32_t)r->len);
	put_u32(head + 4, (uint32_t)crc32(0, r->buf, (uInt)r->len));
	if (fwrite(head, 8, 1, r->f) != 1 ||
	    fwrite(r->buf, r->len, 1, r->f) != 1 || fflush(r->f))
		return -EIO;
	return 0;
}

/* --- Reading ---------------------------------------------------------------------- */

struct source {
	const unsigned char *p, *end;
};

static bool get_varint(struct source *in, uint64_t *v)
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

static bool get_bytes(struct source *in, char *to, size_t n)
{
	if (n > (size_t)(in->end - in->p))
		return false;
	memcpy(to, in->p, n);
	in->p += n;
	return true;
}

static bool get_field(struct source *in, const struct record_field *f,
		      char *obj)
{
	uint64_t v;

	if (f->kind == RECORD_BYTES)
		return get_bytes(in, obj + f->at, f->size);
	if (!get_varint(in, &v))
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

static bool get_object(struct source *in, const struct record_object *of,
		       char *obj)
{
	uint64_t moved;
	unsigned int i;

	if (!get_varint(in, &moved) ||
	    (of->n < RECORD_FIELDS_MAX && moved >> of->n))
		return false;
	for (i = 0; moved; i++, moved >>= 1)
		if (moved & 1 && !get_field(in, &of->fields[i], obj))
			return false;
	return true;
}

/* Room for as many, what is new all nought. */
static bool resize(char **array, size_t *n, size_t want, size_t size)
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

static int get_job(struct source *in, struct snap_job *job)
{
	size_t had = job->n_stats, want, i;
	char *stats = (char *)job->stats;

	if (!get_object(in, &record_tables[RECORD_JOBS].of, (char *)job))
		return 0;
	want = job->n_stats;
	job->n_stats = had;
	/* An object takes a byte at least. */
	if (want > (size_t)(in->end - in->p))
		return 0;
	if (!resize(&stats, &job->n_stats, want, sizeof(*job->stats)))
		return -ENOMEM;
	job->stats = (struct snap_job_stat *)stats;
	for (i = 0; i < want; i++)
		if (!get_object(in, &record_stat, (char *)&job->stats[i]))
			return 0;
	return 1;
}

static int get_table(struct record *r, struct source *in, size_t which)
{
	const struct record_table *t = &record_tables[which];
	size_t *n = count_of(&r->last, t), i;
	char **array = array_of(&r->last, t);
	uint64_t want;
	int got;

	if (!get_varint(in, &want) || want > OBJECTS_MAX ||
	    want > (uint64_t)(in->end - in->p))
		return 0;
	for (i = want; which == RECORD_JOBS && i < *n; i++) {
		struct snap_job *job = (struct snap_job *)*array + i;

		free(job->stats);
	}
	if (!resize(array, n, want, t->of.size))
		return -ENOMEM;
	for (i = 0; i < want; i++) {
		char *obj = *array + i * t->of.size;

		got = which == RECORD_JOBS ?
		      get_job(in, (struct snap_job *)obj) :
		      get_object(in, &t->of, obj);
		if (got <= 0)
			return got;
	}
	return 1;
}

/* The record in the buffer becomes the last snapshot. */
static int take(struct record *r)
{
	struct source in = { r->buf, r->buf + r->len };
	size_t i;
	int got;

	if (!get_object(&in, &record_snapshot, (char *)&r->last))
		return 0;
	for (i = 0; i < RECORD_TABLES; i++) {
		got = get_table(r, &in, i);
		if (got <= 0)
			return got;
	}
	return in.p == in.end;
}

int record_open(struct record *r, FILE *f)
{
	unsigned char head[12];

	memset(r, 0, sizeof(*r));
	r->f = f;
	if (fread(head, sizeof(head), 1, f) != 1 || memcmp(head, MAGIC, 8))
		return -EINVAL;
	r->version = get_u32(head + 8);
	return r->version == RECORD_VERSION ? 0 : -EPROTONOSUPPORT;
}

static int stop(struct record *r, const char *why)
{
	r->problem = why;
	return 0;
}

int record_next(struct record *r)
{
	unsigned char head[8], *p;
	size_t got, len;

	if (r->problem)
		return 0;
	got = fread(head, 1, sizeof(head), r->f);
	if (!got)
		return 0;
	if (got < sizeof(head))
		return stop(r, "the last record is cut off");
	len = get_u32(head);
	if (!len || len > BYTES_MAX)
		return stop(r, "a record is damaged");
	/* A damaged length must not ask for more than the file has. */
	r->len = 0;
	while (r->len < len) {
		size_t part = len - r->len < 65536 ? len - r->len : 65536;

		if (r->len + part > r->cap) {
			p = realloc(r->buf, 2 * (r->len + part));
			if (!p)
				return -ENOMEM;
			r->buf = p;
			r->cap = 2 * (r->len + part);
		}
		got = fread(r->buf + r->len, 1, part, r->f);
		r->len += got;
		if (got < part)
			return stop(r, "the last record is cut off");
	}
	if ((uint32_t)crc32(0, r->buf, (uInt)len) != get_u32(head + 4))
		return stop(r, "a record is damaged");
	switch (take(r)) {
	case 1:
		return 1;
	case 0:
		return stop(r, "a record makes no sense");
	default:
		return -ENOMEM;
	}
}

void record_snapshot_free(struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->n_jobs; i++)
		free(s->jobs[i].stats);
	for (i = 0; i < RECORD_TABLES; i++)
		free(*array_of(s, &record_tables[i]));
	memset(s, 0, sizeof(*s));
}

void record_end(struct record *r)
{
	record_snapshot_free(&r->last);
	free(r->buf);
	r->buf = NULL;
}
