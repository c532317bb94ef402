// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "io/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zlib.h>

#include "base/array.h"

struct recorder {
	FILE *f;
	z_stream z;
	struct srdma_bytes messages;	/* messages of the reading under way */
	struct srdma_bytes packed;
	/* The QPs that a player knows, if the last reading came from recorder_snapshot(). */
	struct snapshot last;
	bool has_last;
	int err;			/* the error of the first write that failed */
};

/* Compresses the next part of the record. */
static int pack_bytes(struct recorder *r, const void *p, size_t len, int flush)
{
	r->z.next_in = (Bytef *)p;
	r->z.avail_in = (uInt)len;
	do {
		if (!array_reserve(&r->packed.p, &r->packed.cap,
				   r->packed.len + 4096, 1))
			return -ENOMEM;
		r->z.next_out = r->packed.p + r->packed.len;
		r->z.avail_out = (uInt)(r->packed.cap - r->packed.len);
		deflate(&r->z, flush);
		r->packed.len = r->packed.cap - r->z.avail_out;
	} while (!r->z.avail_out);
	return 0;
}

static int write_bytes(struct recorder *r, const void *p, size_t len)
{
	errno = 0;
	return fwrite(p, len, 1, r->f) == 1 ? 0 : errno ? -errno : -EIO;
}

void recorder_put(struct recorder *r, enum recording_kind kind, uint64_t time,
		  const void *content, size_t len)
{
	const struct recording_content head = { .kind = kind, .time = time };
	struct recording_head record;

	if (r->err)
		return;
	if (len > RECORDING_MAX - sizeof(head)) {
		r->err = -EFBIG;
		return;
	}
	r->packed.len = 0;
	r->err = pack_bytes(r, &head, sizeof(head), Z_NO_FLUSH);
	if (!r->err)
		r->err = pack_bytes(r, content, len, Z_SYNC_FLUSH);
	if (r->err)
		return;
	record.len = htole32((uint32_t)r->packed.len);
	record.crc = htole32((uint32_t)crc32(0, r->packed.p, (uInt)r->packed.len));
	r->err = write_bytes(r, &record, sizeof(record));
	if (!r->err)
		r->err = write_bytes(r, r->packed.p, r->packed.len);
}

struct recorder *recorder_open(FILE *f)
{
	const struct recording_file head = {
		.magic = RECORDING_MAGIC, .version = htole32(RECORDING_VERSION),
	};
	struct recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->f = f;
	if (deflateInit2(&r->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, RECORDING_WBITS,
			 RECORDING_MEM, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(r);
		errno = ENOMEM;
		return NULL;
	}
	if (fwrite(&head, sizeof(head), 1, f) != 1 || fflush(f)) {
		int err = errno;

		recorder_close(r);
		errno = err;
		return NULL;
	}
	return r;
}

int recorder_flush(struct recorder *r)
{
	errno = 0;
	if (!r->err && fflush(r->f))
		r->err = errno ? -errno : -EIO;
	return r->err;
}

int recorder_close(struct recorder *r)
{
	int err = recorder_flush(r);

	deflateEnd(&r->z);
	free(r->messages.p);
	free(r->packed.p);
	free(r->last.qps);
	free(r->last.owners);
	free(r);
	return err;
}

/* --- what io reads ----------------------------------------------------------------- */

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct srdma_bytes *srdma_recorder_begin(struct recorder *r)
{
	r->messages.len = 0;
	r->has_last = false;
	return &r->messages;
}

void srdma_recorder_commit(struct recorder *r)
{
	recorder_put(r, RECORDING_READING, monotonic_ns(), r->messages.p, r->messages.len);
	recorder_flush(r);
}

void srdma_recorder_event(struct recorder *r, const struct nlmsghdr *nlh)
{
	recorder_put(r, RECORDING_EVENT, monotonic_ns(), nlh, nlh->nlmsg_len);
}

void srdma_recorder_lost(struct recorder *r, const char *why)
{
	recorder_lost(r, monotonic_ns(), why);
}

/* --- what no kernel sent ------------------------------------------------------------ */

void recorder_lost(struct recorder *r, uint64_t time, const char *why)
{
	recorder_put(r, RECORDING_LOST, time, why, strlen(why));
}

/* The next reading contains only the QPs that differ from these. */
static int keep_qps(struct recorder *r, const struct snapshot *s)
{
	struct snapshot *last = &r->last;

	if (!array_reserve(&last->qps, &last->cap_qps, s->n_qps, sizeof(*s->qps)) ||
	    !array_reserve(&last->owners, &last->cap_owners, s->n_owners,
			   sizeof(*s->owners)))
		return -ENOMEM;
	if (s->n_qps)
		memcpy(last->qps, s->qps, s->n_qps * sizeof(*s->qps));
	if (s->n_owners)
		memcpy(last->owners, s->owners, s->n_owners * sizeof(*s->owners));
	last->n_qps = s->n_qps;
	last->n_owners = s->n_owners;
	last->generation = s->generation;
	return 0;
}

void recorder_snapshot(struct recorder *r, const struct snapshot *s)
{
	bool delta = r->has_last;
	int err = srdma_encode(srdma_recorder_begin(r), s, delta ? &r->last : NULL);

	if (!err)
		recorder_put(r, RECORDING_READING, s->time, r->messages.p, r->messages.len);
	if (!err)
		err = keep_qps(r, s);
	r->has_last = !err;
	if (err && !r->err)
		r->err = err;
	recorder_flush(r);
}
