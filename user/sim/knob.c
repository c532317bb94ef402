// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Applies the decisions of policies to the simulated device and its jobs. */
#include "sim/host.h"

/* Gives QPs the class and the scheduling element of their job. */
static void set_class(struct sim *s, const struct sim_state *j)
{
	const struct sim_state *o = &s->job[j->owner];
	uint32_t i;

	for (i = 0; i < o->n_qps; i++) {
		struct model_qp_attr attr = {
			.qpn = o->first_qp + i, .uar = s->m.qp[o->first_qp + i].uar,
			.cq = o->first_qp + i, .element = o->element, .reads = MODEL_READS,
			.cls = (uint8_t)(j->level < 8 ? j->level : 7),
		};

		model_qp_modify(&s->m, o->first_qp + i, &attr);
	}
}

/* A job has a scheduling element of its own while it has a limit or a share. */
static void set_element(struct sim *s, struct sim_state *j, uint32_t weight)
{
	bool needed = j->bit_rate || weight;

	j->element = needed ? 1 + (uint32_t)(j - s->job) : 0;
	if (needed)
		model_element_set(&s->m, j->element, j->bit_rate, 0, weight ? weight : 1);
	set_class(s, j);
}

/* With libswiftrdma a weight divides a shared QP; on a ConnectX it divides the port. */
static void set_weight(struct sim *s, struct sim_state *j, uint32_t weight, bool release)
{
	j->weight = weight ? weight : 1;
	j->weighed = !release;
	if (sim_is_mlx5(s->sc->device))
		set_element(s, j, release ? 0 : weight);
}

/* The QP moves at its next post. */
static void set_uar(struct sim *s, uint32_t q, uint32_t uar)
{
	struct sim_qp *qp = &s->qp[q];
	uint32_t is = s->m.qp[q].uar;

	s->moving += (uar != is) - (qp->want != is);
	qp->want = uar;
}

static void set_qps(struct sim *s, struct sim_state *j, uint32_t qps)
{
	/* Threads change their QP at their next post. */
	j = &s->job[j->owner];
	sim_use_qps(j, !qps ? j->is->used : qps < j->n_qps ? qps : j->n_qps);
}

static bool processes_obey(const struct sim *s)
{
	return s->sc->device == SIM_ALL || sim_has_library(s->sc->device);
}

void sim_apply(struct sim *s, const struct policy_decision *d)
{
	uint32_t job = scenario_job(s->sc, d->job), v = d->release ? 0 : (uint32_t)d->new;
	struct sim_state *j;

	if (job == SIM_NO_JOB)
		return;
	j = &s->job[job];
	switch (d->knob) {
	case SWIFTRDMA_KNOB_LEVEL:
		j->level = v;
		set_class(s, j);
		break;
	case SWIFTRDMA_KNOB_CREATE_RATE:
		j->create_rate = d->release ? -1 : d->new;
		break;
	case SWIFTRDMA_KNOB_WEIGHT:
		if (s->sc->device != SIM_RXE)
			set_weight(s, j, v, d->release);
		break;
	case SWIFTRDMA_KNOB_BIT_RATE:
		if (s->sc->device == SIM_RXE)
			break;
		j->bit_rate = d->release ? 0 : (uint64_t)d->new;
		set_element(s, j, sim_is_mlx5(s->sc->device) && j->weighed ? j->weight : 0);
		break;
	/* libswiftrdma enforces these. */
	case SWIFTRDMA_KNOB_CREDITS:
		if (!processes_obey(s))
			break;
		j->credits = v;
		j->most = v ? v : UINT32_MAX;
		sim_wake_job(s, job);
		break;
	case SWIFTRDMA_KNOB_WR_RATE:
		if (!processes_obey(s))
			break;
		j->wr_rate = d->release ? 0 : d->new;
		j->next_begin = s->now;
		sim_wake_job(s, job);
		break;
	/* The UAR that the decision names is the lightest, which the library would take. */
	case SWIFTRDMA_KNOB_UAR:
		if (processes_obey(s) && !d->release && d->qpn < s->n_qps && v < s->n_uars)
			set_uar(s, d->qpn, v);
		break;
	/* Only the device "all" enforces this. */
	case SWIFTRDMA_KNOB_QPS:
		if (s->sc->device == SIM_ALL)
			set_qps(s, j, v);
		break;
	}
}
