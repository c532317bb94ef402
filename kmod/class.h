/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The class, traffic class and service level, of a QP. These functions know what the application
 * asked for, what an override wants, and whether the QP has that. hook.c calls them for every
 * modify of an application.
 */
#ifndef SRDMA_CLASS_H
#define SRDMA_CLASS_H

#include "override.h"
#include "pass.h"
#include "standing.h"

/* The class that this QP should have. False: the one its application asked for. RCU section. */
bool srdma_qp_desired(const struct srdma_qp *q, struct srdma_class *c);

/*
 * In the modify wrapper, under srdma_qp_lock(): the attributes to pass to the driver.
 * Either @attr itself, or a copy with the class in force, which the caller frees.
 */
struct ib_qp_attr *srdma_class_av(struct srdma_qp *q, struct ib_qp_attr *attr);

static inline struct ib_qp_attr *srdma_class_before_modify(struct srdma_qp *q,
							   struct ib_qp_attr *attr, int mask)
{
	/* Set before the driver's call: the drain event may come before the driver returns. */
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_SQD)
		set_bit(SRDMA_QP_APP_SQD, &q->flags);
	return mask & IB_QP_AV ? srdma_class_av(q, attr) : attr;
}

/* The parts of srdma_class_modified() that few modifies need. */
void srdma_class_reset(struct srdma_qp *q);
void srdma_class_recheck(struct srdma_qp *q);
void srdma_class_connected(struct srdma_qp *q, const struct ib_qp_attr *asked,
			   const struct ib_qp_attr *used);

/* After the driver took @used: remember what the application @asked. */
static inline void srdma_class_modified(struct srdma_qp *q, const struct ib_qp_attr *asked,
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
			srdma_class_reset(q);
	}
	/*
	 * A modify without an address leaves the class as it was. While the QP is locked
	 * here, enforce.c's work skips it and comes back.
	 */
	if (mask & IB_QP_AV)
		srdma_class_connected(q, asked, used);
	else if (failed)
		srdma_class_recheck(q);
}

/* The driver refused the modify: undo srdma_class_before_modify(). */
void srdma_class_refused(struct srdma_qp *q);
/*
 * As srdma_class_modified(), for an adopted QP, with @attr from the driver. The QP is not
 * in the table yet, or srdma_qp_lock() is held.
 */
void srdma_class_adopt(struct srdma_qp *q, const struct ib_qp_attr *attr);

/*
 * Does an override change only the traffic class, and the service level stay the
 * application's?
 */
static inline bool srdma_qp_keeps_sl(const struct srdma_qp *q)
{
	return test_bit(SRDMA_QP_ROCE, &q->flags) && READ_ONCE(q->dev->provider)->roce_tclass_only;
}

/* Is the class of this QP not what it should be? RCU section or reference. */
bool srdma_qp_class_pending(const struct srdma_qp *q);
/*
 * Is a level in force that has no value that the connected QP's link uses? The level then
 * changes nothing. RCU section or reference.
 */
bool srdma_class_is_futile(const struct srdma_qp *q);
/* Does a QP of this type have an address, and with it a class, while it is connected? */
bool srdma_qp_connectable(const struct srdma_qp *q);

/* The standing of the QP's class. RCU section or reference. */
enum srdma_standing srdma_class_standing(const struct srdma_qp *q);
/* The error of a QP with standing @s; 0: nothing failed. RCU section or reference. */
int srdma_class_error(const struct srdma_qp *q, enum srdma_standing s);
/* The reason for standing @s, in words. Returns srdma_class_error(). */
int srdma_class_why(const struct srdma_qp *q, enum srdma_standing s, char *buf, size_t len);
void srdma_refusal_text(u32 syndrome, char *buf, size_t len);
/* The reason, in words, why a class change ended with @err. */
const char *srdma_class_error_text(int err);

#endif /* SRDMA_CLASS_H */
