// SPDX-License-Identifier: GPL-2.0
/*
 * Drives the contention model with the guest's clock, and lets the device
 * execute what the model says is done.
 *
 * A WQE goes to the model as soon as its doorbell is seen, with its bytes, its
 * first memory key, its QP's class and scheduling element, and its register. No
 * call here allocates but those that begin or end an HCA or a QP.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "contention.h"

#define SH_MODEL_QPS	65536	/* QPNs are the model's numbers for them */
#define SH_MODEL_WRS	65536
#define SH_MODEL_CONTEXTS 65536
#define SH_MTTS_A_LINE	8
/* Preamble and gap, Ethernet, IPv4, UDP, BTH, ICRC, FCS: around a packet of RoCE v2. */
#define SH_ETH_HEADER	(20 + 14 + 20 + 8 + 12 + 4 + 4)
/* An event that is farther away lets the poller sleep. */
#define SH_SOON_NS	(3 * NSEC_PER_MSEC)

static char *preset = "off";
module_param(preset, charp, 0444);
MODULE_PARM_DESC(preset, "contention model: off, cx5 or cx6");

static uint time_scale = 1;
module_param(time_scale, uint, 0444);
MODULE_PARM_DESC(time_scale, "how many times slower than modelled the device is");

static u64 sh_model_time(const struct sh_contention *c, u64 ns)
{
	return c->base_ps + div_u64((ns - c->base_ns) * 1000, c->scale);
}

/* The model's time now, which is later than what it was told in this look. */
u64 sh_contention_clock(const struct sh_contention *c)
{
	return sh_model_time(c, ktime_get_ns());
}

/* Modelled time goes on from where it is, at another pace. */
void sh_contention_rescale(struct sh_contention *c, u32 scale)
{
	u64 ns = ktime_get_ns();

	c->base_ps = sh_model_time(c, ns);
	c->base_ns = ns;
	c->scale = scale;
}

static void sh_model_done(void *ctx, const struct model_done *done)
{
	struct sh_hca *h = ctx;
	struct sh_qp *qp = sh_find(h, SH_QP, done->qp);

	/* The cookie is the WQE's index, and how many WQEBBs it has. */
	qp->due[(u16)done->cookie & ((1U << qp->log_sq) - 1)] = done->at;
	qp->sq_go = (u16)done->cookie + (u16)(done->cookie >> 16);
	sh_wire_done(qp, done->cookie, done->bytes, done->at);
	if (qp->state == MLX5_QPC_STATE_RTS && list_empty(&qp->run))
		list_add_tail(&qp->run, &h->run);
}

static void sh_model_congestion(void *ctx, u32 uar, bool congested, u64 at)
{
	struct sh_hca *h = ctx;

	if (sh_false(h, SH_FALSE_CONGESTION))
		return;
	/* The event names no register: the level says how many are congested. */
	sh_event_congestion(h, min(h->contention->model.congested, 255U));
}

static const struct model_ops sh_model_ops = {
	.done = sh_model_done,
	.congestion = sh_model_congestion,
};

int sh_contention_init(struct sh_hca *h)
{
	const struct model_sizes sizes = {
		.uars = SH_UARS * SH_UAR_REGS,
		.qps = SH_MODEL_QPS,
		.wrs = SH_MODEL_WRS,
		.elements = SH_SCHEDS,
		.contexts = SH_MODEL_CONTEXTS,
	};
	int which = model_preset_named(preset);
	struct model_params params;
	struct sh_contention *c;
	int err;

	if (which < 0 || !time_scale) {
		pr_err("softhca: preset is off, cx5 or cx6, and time_scale not 0\n");
		return -EINVAL;
	}
	if (which == MODEL_OFF)
		return 0;
	c = kvzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->mem = kvmalloc(model_bytes(&sizes), GFP_KERNEL);
	if (!c->mem) {
		kvfree(c);
		return -ENOMEM;
	}
	model_preset(which, &params);
	if (softhca.eth) {
		sh_qos_model(&h->qos, &params.strict, params.weight);
		params.header = SH_ETH_HEADER;
	}
	err = model_init(&c->model, c->mem, &sizes, &params, &sh_model_ops, h);
	if (err) {
		kvfree(c->mem);
		kvfree(c);
		return err;
	}
	c->preset = which;
	c->scale = time_scale;
	c->base_ns = ktime_get_ns();
	c->second_ns = c->base_ns;
	INIT_LIST_HEAD(&c->waiting);
	h->contention = c;
	return 0;
}

void sh_contention_exit(struct sh_hca *h)
{
	struct sh_contention *c = h->contention;

	if (!c)
		return;
	if (c->timed)
		pr_info("softhca: hca %d: %llu requests timed, %llu could not be in time\n",
			h->index, c->timed, c->late);
	kvfree(c->mem);
	kvfree(c);
	h->contention = NULL;
}

/* --- QPs ------------------------------------------------------------------ */

static u32 sh_register(const struct sh_qp *qp)
{
	/* A QP that never sends has none. */
	return qp->uar ? qp->uar->obj.id * SH_UAR_REGS + qp->reg : 0;
}

static struct model_qp_attr sh_attr(const struct sh_qp *qp)
{
	return (struct model_qp_attr) {
		.qpn = qp->obj.id,
		.uar = sh_register(qp),
		.cq = qp->scq ? qp->scq->obj.id : 0,
		.element = qp->sched,
		.reads = 1U << MLX5_GET(qpc, qp->qpc, log_sra_max),
		.cls = sh_qos_class(qp, NULL),
	};
}

int sh_contention_open(struct sh_qp *qp)
{
	struct sh_contention *c = qp->hca->contention;
	struct model_qp_attr attr;

	INIT_LIST_HEAD(&qp->on_wait);
	if (!c)
		return 0;
	if (qp->has_sq) {
		qp->due = kvcalloc(1U << qp->log_sq, sizeof(*qp->due), GFP_KERNEL);
		if (!qp->due)
			return -ENOMEM;
	}
	attr = sh_attr(qp);
	if (!model_qp_open(&c->model, qp->obj.id, &attr))
		return 0;
	kvfree(qp->due);
	return -EINVAL;
}

void sh_contention_close(struct sh_qp *qp)
{
	struct sh_contention *c = qp->hca->contention;

	if (!c)
		return;
	list_del(&qp->on_wait);
	model_qp_close(&c->model, qp->obj.id);
	model_forget(&c->model, MODEL_QPC, qp->obj.id);
	kvfree(qp->due);
}

/* Class or element are others now. */
void sh_contention_modify(struct sh_qp *qp)
{
	struct sh_contention *c = qp->hca->contention;
	struct model_qp_attr attr;

	if (!c)
		return;
	attr = sh_attr(qp);
	attr.uar = c->model.qp[qp->obj.id].uar;
	model_qp_modify(&c->model, qp->obj.id, &attr);
}

/* What the port sends in which order follows other rules now. */
void sh_contention_reclass(struct sh_hca *h)
{
	struct sh_contention *c = h->contention;
	struct model_params p;
	unsigned long i;
	struct sh_qp *qp;

	if (!c)
		return;
	p = c->model.p;
	sh_qos_model(&h->qos, &p.strict, p.weight);
	model_set_params(&c->model, &p);
	xa_for_each(&h->tab[SH_QP].xa, i, qp)
		sh_contention_modify(qp);
	sh_wire_reclass(h);
}

/* The QP was taken for one of another register. False: not while it waits there. */
static bool sh_contention_move(struct sh_qp *qp)
{
	struct sh_contention *c = qp->hca->contention;
	struct model_qp_attr attr = sh_attr(qp);

	return attr.uar == c->model.qp[qp->obj.id].uar ||
	       model_qp_modify(&c->model, qp->obj.id, &attr) != -EBUSY;
}

/* None of what the model has of this QP will be executed. */
void sh_contention_flush(struct sh_qp *qp)
{
	struct sh_contention *c = qp->hca->contention;

	qp->sq_go = qp->sq_pi;
	if (!c)
		return;
	qp->sq_told = qp->sq_pi;
	list_del_init(&qp->on_wait);
	model_qp_flush(&c->model, qp->obj.id);
}

/* --- Doorbells ------------------------------------------------------------ */

/* A register was rung with the WQE of @qpn: so that is whose register it is. A
 * ring that another one covered tells nothing of its QP; if only one register of
 * the page was rung, it must have been that one.
 */
void sh_contention_rang(struct sh_uar *u, struct sh_hca *h, u32 reg, u32 qpn)
{
	struct sh_qp *qp;

	if (!h->contention)
		return;
	qp = sh_find(h, SH_QP, qpn);
	if (!qp || qp->uar != u)
		return;
	qp->reg = reg;
	qp->reg_known = true;
}

/* What the model knows a translation by: a line of them in a memory region. */
static u64 sh_mtt_key(struct sh_hca *h, u32 key, u64 addr)
{
	struct sh_mr *mr = sh_find(h, SH_MKEY, key >> 8);
	u64 page;

	if (!mr)
		return 0;
	if (mr->mode != MLX5_MKC_ACCESS_MODE_MTT || mr->shift < 12 || mr->shift > 40)
		return (u64)mr->obj.id << 32;
	page = (addr - mr->start + (mr->start & ((1ULL << mr->shift) - 1))) >> mr->shift;
	return (u64)mr->obj.id << 32 | (u32)div_u64(page, SH_MTTS_A_LINE);
}

static u64 sh_sgl_key(struct sh_hca *h, const struct sh_sgl *sgl)
{
	if (!sgl->n || sgl->seg[0].inl)
		return 0;
	return sh_mtt_key(h, sgl->seg[0].lkey, sgl->seg[0].addr);
}

/* The model takes no more of this QP now; ask again. */
static void sh_contention_wait(struct sh_qp *qp)
{
	if (list_empty(&qp->on_wait))
		list_add_tail(&qp->on_wait, &qp->hca->contention->waiting);
}

/* The driver finds out whether write combining works by hundreds of NOPs, and gives
 * them a tenth of a second, which is no time where a second is stretched.
 */
static bool sh_contention_spared(struct sh_qp *qp, const struct sh_tx *tx)
{
	if (tx->opcode != MLX5_OPCODE_NOP || qp->sq_go != qp->sq_told)
		return false;
	qp->due[qp->sq_told & ((1U << qp->log_sq) - 1)] = qp->hca->contention->now;
	qp->sq_go += tx->bbs;
	return true;
}

/* Each datagram may go in another class than the last. */
static void sh_contention_class(struct sh_qp *qp, const struct sh_tx *tx)
{
	struct sh_contention *c = qp->hca->contention;
	struct model_qp_attr attr;

	if (sh_qp_connected(qp) || sh_qos_class(qp, tx) == c->model.qp[qp->obj.id].cls)
		return;
	attr = sh_attr(qp);
	attr.uar = c->model.qp[qp->obj.id].uar;
	attr.cls = sh_qos_class(qp, tx);
	model_qp_modify(&c->model, qp->obj.id, &attr);
}

/* What a WQE asks of the NIC: a request slot, or a payload from memory. */
static enum model_op sh_contention_op(const struct sh_tx *tx)
{
	switch (tx->opcode) {
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
		return MODEL_READ;
	case MLX5_OPCODE_NOP:
	case MLX5_OPCODE_UMR:
		return MODEL_INLINE;
	default:
		return tx->sgl.n && tx->sgl.seg[0].inl ? MODEL_INLINE : MODEL_WRITE;
	}
}

/* Tells the model of all WQEs that are new. */
void sh_contention_post(struct sh_qp *qp)
{
	struct sh_contention *c = qp->hca->contention;
	struct sh_tx *tx;
	u64 cookie;

	if (!c) {
		qp->sq_go = qp->sq_pi;
		return;
	}
	if (!qp->reg_known && hweight8(qp->uar->rung) == 1)
		qp->reg = __ffs(qp->uar->rung);
	if (!sh_contention_move(qp)) {
		sh_contention_wait(qp);
		return;
	}
	tx = &c->peek;
	while (qp->sq_told != qp->sq_pi) {
		/* What is wrong with it comes out when it is executed. */
		if (sh_wqe_load_tx(qp, tx, qp->sq_told))
			tx->sgl.len = 0;
		if (sh_contention_spared(qp, tx)) {
			qp->sq_told += tx->bbs;
			continue;
		}
		sh_contention_class(qp, tx);
		cookie = qp->sq_told | (u64)tx->bbs << 16;
		if (model_post(&c->model, qp->obj.id, sh_contention_op(tx),
			       min_t(u64, tx->sgl.len, U32_MAX),
			       sh_sgl_key(qp->hca, &tx->sgl), cookie, c->now) == -ENOBUFS) {
			sh_contention_wait(qp);
			return;
		}
		qp->sq_told += tx->bbs;
	}
}

/* --- Time ----------------------------------------------------------------- */

/* A second counts as stalled from here on, as a ConnectX counts them: NVIDIA,
 * "Understanding mlx5 ethtool Counters", outbound_pci_stalled_rd_events.
 */
#define SH_STALLED_PCT	30

/* What of each second of the guest the units waited for reads over PCI, as a NIC
 * tells it of itself.
 */
static void sh_contention_second(struct sh_contention *c)
{
	u64 stalls = c->model.stats.fetch_ps + c->model.stats.refetch_ps;
	u64 ns = ktime_get_ns(), most;

	if (ns - c->second_ns < NSEC_PER_SEC || c->now == c->second_ps)
		return;
	most = (c->now - c->second_ps) * c->model.p.pus;
	c->stalled_pct = most ? min(100ULL, div64_u64((stalls - c->second_stalls) * 100, most)) : 0;
	c->stalled_seconds += c->stalled_pct > SH_STALLED_PCT;
	c->second_ns = ns;
	c->second_ps = c->now;
	c->second_stalls = stalls;
}

void sh_contention_stalls(const struct sh_hca *h, u32 *percent, u32 *seconds)
{
	*percent = h->contention ? h->contention->stalled_pct : 0;
	*seconds = h->contention ? h->contention->stalled_seconds : 0;
}

/* Everything that is due happens; true if more is, and soon. */
bool sh_contention_run(struct sh_hca *h)
{
	struct sh_contention *c = h->contention;
	struct sh_qp *qp;
	LIST_HEAD(again);
	u64 when;

	if (!c)
		return false;
	c->now = sh_contention_clock(c);
	model_run_until(&c->model, c->now);
	sh_contention_second(c);
	list_splice_init(&c->waiting, &again);
	while (!list_empty(&again) && c->model.free_wr != MODEL_NONE) {
		qp = list_first_entry(&again, struct sh_qp, on_wait);
		list_del_init(&qp->on_wait);
		sh_contention_post(qp);
	}
	list_splice(&again, &c->waiting);
	return model_next(&c->model, &when) &&
	       when < c->now + div_u64(SH_SOON_NS * 1000, c->scale);
}

/* @at, of @h's model, on the clock of @to's: each HCA has one of its own. */
u64 sh_contention_time(const struct sh_hca *h, const struct sh_hca *to, u64 at)
{
	const struct sh_contention *c = h->contention, *there = to->contention;
	s64 ns = c->base_ns + div_s64((s64)(at - c->base_ps) * c->scale, 1000);

	return there->base_ps + div_s64((ns - (s64)there->base_ns) * 1000, there->scale);
}

/* A WQE was executed: how long after its time? */
void sh_contention_executed(struct sh_qp *qp, u16 index)
{
	struct sh_contention *c = qp->hca->contention;
	u64 lag;

	if (!c)
		return;
	lag = sh_contention_clock(c) - qp->due[index & ((1U << qp->log_sq) - 1)];
	c->timed++;
	if (lag <= c->model.p.late_ps)
		return;
	c->late++;
	c->lag_ps += lag;
	c->lag_max_ps = max(c->lag_max_ps, lag);
}

/* --- What else a NIC's resources are used for ----------------------------- */

void sh_contention_command(struct sh_hca *h)
{
	u64 done;

	if (h->contention)
		model_control(&h->contention->model, 0, h->contention->now, &done);
}

/* The responder of a message needs contexts too. */
void sh_contention_received(struct sh_qp *peer, const struct sh_tx *tx, bool rdma, bool cqe)
{
	struct sh_contention *c = peer->hca->contention;
	u64 key;

	if (!c)
		return;
	key = rdma ? sh_mtt_key(peer->hca, tx->rkey, tx->raddr) :
		     sh_sgl_key(peer->hca, &peer->rx->sgl);
	model_touch(&c->model, peer->obj.id, MODEL_QPC, peer->obj.id, c->now);
	if (key && tx->sgl.len)
		model_touch(&c->model, peer->obj.id, MODEL_MTT, key, c->now);
	if (cqe && peer->rcq)
		model_touch(&c->model, peer->obj.id, MODEL_CQC, peer->rcq->obj.id, c->now);
}

void sh_contention_forget_cq(struct sh_cq *cq)
{
	if (cq->hca->contention)
		model_forget(&cq->hca->contention->model, MODEL_CQC, cq->obj.id);
}

void sh_contention_forget_mr(struct sh_hca *h, struct sh_mr *mr)
{
	u32 line = 0;

	if (!h->contention)
		return;
	do
		model_forget(&h->contention->model, MODEL_MTT, (u64)mr->obj.id << 32 | line);
	while (++line * SH_MTTS_A_LINE < mr->nmtt);
}

/* A scheduling element's rate, in Mbit/s, and weight. */
int sh_contention_element(struct sh_hca *h, u32 element, u32 mbps, u32 weight)
{
	if (!h->contention)
		return 0;
	if (sh_false(h, SH_FALSE_SCHED_RATE))
		mbps = 0;
	if (sh_false(h, SH_FALSE_SCHED_WEIGHT))
		weight = 0;
	return model_element_set(&h->contention->model, element, mbps * 1000000ULL, 0, weight);
}
