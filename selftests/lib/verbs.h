/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the verbs programs of the tests have in common: a device by name with
 * the address its packets will carry, and a reliable QP's way to RTS.
 *
 * Functions return 0 or -errno and have said on stderr what went wrong.
 */
#ifndef SELFTESTS_VERBS_H
#define SELFTESTS_VERBS_H

#include <stdint.h>
#include <infiniband/verbs.h>

struct vdev {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint32_t index;		/* as `rdma dev` shows it */
	uint8_t gid_index, port;
	uint16_t lid;
	enum ibv_mtu mtu;
};

/* What one end has to know of the other; sent as it is, both being this host. */
struct vpeer {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, psn, rkey;
	uint16_t lid;
};

struct vconn {
	uint8_t tclass, sl;
	uint8_t timeout;	/* 4.096 us << timeout */
	uint8_t retry, rnr_retry;	/* rnr_retry 7: for ever */
	uint8_t rd_atomic;	/* reads under way at a time; 0: one */
};

#define VCONN_DEFAULT { .timeout = 18, .retry = 7, .rnr_retry = 7 }

/* How far to take a QP. */
enum vstate { V_NONE, V_INIT, V_RTR, V_RTS };

/* Says what failed, of which program, and why, by errno, which it returns negative. */
int complain(const char *what);

/*
 * Says "ready", then has each line of standard input obeyed, until "quit" or its end,
 * or until one is not; 0 or what obey() said.
 */
int obey_lines(int (*obey)(const char *line));

/* The next of a row of numbers that is the same for the same seed; 24 bits. */
uint32_t vrnd(uint32_t *seed);

/* @name NULL: the first device there is. */
int vdev_open(struct vdev *dev, const char *name);
void vdev_close(struct vdev *dev);
struct vpeer vdev_peer(const struct vdev *dev, const struct ibv_qp *qp, uint32_t psn);

/* A domain for QPs that one thread alone uses; they get a doorbell register of it. */
struct ibv_pd *vdev_thread_pd(struct vdev *dev);

/* A QP that sends, @depth at a time, each with a completion. */
struct ibv_qp *vqp_sender(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth);
/* Two QPs to each other, to RTS. */
int vqp_pair(struct vdev *dev_a, struct ibv_qp *a, struct vdev *dev_b, struct ibv_qp *b,
	     const struct vconn *c);

/* The smallest RC QP there is: one WR each way. */
struct ibv_qp *vqp_small(struct vdev *dev, struct ibv_cq *cq);

int vqp_init(struct vdev *dev, struct ibv_qp *qp);
int vqp_rtr(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to, const struct vconn *c);
int vqp_rts(struct ibv_qp *qp, uint32_t psn, const struct vconn *c);

/* Connects @qp to @to as far as @state; returns the successful modify calls. */
int vqp_take(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to, enum vstate state);

/* "none", "init", "rtr", "rts"; -1 for anything else. */
int vstate_parse(const char *s);

#endif
