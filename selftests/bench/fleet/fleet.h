/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A fleet: pairs of connected QPs, both ends in one process. */
#ifndef SELFTESTS_BENCH_FLEET_H
#define SELFTESTS_BENCH_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "verbs.h"

#define TICK_NS 5000000
#define MAX_PAIRS 2048
#define SEEN_SIZE 65536		/* QPs whose packets were seen, open addressing */

struct options {
	const char *dev[2], *wire;
	struct vconn conn;
	uint64_t pairs, stuck, rate, churn, modify, sqd, watch_ns, duration_ns, depth, size;
	bool uc, both;
};

struct end {
	struct ibv_qp *qp;
	struct vpeer addr;
	uint32_t id;		/* pair << 1 | side */
	uint32_t gen;		/* of the pair: a completion may be of an older one */
	uint32_t outstanding;
	bool draining;		/* by ourselves */
	uint64_t drain_end;
};

struct pair {
	struct end end[2];
	bool stuck, gone;
};

struct side {
	struct vdev dev;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *buf;
};

struct sums {
	uint64_t posted, completed, abandoned, errors, late;
	uint64_t drained, drains, other_events;
	uint64_t churned, modified, failed, max_call_ns;
};

/* The last packet to a QP; the key is the receiver's address and QPN. */
struct seen {
	uint64_t key;		/* 0: free */
	uint8_t tos;
};

struct fleet {
	const struct options *o;
	struct side side[2];
	struct pair *pairs;
	struct seen *seen;
	struct sums sum;
	int timer, signals, wire;
	uint64_t next;		/* end to post on */
	uint64_t begun, ticks, watched;
	uint32_t rand;
	bool released, done;
	char classes[4096];
};

/* main.c */
int fail_with(const char *what, int err);
uint32_t random_below(struct fleet *f, uint32_t n);
void note_call_time(struct fleet *f, uint64_t begun);

/* pairs.c */
int open_side(struct side *s, const char *dev, const struct options *o);
int make_pair(struct fleet *f, struct pair *p);
int destroy_pair(struct fleet *f, struct pair *p);

/* traffic.c */
int post_recv(struct fleet *f, struct end *e);
int send_messages(struct fleet *f, uint64_t n);
int handle_completions(struct fleet *f, struct side *s);
int handle_async_events(struct fleet *f, struct side *s);
void ring_doorbell(struct end *e);
uint64_t count_outstanding(const struct fleet *f);

/* qp_ops.c */
int churn_pair(struct fleet *f);
int modify_any(struct fleet *f);
int drain_any(struct fleet *f);
void check_drains(struct fleet *f, uint64_t now);
int release_stuck(struct fleet *f);
int end_stuck_pairs(struct fleet *f);

/* classes.c */
int open_wire(const char *netdev);
void read_wire(struct fleet *f);
int print_classes(struct fleet *f, bool always);

/* loop.c */
int run_fleet(struct fleet *f);

#endif /* SELFTESTS_BENCH_FLEET_H */
