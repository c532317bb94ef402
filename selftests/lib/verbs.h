/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by the verbs programs of the tests: opening a device by name, with the address of
 * its packets, and bringing a reliable QP to RTS. Functions return 0 or -errno, and have
 * reported an error on stderr.
 */
#ifndef SELFTESTS_VERBS_H
#define SELFTESTS_VERBS_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct vdev {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	uint32_t index;		/* the name in `rdma dev` */
	uint8_t gid_index, port;
	uint16_t lid;
	enum ibv_mtu mtu;
};

/* What one end must know of the other; sent as it is, because both ends are on this host. */
struct vpeer {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, psn, rkey;
	uint16_t lid;
};

struct vconn {
	uint8_t tclass, sl;
	uint8_t timeout;	/* 4.096 us << timeout */
	uint8_t retry, rnr_retry;	/* rnr_retry 7: infinite */
	uint8_t rd_atomic;	/* outstanding reads; 0: one */
	bool no_grh;	/* address by LID alone, on InfiniBand */
};

#define VCONN_DEFAULT { .timeout = 18, .retry = 7, .rnr_retry = 7 }

/* How far to take a QP. */
enum vstate { V_NONE, V_INIT, V_RTR, V_RTS };

/* Reports what failed, with the name of the program and errno. Returns -errno. */
int complain(const char *what);

/*
 * Prints "ready", then executes each line of standard input by obey(), until "quit", the
 * end, or an error. 0 or the result of obey().
 */
int obey_lines(int (*obey)(const char *line));

/*
 * The next of a sequence of random numbers of 24 bits; the same seed gives the same
 * sequence.
 */
uint32_t vrnd(uint32_t *seed);

/* @name NULL: the first device there is. */
int vdev_open(struct vdev *dev, const char *name);
void vdev_close(struct vdev *dev);
struct vpeer vdev_peer(const struct vdev *dev, const struct ibv_qp *qp, uint32_t psn);

/* A thread domain: its QPs, which a single thread uses, get its doorbell register. */
struct ibv_pd *vdev_thread_pd(struct vdev *dev);

/* A QP for @depth outstanding sends, each with a completion. */
struct ibv_qp *vqp_sender(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth);
/* The same, where only those with IBV_SEND_SIGNALED have one. */
struct ibv_qp *vqp_selective(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth);
/* Connects two QPs to each other, up to RTS. */
int vqp_pair(struct vdev *dev_a, struct ibv_qp *a, struct vdev *dev_b, struct ibv_qp *b,
	     const struct vconn *c);

/* The smallest possible RC QP: one WR each way. */
struct ibv_qp *vqp_small(struct vdev *dev, struct ibv_cq *cq);

int vqp_init(struct vdev *dev, struct ibv_qp *qp);
int vqp_rtr(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to, const struct vconn *c);
int vqp_rts(struct ibv_qp *qp, uint32_t psn, const struct vconn *c);

/* Connects @qp to @to as far as @state; returns the successful modify calls. */
int vqp_take(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to, enum vstate state);

/* "none", "init", "rtr", "rts"; -1 for anything else. */
int vstate_parse(const char *s);

#endif
