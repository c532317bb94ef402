// SPDX-License-Identifier: GPL-2.0
/*
 * The command queue: fetch, run, answer.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "softhca.h"

#define SH_INLINE	16
#define SH_MAX_MBOX	(16U << 20)

struct sh_cmd_hdr {
	__be16 opcode;
	__be16 uid;
	__be16 rsvd;
	__be16 op_mod;
};

static sh_cmd_fn sh_cmd_find(u16 op)
{
	return sh_cmd_obj(op) ?: sh_cmd_queue(op) ?: sh_cmd_qp(op) ?: sh_cmd_sq(op) ?:
	       sh_cmd_rq(op) ?: sh_cmd_rss(op) ?: sh_cmd_flow(op) ?: sh_cmd_port(op) ?:
	       sh_cmd_telemetry(op) ?: sh_cmd_sched(op) ?: sh_cmd_diag(op) ?: sh_cmd_roce(op);
}

/* Copies between a linear buffer and the 16 bytes in the entry followed by a
 * chain of blocks.
 */
static bool sh_mbox_copy(void *buf, u32 len, void *inl, __be64 ptr, bool out)
{
	u32 at = min_t(u32, len, SH_INLINE);

	if (out)
		memcpy(inl, buf, at);
	else
		memcpy(buf, inl, at);
	while (at < len) {
		u32 n = min_t(u32, len - at, MLX5_CMD_DATA_BLOCK_SIZE);
		struct mlx5_cmd_prot_block *b = sh_virt(be64_to_cpu(ptr), sizeof(*b));

		if (!ptr || !b)
			return false;
		if (out)
			memcpy(b->data, buf + at, n);
		else
			memcpy(buf + at, b->data, n);
		ptr = b->next;
		at += n;
	}
	return true;
}

static int sh_cmd_dispatch(struct sh_cmd *c)
{
	sh_cmd_fn fn;
	int status = sh_knob_cmd(c);

	if (status)
		return status;
	fn = sh_cmd_find(c->op);
	return fn ? fn(c) : MLX5_CMD_STAT_BAD_OP_ERR;
}

static void sh_cmd_one(struct sh_hca *h, int slot)
{
	bool events = sh_event_subscribed(h, MLX5_EVENT_TYPE_CMD);
	struct sh_cmd c = { .hca = h };
	struct mlx5_cmd_layout *lay;
	struct sh_cmd_hdr *hdr;
	int status;

	lay = sh_virt(h->cmdq + slot * sizeof(*lay), sizeof(*lay));
	if (!lay || !(READ_ONCE(lay->status_own) & 1))
		return;
	if (sh_knob_hold(h, slot, be16_to_cpu(((struct sh_cmd_hdr *)lay->in)->opcode)))
		return;
	h->cmds++;
	c.inlen = min(be32_to_cpu(lay->inlen), SH_MAX_MBOX);
	c.outlen = min(be32_to_cpu(lay->outlen), SH_MAX_MBOX);
	c.in = kvzalloc(max_t(u32, c.inlen, SH_MIN_MBOX), GFP_KERNEL);
	c.out = kvzalloc(max_t(u32, c.outlen, SH_MIN_MBOX), GFP_KERNEL);
	if (!c.in || !c.out) {
		WRITE_ONCE(lay->status_own, MLX5_CMD_STAT_INT_ERR << 1);
		goto out;
	}
	if (!sh_mbox_copy(c.in, c.inlen, lay->in, lay->in_ptr, false)) {
		status = MLX5_CMD_STAT_BAD_INP_LEN_ERR;
	} else {
		hdr = c.in;
		c.op = be16_to_cpu(hdr->opcode);
		c.op_mod = be16_to_cpu(hdr->op_mod);
		c.uid = be16_to_cpu(hdr->uid);
		h->served[min_t(u16, c.op, SH_OPCODES - 1)]++;
		status = sh_cmd_dispatch(&c);
		sh_contention_command(h);
	}
	if (status) {
		memset(c.out, 0, SH_INLINE);
		*(u8 *)c.out = status;
		*(__be32 *)(c.out + 4) = cpu_to_be32(c.syndrome ?: 0x500000 | c.op);
	}
	pr_debug("softhca: hca %d: %#x mod %#x uid %u: %#x, %#x\n", h->index, c.op, c.op_mod,
		 c.uid, status, be32_to_cpu(((__be32 *)c.out)[2]));
	sh_mbox_copy(c.out, c.outlen, lay->out, lay->out_ptr, true);
	smp_wmb(); /* the owner bit says that the rest is there */
	WRITE_ONCE(lay->status_own, 0);
	/* A driver that polls for this command must not get an event for it too. */
	if (events)
		sh_event_cmd(h, 1U << slot);
out:
	kvfree(c.in);
	kvfree(c.out);
}

void sh_cmd_run(struct sh_hca *h, u32 bells)
{
	int slot;

	for (slot = 0; slot < 2; slot++)
		if (bells & 1U << slot)
			sh_cmd_one(h, slot);
}
