// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/caps.h"

struct caps caps_here(void)
{
	struct caps caps = { 0 };
	size_t i;

	for (i = 0; i < SIGNALS; i++) {
		caps.signals |= 1ULL << i;
		if (vocab_signals[i].library)
			caps.library |= 1ULL << i;
	}
	for (i = 0; i < vocab_n_policy_knobs; i++) {
		if (vocab_knobs[i].enforcer)
			continue;
		caps.knobs |= 1u << vocab_knobs[i].knob;
		if (vocab_knobs[i].library)
			caps.library_knobs |= 1u << vocab_knobs[i].knob;
	}
	return caps;
}

struct caps caps_without_library(const struct caps *caps)
{
	struct caps less = *caps;

	less.signals &= ~less.library;
	less.library = 0;
	less.knobs &= ~less.library_knobs;
	less.library_knobs = 0;
	return less;
}

#define SIG(id) (1ULL << SIG_##id)

/* Signals, and the figure of a device, or of its ports, that each is computed from. */
static const struct {
	uint64_t field, signals;
} dev_figures[] = {
	{ SNAP_COMMANDS, SIG(DEV_COMMAND_TIME) },
	{ SNAP_CONGESTION, SIG(DEV_DB_CONGESTION) },
	{ SNAP_MTT, SIG(DEV_MTT_MISS) },
	{ SNAP_QPC, SIG(DEV_QPC_MISS) },
	{ SNAP_MTTS, SIG(DEV_MTTS) | SIG(JOB_MTTS) },
	{ SNAP_PCIE, SIG(DEV_PCIE_STALL) },
}, port_figures[] = {
	/* A port's speed may also come from the policy file. */
	{ SNAP_BYTES, SIG(PORT_UTIL) | SIG(PORT_TX_RATE) | SIG(PORT_RX_RATE) },
	{ SNAP_DETAIL, SIG(PORT_PAUSE_RATE) },
	{ SNAP_CNP, SIG(PORT_CNP_RATE) },
};

/* Signals from looks into send queues. */
#define OF_LOOKS (SIG(QP_LATENCY) | SIG(JOB_LATENCY) | SIG(JOB_LATENCY_PREV))

/* Signals from figures that only the module's mlx5 provider has. */
#define OF_MLX5	(SIG(UAR_DOORBELL_RATE) | SIG(QP_DOORBELL_RATE) | SIG(JOB_DOORBELL_RATE) | \
		 SIG(UAR_WR_RATE) | SIG(QP_WR_RATE) | SIG(DEV_ACTIVE_QPS) | \
		 SIG(UAR_ACTIVE_QPS) | SIG(UAR_COACTIVE) | SIG(DEV_MTTS) | SIG(JOB_MTTS) | \
		 OF_LOOKS)

const char *caps_measured_by(enum signal_id sig)
{
	if (sig == SIG_DEV_QPC_MISS)
		return "no ConnectX is known to count it";
	if (vocab_signals[sig].library || sig == SIG_JOB_WR_RATE)
		return "libswiftrdma does, in the process";
	if (OF_MLX5 & 1ULL << sig)
		return "swiftrdma_mlx5.ko does, for a ConnectX";
	if (sig == SIG_PORT_PAUSE_RATE || sig == SIG_PORT_CNP_RATE)
		return "swiftrdma_mlx5.ko does, for a ConnectX whose firmware counts it";
	if (vocab_signals[sig].obj == OBJ_PORT)
		return "the device's driver counts no bytes";
	return "swiftrdma_mlx5.ko does, for a ConnectX whose firmware counts it";
}

const char *caps_enforced_by(unsigned int knob)
{
	const char *enforcer = vocab_knob(knob)->enforcer;

	if (knob == SWIFTRDMA_KNOB_PLACE)
		return "libswiftrdma, on a ConnectX,";
	if (knob == SWIFTRDMA_KNOB_UAR)
		return "libswiftrdma with SWIFTRDMA_MOVE=yes, on a ConnectX,";
	return enforcer ? enforcer : "swiftrdma_mlx5.ko, for a ConnectX with QoS for QPs,";
}

/* True: a port of the device has the figure. */
static bool ports_have(const struct snapshot *snap, uint32_t dev, uint64_t field)
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
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_WRS)) {
		lacks |= SIG(UAR_WR_RATE) | SIG(QP_WR_RATE);
		caps.library |= SIG(JOB_WR_RATE);
	}
	/* Either counter shows that a QP was active. */
	if (!(dev->caps & (SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_WRS)))
		lacks |= SIG(DEV_ACTIVE_QPS) | SIG(UAR_ACTIVE_QPS) | SIG(UAR_COACTIVE);
	/* The sampler that counts WQEBBs also looks into send queues. */
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS))
		lacks |= OF_LOOKS;
	for (i = 0; i < sizeof(port_figures) / sizeof(port_figures[0]); i++)
		if (!ports_have(snap, dev->index, port_figures[i].field))
			lacks |= port_figures[i].signals;
	caps.signals &= ~lacks;
	for (i = 0; i < snap->n_ports; i++)
		if (snap->ports[i].dev == dev->index &&
		    snap_has(&snap->ports[i], SNAP_SPEED))
			caps.speed += (double)snap->ports[i].speed;
	/* Without CAP_UARS a UAR is a user context, so there are no registers to choose from. */
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_UARS)) {
		caps.knobs &= ~(1u << SWIFTRDMA_KNOB_PLACE | 1u << SWIFTRDMA_KNOB_UAR);
		caps.library_knobs &= caps.knobs;
	}
	/* If the device does not limit rates, libswiftrdma enforces job.bit_rate. */
	if (!(dev->caps & SWIFTRDMA_DEV_CAP_RATES)) {
		caps.knobs &= ~(1u << SWIFTRDMA_KNOB_WEIGHT);
		caps.library_knobs |= 1u << SWIFTRDMA_KNOB_BIT_RATE;
	}
	return caps;
}

struct caps caps_all(void)
{
	return (struct caps){ .signals = ~0ULL, .knobs = ~0u };
}

/* Bit per signal that the code reads. */
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

static uint64_t term_reads(const struct prog *p, const struct prog_term *t)
{
	uint64_t reads = 0;
	uint32_t i, o;

	for (o = 0; o < OBJ_KINDS; o++)
		for (i = 0; i < p->n_atoms[o]; i++)
			if (t->need[o] & 1ULL << i)
				reads |= code_reads(p, p->atoms[o][i].code);
	return reads;
}

/* A condition can be decided if all signals of one of its terms are measured. */
enum signal_id caps_lacks(const struct caps *caps, const struct prog *p,
			  const struct cond *c)
{
	enum signal_id first = SIGNALS;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++) {
		uint64_t lacks = term_reads(p, &p->terms[c->terms.first + i]) & ~caps->signals;

		if (!lacks)
			return SIGNALS;
		if (first == SIGNALS)
			first = (enum signal_id)__builtin_ctzll(lacks);
	}
	return first;
}

uint64_t caps_reads(const struct prog *p, const struct cond *c)
{
	uint64_t reads = 0;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++)
		reads |= term_reads(p, &p->terms[c->terms.first + i]);
	return reads;
}
