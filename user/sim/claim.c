// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "sim/claim.h"

#include "base/text.h"

static bool figure_of(const struct sim_bound *b, const struct sim_result *res, double *v)
{
	const struct sim_job_result *j = &res->job[b->job];

	if (!res->measured)
		return false;
	switch (b->figure) {
	case SIM_P99:
		*v = (double)sim_hist_quantile(&j->latency, 0.99);
		return j->latency.n >= SIM_SAMPLES;
	case SIM_WR_RATE:
		*v = (double)j->done * 1e9 / (double)res->measured;
		return j->latency.n >= SIM_SAMPLES;
	case SIM_BYTE_RATE:
		*v = (double)j->bytes * 8e9 / (double)res->measured;
		return j->latency.n >= SIM_SAMPLES;
	case SIM_SLO_MET:
		*v = j->ticks ? (double)j->met / j->ticks : 0;
		return j->ticks >= SIM_TICKS;
	case SIM_MISSES:
		*v = res->qpc_miss;
		return res->lookups >= SIM_SAMPLES;
	case SIM_PORT:
		*v = res->tx_bps;
		return true;
	case SIM_FIGURES:
		break;
	}
	return false;
}

bool sim_figure(const struct sim_bound *b, const struct sim_result *without,
		const struct sim_result *with, double *v)
{
	double before, after;

	if (b->of == SIM_WITHOUT)
		return figure_of(b, without, v);
	if (b->of == SIM_WITH)
		return figure_of(b, with, v);
	if (!figure_of(b, without, &before) || !figure_of(b, with, &after) ||
	    before <= 0 || after <= 0)
		return false;
	/* A lower latency is better. */
	*v = b->figure == SIM_P99 ? before / after : after / before;
	return true;
}

int sim_run_both(const struct scenario *sc, const struct config *cfg,
		 struct sim_result *without, struct sim_result *with)
{
	struct sim_options opt = { 0 };
	int err = sim_run(sc, &opt, without);

	opt.cfg = cfg;
	return err ? err : sim_run(sc, &opt, with);
}

bool sim_holds(const struct sim_bound *b, const struct sim_result *without,
	       const struct sim_result *with)
{
	double v;

	return sim_figure(b, without, with, &v) && v >= b->at_least && v <= b->at_most;
}

enum unit sim_bound_unit(const struct sim_bound *b)
{
	static const enum unit units[SIM_FIGURES] = {
		[SIM_P99] = UNIT_TIME, [SIM_WR_RATE] = UNIT_RATE,
		[SIM_BYTE_RATE] = UNIT_BITRATE, [SIM_SLO_MET] = UNIT_RATIO,
		[SIM_MISSES] = UNIT_RATIO, [SIM_PORT] = UNIT_BITRATE,
	};

	return b->of == SIM_GAIN ? UNIT_COUNT : units[b->figure];
}

const char *sim_bound_text(const struct scenario *sc, const struct sim_bound *b,
			   const struct sim_result *without,
			   const struct sim_result *with, char *buf, size_t cap)
{
	static const char *const words[SIM_FIGURES] = {
		[SIM_P99] = "p99 of ", [SIM_WR_RATE] = "requests of ",
		[SIM_BYTE_RATE] = "data of ", [SIM_SLO_MET] = "ticks that meet the targets of ",
		[SIM_MISSES] = "QP context misses", [SIM_PORT] = "sent by the port",
	};
	static const char *const runs[] = {
		[SIM_WITHOUT] = ", without: ", [SIM_WITH] = ", with: ",
		[SIM_GAIN] = ", times better with than without: ",
	};
	struct text t;
	double v;

	text_init(&t, buf, cap);
	text_str(&t, words[b->figure]);
	if (sim_figure_of_job(b->figure))
		text_str(&t, sc->jobs[b->job].name);
	text_str(&t, runs[b->of]);
	if (sim_figure(b, without, with, &v))
		units_format(&t, v, sim_bound_unit(b));
	else
		text_str(&t, "void, too few samples");
	if (b->at_least > 0) {
		text_str(&t, ", at least ");
		units_format(&t, b->at_least, sim_bound_unit(b));
	}
	if (b->at_most < SIM_UNBOUNDED) {
		text_str(&t, ", at most ");
		units_format(&t, b->at_most, sim_bound_unit(b));
	}
	return buf;
}
