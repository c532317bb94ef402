/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Requests to the swiftrdma family without a library, which would not send some of them, and
 * the kernel's unchanged answer. A request is written as text:
 *
 *   dev_index=3 action{knob=1 job=bulk value=5 ^clear}@2
 *
 * An item is NAME=VALUE, NAME{ITEM...}, or NAME alone for a flag. @N repeats an item, ^
 * marks an item so that its offset in the message is known, and $NAME is replaced.
 */
#ifndef SELFTESTS_RAWNL_H
#define SELFTESTS_RAWNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/swiftrdma.h>

#define RAWNL_MAX	(512 * 1024)

enum rawnl_kind { RAWNL_U32, RAWNL_U64, RAWNL_STR, RAWNL_FLAG, RAWNL_NEST };

struct rawnl_attr {
	const char *name;
	uint16_t type;
	enum rawnl_kind kind;
	size_t max;			/* of a string, without its NUL */
	bool repeats;
	const struct rawnl_attr *nest;	/* ends with a NULL name */
};

/* One attribute of a request. */
struct rawnl_node {
	const struct rawnl_attr *attr;
	uint64_t number;
	char *string;
	unsigned int count;
	bool marked;
	struct rawnl_node *child, *next;
};

/* What is wrong with one node of a request. */
enum rawnl_wrong {
	RAWNL_RIGHT,
	RAWNL_SHORT,	/* the last byte is missing; of a string, its NUL */
	RAWNL_LONG,	/* too long; of a nest, garbage at its end */
	RAWNL_EMPTY,	/* no payload */
	RAWNL_OTHER,	/* a nest without the nest flag, or another attribute with it */
	RAWNL_TWICE,
	RAWNL_UNKNOWN,	/* followed by an unknown attribute */
	RAWNL_WRONGS
};

struct rawnl_req {
	unsigned char buf[RAWNL_MAX];
	size_t len;
	uint32_t offset;	/* offset of the marked or wrong item; 0: none */
};

struct rawnl_var {
	const char *name;
	uint64_t value;
};

struct rawnl_reply {
	int error;		/* 0 or -errno */
	char message[256];	/* extack; empty: none */
	uint32_t offset;	/* offset of the offending attribute; 0: not reported */
	uint32_t missing;	/* type; 0: not told */
	uint32_t missing_nest;	/* offset; 0: not told */
	unsigned int answers;	/* messages of the family */
	bool has_count;
	uint32_t count;		/* SNAPSHOT_A_COUNT */
	uint64_t generation;
	bool armed;		/* SNAPSHOT_A_ARMED */
};

struct rawnl {
	int fd;
	uint16_t family;
	uint32_t group;		/* of the events */
	uint32_t seq;
};

typedef void (*rawnl_answer_fn)(const void *attrs, size_t len, void *arg);

/* 0 or -errno. @fd -1: a new socket. */
int rawnl_open(struct rawnl *nl, int fd);
void rawnl_close(struct rawnl *nl);

/* NULL: not a valid request, as reported on stderr. @vars ends with a NULL name. */
struct rawnl_node *rawnl_parse(const char *text, const struct rawnl_var *vars);
void rawnl_free(struct rawnl_node *node);
void rawnl_encode(struct rawnl_req *req, int cmd, bool dump, const struct rawnl_node *nodes,
		  const struct rawnl_node *bad, enum rawnl_wrong wrong);

/* Sends @req and receives the whole answer. 0, or -errno of the socket. */
int rawnl_call(struct rawnl *nl, struct rawnl_req *req, struct rawnl_reply *reply,
	       rawnl_answer_fn fn, void *arg);
/* rawnl_parse() and rawnl_call() in one; the error of the kernel or of the socket. */
int rawnl_do(struct rawnl *nl, int cmd, bool dump, const char *text,
	     const struct rawnl_var *vars, struct rawnl_reply *reply,
	     rawnl_answer_fn fn, void *arg);

/* -1: no attribute has this name. */
int rawnl_cmd(const char *name);
const char *rawnl_cmd_name(int cmd);

/* The payload of the first @type among @attrs, NULL: none. */
const void *rawnl_find(const void *attrs, size_t len, int type, size_t *plen);
uint64_t rawnl_u64(const void *attrs, size_t len, int type);
uint32_t rawnl_u32(const void *attrs, size_t len, int type);

#endif
