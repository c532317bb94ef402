// SPDX-License-Identifier: GPL-2.0
/*
 * A QP and its owner as nests of attributes. Dumps have thousands of QPs: statements write
 * their attributes, with fewer instructions than gathering figures first and walking a
 * table of forty rows.
 */
#include <linux/cred.h>
#include <rdma/ib_verbs.h>

#include "class.h"
#include "netlink_priv.h"
#include "peer.h"

#define PUT_U32(m, name, value)	srdma_put_u32(m, SWIFTRDMA_QP_A_##name, value)
#define PUT_U64(m, name, value)	srdma_put_u64(m, SWIFTRDMA_QP_A_##name, value)
#define PUT_FLAG(m, name)	srdma_put_flag(m, SWIFTRDMA_QP_A_##name)

static __always_inline void put_owner(struct srdma_msg *m, int type,
				      const struct srdma_owner *o,
				      const struct srdma_reader *who)
{
	struct nlattr *nest = srdma_nest(m, type);

	if (srdma_owner_is_kernel(o)) {
		srdma_put_text(m, SWIFTRDMA_OWNER_A_KERNEL, o->exe);
	} else {
		srdma_put_u32(m, SWIFTRDMA_OWNER_A_PID, pid_nr_ns(o->pid, who->pid_ns));
		srdma_put_u32(m, SWIFTRDMA_OWNER_A_UID, from_kuid(&init_user_ns, o->uid));
		srdma_put_text(m, SWIFTRDMA_OWNER_A_COMM, o->comm);
		if (o->exe[0])
			srdma_put_text(m, SWIFTRDMA_OWNER_A_EXE, o->exe);
		/* A cgroup's path is the host's: a container must not see it. */
		if (o->cgroup[0] && who->admin)
			srdma_put_text(m, SWIFTRDMA_OWNER_A_CGROUP, o->cgroup);
		if (o->cgroup_id && who->admin)
			srdma_put_u64(m, SWIFTRDMA_OWNER_A_CGROUP_ID, o->cgroup_id);
	}
	srdma_nest_end(m, nest);
}

void srdma_put_owner(struct srdma_msg *m, int type, const struct srdma_owner *o,
		     const struct srdma_reader *who)
{
	put_owner(m, type, o, who);
}

/* The queue sizes asked for at creation; they may be unknown of an adopted QP. */
static __always_inline void put_caps(struct srdma_msg *m, const struct srdma_qp *q)
{
	if (q->type != IB_QPT_XRC_TGT)
		PUT_U32(m, SEND_CQ, q->send_cq);
	if (q->type != IB_QPT_XRC_TGT && q->type != IB_QPT_XRC_INI)
		PUT_U32(m, RECV_CQ, q->recv_cq);
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) && !q->max_send_wr && !q->max_recv_wr)
		return;
	PUT_U32(m, MAX_SEND_WR, q->max_send_wr);
	PUT_U32(m, MAX_RECV_WR, q->max_recv_wr);
	PUT_U32(m, MAX_SEND_SGE, q->max_send_sge);
	PUT_U32(m, MAX_RECV_SGE, q->max_recv_sge);
	PUT_U32(m, MAX_INLINE, q->max_inline);
}

/* The sampler's count, or why there is none. RCU section, or the QP is held. */
static __always_inline void put_sampled_wrs(struct srdma_msg *m, const struct srdma_qp *q,
					    u32 caps)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	if (!(caps & SWIFTRDMA_DEV_CAP_WRS)) {
		PUT_U32(m, WRS_ABSENT, SWIFTRDMA_ABSENT_OFF);
	} else if (!hw) {
		PUT_U32(m, WRS_ABSENT, SWIFTRDMA_ABSENT_NOT_YET);
	} else if (!READ_ONCE(hw->counted)) {
		PUT_U32(m, WRS_ABSENT, READ_ONCE(hw->absent));
	} else {
		PUT_U64(m, WRS, atomic64_read(&q->wrs));
		PUT_U64(m, WRS_SINCE, READ_ONCE(hw->wrs_since));
		if (READ_ONCE(hw->ambiguous))
			PUT_FLAG(m, WRS_AMBIGUOUS);
	}
}

static __always_inline void put_outstanding(struct srdma_msg *m, const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	const struct srdma_outstanding *o;

	/* Pairs with srdma_qp_outstanding(). */
	o = hw ? smp_load_acquire(&hw->outstanding) : NULL;
	if (!o || !READ_ONCE(o->samples))
		return;
	PUT_U64(m, OUTSTANDING_SAMPLES, READ_ONCE(o->samples));
	PUT_U64(m, OUTSTANDING_SUM, READ_ONCE(o->wqebbs));
	PUT_U64(m, OUTSTANDING_SQUARES, READ_ONCE(o->squares));
	if (!READ_ONCE(o->readable))
		return;
	PUT_U32(m, REQUEST_BLOCKS, READ_ONCE(o->blocks));
	PUT_U64(m, REQUEST_CHANGES, READ_ONCE(o->changes));
	PUT_U64(m, UNCOVERED_SAMPLES, READ_ONCE(o->uncovered_samples));
	PUT_U64(m, UNCOVERED_SUM, READ_ONCE(o->uncovered));
	PUT_U64(m, UNCOVERED_SQUARES, READ_ONCE(o->uncovered_squares));
}

static __always_inline void put_counts(struct srdma_msg *m, const struct srdma_qp *q)
{
	const struct srdma_dev *dev = q->dev;
	u32 caps = dev->caps;

	/* Kernel users post through ops.post_send even where libraries do not. */
	if (dev->wrapped_post_send && !test_bit(SRDMA_QP_USER, &q->flags))
		caps |= SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_WRS;
	if (caps & SWIFTRDMA_DEV_CAP_DOORBELLS)
		PUT_U64(m, DOORBELLS, atomic64_read(&q->doorbells));
	if (caps & SWIFTRDMA_DEV_CAP_UARS)
		put_sampled_wrs(m, q, caps);
	else if (caps & SWIFTRDMA_DEV_CAP_WRS)
		PUT_U64(m, WRS, atomic64_read(&q->wrs));
}

static __always_inline void put_path(struct srdma_msg *m, const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	if (!hw)
		return;
	if (READ_ONCE(hw->path[SRDMA_PATH_SPORT].set))
		PUT_U32(m, UDP_SPORT, READ_ONCE(hw->path[SRDMA_PATH_SPORT].value));
	if (READ_ONCE(hw->path[SRDMA_PATH_LAG].set))
		PUT_U32(m, LAG_PORT, READ_ONCE(hw->path[SRDMA_PATH_LAG].value));
}

static __always_inline void put_class(struct srdma_msg *m, const struct srdma_qp *q)
{
	int level = srdma_qp_level(q);
	s16 err = READ_ONCE(q->class_error);
	u32 dlid = READ_ONCE(q->dlid);

	if (level >= 0)
		PUT_U32(m, LEVEL, level);
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags)) {
		PUT_U32(m, TCLASS_ASKED, READ_ONCE(q->tclass_asked));
		PUT_U32(m, TCLASS, READ_ONCE(q->tclass));
		PUT_U32(m, SL_ASKED, READ_ONCE(q->sl_asked));
		PUT_U32(m, SL, READ_ONCE(q->sl));
		PUT_U32(m, DEST_QPN, READ_ONCE(q->dest_qpn));
		if (test_bit(SRDMA_QP_GRH, &q->flags))
			srdma_put_data(m, SWIFTRDMA_QP_A_DGID, q->dgid, sizeof(q->dgid));
		if (dlid)
			PUT_U32(m, DLID, dlid);
	}
	if (srdma_qp_class_pending(q))
		PUT_FLAG(m, CLASS_PENDING);
	if (err)
		PUT_U32(m, CLASS_ERROR, (s32)err);
}

/* What the two ends wish of each other. RCU section. */
static __always_inline void put_ends(struct srdma_msg *m, const struct srdma_qp *q)
{
	u8 wish = READ_ONCE(q->ends.wish), there = READ_ONCE(q->ends.there);
	u8 state = READ_ONCE(q->ends.state);

	if (wish) {
		PUT_U32(m, PEER_WISH, wish - 1);
		if (srdma_qp_level(q) > srdma_qp_local_level(q))
			PUT_FLAG(m, FOLLOWS);
		/* Each end may wish something: both are raised if both have it. */
		if (!state || state == SWIFTRDMA_ENDS_BOTH)
			state = srdma_qp_judge_wish(q);
	}
	if (state)
		PUT_U32(m, ENDS, state);
	if (there)
		PUT_U32(m, PEER_LEVEL, there - 1);
}

void srdma_fill_qp(struct srdma_msg *msg, const struct srdma_qp *q,
		   const struct srdma_reader *who, u64 now)
{
	struct srdma_msg local = *msg, *m = &local;	/* see srdma_put() */
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_QP);
	const struct srdma_uar *uar = srdma_qp_uar(q);
	const struct srdma_job_dev *jd;
	u8 port = READ_ONCE(q->port);

	PUT_U32(m, DEV_INDEX, q->dev->index);
	PUT_U32(m, QPN, q->qpn);
	PUT_U64(m, SERIAL, q->serial);
	PUT_U32(m, TYPE, q->type);
	if (test_bit(SRDMA_QP_HAS_STATE, &q->flags))
		PUT_U32(m, STATE, READ_ONCE(q->state));
	if (port)
		PUT_U32(m, PORT, port);
	if (uar)
		PUT_U32(m, UAR, uar->index);
	put_owner(m, SWIFTRDMA_QP_A_OWNER, q->owner, who);
	/* The thread's id is kept as a number of the initial namespace only. */
	if (q->tid && who->pid_ns == &init_pid_ns)
		PUT_U32(m, TID, q->tid);
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags))
		PUT_FLAG(m, ADOPTED);
	if (test_bit(SRDMA_QP_DEVX, &q->flags))
		PUT_FLAG(m, DEVX);
	else if (!test_bit(SRDMA_QP_UNSURE, &q->flags))
		put_caps(m, q);
	put_counts(m, q);
	rcu_read_lock();
	jd = rcu_dereference(q->job);
	if (jd)
		PUT_U32(m, JOB, jd->job->id);
	if (!test_bit(SRDMA_QP_DEVX, &q->flags))
		put_class(m, q);
	put_ends(m, q);
	put_path(m, q);
	put_outstanding(m, q);
	rcu_read_unlock();
	PUT_U64(m, SINCE, q->since);
	PUT_U64(m, TIME, now);
	srdma_nest_end(m, nest);
	*msg = local;
}
