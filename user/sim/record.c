// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC		"SRDMArec"
#define BYTES_MAX	(256u << 20)	/* of a record */
#define OBJECTS_MAX	(4u << 20)

struct field {
	uint16_t at;
	uint8_t size;		/* of a number; 0: text */
	uint16_t room;		/* of text */
};

#define NUMBER(type, name) \
	{ offsetof(struct type, name), sizeof(((struct type *)0)->name), 0 }
#define TEXT(type, name) \
	{ offsetof(struct type, name), 0, sizeof(((struct type *)0)->name) }

static const struct field dev_fields[] = {
	NUMBER(snap_dev, index), NUMBER(snap_dev, caps),
	NUMBER(snap_dev, ports), NUMBER(snap_dev, qps),
	NUMBER(snap_dev, uars), NUMBER(snap_dev, cqs), NUMBER(snap_dev, mrs),
	NUMBER(snap_dev, created), NUMBER(snap_dev, create_failed),
	NUMBER(snap_dev, rejected), NUMBER(snap_dev, destroyed),
	NUMBER(snap_dev, modified), NUMBER(snap_dev, since),
	NUMBER(snap_dev, time), TEXT(snap_dev, name),
};

static const struct field port_fields[] = {
	NUMBER(snap_port, has), NUMBER(snap_port, dev),
	NUMBER(snap_port, index), NUMBER(snap_port, state),
	NUMBER(snap_port, link_layer), NUMBER(snap_port, speed),
	NUMBER(snap_port, tx_bytes), NUMBER(snap_port, rx_bytes),
	NUMBER(snap_port, tx_packets), NUMBER(snap_port, rx_packets),
	NUMBER(snap_port, time),
};

static const struct field uar_fields[] = {
	NUMBER(snap_uar, has), NUMBER(snap_uar, dev), NUMBER(snap_uar, index),
	NUMBER(snap_uar, kind), NUMBER(snap_uar, qps),
	NUMBER(snap_uar, owner), NUMBER(snap_uar, doorbells),
	NUMBER(snap_uar, wrs), NUMBER(snap_uar, since),
	NUMBER(snap_uar, time),
};

static const struct field qp_fields[] = {
	NUMBER(snap_qp, has), NUMBER(snap_qp, dev), NUMBER(snap_qp, qpn),
	NUMBER(snap_qp, serial), NUMBER(snap_qp, type),
	NUMBER(snap_qp, state), NUMBER(snap_qp, port), NUMBER(snap_qp, uar),
	NUMBER(snap_qp, job), NUMBER(snap_qp, owner), NUMBER(snap_qp, level),
	NUMBER(snap_qp, tclass), NUMBER(snap_qp, sl),
	NUMBER(snap_qp, doorbells), NUMBER(snap_qp, wrs),
	NUMBER(snap_qp, since), NUMBER(snap_qp, time),
};

static const struct field job_fields[] = {
	NUMBER(snap_job, id), NUMBER(snap_job, class), NUMBER(snap_job, since),
	NUMBER(snap_job, time), NUMBER(snap_job, n_stats),
	TEXT(snap_job, name),
};

static const struct field stat_fields[] = {
	NUMBER(snap_job_stat, has), NUMBER(snap_job_stat, dev),
	NUMBER(snap_job_stat, qps), NUMBER(snap_job_stat, level),
	NUMBER(snap_job_stat, created), NUMBER(snap_job_stat, doorbells),
	NUMBER(snap_job_stat, wrs), NUMBER(snap_job_stat, max_qps),
	NUMBER(snap_job_stat, create_rate),
};

static const struct field owner_fields[] = {
	NUMBER(snap_owner, pid), NUMBER(snap_owner, uid),
	NUMBER(snap_owner, cgroup_id), TEXT(snap_owner, comm),
	TEXT(snap_owner, exe), TEXT(snap_owner, kernel),
};

static const struct field snap_fields[] = {
	NUMBER(snapshot, generation), NUMBER(snapshot, time),
};

struct table {
	const struct field *fields;
	size_t n, size;
	size_t array, count;	/* offsets in struct snapshot */
};

#define TABLE(f, type, name)						\
	{ f, sizeof(f) / sizeof((f)[0]), sizeof(struct type),		\
	  offsetof(struct snapshot, name), offsetof(struct snapshot, n_##name) }

/* Jobs come last: their devices' figures follow each. */
static const struct table tables[] = {
	TABLE(dev_fields, snap_dev, devs), TABLE(port_fields, snap_port, ports),
	TABLE(uar_fields, snap_uar, uars), TABLE(qp_fields, snap_qp, qps),
	TABLE(owner_fields, snap_owner, owners),
	TABLE(job_fields, snap_job, jobs),
};

#define N_TABLES	(sizeof(tables) / sizeof(tables[0]))
#define JOBS		(N_TABLES - 1)
#define N(f)		(sizeof(f) / sizeof((f)[0]))

static uint32_t crc32(const unsigned char *p, size_t n)
{
	uint32_t crc = ~0u;
	int i;

	while (n--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

static char **array_of(struct snapshot *s, const struct table *t)
{
	return (char **)((char *)s + t->array);
}

static size_t *count_of(struct snapshot *s, const struct table *t)
{
	return (size_t *)((char *)s + t->count);
}

static uint64_t number(const char *obj, const struct field *f)
{
	uint64_t v = 0;

	memcpy(&v, obj + f->at, f->size);
	return v;
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

static bool put_object(struct record *r, const struct field *f, size_t n,
		       const char *was, const char *is)
{
	size_t len, k;

	for (; n > 0; n--, f++) {
		if (f->size) {
			uint64_t d = number(is, f) - number(was, f);

			/* Small steps either way are small numbers. */
			if (!put_varint(r, d << 1 ^ -(d >> 63)))
				return false;
			continue;
		}
		if (!strncmp(was + f->at, is + f->at, f->room)) {
			if (!put_varint(r, 0))
				return false;
			continue;
		}
		len = strnlen(is + f->at, f->room - 1u);
		if (!put_varint(r, len + 1))
			return false;
		for (k = 0; k < len; k++)
			if (!put_byte(r, (unsigned char)is[f->at + k]))
				return false;
	}
	return true;
}

/* Of what there was nothing before, the difference is from nothing. */
static const char nothing[1024];

static bool put_stats(struct record *r, const struct snap_job *was,
		      const struct snap_job *is)
{
	size_t i;

	for (i = 0; i < is->n_stats; i++)
		if (!put_object(r, stat_fields, N(stat_fields),
				was && i < was->n_stats ?
				(const char *)&was->stats[i] : nothing,
				(const char *)&is->stats[i]))
			return false;
	return true;
}

static bool put_table(struct record *r, struct snapshot *s, size_t which)
{
	const struct table *t = &tables[which];
	size_t n = *count_of(s, t), before = *count_of(&r->last, t), i;
	const char *is = *array_of(s, t), *was = *array_of(&r->last, t);

	if (!put_varint(r, n))
		return false;
	for (i = 0; i < n; i++) {
		const char *old = i < before ? was + i * t->size : nothing;

		if (!put_object(r, t->fields, t->n, old, is + i * t->size))
			return false;
		if (which == JOBS &&
		    !put_stats(r, i < before ? (const void *)old : NULL,
			       (const void *)(is + i * t->size)))
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

	r->len = 0;
	if (!put_object(r, snap_fields, N(snap_fields), (const char *)&r->last,
			(const char *)&now))
		return -ENOMEM;
	for (i = 0; i < N_TABLES; i++)
		if (!put_table(r, &now, i))
			return -ENOMEM;
	put_u32(head, (uint32_t)r->len);
	put_u32(head + 4, crc32(r->buf, r->len));
	if (fwrite(head, 8, 1, r->f) != 1 ||
	    fwrite(r->buf, r->len, 1, r->f) != 1 || fflush(r->f))
		return -EIO;
	/* What a reader will have by then is what the next one differs from. */
	return take(r) < 0 ? -ENOMEM : 0;
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

static bool get_object(struct source *in, const struct field *f, size_t n,
		       char *obj)
{
	uint64_t v, d;

	for (; n > 0; n--, f++) {
		if (!get_varint(in, &v))
			return false;
		if (f->size) {
			d = v >> 1 ^ -(v & 1);
			v = number(obj, f) + d;
			memcpy(obj + f->at, &v, f->size);
			continue;
		}
		if (!v)
			continue;
		v--;
		if (v >= f->room || v > (uint64_t)(in->end - in->p))
			return false;
		memset(obj + f->at, 0, f->room);
		memcpy(obj + f->at, in->p, v);
		in->p += v;
	}
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

	if (!get_object(in, job_fields, N(job_fields), (char *)job))
		return 0;
	want = job->n_stats;
	job->n_stats = had;
	if (want > (size_t)(in->end - in->p))
		return 0;
	if (!resize(&stats, &job->n_stats, want, sizeof(*job->stats)))
		return -ENOMEM;
	job->stats = (struct snap_job_stat *)stats;
	for (i = 0; i < want; i++)
		if (!get_object(in, stat_fields, N(stat_fields),
				(char *)&job->stats[i]))
			return 0;
	return 1;
}

static int get_table(struct record *r, struct source *in, size_t which)
{
	const struct table *t = &tables[which];
	size_t *n = count_of(&r->last, t), i;
	char **array = array_of(&r->last, t);
	uint64_t want;
	int got;

	/* Each object takes a byte a field at least. */
	if (!get_varint(in, &want) || want > OBJECTS_MAX ||
	    want * t->n > (uint64_t)(in->end - in->p))
		return 0;
	for (i = want; which == JOBS && i < *n; i++) {
		struct snap_job *job = (struct snap_job *)*array + i;

		free(job->stats);
	}
	if (!resize(array, n, want, t->size))
		return -ENOMEM;
	for (i = 0; i < want; i++) {
		char *obj = *array + i * t->size;

		got = which == JOBS ? get_job(in, (struct snap_job *)obj) :
				      get_object(in, t->fields, t->n, obj);
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

	if (!get_object(&in, snap_fields, N(snap_fields), (char *)&r->last))
		return 0;
	for (i = 0; i < N_TABLES; i++) {
		got = get_table(r, &in, i);
		if (got <= 0)
			return got;
	}
	r->last.admin = true;
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
	return r->version == RECORD_VERSION ? 0 : -EINVAL;
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
	if (crc32(r->buf, len) != get_u32(head + 4))
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
	for (i = 0; i < N_TABLES; i++)
		free(*array_of(s, &tables[i]));
	memset(s, 0, sizeof(*s));
}

void record_end(struct record *r)
{
	record_snapshot_free(&r->last);
	free(r->buf);
	r->buf = NULL;
}
