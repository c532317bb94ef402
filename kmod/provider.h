/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_PROVIDER_H
#define SRDMA_PROVIDER_H

#include <linux/types.h>

struct ib_device;
struct srdma_dev;
struct srdma_qp;

/**
 * struct srdma_class - what a class level means on the wire
 * @tclass: GRH traffic class: DSCP in the upper six bits, ECN in the lower two
 * @sl: service level
 */
struct srdma_class {
	u8 tclass;
	u8 sl;
};

/**
 * struct srdma_provider_ops - what a kind of NIC can tell and do
 * @name: shown to users
 * @caps: enum swiftrdma_dev_cap bits this provider stands for
 * @wrap_post_send: user doorbells pass through ops.post_send: count them there
 * @query_is_cheap: ops.query_qp costs no firmware command, so an adopted QP's
 *	state and address vector are read at once
 * @match: does this provider know the device? Any context. The first registered
 *	provider that says so is taken; the generic one says so always.
 * @class_begin: start to change the class of a QP in RTS. Process context, may
 *	sleep but not for long; the QP is held (srdma_qp_lock()), so neither the
 *	application's modify nor its destroy can run. 0: poll from now on;
 *	-errno: the QP is as it was; -EOPNOTSUPP: and will not be tried again.
 *	NULL: there is nothing to begin.
 * @class_poll: 0: ready to commit; -EAGAIN: ask again; other -errno: the QP
 *	cannot get there. Same context as @class_begin.
 * @class_commit: program @c and let the QP go on. On -errno the QP still has
 *	its old class and goes on. NULL: the class of a connected QP cannot be
 *	changed; it is set at INIT->RTR only.
 * @class_abort: give up after @class_begin: the QP goes on with its old class.
 * @detach: the QP is about to go, or we are: leave nothing of ours in it. Held
 *	as in @class_begin. May be NULL.
 *
 * Between class_begin and class_commit or class_abort the QP may be paused, so
 * the caller bounds that time (module parameter drain_ms).
 */
struct srdma_provider_ops {
	const char *name;
	u32 caps;
	bool wrap_post_send;
	bool query_is_cheap;

	bool (*match)(struct ib_device *ibdev);
	int (*class_begin)(struct srdma_qp *q);
	int (*class_poll)(struct srdma_qp *q);
	int (*class_commit)(struct srdma_qp *q, const struct srdma_class *c);
	void (*class_abort)(struct srdma_qp *q);
	void (*detach)(struct srdma_qp *q);
};

extern const struct srdma_provider_ops srdma_provider_generic;
extern const struct srdma_provider_ops srdma_provider_rxe;

const struct srdma_provider_ops *srdma_provider_of(struct ib_device *ibdev);
void srdma_provider_detach(struct srdma_qp *q);

#endif /* SRDMA_PROVIDER_H */
