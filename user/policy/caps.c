// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/caps.h"

struct caps caps_here(void)
{
	struct caps caps = { 0 };
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (vocab_signals[i].measured)
			caps.signals |= 1ULL << i;
	for (i = 0; i < vocab_n_policy_knobs; i++)
		if (!vocab_knobs[i].enforcer)
			caps.knobs |= 1u << vocab_knobs[i].knob;
	return caps;
}

#define SIG(id) (1ULL << SIG_##id)

/* Signals that rest on a figure, and the figure. */
static const struct {
	uint64_t field, signals;
} dev_figures[] = {
	{ SNAP_CONGESTION, SIG(DEV_DB_CONGESTION) },
	{ SNAP_MTT, SIG(DEV_MTT_MISS) },
	{ SNAP_QPC, SIG(DEV_QPC_MISS) },
	{ SNAP_MTTS, SIG(DEV_MTTS) | SIG(JOB_MTTS) },
};

/* Figures of mlx5's that the module gets by its provider. */
#define OF_MLX5	(SIG(UAR_DOORBELL_RATE) | SIG(QP_DOORBELL_RATE) | SIG(JOB_DOORBELL_RATE) | \
		 SIG(UAR_WR_RATE) | SIG(QP_WR_RATE) | SIG(JOB_WR_RATE) | SIG(DEV_ACTIVE_QPS) | \
		 SIG(UAR_ACTIVE_QPS) | SIG(UAR_COACTIVE) | SIG(DEV_MTTS) | SIG(JOB_MTTS))

const char *caps_teller(enum signal_id sig)
{
	if (sig == SIG_DEV_QPC_MISS)
		return "no ConnectX is known to count it";
	if (!vocab_signals[sig].measured)
		return "libswiftrdma would, in the process";
	if (OF_MLX5 & 1ULL << sig)
		return "swiftrdma_mlx5.ko does, for a ConnectX";
	if (vocab_signals[sig].obj == OBJ_PORT)
		return "the device's driver counts no bytes";
	return "swiftrdma_mlx5.ko does, for a ConnectX whose firmware counts it";
}

const char *caps_enforcer(unsigned int knob)
{
	const char *who = vocab_knob(knob)->enforcer;

	return who ? who : "swiftrdma_mlx5.ko, for a ConnectX with QoS for QPs,";
}

static bool ports_have(const struct snapshot *snap, uint32_t dev,
		       uint64_t field)
{
	size_t i;

	for (i = 0; i < snap->n_ports; i++)
		if (snap->ports[i].dev == dev && snap->ports[i].has & field)
			return true;
	return false;
}

struct caps caps_dev(const struct snapshot *snap, const struct snap_dev *dev)
{
	struct caps caps = caps_here();
	uint64_t lacks = 0;
	size_t i;

	for (i = 0; i < sizeof(dev_figures) / sizeof(dev_figures[0]); i++)
		if (!(dev->has & dev_figures[i].field))
			lacks |= dev_figures[i].signals;
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS))
		lacks |= SIG(UAR_DOORBELL_RATE) | SIG(QP_DOORBELL_RATE) |
			 SIG(JOB_DOORBELL_RATE);
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_WRS))
		lacks |= SIG(UAR_WR_RATE) | SIG(QP_WR_RATE) | SIG(JOB_WR_RATE);
	/* Whether a QP did something is told by either. */
	if (!(dev->caps & (SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_WRS)))
		lacks |= SIG(DEV_ACTIVE_QPS) | SIG(UAR_ACTIVE_QPS) |
			 SIG(UAR_COACTIVE);
	/* Its speed may also be the file's word. */
	if (!ports_have(snap, dev->index, SNAP_BYTES))
		lacks |= SIG(PORT_UTIL) | SIG(PORT_TX_RATE) | SIG(PORT_RX_RATE);
	caps.signals &= ~lacks;
	for (i = 0; i < snap->n_ports; i++)
		if (snap->ports[i].dev == dev->index &&
		    snap_has(&snap->ports[i], SNAP_SPEED))
			caps.speed += (double)snap->ports[i].speed;
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_RATES))
		caps.knobs &= ~(1u << SWIFTRDMA_KNOB_BIT_RATE |
				1u << SWIFTRDMA_KNOB_WEIGHT);
	return caps;
}

struct caps caps_all(void)
{
	return (struct caps){ .signals = ~0ULL, .knobs = ~0u };
}

static enum signal_id code_lacks(const struct caps *caps, const struct prog *p,
				 struct prog_code code)
{
	enum signal_id sig;
	uint32_t i;

	for (i = 0; i < code.n; i++) {
		const struct prog_ins *in = &p->ins[code.first + i];

		if (in->op == PROG_SIGNAL && !(caps->signals & 1ULL << in->arg))
			return in->arg;
		if (in->op != PROG_AGG)
			continue;
		sig = code_lacks(caps, p, p->aggs[in->arg].value);
		if (sig == SIGNALS)
			sig = code_lacks(caps, p, p->aggs[in->arg].where);
		if (sig != SIGNALS)
			return sig;
	}
	return SIGNALS;
}

static enum signal_id term_lacks(const struct caps *caps, const struct prog *p,
				 const struct prog_term *t)
{
	enum signal_id sig;
	uint32_t i, o;

	for (o = 0; o < OBJ_KINDS; o++)
		for (i = 0; i < p->n_atoms[o]; i++) {
			if (!(t->need[o] & 1ULL << i))
				continue;
			sig = code_lacks(caps, p, p->atoms[o][i].code);
			if (sig != SIGNALS)
				return sig;
		}
	return SIGNALS;
}

/* One alternative that can be told is enough. */
enum signal_id caps_lacks(const struct caps *caps, const struct prog *p,
			  const struct cond *c)
{
	enum signal_id first = SIGNALS, sig;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++) {
		sig = term_lacks(caps, p, &p->terms[c->terms.first + i]);
		if (sig == SIGNALS)
			return sig;
		if (first == SIGNALS)
			first = sig;
	}
	return first;
}

static uint64_t code_reads(const struct prog *p, struct prog_code code)
{
	uint64_t reads = 0;
	uint32_t i;

	for (i = 0; i < code.n; i++) {
		const struct prog_ins *in = &p->ins[code.first + i];

		if (in->op == PROG_SIGNAL)
			reads |= 1ULL << in->arg;
		if (in->op == PROG_AGG)
			reads |= code_reads(p, p->aggs[in->arg].value) |
				 code_reads(p, p->aggs[in->arg].where);
	}
	return reads;
}

uint64_t caps_reads(const struct prog *p, const struct cond *c)
{
	uint64_t reads = 0;
	uint32_t i, o, a;

	for (i = 0; i < c->terms.n; i++) {
		const struct prog_term *t = &p->terms[c->terms.first + i];

		for (o = 0; o < OBJ_KINDS; o++)
			for (a = 0; a < p->n_atoms[o]; a++)
				if (t->need[o] & 1ULL << a)
					reads |= code_reads(p, p->atoms[o][a].code);
	}
	return reads;
}
