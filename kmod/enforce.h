/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ENFORCE_H
#define SRDMA_ENFORCE_H

#include "override.h"
#include "pass.h"

/* The passes over a device's QPs are made here: see pass.h. */
void srdma_enforce_dev_init(struct srdma_dev *dev);

/* The class that this QP should have. False: the one its application asked for. RCU section. */
bool srdma_qp_desired(const struct srdma_qp *q, struct srdma_class *c);

/*
 * In the modify wrapper, under srdma_qp_lock(): the attributes to pass to the driver.
 * Either @attr itself, or a copy with the class in force, which the caller frees.
 */
struct ib_qp_attr *srdma_enforce_av(struct srdma_qp *q, struct ib_qp_attr *attr);

static inline struct ib_qp_attr *srdma_enforce_modify(struct srdma_qp *q,
						      struct ib_qp_attr *attr, int mask)
{
	/* Set before the driver's call: the drain event may come before the driver returns. */
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_SQD)
		set_bit(SRDMA_QP_APP_SQD, &q->flags);
	return mask & IB_QP_AV ? srdma_enforce_av(q, attr) : attr;
}

/* The parts of srdma_enforce_modified() that few modifies need. */
void srdma_enforce_reset(struct srdma_qp *q);
void srdma_enforce_recheck(struct srdma_qp *q);
void srdma_enforce_connected(struct srdma_qp *q, const struct ib_qp_attr *asked,
			     const struct ib_qp_attr *used);

/* After the driver took @used: remember what the application @asked. */
static inline void srdma_enforce_modified(struct srdma_qp *q, const struct ib_qp_attr *asked,
					  const struct ib_qp_attr *used, int mask)
{
	bool failed = q->class_error;

	if (mask & IB_QP_PORT)
		q->port = asked->port_num;
	if (mask & IB_QP_DEST_QPN)
		q->dest_qpn = asked->dest_qp_num;
	if (mask & IB_QP_STATE) {
		q->state = asked->qp_state;
		set_bit(SRDMA_QP_HAS_STATE, &q->flags);
		assign_bit(SRDMA_QP_APP_SQD, &q->flags, q->state == IB_QPS_SQD);
		q->class_error = 0;
		q->attempts = 0;
		if (q->state == IB_QPS_RESET)
			srdma_enforce_reset(q);
	}
	/*
	 * A modify without an address leaves the class as it was. While the QP is locked
	 * here, enforce.c's work skips it and comes back.
	 */
	if (mask & IB_QP_AV)
		srdma_enforce_connected(q, asked, used);
	else if (failed)
		srdma_enforce_recheck(q);
}

/* The driver refused the modify: undo srdma_enforce_modify(). */
void srdma_enforce_refused(struct srdma_qp *q);
/*
 * As srdma_enforce_modified(), for an adopted QP, with @attr from the driver. The QP is not
 * in the table yet, or srdma_qp_lock() is held.
 */
void srdma_enforce_adopt(struct srdma_qp *q, const struct ib_qp_attr *attr);

/*
 * Does an override change only the traffic class, and the service level stay the
 * application's?
 */
static inline bool srdma_qp_own_sl(const struct srdma_qp *q)
{
	return test_bit(SRDMA_QP_ROCE, &q->flags) && READ_ONCE(q->dev->provider)->roce_tclass_only;
}

/* Is the class of this QP not what it should be? RCU section or reference. */
bool srdma_qp_class_pending(const struct srdma_qp *q);
/* Is this part of the QP's path not what it should be? RCU section or reference. */
bool srdma_path_pending(const struct srdma_qp *q, enum srdma_path_part part);
/* Does a QP of this type have an address, and with it a class, while it is connected? */
bool srdma_qp_connectable(const struct srdma_qp *q);

/* State of a QP with respect to an override. */
enum srdma_standing {
	SRDMA_DONE,		/* the QP has what the override wants, or there is none */
	SRDMA_PENDING,		/* the change is being made, or will be retried */
	SRDMA_UNCONNECTED,	/* the QP gets it when it is connected */
	SRDMA_UNKNOWN,		/* the QP's present value is not known */
	SRDMA_CANNOT,		/* the change is impossible or was refused */
	SRDMA_STANDINGS
};

/* The standing of the QP's class. RCU section or reference. */
enum srdma_standing srdma_class_standing(const struct srdma_qp *q);
#define SRDMA_WHY_LEN	128
/*
 * The reason for standing @s, in words. Returns -errno, or 0 where nothing failed. RCU
 * section or reference.
 */
int srdma_class_why(const struct srdma_qp *q, enum srdma_standing s, char *buf, size_t len);
void srdma_refusal_text(u32 syndrome, char *buf, size_t len);
/* The reason, in words, why a class change ended with @err. */
const char *srdma_class_error_text(int err);

/**
 * struct srdma_unrestored - QPs without the class or path that their applications asked for
 * @n: how many
 * @never: of these, those whose class cannot be restored while they are connected
 * @dev: name of the device of one such QP
 * @qpn: number of that QP
 * @error: -errno of the last attempt on that QP
 */
struct srdma_unrestored {
	int n, never;
	char dev[IB_DEVICE_NAME_MAX];
	u32 qpn;
	int error;
};

/*
 * Give every QP the class that its application asked for, and report in @left which QPs
 * could not get it. Leases stay, but have no effect until srdma_enforce_resume(). Blocks
 * until a pass that begins after this call is over.
 */
void srdma_enforce_suspend(struct srdma_unrestored *left);
void srdma_enforce_resume(void);

#endif /* SRDMA_ENFORCE_H */
