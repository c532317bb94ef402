/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the parts of netlink_bad share. */
#ifndef SELFTESTS_PROGS_NETLINK_BAD_H
#define SELFTESTS_PROGS_NETLINK_BAD_H

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "rawnl.h"

enum { DO, DUMP };

/* A good request, of which bad ones are made. */
struct good {
	int cmd, how;
	const char *text;
	bool changes;
};

extern const struct good goods[];
extern const size_t n_goods;

/*
 * What netlink itself says of an attribute that the policy refuses (lib/nlattr.c):
 * the same words in 6.1 and in kernels after it.
 */
#define RANGE		"integer out of range"
#define LENGTH		"invalid attribute length"
#define INVALID		"Attribute failed policy validation"
#define NO_NEST		"NLA_F_NESTED not expected"
#define NEST_MISSING	"NLA_F_NESTED is missing"
#define UNSUPPORTED	"Unsupported attribute"
#define UNKNOWN		"Unknown attribute type"
#define LEFTOVER	"bytes leftover after parsing attributes"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* The socket, the request under way, and what $NAME in a request's text stands for. */
extern struct rawnl nl;
extern struct rawnl_req req;
enum { DEV, QPN, SERIAL, UAR, PID, GONE, GONE_SERIAL, LEASE };
extern struct rawnl_var vars[];
extern bool failed;

static inline struct genlmsghdr *genl_of(struct rawnl_req *r)
{
	return (void *)(r->buf + NLMSG_HDRLEN);
}

/* main.c */
void point(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fail(const char *what, int err);
const char *how_name(int how);
uint64_t hash_settings(void);
void take_lease(const void *attrs, size_t len, void *arg);
void end_lease(uint64_t id);

/* requests.c */
void try_bads(void);
void try_goods(void);

/* shapes.c */
void try_shapes(void);
void try_headers(void);

/* bounds.c */
void try_policies(void);

/* limits.c */
void try_leases(void);
void try_jobs(void);

/* fuzz.c */
int fuzz_requests(unsigned long n, uint64_t seed);

#endif /* SELFTESTS_PROGS_NETLINK_BAD_H */
