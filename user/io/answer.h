/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Parses the netlink messages with which the kernel answers a request: objects, then an
 * acknowledgement, the end of a dump, or an error with an explanation. Pure.
 */
#ifndef SRDMA_IO_ANSWER_H
#define SRDMA_IO_ANSWER_H

#include "io/parse.h"

struct srdma_answer {
	bool done;		/* the answer is complete */
	bool interrupted;	/* the dump may lack objects that changed meanwhile */
	int error;		/* the kernel's result, 0 or -errno */
	char message[256];	/* extack; empty: none */
	bool has_offset, has_missing, has_missing_nest;
	uint32_t offset;	/* offset of the offending attribute in the request */
	uint32_t missing;	/* type of a missing attribute */
	uint32_t missing_nest;	/* offset of the nest that lacks it */
};

/**
 * srdma_answer - read what one recv() gave
 * @buf: what it gave
 * @len: bytes of that
 * @family: message type of answers
 * @seq: sequence number of the request
 * @r: what is read goes there
 * @a: how far the answer is
 *
 * Messages of another request are skipped. 0 or what srdma_parse() says.
 */
int srdma_answer(const void *buf, size_t len, uint16_t family, uint32_t seq,
		 struct srdma_reading *r, struct srdma_answer *a);

/**
 * srdma_attr_name - what the attribute at @offset of a request is called
 * @msg: the request, from its netlink header on
 * @len: its bytes
 * @offset: of the attribute
 * @out: the name
 * @cap: its room
 *
 * "action[2].value": nests by name, repeated ones counted from 1. Empty if
 * there is no attribute at @offset.
 */
void srdma_attr_name(const void *msg, size_t len, uint32_t offset, char *out,
		     size_t cap);
/* The same for the attribute @type that is missing in the nest at @nest; 0: at the top. */
void srdma_missing_name(const void *msg, size_t len, uint32_t nest,
			uint32_t type, char *out, size_t cap);

#endif /* SRDMA_IO_ANSWER_H */
