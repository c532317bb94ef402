/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_ENFORCE_H
#define SRDMA_ENFORCE_H

#include "lease.h"

int srdma_enforce_init(void);
void srdma_enforce_exit(void);

/*
 * The work of a device. stop(): it is out of srdma_devs, and nobody is in its wrappers
 * or its provider's ops. flush(): until the pass that is on is over.
 */
void srdma_enforce_dev_init(struct srdma_dev *dev);
void srdma_enforce_dev_stop(struct srdma_dev *dev);
void srdma_enforce_flush(struct srdma_dev *dev);

/* A pass over this device, soon. Any context. */
void srdma_enforce_run(struct srdma_dev *dev);
/* Look at every QP of every device again, soon. Any process context. */
void srdma_enforce_rescan(void);
/* Rates and weights on this device, soon. Any process context. */
void srdma_enforce_shape(struct srdma_dev *dev);
/* Look at this QP again, soon. Any process context. */
void srdma_enforce_qp(struct srdma_qp *q);

/* The class this QP should have; false: its application's. RCU section. */
bool srdma_qp_desired(const struct srdma_qp *q, struct srdma_class *c);

/*
 * In the modify wrapper, under srdma_qp_lock(): what to give to the driver, @attr
 * itself or a copy with the class that is in force, to be freed by the caller.
 */
struct ib_qp_attr *srdma_enforce_av(struct srdma_qp *q, struct ib_qp_attr *attr);

static inline struct ib_qp_attr *srdma_enforce_modify(struct srdma_qp *q,
						      struct ib_qp_attr *attr, int mask)
{
	/* The event of its drain may come before the driver returns. */
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_SQD)
		set_bit(SRDMA_QP_APP_SQD, &q->flags);
	return mask & IB_QP_AV ? srdma_enforce_av(q, attr) : attr;
}

/* The parts of srdma_enforce_modified() that few modifies need. */
void srdma_enforce_reset(struct srdma_qp *q);
void srdma_enforce_look(struct srdma_qp *q);
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
	 * Without an address its class is as right or wrong as before; and while it is
	 * held, the work that meets it comes back.
	 */
	if (mask & IB_QP_AV)
		srdma_enforce_connected(q, asked, used);
	else if (failed)
		srdma_enforce_look(q);
}

/* It took nothing: all is as it was before srdma_enforce_modify(). */
void srdma_enforce_refused(struct srdma_qp *q);
/*
 * As srdma_enforce_modified() for a QP taken in, as the driver describes it. It is nobody's
 * yet, or held.
 */
void srdma_enforce_adopt(struct srdma_qp *q, const struct ib_qp_attr *attr);

/* Is its class the traffic class alone, its service level the application's? */
static inline bool srdma_qp_own_sl(const struct srdma_qp *q)
{
	return test_bit(SRDMA_QP_ROCE, &q->flags) && READ_ONCE(q->dev->provider)->roce_tclass_only;
}

/* Is the class of this QP not what it should be? RCU section or reference. */
bool srdma_qp_class_pending(const struct srdma_qp *q);
/* Is this part of its path not what it should be? The same. */
bool srdma_path_pending(const struct srdma_qp *q, enum srdma_path_part part);
/* Has a QP of this type an address, and with it a class, while it is connected? */
bool srdma_qp_connectable(const struct srdma_qp *q);

/* How a QP stands to what is wanted of it. */
enum srdma_standing {
	SRDMA_DONE,		/* it has that; or nothing is wanted */
	SRDMA_PENDING,		/* it is tried, or will be tried again */
	SRDMA_UNCONNECTED,	/* it gets that when it is connected */
	SRDMA_UNKNOWN,		/* what it has is not known */
	SRDMA_CANNOT,		/* it will not have it as it is now */
	SRDMA_STANDINGS
};

/* Of its class. RCU section or reference. */
enum srdma_standing srdma_class_standing(const struct srdma_qp *q);
#define SRDMA_WHY_LEN	128
/* Why it stands so, in words; -errno, or 0 where nothing failed. The same. */
int srdma_class_why(const struct srdma_qp *q, enum srdma_standing s, char *buf, size_t len);
void srdma_refusal_text(u32 syndrome, char *buf, size_t len);
/* In words why a class could not be changed. */
const char *srdma_class_error_text(int err);

/*
 * The device's provider, or the device, is about to go: give back what can be given
 * back, once, and put nothing in force until @dev->giving_back is reset. Blocks.
 */
void srdma_enforce_give_back(struct srdma_dev *dev);

/* Is nothing in force on @dev, whatever leases say? Any context. */
extern bool srdma_suspended;
static inline bool srdma_giving_back(const struct srdma_dev *dev)
{
	return READ_ONCE(dev->giving_back) || READ_ONCE(srdma_suspended);
}

/**
 * struct srdma_unrestored - QPs that have not what their applications asked for
 * @n: how many
 * @never: of these, those that cannot have it while they are connected
 * @dev: device of one of them, by name
 * @qpn: of that one
 * @error: -errno of the last attempt on it
 */
struct srdma_unrestored {
	int n, never;
	char dev[IB_DEVICE_NAME_MAX];
	u32 qpn;
	int error;
};

/*
 * Give every QP what its application asked for, and say what could not be. Leases live
 * on, but nothing of theirs is in force until srdma_enforce_resume(). Blocks until a
 * pass after now is over.
 */
void srdma_enforce_suspend(struct srdma_unrestored *left);
void srdma_enforce_resume(void);

#endif /* SRDMA_ENFORCE_H */
