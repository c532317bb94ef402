// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "sim/record_event.h"

#define MAGIC		"SRDMArec"
#define BYTES_MAX	(256u << 20)	/* of a record */

static char **array_of(struct snapshot *s, const struct record_table *t)
{
	return (char **)((char *)s + t->array);
}

static size_t *count_of(struct snapshot *s, const struct record_table *t)
{
	return (size_t *)((char *)s + t->count);
}

/* --- Writing ---------------------------------------------------------------------- */

static bool put_stats(struct record *r, const struct snap_job *was,
		      const struct snap_job *is)
{
	size_t i;

	for (i = 0; i < is->n_stats; i++)
		if (!record_put_object(&r->buf, &record_stat,
				was && i < was->n_stats ?
				(const void *)&was->stats[i] : record_nothing,
				&is->stats[i]))
			return false;
	return true;
}

static bool put_table(struct record *r, struct snapshot *s, size_t which)
{
	const struct record_table *t = &record_tables[which];
	size_t n = *count_of(s, t), before = *count_of(&r->last, t), i;
	const char *is = *array_of(s, t), *was = *array_of(&r->last, t);

	if (!record_put_number(&r->buf, n))
		return false;
	for (i = 0; i < n; i++, is += t->of.size) {
		const char *old = i < before ? was + i * t->of.size :
						 record_nothing;

		if (!record_put_object(&r->buf, &t->of, old, is))
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

/* The buffer as a record. What a reader will have then is what the next differs from. */
static int put_record(struct record *r)
{
	unsigned char head[8];
	int got = take(r);

	if (got < 0)
		return got;
	if (!got || r->buf.len > BYTES_MAX)
		return -EFBIG;
	put_u32(head, (uint32_t)r->buf.len);
	put_u32(head + 4, (uint32_t)crc32(0, r->buf.p, (uInt)r->buf.len));
	if (fwrite(head, 8, 1, r->f) != 1 ||
	    fwrite(r->buf.p, r->buf.len, 1, r->f) != 1)
		return -EIO;
	return 0;
}

int record_flush(struct record *r)
{
	return fflush(r->f) ? -EIO : 0;
}

int record_write(struct record *r, const struct snapshot *s)
{
	struct snapshot now = *s;
	size_t i;
	int err;

	r->buf.len = 0;
	if (!record_put_number(&r->buf, RECORD_READING) ||
	    !record_put_object(&r->buf, &record_snapshot, &r->last, &now))
		return -ENOMEM;
	for (i = 0; i < RECORD_TABLES; i++)
		if (!put_table(r, &now, i))
			return -ENOMEM;
	err = put_record(r);
	return err ? err : record_flush(r);
}

int record_write_event(struct record *r, uint64_t time, const struct snap_event *e)
{
	r->buf.len = 0;
	if (!record_put_number(&r->buf, RECORD_EVENT) ||
	    !record_event_put(&r->buf, &r->event, time, e))
		return -ENOMEM;
	return put_record(r);
}

/* --- Reading ---------------------------------------------------------------------- */

static int get_job(struct record_source *in, struct snap_job *job)
{
	size_t had = job->n_stats, want, i;
	char *stats = (char *)job->stats;

	if (!record_get_object(in, &record_tables[RECORD_JOBS].of, job))
		return 0;
	want = job->n_stats;
	job->n_stats = had;
	if (!record_may_have(in, want))
		return 0;
	if (!record_resize(&stats, &job->n_stats, want, sizeof(*job->stats)))
		return -ENOMEM;
	job->stats = (struct snap_job_stat *)stats;
	for (i = 0; i < want; i++)
		if (!record_get_object(in, &record_stat, &job->stats[i]))
			return 0;
	return 1;
}

static int get_table(struct record *r, struct record_source *in, size_t which)
{
	const struct record_table *t = &record_tables[which];
	size_t *n = count_of(&r->last, t), i;
	char **array = array_of(&r->last, t);
	uint64_t want;
	int got;

	if (!record_get_number(in, &want) || !record_may_have(in, want))
		return 0;
	for (i = want; which == RECORD_JOBS && i < *n; i++) {
		struct snap_job *job = (struct snap_job *)*array + i;

		free(job->stats);
		job->stats = NULL;
		job->n_stats = 0;
	}
	if (!record_resize(array, n, want, t->of.size))
		return -ENOMEM;
	for (i = 0; i < want; i++) {
		char *obj = *array + i * t->of.size;

		got = which == RECORD_JOBS ?
		      get_job(in, (struct snap_job *)obj) :
		      record_get_object(in, &t->of, obj);
		if (got <= 0)
			return got;
	}
	return 1;
}

static int get_snapshot(struct record *r, struct record_source *in)
{
	size_t i;
	int got;

	if (!record_get_object(in, &record_snapshot, &r->last))
		return 0;
	for (i = 0; i < RECORD_TABLES; i++) {
		got = get_table(r, in, i);
		if (got <= 0)
			return got;
	}
	return RECORD_READING;
}

/* The record in the buffer becomes the last reading or event: which of them. */
static int take(struct record *r)
{
	struct record_source in = { r->buf.p, r->buf.p + r->buf.len };
	uint64_t what = RECORD_READING;
	int got = 0;

	if (r->version > RECORD_READINGS_ONLY && !record_get_number(&in, &what))
		return 0;
	if (what == RECORD_READING)
		got = get_snapshot(r, &in);
	else if (what == RECORD_EVENT)
		got = record_event_get(&in, &r->event);
	return got > 0 && in.p != in.end ? 0 : got;
}

int record_open(struct record *r, FILE *f)
{
	unsigned char head[12];

	memset(r, 0, sizeof(*r));
	r->f = f;
	if (fread(head, sizeof(head), 1, f) != 1 || memcmp(head, MAGIC, 8))
		return -EINVAL;
	r->version = get_u32(head + 8);
	return r->version >= RECORD_OLDEST &&
	       r->version <= RECORD_VERSION ? 0 : -EPROTONOSUPPORT;
}

static int stop(struct record *r, const char *why)
{
	r->problem = why;
	return RECORD_END;
}

int record_next(struct record *r)
{
	struct record_buf *b = &r->buf;
	unsigned char head[8], *p;
	size_t got, len;
	int what;

	if (r->problem)
		return RECORD_END;
	got = fread(head, 1, sizeof(head), r->f);
	if (!got)
		return RECORD_END;
	if (got < sizeof(head))
		return stop(r, "the last record is cut off");
	len = get_u32(head);
	if (!len || len > BYTES_MAX)
		return stop(r, "a record is damaged");
	/* A damaged length must not ask for more than the file has. */
	b->len = 0;
	while (b->len < len) {
		size_t part = len - b->len < 65536 ? len - b->len : 65536;

		if (b->len + part > b->cap) {
			p = realloc(b->p, 2 * (b->len + part));
			if (!p)
				return -ENOMEM;
			b->p = p;
			b->cap = 2 * (b->len + part);
		}
		got = fread(b->p + b->len, 1, part, r->f);
		b->len += got;
		if (got < part)
			return stop(r, "the last record is cut off");
	}
	if ((uint32_t)crc32(0, b->p, (uInt)len) != get_u32(head + 4))
		return stop(r, "a record is damaged");
	what = take(r);
	return what ? what : stop(r, "a record makes no sense");
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
	record_event_free(&r->event);
	free(r->buf.p);
	r->buf = (struct record_buf){ 0 };
}
