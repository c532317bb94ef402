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

#include "find.h"
#include "job.h"
#include "mlx5.h"
#include "pass.h"

/* Missing in the kernel's headers. */
#define QOS_DWORD		1
#define QOS_NIC_QP_SCHEDULING	BIT(30)
#define GENERAL_DWORD		9
#define GENERAL_QPC_EXTENSION	BIT(29)
#define RTS2RTS_QPC_EXT		BIT(31)	/* of the dword with the QPN */
#define OPT_QOS_GROUP		BIT(1)	/* of opt_param_mask_95_32 */
#define GROUP_DWORD		5	/* of the tail: dword 1 of the extension */
#define TAIL_BYTES		208	/* the extension has 192 bytes */

#define MBIT	1000000

/**
 * struct srdma_shape - a job's element
 * @node: in srdma_mlx5.shapes
 * @element: with a reference; NULL: the device has refused to make one
 * @job: id
 * @mbps: rate of the last command; 0: no limit
 * @share: share of the last command; 0: the default
 * @error: -errno of that command; a refused command is not repeated
 * @syndrome: the device's reason
 * @wanted: the job has a rate or weight in force
 * @kept: the device has refused to remove the element
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

static void fill_context(void *ctx, u8 type, u32 parent, u32 mbps, u32 share)
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
	fill_context(MLX5_ADDR_OF(create_scheduling_element_in, in, scheduling_context), type,
		     parent, mbps, share);
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
	fill_context(MLX5_ADDR_OF(modify_scheduling_element_in, in, scheduling_context),
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
static int send_bind_command(struct srdma_mlx5 *md, struct srdma_qp *q, u32 element)
{
	__be32 in[(SRDMA_RTS2RTS_BYTES + TAIL_BYTES) / sizeof(__be32)] = {};
	__be32 *tail = srdma_rts2rts_tail(in);

	in[2] = cpu_to_be32(RTS2RTS_QPC_EXT);
	tail[SRDMA_RTS2RTS_MASK] = cpu_to_be32(OPT_QOS_GROUP);
	tail[GROUP_DWORD] = cpu_to_be32(element);
	return srdma_cmd_rts2rts(md, q, in, sizeof(in), element ? "a scheduling element" :
				 "to take it out of a scheduling element");
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

/* Make an element; the first one needs a node to hang from. */
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

/* Make or change a job's element. -errno: to be tried again. A refusal is recorded in @s. */
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
static void report_shape_error(struct srdma_dev *dev, unsigned long id, int error, u32 syndrome)
{
	struct srdma_job_dev *jd;

	rcu_read_lock();
	jd = xa_load(&dev->jobs, id);
	if (jd && (READ_ONCE(jd->shape_error) != error ||
		   READ_ONCE(jd->shape_syndrome) != syndrome)) {
		WRITE_ONCE(jd->shape_syndrome, syndrome);
		WRITE_ONCE(jd->shape_error, error);
	}
	rcu_read_unlock();
}

/* Make or change the elements of all jobs that have a rate or weight. Returns how many failed. */
static u32 update_elements(struct srdma_mlx5 *md)
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
			report_shape_error(dev, id, 0, 0);
			continue;
		}
		s = shape_find(md, id) ?: shape_new(md, id);
		if (!s || shape_want(md, s, div_u64(rate + MBIT - 1, MBIT), share))
			left++;
		if (s)
			report_shape_error(dev, id, s->error, s->error ? s->syndrome : 0);
	}
}

/* The element that the QP should be in; it stays for this pass. */
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

/* Returns 1 if it is to be tried again. srdma_qp_lock() is held, the QP is not dead. */
static u32 bind_qp_to_element(struct srdma_mlx5 *md, struct srdma_qp *q)
{
	bool known = test_bit(SRDMA_QP_HAS_STATE, &q->flags);
	struct srdma_element *want = element_of(md, q);
	u32 serial = want ? want->serial : SRDMA_LEAVE;
	struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int ret;

	if (!hw && want)
		hw = srdma_qp_hw_make(q);
	if (!hw || (hw->element == want && !hw->binding_unknown))
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
	/* Only the device knows whether a QP older than the module is in RTS. */
	ret = send_bind_command(md, q, want ? want->id : 0);
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
	WRITE_ONCE(hw->binding_unknown, false);
	srdma_qp_touch(q);
	return 0;
}

static u32 bind_all(struct srdma_mlx5 *md)
{
	struct srdma_qp *q;
	u32 left = 0;

	srdma_for_each_qp(q, md->dev) {
		if (!srdma_qp_trylock(q)) {
			left++;
			continue;
		}
		if (!test_bit(SRDMA_QP_DEAD, &q->flags))
			left += bind_qp_to_element(md, q);
		srdma_qp_unlock(q);
	}
	return left;
}

/* Remove an element that is not wanted any more. False: it is to be tried again. */
static bool remove_element(struct srdma_mlx5 *md, struct srdma_shape *s)
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
 * Remove elements that are not wanted any more, and the node when no element hangs from it.
 * With @last also those that the device has refused to remove.
 */
static u32 remove_elements(struct srdma_mlx5 *md, bool last)
{
	struct srdma_shape *s, *next;
	u32 left = 0;

	list_for_each_entry_safe(s, next, &md->shapes, node)
		if (!s->wanted && (!s->kept || last))
			left += !remove_element(md, s);
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
	left += update_elements(md);
	if (list_empty(&md->shapes))
		return left;
	left += bind_all(md);
	return left + remove_elements(md, false);
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
	remove_elements(md, true);
	if (!list_empty(&md->shapes))
		pr_warn("%s: %u scheduling elements are left, QPs in error hold them\n",
			md->dev->name, md->n_shapes);
	list_for_each_entry_safe(s, next, &md->shapes, node) {
		srdma_element_put(s->element);
		kfree(s);
	}
}
