// SPDX-License-Identifier: GPL-2.0
/*
 * The far end of an Ethernet wire, while there is a contention model: a port takes
 * bytes no faster than the link brings them, so when several HCAs send to one, they
 * pile up before it, as in the switch that there would be. What is found behind many
 * bytes is marked (ECN), and its receiver sends a CNP; a priority that piles up
 * further is paused, if both ends have that enabled (PFC).
 *
 * Nobody slows down for a CNP: congestion control is not modelled. And nothing is
 * dropped for want of buffers.
 */
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/uaccess.h>

#include "contention.h"

/* Assumed, as switches are set up for 100 Gbit/s. */
#define SH_ECN_BYTES	(150 << 10)
#define SH_XOFF_BYTES	(512 << 10)
#define SH_XON_BYTES	(256 << 10)
/* A flow's receiver sends one CNP in 4 us at most: ConnectX's default. */
#define SH_CNP_PS	4000000ULL

static u64 sh_wire_ps(const struct sh_contention *c, u64 bytes)
{
	return (bytes * div64_u64(8192 * 1000000000000ULL, c->model.p.link_bps)) >> 10;
}

/* Which classes must wait follows from who paused which priority. */
static void sh_wire_classes(struct sh_hca *h)
{
	u8 prios = 0, classes = 0;
	int i;

	for (i = 0; i <= SH_MAX_HCAS; i++)
		prios |= h->wire.paused_by[i];
	for (i = 0; i < 8; i++)
		if (prios & BIT(i))
			classes |= BIT(sh_qos_class_of(h, i));
	model_pause(&h->contention->model, classes, h->contention->now);
}

static bool sh_wire_paused(const struct sh_hca *h, u8 prio)
{
	int i;

	for (i = 0; i <= SH_MAX_HCAS; i++)
		if (h->wire.paused_by[i] & BIT(prio))
			return true;
	return false;
}

/* @h gets a pause frame from @source, which is an HCA or, beyond them, a switch. */
static void sh_wire_told(struct sh_hca *h, int source, u8 prio, bool stop)
{
	struct sh_prio *p = &h->port.prio[prio];
	bool was = sh_wire_paused(h, prio), is;

	p->rx_pause++;
	if (stop && h->qos.pfc_rx & BIT(prio))
		h->wire.paused_by[source] |= BIT(prio);
	else
		h->wire.paused_by[source] &= ~BIT(prio);
	is = sh_wire_paused(h, prio);
	if (is && !was) {
		p->rx_pause_transition++;
		h->wire.paused_ps[prio] = h->contention->now;
	} else if (was && !is) {
		p->rx_pause_ps += h->contention->now - h->wire.paused_ps[prio];
	}
	sh_wire_classes(h);
}

static void sh_wire_tell(struct sh_hca *h, u8 prio, bool stop)
{
	int i;

	h->port.prio[prio].tx_pause++;
	if (stop) {
		h->wire.xoff |= BIT(prio);
		h->wire.xoff_ps[prio] = h->contention->now;
	} else {
		h->wire.xoff &= ~BIT(prio);
		h->port.prio[prio].tx_pause_ps += h->contention->now - h->wire.xoff_ps[prio];
	}
	for (i = 0; i < softhca.nhcas; i++)
		if (softhca.hca[i] != h)
			sh_wire_told(softhca.hca[i], h->index, prio, stop);
}

/* The model of a QP's HCA says that a message of it was done at @at, by the clock of
 * the model that it comes to. Messages of several QPs are on the wire at a time, packet
 * by packet, and done almost together; but one sender's link brings them no faster than
 * ours takes them, so they pile up only behind those of another.
 */
static void sh_wire_arrived(struct sh_qp *qp, struct sh_hca *to, u32 bytes, u64 at)
{
	const struct model_params *p = &to->contention->model.p;
	u64 packets = max_t(u64, 1, DIV_ROUND_UP_ULL(bytes, p->mtu));
	u64 ps = sh_wire_ps(to->contention, bytes + packets * p->header), backlog;
	u64 *from = &to->wire.from_ps[qp->hca->index];

	/* Its last byte came then, its first as much earlier as the wire needs. */
	*from = max(*from, at - min(ps, at)) + ps;
	to->wire.free_ps = max(to->wire.free_ps, *from - ps) + ps;
	backlog = to->wire.free_ps - *from;
	if (backlog > sh_wire_ps(to->contention, SH_ECN_BYTES)) {
		to->port.ecn_marked += packets;
		if (!qp->cnp_ps || at >= qp->cnp_ps + SH_CNP_PS) {
			qp->cnp_ps = at;
			to->port.cnp_sent++;
			qp->hca->port.cnp_handled++;
		}
	}
	if (backlog > sh_wire_ps(to->contention, SH_XOFF_BYTES))
		to->wire.full |= BIT(sh_qos_prio(to, qp, NULL));
}

/* Of a datagram only its own WQE knows where it goes, and a read's data come the
 * other way, without waiting for this port.
 */
void sh_wire_done(struct sh_qp *qp, u16 index, u32 bytes, u64 at)
{
	struct mlx5_wqe_ctrl_seg *ctrl;
	struct sh_qp *peer;
	u8 opcode;

	if (!softhca.eth || !sh_qp_connected(qp))
		return;
	ctrl = sh_buf_at(&qp->buf, qp->sq_offset + (index & ((1U << qp->log_sq) - 1)) *
			 MLX5_SEND_WQE_BB);
	opcode = ctrl ? be32_to_cpu(READ_ONCE(ctrl->opmod_idx_opcode)) : MLX5_OPCODE_NOP;
	if (opcode == MLX5_OPCODE_NOP || opcode == MLX5_OPCODE_UMR ||
	    opcode == MLX5_OPCODE_RDMA_READ)
		return;
	peer = sh_peer(qp);
	if (!peer || peer->hca == qp->hca || !peer->hca->contention->model.p.link_bps)
		return;
	sh_wire_arrived(qp, peer->hca, bytes, sh_contention_time(qp->hca, peer->hca, at));
}

/* A priority that piles up is paused, what was paused goes on when there is room
 * again; true while there is none.
 */
bool sh_wire_run(struct sh_hca *h)
{
	struct sh_contention *c = h->contention;
	u8 prio, full;

	if (!c || !softhca.eth)
		return false;
	full = h->wire.full & h->qos.pfc_tx & ~h->wire.xoff;
	h->wire.full = 0;
	for (prio = 0; prio < 8; prio++)
		if (full & BIT(prio))
			sh_wire_tell(h, prio, true);
	if (!h->wire.xoff || (c->model.p.link_bps &&
			      h->wire.free_ps >= c->now + sh_wire_ps(c, SH_XON_BYTES)))
		return h->wire.xoff;
	for (prio = 0; prio < 8; prio++)
		if (h->wire.xoff & BIT(prio))
			sh_wire_tell(h, prio, false);
	return false;
}

/* Priorities that may not be paused any more are not. */
void sh_wire_forget(struct sh_hca *h)
{
	u8 prio;
	int i;

	if (!h->contention)
		return;
	for (prio = 0; prio < 8; prio++) {
		if (h->wire.xoff & ~h->qos.pfc_tx & BIT(prio))
			sh_wire_tell(h, prio, false);
		for (i = 0; i <= SH_MAX_HCAS; i++)
			if (h->wire.paused_by[i] & ~h->qos.pfc_rx & BIT(prio))
				sh_wire_told(h, i, prio, false);
	}
}

/* The priorities are other classes' now. */
void sh_wire_reclass(struct sh_hca *h)
{
	sh_wire_classes(h);
}

int sh_cmd_query_cong(struct sh_cmd *c)
{
	struct sh_port *p = &c->hca->port;

#define SH_CONG(field, value)								\
	do {										\
		MLX5_SET(query_cong_statistics_out, c->out, field##_high,		\
			 upper_32_bits(value));						\
		MLX5_SET(query_cong_statistics_out, c->out, field##_low,		\
			 lower_32_bits(value));						\
	} while (0)
	SH_CONG(rp_cnp_handled, p->cnp_handled);
	SH_CONG(np_ecn_marked_roce_packets, p->ecn_marked);
	SH_CONG(np_cnp_sent, p->cnp_sent);
#undef SH_CONG
	if (MLX5_GET(query_cong_statistics_in, c->in, clear)) {
		p->cnp_handled = 0;
		p->ecn_marked = 0;
		p->cnp_sent = 0;
	}
	return MLX5_CMD_STAT_OK;
}

/* --- debugfs: "PRIORITY 1", "PRIORITY 0": what a switch would send ---------- */

static ssize_t sh_pause_write(struct file *f, const char __user *buf, size_t count,
			      loff_t *pos)
{
	struct sh_hca *h = f->private_data;
	u32 prio, stop;
	char line[16];

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = 0;
	if (sscanf(line, "%u %u", &prio, &stop) != 2 || prio > 7 || stop > 1)
		return -EINVAL;
	mutex_lock(&softhca.lock);
	sh_wire_told(h, SH_MAX_HCAS, prio, stop);
	mutex_unlock(&softhca.lock);
	return count;
}

static const struct file_operations sh_pause_fops = {
	.open = simple_open,
	.write = sh_pause_write,
};

void sh_wire_add(struct sh_hca *h)
{
	if (softhca.eth && h->contention)
		debugfs_create_file("pause", 0200, h->dir, h, &sh_pause_fops);
}
