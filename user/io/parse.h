/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Netlink attributes in, plain structures out. Pure: bytes and a length, no
 * socket. What comes in is not trusted: every length is checked, every string
 * is bounded, and a message that lacks the name of its object is refused.
 */
#ifndef SRDMA_IO_PARSE_H
#define SRDMA_IO_PARSE_H

#include "core/snapshot.h"
#include "io/io.h"
#include "io/owner.h"

/* The number of levels; compared with the contract at compile time. */
#define SRDMA_LEVELS	8

struct srdma_lease {
	uint64_t id;
	uint32_t ttl_ms, rank;
	bool expired;
	char origin[SNAP_NAME];
};

/*
 * The attributes that the last object of a kind had, in their order, because the next object
 * mostly has the same. So the processor need not wait for the length of an attribute to know where
 * the next one begins; waiting would take half of the time of a reading.
 */
#define SRDMA_SHAPE	48

struct srdma_shape {
	struct srdma_shape_attr {
		uint32_t header;	/* struct nlattr as it came */
		uint16_t offset, size;	/* of the object's member; size 0: not a number that is known */
		uint64_t seen, has;	/* its type's bit; its field's bits of .has */
	} attrs[SRDMA_SHAPE + 1];
};

/*
 * Where the objects of an answer go. All pointers are set, because an answer may
 * carry objects that were not requested.
 */
struct srdma_reading {
	struct snapshot *snap;		/* all but QPs */
	struct snap_qp **qps;		/* QPs: the snapshot's, or a delta */
	size_t *n_qps, *cap_qps;

	struct snap_action *actions;	/* malloc()ed, freed by the caller */
	size_t n_actions, cap_actions;
	uint32_t action_index;		/* of the last one */

	struct io_level levels[SRDMA_LEVELS];
	size_t n_levels;

	bool has_lease, has_batch, has_end, has_peer;
	struct io_peer peer;
	struct srdma_lease lease;
	uint64_t batch;
	uint64_t generation, time;	/* the end of a dump */
	uint32_t count;
	struct srdma_shape uar_shape, qp_shape;	/* of the objects of which there are many */
	bool disarmed;			/* the module was not armed at the end of some dump */
};

/**
 * srdma_parse - take in the attributes of one message
 * @attrs: first attribute, after the generic netlink header
 * @len: bytes there are
 * @r: what is read goes there
 *
 * 0, -EBADMSG: malformed; -ENOMEM.
 */
int srdma_parse(const void *attrs, size_t len, struct srdma_reading *r);

#endif /* SRDMA_IO_PARSE_H */
