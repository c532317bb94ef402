/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The part of recordings that only files of io use; recording.h is the public part. */
#ifndef SRDMA_IO_RECORDER_H
#define SRDMA_IO_RECORDER_H

#include <endian.h>
#include <linux/netlink.h>

#include "io/encode.h"
#include "io/recording.h"

#define RECORDING_MAGIC	{ 'S', 'R', 'D', 'M', 'A', 'r', 'e', 'c' }
/* The most bytes of a record's inflated content. */
#define RECORDING_MAX	(256u << 20)
/* Parameters of zlib: a raw deflate stream, each record has a checksum of its own. */
#define RECORDING_WBITS	(-15)
#define RECORDING_MEM	9

/* Little endian, like the container. */
struct recording_file {
	char magic[8];
	uint32_t version;
};

struct recording_head {
	uint32_t len, crc;
};

/* In the byte order of the host, like the netlink messages after it. */
struct recording_content {
	uint32_t kind, zero;
	uint64_t time;
};

/*
 * A live reading. Messages of requests and answers are appended to the buffer that begin()
 * returns, and commit() writes them as a record. Without commit() they are dropped.
 */
struct srdma_bytes *srdma_recorder_begin(struct recorder *r);
void srdma_recorder_commit(struct recorder *r);
/* Live events. */
void srdma_recorder_event(struct recorder *r, const struct nlmsghdr *nlh);
void srdma_recorder_lost(struct recorder *r, const char *why);

#endif /* SRDMA_IO_RECORDER_H */
