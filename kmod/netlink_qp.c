// SPDX-License-Identifier: GPL-2.0
/*
 * A QP as a nest of attributes. Dumps give thousands of them with some thirty
 * attributes each, and looking for room anew for every one of them, as
 * nla_put() does, is most of what such a dump costs. So room is looked for once,
 * for the largest QP there can be, and the attributes are written one behind the
 * other.
 */
#include <linux/cred.h>
#include <rdma/ib_verbs.h>

#include "enforce.h"
#include "netlink_priv.h"

/* An attribute of @n bytes, and a pad before it where u64 have to be aligned. */
#define ROOM(n)		(NLA_HDRLEN + NLA_ALIGN(n))
#define ROOM_U64	(NLA_HDRLEN + ROOM(sizeof(u64)))

/*
 * Every attribute of the set at its largest: the nests and strings of the owner,
 * one GID, and all others counted as u64.
 */
#define OWNER_ROOM	(ROOM(0) + 3 * ROOM_U64 + ROOM(SWIFTRDMA_COMM_LEN) +		\
			 ROOM(SWIFTRDMA_EXE_LEN) + ROOM(SWIFTRDMA_PATH_LEN))
#define QP_ROOM		(ROOM(0) + OWNER_ROOM + ROOM(16) + SWIFTRDMA_QP_A_MAX * ROOM_U64)

#define W_U32(w, name, value)	w_u32(w, SWIFTRDMA_QP_A_##name, value)
#define W_U64(w, name, value)	w_u64(w, SWIFTRDMA_QP_A_##name, value, SWIFTRDMA_QP_A_PAD)

/* The next attribute of @len bytes: its place in the buffer, header written. */
static void *w_attr(u8 **w, int type, size_t len)
{
	struct nlattr *a = (struct nlattr *)*w;

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	*w += NLA_ALIGN(a->nla_len);
	return a + 1;
}

static void w_u32(u8 **w, int type, u32 value)
{
	*(u32 *)w_attr(w, type, sizeof(value)) = value;
}

static void w_u64(u8 **w, int type, u64 value, int pad)
{
	/* As nla_need_padding_for_64bit() decides it for a buffer's end. */
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) &&
	    IS_ALIGNED((unsigned long)*w, 8))
		w_attr(w, pad, 0);
	memcpy(w_attr(w, type, sizeof(value)), &value, sizeof(value));
}

static void w_string(u8 **w, int type, const char *s)
{
	size_t len = strlen(s) + 1;
	u8 *data = w_attr(w, type, len);

	memcpy(data, s, len);
	memset(data + len, 0, NLA_ALIGN(len) - len);
}

/* A nest is an attribute whose length is known when its last one is written. */
static struct nlattr *w_nest(u8 **w, int type)
{
	struct nlattr *nest = (struct nlattr *)*w;

	w_attr(w, type | NLA_F_NESTED, 0);
	return nest;
}

static void w_nest_end(u8 **w, struct nlattr *nest)
{
	nest->nla_len = *w - (u8 *)nest;
}

static void w_owner(u8 **w, int type, const struct srdma_owner *o,
		    const struct srdma_reader *who)
{
	struct nlattr *nest = w_nest(w, type);

	if (srdma_owner_is_kernel(o)) {
		w_string(w, SWIFTRDMA_OWNER_A_KERNEL, o->exe);
	} else {
		w_u32(w, SWIFTRDMA_OWNER_A_PID, pid_nr_ns(o->pid, who->pid_ns));
		w_u32(w, SWIFTRDMA_OWNER_A_UID, from_kuid(&init_user_ns, o->uid));
		w_string(w, SWIFTRDMA_OWNER_A_COMM, o->comm);
		if (o->exe[0])
			w_string(w, SWIFTRDMA_OWNER_A_EXE, o->exe);
		/* A path of the host's, which a container is not to see. */
		if (o->cgroup[0] && who->admin)
			w_string(w, SWIFTRDMA_OWNER_A_CGROUP, o->cgroup);
		if (o->cgroup_id && who->admin)
			w_u64(w, SWIFTRDMA_OWNER_A_CGROUP_ID, o->cgroup_id,
			      SWIFTRDMA_OWNER_A_PAD);
	}
	w_nest_end(w, nest);
}

int srdma_put_owner(struct sk_buff *skb, int type, const struct srdma_owner *o,
		    const struct srdma_reader *who)
{
	u8 *start = skb_tail_pointer(skb), *w = start;

	if (skb_tailroom(skb) < OWNER_ROOM)
		return -EMSGSIZE;
	w_owner(&w, type, o, who);
	skb_put(skb, w - start);
	return 0;
}

/* What was asked for at creation; of an adopted QP it may not be known. */
static void w_caps(u8 **w, const struct srdma_qp *q)
{
	if (q->type != IB_QPT_XRC_TGT)
		W_U32(w, SEND_CQ, q->send_cq);
	if (q->type != IB_QPT_XRC_TGT && q->type != IB_QPT_XRC_INI)
		W_U32(w, RECV_CQ, q->recv_cq);
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags) && !q->max_send_wr && !q->max_recv_wr)
		return;
	W_U32(w, MAX_SEND_WR, q->max_send_wr);
	W_U32(w, MAX_RECV_WR, q->max_recv_wr);
	W_U32(w, MAX_SEND_SGE, q->max_send_sge);
	W_U32(w, MAX_RECV_SGE, q->max_recv_sge);
	W_U32(w, MAX_INLINE, q->max_inline);
}

/* Counted QP by QP, or not, and then why. RCU section, or the QP is held. */
static void w_sampled(u8 **w, const struct srdma_qp *q, u32 caps)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	if (!(caps & SWIFTRDMA_DEV_CAP_WRS)) {
		W_U32(w, WRS_ABSENT, SWIFTRDMA_ABSENT_OFF);
	} else if (!hw) {
		W_U32(w, WRS_ABSENT, SWIFTRDMA_ABSENT_NOT_YET);
	} else if (!READ_ONCE(hw->counted)) {
		W_U32(w, WRS_ABSENT, READ_ONCE(hw->absent));
	} else {
		W_U64(w, WRS, atomic64_read(&q->wrs));
		W_U64(w, WRS_SINCE, READ_ONCE(hw->wrs_since));
		if (READ_ONCE(hw->ambiguous))
			w_attr(w, SWIFTRDMA_QP_A_WRS_AMBIGUOUS, 0);
	}
}

static void w_counts(u8 **w, const struct srdma_qp *q)
{
	const struct srdma_dev *dev = q->dev;
	u32 caps = dev->caps;

	/* A kernel user posts through ops.post_send even where libraries do not. */
	if (dev->wrapped_post_send && !test_bit(SRDMA_QP_USER, &q->flags))
		caps |= SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_WRS;
	if (caps & SWIFTRDMA_DEV_CAP_DOORBELLS)
		W_U64(w, DOORBELLS, atomic64_read(&q->doorbells));
	if (caps & SWIFTRDMA_DEV_CAP_UARS)
		w_sampled(w, q, caps);
	else if (caps & SWIFTRDMA_DEV_CAP_WRS)
		W_U64(w, WRS, atomic64_read(&q->wrs));
}

static void w_path(u8 **w, const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	if (!hw)
		return;
	if (READ_ONCE(hw->path[SRDMA_PATH_SPORT].set))
		W_U32(w, UDP_SPORT, READ_ONCE(hw->path[SRDMA_PATH_SPORT].value));
	if (READ_ONCE(hw->path[SRDMA_PATH_LAG].set))
		W_U32(w, LAG_PORT, READ_ONCE(hw->path[SRDMA_PATH_LAG].value));
}

static void w_class(u8 **w, const struct srdma_qp *q)
{
	int level = srdma_qp_level(q);
	s16 err = READ_ONCE(q->class_error);
	u32 dlid = READ_ONCE(q->dlid);

	if (level >= 0)
		W_U32(w, LEVEL, level);
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags)) {
		W_U32(w, TCLASS_ASKED, READ_ONCE(q->tclass_asked));
		W_U32(w, TCLASS, READ_ONCE(q->tclass));
		W_U32(w, SL_ASKED, READ_ONCE(q->sl_asked));
		W_U32(w, SL, READ_ONCE(q->sl));
		W_U32(w, DEST_QPN, READ_ONCE(q->dest_qpn));
		if (test_bit(SRDMA_QP_GRH, &q->flags))
			memcpy(w_attr(w, SWIFTRDMA_QP_A_DGID, sizeof(q->dgid)), q->dgid,
			       sizeof(q->dgid));
		if (dlid)
			W_U32(w, DLID, dlid);
	}
	if (srdma_qp_class_pending(q))
		w_attr(w, SWIFTRDMA_QP_A_CLASS_PENDING, 0);
	if (err)
		W_U32(w, CLASS_ERROR, (s32)err);
}

static void w_qp(u8 **w, const struct srdma_qp *q, const struct srdma_reader *who, u64 now)
{
	struct nlattr *nest = w_nest(w, SWIFTRDMA_A_QP);
	const struct srdma_uar *uar = srdma_qp_uar(q);
	const struct srdma_job_dev *jd;
	u8 port = READ_ONCE(q->port);

	W_U32(w, DEV_INDEX, q->dev->index);
	W_U32(w, QPN, q->qpn);
	W_U64(w, SERIAL, q->serial);
	W_U32(w, TYPE, q->type);
	if (test_bit(SRDMA_QP_HAS_STATE, &q->flags))
		W_U32(w, STATE, READ_ONCE(q->state));
	if (port)
		W_U32(w, PORT, port);
	if (uar)
		W_U32(w, UAR, uar->index);
	w_owner(w, SWIFTRDMA_QP_A_OWNER, q->owner, who);
	/* The thread's id is not kept in a form that other namespaces could read. */
	if (q->tid && who->pid_ns == &init_pid_ns)
		W_U32(w, TID, q->tid);
	if (test_bit(SRDMA_QP_ADOPTED, &q->flags))
		w_attr(w, SWIFTRDMA_QP_A_ADOPTED, 0);
	if (test_bit(SRDMA_QP_DEVX, &q->flags))
		w_attr(w, SWIFTRDMA_QP_A_DEVX, 0);
	else if (!test_bit(SRDMA_QP_UNSURE, &q->flags))
		w_caps(w, q);
	w_counts(w, q);
	rcu_read_lock();
	jd = rcu_dereference(q->job);
	if (jd)
		W_U32(w, JOB, jd->job->id);
	if (!test_bit(SRDMA_QP_DEVX, &q->flags))
		w_class(w, q);
	w_path(w, q);
	rcu_read_unlock();
	W_U64(w, SINCE, q->since);
	W_U64(w, TIME, now);
	w_nest_end(w, nest);
}

int srdma_fill_qp(struct sk_buff *skb, const struct srdma_qp *q,
		  const struct srdma_reader *who, u64 now)
{
	u8 *start = skb_tail_pointer(skb), *w = start;

	if (skb_tailroom(skb) < QP_ROOM)
		return -EMSGSIZE;
	w_qp(&w, q, who, now);
	skb_put(skb, w - start);
	return 0;
}
