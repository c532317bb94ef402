/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The swiftrdma family without a library between: requests that no library would
 * send, and the kernel's answer as it is.
 *
 * A request is written as text:
 *
 *	dev_index=3 action{knob=1 job=bulk value=5 ^clear}@2
 *
 * NAME=VALUE, NAME{ITEM...}, or NAME alone for a flag; @N repeats an item; ^
 * marks one, so that its offset in the message is known; $NAME is replaced.
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
	RAWNL_SHORT,	/* its last byte lacks; of a string, its NUL */
	RAWNL_LONG,	/* too long; of a nest, garbage at its end */
	RAWNL_EMPTY,	/* no payload */
	RAWNL_OTHER,	/* a nest that does not say so, or what is none and does */
	RAWNL_TWICE,
	RAWNL_UNKNOWN,	/* followed by an attribute that does not exist there */
	RAWNL_WRONGS
};

struct rawnl_req {
	unsigned char buf[RAWNL_MAX];
	size_t len;
	uint32_t offset;	/* of what is marked or wrong; 0: nothing is */
};

struct rawnl_var {
	const char *name;
	uint64_t value;
};

struct rawnl_reply {
	int error;		/* 0 or -errno */
	char message[256];	/* extack; empty: none */
	uint32_t offset;	/* of the offending attribute; 0: not told */
	uint32_t missing;	/* type; 0: not told */
	uint32_t missing_nest;	/* offset; 0: not told */
	unsigned int answers;	/* messages of the family */
	bool has_count;
	uint32_t count;		/* SNAPSHOT_A_COUNT */
	uint64_t generation;
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

/* NULL: not a request, said on stderr. @vars ends with a NULL name. */
struct rawnl_node *rawnl_parse(const char *text, const struct rawnl_var *vars);
void rawnl_free(struct rawnl_node *node);
void rawnl_encode(struct rawnl_req *req, int cmd, bool dump, const struct rawnl_node *nodes,
		  const struct rawnl_node *bad, enum rawnl_wrong wrong);

/* Send @req, wait for all that comes back. 0, or -errno of the socket. */
int rawnl_call(struct rawnl *nl, struct rawnl_req *req, struct rawnl_reply *reply,
	       rawnl_answer_fn fn, void *arg);
/* rawnl_parse() to rawnl_call(); the kernel's verdict or the socket's. */
int rawnl_do(struct rawnl *nl, int cmd, bool dump, const char *text,
	     const struct rawnl_var *vars, struct rawnl_reply *reply,
	     rawnl_answer_fn fn, void *arg);

/* -1: there is none of this name. */
int rawnl_cmd(const char *name);
const char *rawnl_cmd_name(int cmd);

/* The payload of the first @type among @attrs, NULL: none. */
const void *rawnl_find(const void *attrs, size_t len, int type, size_t *plen);
uint64_t rawnl_u64(const void *attrs, size_t len, int type);
uint32_t rawnl_u32(const void *attrs, size_t len, int type);

#endif
