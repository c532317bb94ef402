// SPDX-License-Identifier: GPL-2.0
/*
 * Rates and weights of jobs. Each job with a rate or weight in force has a scheduling element,
 * to which its connected QPs are bound. One pass, run by the device's work of enforce.c,
 * creates, changes and removes elements and bindings by comparing the actual state with the
 * wanted one. It is repeated until everything is done or refused by the device. A QP that is
 * destroyed leaves its element by itself.
 *
 * An element cannot be removed while a QP is bound to it, even one in the error state or one
 * whose destruction is under way: the device would refuse, and mlx5_core would log the refusal.
 * Therefore each bound QP has a reference on its element, and the module asks the device to
 * remove an element with references only when the provider is unloaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mlx5/qp.h>
#include <linux/slab.h>

#include "enforce.h"
#include "find.h"
#include "mlx5.h"

/* Missing in the kernel's headers. */
#define QOS_DWORD		1
#define QOS_NIC_QP_SCHEDULING	BIT(30)
#define GENERAL_DWORD		9
#define GENERAL_QPC_EXTENSION	BIT(29)
#define RTS2RTS_QPC_EXT		BIT(31)	/* of the dword with the QPN */
#define OPT_QOS_GROUP		BIT(1)	/* of opt_param_mask_95_32 */
/* After the QPC: eight bytes, that mask, and the extension with the group in dword 1. */
#define EXT_MASK_DWORD		3
#define EXT_DWORD		4
#define EXT_GROUP		1
#define EXT_BYTES		192

#define MBIT	1000000

/**
 * struct srdma_shape - a job's element
 * @node: in srdma_mlx5.shapes
 * @job: id
 * @element: with a reference; NULL: the device has refused to make one
 * @mbps: as last asked for; 0: no limit
 * @share: the same; 0: the default
 * @error: -errno of that; what was refused is not asked for again
 * @syndrome: the device's reason
 * @wanted: in force
 * @kept: the device has refused to end it
 */
struct srdma_shape {
	struct list_head node;
	struct srdma_element *element;
	u32 job;
	u32 mbps;
	u32 share;
	int error;
	u32 syndrome;
	bool wanted, kept;
};

bool srdma_sched_can(struct srdma_mlx5 *md)
{
	const __be32 *gen = (const __be32 *)md->core->caps.hca[MLX5_CAP_GENERAL]->cur, *qos;

	if (!MLX5_CAP_GEN(md->core, qos) ||
	    !(be32_to_cpu(gen[GENERAL_DWORD]) & GENERAL_QPC_EXTENSION))
		return false;
	qos = (const __be32 *)md->core->caps.hca[MLX5_CAP_QOS]->cur;
	return be32_to_cpu(qos[QOS_DWORD]) & QOS_NIC_QP_SCHEDULING &&
	       MLX5_CAP_QOS(md->core, nic_element_type) & ELEMENT_TYPE_CAP_MASK_QUEUE_GROUP &&
	       MLX5_CAP_QOS(md->core, log_max_qos_nic_queue_group);
}

static void fill(void *ctx, u8 type, u32 parent, u32 mbps, u32 share)
{
	MLX5_SET(scheduling_context, ctx, element_type, type);
	MLX5_SET(scheduling_context, ctx, parent_element_id, parent);
	MLX5_SET(scheduling_context, ctx, max_average_bw, mbps);
	MLX5_SET(scheduling_context, ctx, bw_share, share);
}

static int element_create(struct srdma_mlx5 *md, u8 type, u32 parent, u32 mbps, u32 share,
			  u32 *id, u32 *syndrome)
{
	u32 in[MLX5_ST_SZ_DW(create_scheduling_element_in)] = {};
	u32 out[MLX5_ST_SZ_DW(create_scheduling_element_out)] = {};
	int ret;

	MLX5_SET(create_scheduling_element_in, in, opcode,
		 MLX5_CMD_OP_CREATE_SCHEDULING_ELEMENT);
	MLX5_SET(create_scheduling_element_in, in, scheduling_hierarchy,
		 SCHEDULING_HIERARCHY_NIC);
	fill(MLX5_ADDR_OF(create_scheduling_element_in, in, scheduling_context), type, parent,
	     mbps, share);
	ret = srdma_cmd_try(md, in, sizeof(in), out, sizeof(out), syndrome);
	*id = MLX5_GET(create_scheduling_element_out, out, scheduling_element_id);
	return ret;
}

static int element_modify(struct srdma_mlx5 *md, u32 id, u32 mbps, u32 share, u32 *syndrome)
{
	u32 in[MLX5_ST_SZ_DW(modify_scheduling_element_in)] = {};
	u32 out[MLX5_ST_SZ_DW(modify_scheduling_element_out)] = {};

	MLX5_SET(modify_scheduling_element_in, in, opcode,
		 MLX5_CMD_OP_MODIFY_SCHEDULING_ELEMENT);
	MLX5_SET(modify_scheduling_element_in, in, scheduling_hierarchy,
		 SCHEDULING_HIERARCHY_NIC);
	MLX5_SET(modify_scheduling_element_in, in, scheduling_element_id, id);
	MLX5_SET(modify_scheduling_element_in, in, modify_bitmask,
		 MODIFY_SCHEDULING_ELEMENT_IN_MODIFY_BITMASK_BW_SHARE |
		 MODIFY_SCHEDULING_ELEMENT_IN_MODIFY_BITMASK_MAX_AVERAGE_BW);
	fill(MLX5_ADDR_OF(modify_scheduling_element_in, in, scheduling_context),
	     SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP, md->root, mbps, share);
	return srdma_cmd_try(md, in, sizeof(in), out, sizeof(out), syndrome);
}

static int element_destroy(struct srdma_mlx5 *md, u32 id)
{
	u32 in[MLX5_ST_SZ_DW(destroy_scheduling_element_in)] = {};
	u32 out[MLX5_ST_SZ_DW(destroy_scheduling_element_out)] = {};
	u32 syndrome;
	int ret;

	MLX5_SET(destroy_scheduling_element_in, in, opcode,
		 MLX5_CMD_OP_DESTROY_SCHEDULING_ELEMENT);
	MLX5_SET(destroy_scheduling_element_in, in, scheduling_hierarchy,
		 SCHEDULING_HIERARCHY_NIC);
	MLX5_SET(destroy_scheduling_element_in, in, scheduling_element_id, id);
	ret = srdma_cmd_try(md, in, sizeof(in), out, sizeof(out), &syndrome);
	if (ret == -EREMOTEIO)
		pr_warn_ratelimited("%s: the device does not let go of scheduling element %u, syndrome 0x%08x\n",
				    md->dev->name, id, syndrome);
	return ret;
}

/* Bind a QP to an element, 0: to none. */
static int bind(struct srdma_mlx5 *md, struct srdma_qp *q, u32 element)
{
	size_t size = MLX5_ST_SZ_BYTES(rts2rts_qp_in), at = MLX5_BYTE_OFF(rts2rts_qp_in, qpc) +
		      MLX5_ST_SZ_BYTES(qpc);
	u32 out[MLX5_ST_SZ_DW(rts2rts_qp_out)] = {};
	__be32 *in, *tail;
	u32 syndrome;
	int ret;

	/* The standard command already ends after the first eight of these bytes or more. */
	size = max(size, at) + EXT_DWORD * sizeof(*in) + EXT_BYTES;
	in = kzalloc(size, GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	MLX5_SET(rts2rts_qp_in, in, opcode, MLX5_CMD_OP_RTS2RTS_QP);
	MLX5_SET(rts2rts_qp_in, in, qpn, q->qpn);
	in[2] |= cpu_to_be32(RTS2RTS_QPC_EXT);
	tail = (void *)in + at;
	tail[EXT_MASK_DWORD] = cpu_to_be32(OPT_QOS_GROUP);
	tail[EXT_DWORD + EXT_GROUP] = cpu_to_be32(element);
	ret = srdma_cmd_try(md, in, at + EXT_DWORD * sizeof(*in) + EXT_BYTES, out, sizeof(out),
			    &syndrome);
	kfree(in);
	return ret == -EREMOTEIO ? srdma_refused(md, q, element ? "a scheduling element" :
						 "to take it out of a scheduling element",
						 syndrome) : ret;
}

static struct srdma_shape *shape_find(struct srdma_mlx5 *md, u32 job)
{
	struct srdma_shape *s;

	list_for_each_entry(s, &md->shapes, node)
		if (s->job == job)
			return s;
	return NULL;
}

static struct srdma_shape *shape_new(struct srdma_mlx5 *md, u32 job)
{
	struct srdma_shape *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->job = job;
	list_add(&s->node, &md->shapes);
	WRITE_ONCE(md->n_shapes, md->n_shapes + 1);
	return s;
}

static void shape_free(struct srdma_mlx5 *md, struct srdma_shape *s)
{
	list_del(&s->node);
	WRITE_ONCE(md->n_shapes, md->n_shapes - 1);
	srdma_element_put(s->element);
	kfree(s);
}

/* The first element needs a node to hang from. */
static int shape_make(struct srdma_mlx5 *md, struct srdma_shape *s, u32 mbps, u32 share)
{
	struct srdma_element *e = kzalloc(sizeof(*e), GFP_KERNEL);
	int ret = e ? 0 : -ENOMEM;

	if (!ret && !md->has_root)
		ret = element_create(md, SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR, 0, 0, 0, &md->root,
				     &s->syndrome);
	md->has_root |= !ret;
	if (!ret)
		ret = element_create(md, SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP, md->root,
				     mbps, share, &e->id, &s->syndrome);
	if (ret) {
		kfree(e);
		return ret;
	}
	refcount_set(&e->ref, 1);
	e->serial = ++md->last_element;
	s->element = e;
	return 0;
}

/* Make or change a job's element. -errno: to be tried again. A refusal is recorded in *@s. */
static int shape_want(struct srdma_mlx5 *md, struct srdma_shape *s, u32 mbps, u32 share)
{
	s->wanted = true;
	s->kept = false;
	if (s->mbps == mbps && s->share == share && (s->element || s->error == -EREMOTEIO))
		return 0;
	s->error = s->element ? element_modify(md, s->element->id, mbps, share, &s->syndrome) :
				shape_make(md, s, mbps, share);
	if (s->error && s->error != -EREMOTEIO) {
		pr_warn_ratelimited("%s: no scheduling element for job %u: %d\n", md->dev->name,
				    s->job, s->error);
		return s->error;
	}
	s->mbps = mbps;
	s->share = share;
	if (s->error)
		pr_warn_ratelimited("%s: the device refuses %u Mbit/s, share %u for job %u, syndrome 0x%08x\n",
				    md->dev->name, mbps, share, s->job, s->syndrome);
	return 0;
}

/* Record in the job why it has no element, for results.c. */
static void tell_job(struct srdma_dev *dev, unsigned long id, int error, u32 syndrome)
{
	struct srdma_job_dev *jd;

	rcu_read_lock();
	jd = xa_load(&dev->jobs, id);
	if (jd && READ_ONCE(jd->shape_error) != error) {
		WRITE_ONCE(jd->shape_syndrome, syndrome);
		WRITE_ONCE(jd->shape_error, error);
	}
	rcu_read_unlock();
}

/* Make or change the elements of all jobs that have a rate or weight. Returns how many failed. */
static u32 want_all(struct srdma_mlx5 *md)
{
	struct srdma_dev *dev = md->dev;
	struct srdma_job_dev *jd;
	struct srdma_shape *s;
	unsigned long id = 0;
	u32 left = 0, share;
	u64 rate;

	list_for_each_entry(s, &md->shapes, node)
		s->wanted = false;
	if (srdma_giving_back(dev))
		return 0;
	for (;; id++) {
		rcu_read_lock();
		jd = xa_find(&dev->jobs, &id, ULONG_MAX, XA_PRESENT);
		rate = jd ? READ_ONCE(jd->bit_rate) : 0;
		share = jd ? READ_ONCE(jd->weight) : 0;
		rcu_read_unlock();
		if (!jd)
			return left;
		if (!rate && !share) {
			tell_job(dev, id, 0, 0);
			continue;
		}
		s = shape_find(md, id) ?: shape_new(md, id);
		if (!s || shape_want(md, s, div_u64(rate + MBIT - 1, MBIT), share))
			left++;
		if (s)
			tell_job(dev, id, s->error, s->syndrome);
	}
}

/* The element a QP should be in; it stays for this pass. */
static struct srdma_element *element_of(struct srdma_mlx5 *md, const struct srdma_qp *q)
{
	const struct srdma_job_dev *jd;
	struct srdma_shape *s = NULL;

	rcu_read_lock();
	jd = rcu_dereference(q->job);
	if (jd)
		s = shape_find(md, jd->job->id);
	rcu_read_unlock();
	return s && s->wanted ? s->element : NULL;
}

/* 1: to be tried again. srdma_qp_lock() is held, the QP is not dead. */
static u32 place(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	bool known = test_bit(SRDMA_QP_HAS_STATE, &q->flags);
	struct srdma_element *want = element_of(md, q);
	u32 serial = want ? want->serial : SRDMA_LEAVE;
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int ret;

	if (!hw && want)
		hw = srdma_qp_hw_make(q);
	if (!hw || hw->element == want)
		return 0;
	/*
	 * A refused bind is not repeated, except to leave the element when everything is
	 * given back.
	 */
	if (hw->no_element == serial && !srdma_giving_back(md->dev))
		return 0;
	/* A QP before RTS is bound when it gets there. */
	if (known && q->state != IB_QPS_RTS)
		return hw->element && q->state != IB_QPS_ERR;
	/* Whether an old QP is in RTS, only the device knows. */
	ret = bind(md, q, want ? want->id : 0);
	if (ret == -EREMOTEIO) {
		WRITE_ONCE(hw->no_element, serial);
		srdma_qp_touch(q);
	}
	if (ret)
		return known && ret != -EREMOTEIO && ret != -ENOTCONN;
	WRITE_ONCE(hw->no_element, 0);
	srdma_element_put(hw->element);
	if (want)
		refcount_inc(&want->ref);
	WRITE_ONCE(hw->element, want);
	srdma_qp_touch(q);
	return 0;
}

static u32 place_all(struct srdma_mlx5 *md)
{
	struct srdma_walk w = SRDMA_WALK(&md->dev->qps, 0);
	struct srdma_qp *q;
	u32 left = 0;

	while ((q = srdma_walk_get(&w))) {
		if (!srdma_qp_trylock(q)) {
			left++;
		} else {
			if (!test_bit(SRDMA_QP_DEAD, &q->flags))
				left += place(md, q);
			srdma_qp_unlock(q);
		}
		srdma_qp_put(q);
		cond_resched();
	}
	return left;
}

/* Remove an element that is not wanted any more. False: it is to be tried again. */
static bool drop(struct srdma_mlx5 *md, struct srdma_shape *s)
{
	int ret = 0;

	if (s->element && refcount_read(&s->element->ref) > 1)
		return false;
	if (s->element)
		ret = element_destroy(md, s->element->id);
	if (ret == -EREMOTEIO) {
		s->kept = true;
		return true;
	}
	if (!ret)
		shape_free(md, s);
	return !ret;
}

/*
 * Remove elements that are not wanted any more, and the node when it has none. With @last
 * also those that the device has refused to remove.
 */
static u32 drop_all(struct srdma_mlx5 *md, bool last)
{
	struct srdma_shape *s, *next;
	u32 left = 0;

	list_for_each_entry_safe(s, next, &md->shapes, node)
		if (!s->wanted && (!s->kept || last))
			left += !drop(md, s);
	if (md->has_root && list_empty(&md->shapes))
		md->has_root = element_destroy(md, md->root);
	return left;
}

u32 srdma_mlx5_shape(struct srdma_dev *dev)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	u32 left = srdma_mlx5_paths(md);

	if (!md->shaping)
		return left;
	left += want_all(md);
	if (list_empty(&md->shapes))
		return left;
	left += place_all(md);
	return left + drop_all(md, false);
}

/*
 * The QPs of the elements have been unbound or destroyed, except QPs in the error state. The
 * tracker has dropped these by now, with their references, so the device may refuse.
 */
void srdma_sched_exit(struct srdma_mlx5 *md)
{
	struct srdma_shape *s, *next;

	list_for_each_entry(s, &md->shapes, node)
		s->wanted = false;
	drop_all(md, true);
	if (!list_empty(&md->shapes))
		pr_warn("%s: %u scheduling elements are left, QPs in error hold them\n",
			md->dev->name, md->n_shapes);
	list_for_each_entry_safe(s, next, &md->shapes, node) {
		srdma_element_put(s->element);
		kfree(s);
	}
}
