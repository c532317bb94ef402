// SPDX-License-Identifier: GPL-2.0
/*
 * Scheduling elements: a share of the port, and a rate, for the QPs bound to
 * them. There are nodes, which only hold leaves together, and leaves (queue
 * groups), which the contention model enforces. Kernels make them by commands of
 * their own, libmlx5 as general objects.
 */
#include "softhca.h"

#define SH_MAX_SHARE	100
/* Of an element as a general object: what comes after the header looks like the
 * commands' own input, whose context is there.
 */
#define SH_OBJ_HDR	MLX5_ST_SZ_BYTES(general_obj_in_cmd_hdr)
#define SH_OBJ_CTX	(SH_OBJ_HDR + MLX5_BYTE_OFF(create_scheduling_element_in, \
						    scheduling_context))

static bool sh_is_general(const struct sh_cmd *c)
{
	return c->op == MLX5_CMD_OP_CREATE_GENERAL_OBJECT ||
	       c->op == MLX5_CMD_OP_MODIFY_GENERAL_OBJECT ||
	       c->op == MLX5_CMD_OP_QUERY_GENERAL_OBJECT ||
	       c->op == MLX5_CMD_OP_DESTROY_GENERAL_OBJECT;
}

static bool sh_is_ours(const struct sh_cmd *c)
{
	return !sh_is_general(c) ||
	       MLX5_GET(general_obj_in_cmd_hdr, c->in, obj_type) == SH_OBJ_SCHED;
}

/* The element that the command is about; they all have its id at one place. */
static struct sh_sched *sh_sched_of(struct sh_cmd *c)
{
	u32 id = MLX5_GET(query_scheduling_element_in, c->in, scheduling_element_id);

	BUILD_BUG_ON(MLX5_BYTE_OFF(query_scheduling_element_in, scheduling_element_id) !=
		     MLX5_BYTE_OFF(modify_scheduling_element_in, scheduling_element_id));
	BUILD_BUG_ON(MLX5_BYTE_OFF(query_scheduling_element_in, scheduling_element_id) !=
		     MLX5_BYTE_OFF(destroy_scheduling_element_in, scheduling_element_id));
	if (sh_is_general(c))
		id = MLX5_GET(general_obj_in_cmd_hdr, c->in, obj_id);
	return sh_is_ours(c) ? sh_find_own(c, SH_SCHED, id) : NULL;
}

/* A node's own share and rate would be promises that nobody keeps. */
static bool sh_sched_ok(struct sh_cmd *c, void *ctx)
{
	u32 parent = MLX5_GET(scheduling_context, ctx, parent_element_id);
	u32 share = MLX5_GET(scheduling_context, ctx, bw_share);
	struct sh_sched *p;

	if (MLX5_GET(scheduling_context, ctx, element_type) !=
	    SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP)
		return !share && !MLX5_GET(scheduling_context, ctx, max_average_bw);
	p = sh_find_own(c, SH_SCHED, parent);
	return share <= SH_MAX_SHARE && p &&
	       MLX5_GET(scheduling_context, p->ctx, element_type) ==
	       SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR;
}

static int sh_sched_apply(struct sh_cmd *c, struct sh_sched *s, void *ctx)
{
	u32 mbps = MLX5_GET(scheduling_context, ctx, max_average_bw);
	u32 share = MLX5_GET(scheduling_context, ctx, bw_share);

	if (sh_contention_element(c->hca, s->obj.id, mbps, share))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	memcpy(s->ctx, ctx, sizeof(s->ctx));
	return MLX5_CMD_STAT_OK;
}

static int sh_create_sched(struct sh_cmd *c)
{
	void *ctx = sh_is_general(c) ? c->in + SH_OBJ_CTX :
		    MLX5_ADDR_OF(create_scheduling_element_in, c->in, scheduling_context);
	u8 type = MLX5_GET(scheduling_context, ctx, element_type);
	struct sh_sched *s;
	int status;

	if (!sh_is_ours(c))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	if ((type != SCHEDULING_CONTEXT_ELEMENT_TYPE_TSAR &&
	     type != SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP) || !sh_sched_ok(c, ctx))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	s = sh_new(c, SH_SCHED, sizeof(*s), &status);
	if (!s)
		return status;
	status = sh_sched_apply(c, s, ctx);
	if (status) {
		sh_del(c->hca, SH_SCHED, s);
		return status;
	}
	if (sh_is_general(c))
		MLX5_SET(general_obj_out_cmd_hdr, c->out, obj_id, s->obj.id);
	else
		MLX5_SET(create_scheduling_element_out, c->out, scheduling_element_id, s->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_modify_sched(struct sh_cmd *c)
{
	u32 mask = MLX5_GET(modify_scheduling_element_in, c->in, modify_bitmask);
	void *in = MLX5_ADDR_OF(modify_scheduling_element_in, c->in, scheduling_context);
	struct sh_sched *s = sh_sched_of(c);
	u8 ctx[MLX5_ST_SZ_BYTES(scheduling_context)];

	if (!s)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (sh_is_general(c)) {
		in = c->in + SH_OBJ_CTX;
		mask = be64_to_cpup(c->in + SH_OBJ_HDR);
	}
	memcpy(ctx, s->ctx, sizeof(ctx));
	if (mask & MODIFY_SCHEDULING_ELEMENT_IN_MODIFY_BITMASK_BW_SHARE)
		MLX5_SET(scheduling_context, ctx, bw_share,
			 MLX5_GET(scheduling_context, in, bw_share));
	if (mask & MODIFY_SCHEDULING_ELEMENT_IN_MODIFY_BITMASK_MAX_AVERAGE_BW)
		MLX5_SET(scheduling_context, ctx, max_average_bw,
			 MLX5_GET(scheduling_context, in, max_average_bw));
	if (!sh_sched_ok(c, ctx))
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	return sh_sched_apply(c, s, ctx);
}

static int sh_query_sched(struct sh_cmd *c)
{
	struct sh_sched *s = sh_sched_of(c);

	if (!s)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	memcpy(sh_is_general(c) ? c->out + SH_OBJ_CTX :
	       MLX5_ADDR_OF(query_scheduling_element_out, c->out, scheduling_context), s->ctx,
	       sizeof(s->ctx));
	return MLX5_CMD_STAT_OK;
}

static bool sh_sched_is_parent(struct sh_hca *h, u32 id)
{
	struct sh_sched *s;
	unsigned long i;

	xa_for_each(&h->tab[SH_SCHED].xa, i, s)
		if (MLX5_GET(scheduling_context, s->ctx, parent_element_id) == id)
			return true;
	return false;
}

static int sh_destroy_sched(struct sh_cmd *c)
{
	struct sh_sched *s = sh_sched_of(c);

	if (!s)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (s->nqps || sh_sched_is_parent(c->hca, s->obj.id))
		return MLX5_CMD_STAT_RES_BUSY;
	sh_contention_element(c->hca, s->obj.id, 0, 0);
	sh_del(c->hca, SH_SCHED, s);
	return MLX5_CMD_STAT_OK;
}

void sh_sched_unbind(struct sh_qp *qp)
{
	struct sh_sched *s = qp->sched ? sh_find(qp->hca, SH_SCHED, qp->sched) : NULL;

	if (s)
		s->nqps--;
	qp->sched = 0;
}

/* A QP's requests go through the leaf from now on, also those that wait; 0: none. */
int sh_sched_bind(struct sh_cmd *c, struct sh_qp *qp, u32 id)
{
	struct sh_sched *s = id ? sh_find_own(c, SH_SCHED, id) : NULL;

	if (id && !s)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	if (s && MLX5_GET(scheduling_context, s->ctx, element_type) !=
		 SCHEDULING_CONTEXT_ELEMENT_TYPE_QUEUE_GROUP)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	sh_sched_unbind(qp);
	qp->sched = id;
	if (s)
		s->nqps++;
	sh_contention_modify(qp);
	return MLX5_CMD_STAT_OK;
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_SCHEDULING_ELEMENT, sh_create_sched },
	{ MLX5_CMD_OP_MODIFY_SCHEDULING_ELEMENT, sh_modify_sched },
	{ MLX5_CMD_OP_QUERY_SCHEDULING_ELEMENT, sh_query_sched },
	{ MLX5_CMD_OP_DESTROY_SCHEDULING_ELEMENT, sh_destroy_sched },
	{ MLX5_CMD_OP_CREATE_GENERAL_OBJECT, sh_create_sched },
	{ MLX5_CMD_OP_MODIFY_GENERAL_OBJECT, sh_modify_sched },
	{ MLX5_CMD_OP_QUERY_GENERAL_OBJECT, sh_query_sched },
	{ MLX5_CMD_OP_DESTROY_GENERAL_OBJECT, sh_destroy_sched },
};

sh_cmd_fn sh_cmd_sched(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
