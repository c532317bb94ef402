/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: where new QPs go.
 *
 * libmlx5 gives a QP one of the doorbell registers of its context, which other QPs may share. The
 * library has registers of its own by thread domains: a QP that is created in a parent domain with
 * a thread domain rings that thread domain's register.
 *
 * Invariants:
 *  - Placement never makes a call of the program fail. Whatever goes wrong, the QP is created as
 *    the program asked for it.
 *  - libmlx5 takes no lock for a QP in a thread domain. The library takes locks instead, see
 *    place_post.c, and places only QPs whose posts it sees.
 *  - The program sees its own PD in struct ibv_qp. The QP's parent domain stands there only while
 *    libmlx5 destroys the QP, because libmlx5 counts the parent domain's users by it.
 *  - A QP that moves (move.c) rings its register under the register's lock, as a placed one does; its
 *    queues have the locks of move.c.
 *  - A parent domain is freed with its last QP, and the thread domain of a register with the last
 *    QP of that register. So the library keeps no PD busy that has no QPs.
 */
#ifndef LIB_PLACE_H
#define LIB_PLACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#pragma GCC visibility push(hidden)

struct context;
struct device;
struct qp;
struct placed;
struct wr_real;

/*
 * The most registers of the library in a context. They take 32 of a device's UARs, and up to 64 where
 * QPs move, because each register for such a QP has a page of its own (place_take()).
 */
#define PLACE_REGISTERS 64
/* MLX5_TOTAL_UUARS where SWIFTRDMA_PLACE=lightest is set and the variable is not. */
#define PLACE_TOTAL_UUARS 64

/* SWIFTRDMA_PLACE, where no knob says otherwise. */
enum swiftrdma_place place_named(const char *name);

/* A doorbell register of the library: a thread domain, and the parent domains with it. */
struct place_register;

/* The registers of a context. Under lib_lock(). */
struct place_context {
	bool able;		/* QPs of this context may be placed */
	uint32_t dedicated;	/* registers of libmlx5 that have one QP at most */
	uint32_t shared;	/* its other ones */
	uint32_t by_default;	/* QPs on either */
	struct place_register *first;
	uint32_t registers;
	uint64_t window_ns;	/* when the present window began */
};

/* Whether libmlx5 drives the device. Replaced by tests. */
extern bool (*place_is_mlx5)(struct ibv_device *device);

/* The context was opened by this process, just now. */
void place_watch(struct context *c, struct ibv_context *ctx);
/* Obeys the knob; with @holds false there is none. */
void place_set(struct device *dev, bool holds, uint64_t value);

/* Before a QP is created, in whatever way: reads the knobs that are in force. */
void place_read_control(const struct context *c);

/*
 * Creates a QP in a register of the library. NULL: the caller must create the QP as the program asked,
 * because it is not to be placed, or placing it has failed; @attr and errno are then unchanged. @attr
 * is a struct ibv_qp_init_attr, or begins as one; @create creates the QP in the PD that it is given.
 */
struct ibv_qp *place_create(struct context *c, struct ibv_pd *pd, void *attr,
			    struct ibv_qp *(*create)(struct context *c, struct ibv_pd *pd,
						     void *attr));
/*
 * A place for a QP that moves, in a register of the library: a new one in a page of its own, else the
 * lightest, if fewer than @sharing QPs would be on it. NULL: there is none. The caller destroys the QP
 * before it calls place_give().
 */
struct place_domain;
struct place_domain *place_take(struct context *c, struct ibv_pd *pd, uint32_t sharing);
void place_give(struct context *c, struct place_domain *d);
/* Whether place_take() can find any. */
bool place_has_registers(const struct context *c, const struct ibv_pd *pd);

/* Called before and after the provider destroys a QP; @ret is what the provider returned. */
void placed_destroy(struct placed *p, struct ibv_qp *qp);
void placed_destroyed(struct placed *p, struct ibv_qp *qp, int ret);

/* Parent domains of the program, in which nothing is placed. */
struct ibv_pd *lib_alloc_parent_domain(struct ibv_context *ctx,
				       struct ibv_parent_domain_init_attr *attr);
bool place_knows_pd(const struct ibv_pd *pd);
/* Returns what place_remember_pd() needs if the PD stays after all, or NULL. */
struct context *place_forget_pd(struct ibv_pd *pd);
void place_remember_pd(struct context *c, struct ibv_pd *pd);

/* --- place_post.c: posting to a placed QP ----------------------------------------- */

int placed_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int placed_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int placed_bind_mw(struct qp *q, struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* The functions of struct ibv_qp_ex that libmlx5 takes locks in. */
struct placed_wr {
	void (*start)(struct ibv_qp_ex *qpx);
	int (*complete)(struct ibv_qp_ex *qpx);
	void (*abort)(struct ibv_qp_ex *qpx);
};

/* Replaces the functions in @wr by the library's, unless they are the library's already. */
void placed_patch(struct placed *p, struct placed_wr *wr);

#pragma GCC visibility pop

#endif /* LIB_PLACE_H */
