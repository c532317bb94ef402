/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the life of queue pairs and of what is done to them. Their
 * fields are no stable interface; netlink is.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM swiftrdma

#if !defined(SRDMA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRDMA_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

struct srdma_qp;

TRACE_DEFINE_ENUM(IB_QPT_SMI);
TRACE_DEFINE_ENUM(IB_QPT_GSI);
TRACE_DEFINE_ENUM(IB_QPT_RC);
TRACE_DEFINE_ENUM(IB_QPT_UC);
TRACE_DEFINE_ENUM(IB_QPT_UD);
TRACE_DEFINE_ENUM(IB_QPT_RAW_PACKET);
TRACE_DEFINE_ENUM(IB_QPT_XRC_INI);
TRACE_DEFINE_ENUM(IB_QPT_XRC_TGT);
TRACE_DEFINE_ENUM(IB_QPT_DRIVER);

TRACE_DEFINE_ENUM(IB_QPS_RESET);
TRACE_DEFINE_ENUM(IB_QPS_INIT);
TRACE_DEFINE_ENUM(IB_QPS_RTR);
TRACE_DEFINE_ENUM(IB_QPS_RTS);
TRACE_DEFINE_ENUM(IB_QPS_SQD);
TRACE_DEFINE_ENUM(IB_QPS_SQE);
TRACE_DEFINE_ENUM(IB_QPS_ERR);

#define srdma_show_type(type)			\
	__print_symbolic(type,			\
		{ IB_QPT_SMI, "SMI" },		\
		{ IB_QPT_GSI, "GSI" },		\
		{ IB_QPT_RC, "RC" },		\
		{ IB_QPT_UC, "UC" },		\
		{ IB_QPT_UD, "UD" },		\
		{ IB_QPT_RAW_PACKET, "RAW_PACKET" },	\
		{ IB_QPT_XRC_INI, "XRC_INI" },	\
		{ IB_QPT_XRC_TGT, "XRC_TGT" },	\
		{ IB_QPT_DRIVER, "DRIVER" })

#define srdma_show_state(state)			\
	__print_symbolic(state,			\
		{ IB_QPS_RESET, "RESET" },	\
		{ IB_QPS_INIT, "INIT" },	\
		{ IB_QPS_RTR, "RTR" },		\
		{ IB_QPS_RTS, "RTS" },		\
		{ IB_QPS_SQD, "SQD" },		\
		{ IB_QPS_SQE, "SQE" },		\
		{ IB_QPS_ERR, "ERR" })

/*
 * The device's name is copied into an array of fixed size: a device may be renamed
 * meanwhile, and a __string() is measured first and copied afterwards.
 */
DECLARE_EVENT_CLASS(srdma_qp_life,
		    TP_PROTO(const struct srdma_qp *q),
		    TP_ARGS(q),
		    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
				     __field(u32, qpn)
				     __field(u32, type)
				     __field(u64, serial)
				     __field(u32, job)
				     __field(u32, pid)
				     __field(u32, uid)
				     __field(bool, adopted)
				     __field(u64, doorbells)
				     __field(u64, wrs)
				     __string(name, srdma_trace_name(q))),
		    TP_fast_assign(strscpy(__entry->dev, q->dev->name, sizeof(__entry->dev));
				   __entry->qpn = q->qpn;
				   __entry->type = q->type;
				   __entry->serial = q->serial;
				   __entry->job = srdma_trace_job(q);
				   __entry->pid = pid_nr(q->owner->pid);
				   __entry->uid = __kuid_val(q->owner->uid);
				   __entry->adopted = test_bit(SRDMA_QP_ADOPTED, &q->flags);
				   __entry->doorbells = atomic64_read(&q->doorbells);
				   __entry->wrs = atomic64_read(&q->wrs);
				   srdma_assign_str(name, srdma_trace_name(q));),
		    TP_printk("dev=%s qpn=%u serial=%llu type=%s job=%u pid=%u uid=%u name=%s adopted=%d doorbells=%llu wrs=%llu",
			      __entry->dev, __entry->qpn, __entry->serial,
			      srdma_show_type(__entry->type), __entry->job, __entry->pid,
			      __entry->uid, __get_str(name), __entry->adopted,
			      __entry->doorbells, __entry->wrs));

DEFINE_EVENT(srdma_qp_life, srdma_qp_create,
	     TP_PROTO(const struct srdma_qp *q),
	     TP_ARGS(q));

DEFINE_EVENT(srdma_qp_life, srdma_qp_destroy,
	     TP_PROTO(const struct srdma_qp *q),
	     TP_ARGS(q));

TRACE_EVENT(srdma_qp_modify,
	    TP_PROTO(const struct srdma_qp *q, int mask, int ret),
	    TP_ARGS(q, mask, ret),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(u64, serial)
			     __field(int, mask)
			     __field(int, ret)
			     __field(u32, state)
			     __field(u32, tclass_asked)
			     __field(u32, tclass)
			     __field(u32, sl_asked)
			     __field(u32, sl)),
	    TP_fast_assign(strscpy(__entry->dev, q->dev->name, sizeof(__entry->dev));
			   __entry->qpn = q->qpn;
			   __entry->serial = q->serial;
			   __entry->mask = mask;
			   __entry->ret = ret;
			   __entry->state = q->state;
			   __entry->tclass_asked = q->tclass_asked;
			   __entry->tclass = q->tclass;
			   __entry->sl_asked = q->sl_asked;
			   __entry->sl = q->sl;),
	    TP_printk("dev=%s qpn=%u serial=%llu mask=0x%x ret=%d state=%s tclass_asked=0x%02x tclass=0x%02x sl_asked=%u sl=%u",
		      __entry->dev, __entry->qpn, __entry->serial, __entry->mask,
		      __entry->ret, srdma_show_state(__entry->state),
		      __entry->tclass_asked, __entry->tclass, __entry->sl_asked,
		      __entry->sl));

/* A class change of a connected QP has ended; @pause_ns: how long the QP stood still. */
TRACE_EVENT(srdma_class,
	    TP_PROTO(const struct srdma_qp *q, u8 tclass, u8 sl, int ret,
		     u64 pause_ns, u64 looked_ns),
	    TP_ARGS(q, tclass, sl, ret, pause_ns, looked_ns),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(u64, serial)
			     __field(u32, tclass)
			     __field(u32, sl)
			     __field(int, ret)
			     __field(u64, pause_ns)
			     __field(u64, looked_ns)
			     __field(u32, attempts)),
	    TP_fast_assign(strscpy(__entry->dev, q->dev->name, sizeof(__entry->dev));
			   __entry->qpn = q->qpn;
			   __entry->serial = q->serial;
			   __entry->tclass = tclass;
			   __entry->sl = sl;
			   __entry->ret = ret;
			   __entry->pause_ns = pause_ns;
			   __entry->looked_ns = looked_ns;
			   __entry->attempts = q->attempts;),
	    TP_printk("dev=%s qpn=%u serial=%llu tclass=0x%02x sl=%u ret=%d pause_ns=%llu looked_ns=%llu attempts=%u",
		      __entry->dev, __entry->qpn, __entry->serial, __entry->tclass,
		      __entry->sl, __entry->ret, __entry->pause_ns,
		      __entry->looked_ns, __entry->attempts));

TRACE_EVENT(srdma_act,
	    TP_PROTO(u64 batch, u64 lease, u32 knob, u64 value, const char *target,
		     const char *reason),
	    TP_ARGS(batch, lease, knob, value, target, reason),
	    TP_STRUCT__entry(__field(u64, batch)
			     __field(u64, lease)
			     __field(u32, knob)
			     __field(u64, value)
			     __string(target, target)
			     __string(reason, reason)),
	    TP_fast_assign(__entry->batch = batch;
			   __entry->lease = lease;
			   __entry->knob = knob;
			   __entry->value = value;
			   srdma_assign_str(target, target);
			   srdma_assign_str(reason, reason);),
	    TP_printk("batch=%llu lease=%llu knob=%u value=%llu target=%s reason=%s",
		      __entry->batch, __entry->lease, __entry->knob,
		      __entry->value, __get_str(target), __get_str(reason)));

TRACE_EVENT(srdma_lease,
	    TP_PROTO(u64 id, u32 rank, const char *what, u32 ttl_ms),
	    TP_ARGS(id, rank, what, ttl_ms),
	    TP_STRUCT__entry(__field(u64, id)
			     __field(u32, rank)
			     __field(u32, ttl_ms)
			     __string(what, what)),
	    TP_fast_assign(__entry->id = id;
			   __entry->rank = rank;
			   __entry->ttl_ms = ttl_ms;
			   srdma_assign_str(what, what);),
	    TP_printk("lease=%llu rank=%u what=%s ttl_ms=%u",
		      __entry->id, __entry->rank, __get_str(what), __entry->ttl_ms));

/* @rate: create_rate was the limit, else max_qps; @qps: QPs that the job has. */
TRACE_EVENT(srdma_reject,
	    TP_PROTO(const char *dev, const char *job, u32 qps, u64 limit,
		     bool rate),
	    TP_ARGS(dev, job, qps, limit, rate),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __string(job, job)
			     __field(u32, qps)
			     __field(u64, limit)
			     __field(bool, rate)),
	    TP_fast_assign(strscpy(__entry->dev, dev, sizeof(__entry->dev));
			   srdma_assign_str(job, job);
			   __entry->qps = qps;
			   __entry->limit = limit;
			   __entry->rate = rate;),
	    TP_printk("dev=%s job=%s qps=%u %s=%llu", __entry->dev, __get_str(job),
		      __entry->qps, __entry->rate ? "create_rate" : "max_qps",
		      __entry->limit));

#endif /* SRDMA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
