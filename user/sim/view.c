// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds the snapshots of the simulated device, as io does in the agent. Counters go through
 * the same signal.c. On a device with all signals, the simulator adds the signals that no
 * kernel can measure.
 */
#include "sim/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DECISIONS 256
#define PS_PER_NS 1000ULL
/*
 * Looks into send queues per tick. The module's share of a NIC's commands is 250 a second, and
 * an agent has ten ticks in it.
 */
#define LOOKS 25

/* A device of which the module measures everything that it can. */
static void fill_caps(const struct sim *s, struct snap_dev *dev)
{
	dev->caps = SWIFTRDMA_DEV_CAP_LIVE_CLASS | SWIFTRDMA_DEV_CAP_CONTEXTS;
	dev->has = SNAP_COMMANDS;
	if (s->sc->device == SIM_RXE) {
		strcpy(dev->provider, "rxe");
		dev->caps |= SWIFTRDMA_DEV_CAP_DOORBELLS;
		return;
	}
	strcpy(dev->provider, "mlx5");
	dev->caps |= SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS | SWIFTRDMA_DEV_CAP_UARS |
		     SWIFTRDMA_DEV_CAP_RATES;
	dev->has |= SNAP_MTT | SNAP_MTTS;
}

static int make_snap(struct sim *s, struct snapshot *sn)
{
	const size_t jobs = s->sc->n_jobs + 1;
	struct snap_job_stat *stats;
	size_t i;

	sn->admin = true;
	sn->armed = true;
	sn->devs = calloc(1, sizeof(*sn->devs));
	sn->ports = calloc(1, sizeof(*sn->ports));
	sn->uars = calloc(s->n_uars, sizeof(*sn->uars));
	sn->qps = calloc(s->n_qps, sizeof(*sn->qps));
	sn->jobs = calloc(jobs, sizeof(*sn->jobs));
	sn->owners = calloc(jobs, sizeof(*sn->owners));
	stats = calloc(jobs, sizeof(*stats));
	if (!sn->devs || !sn->ports || !sn->uars || !sn->qps || !sn->jobs ||
	    !sn->owners || !stats) {
		free(stats);
		return -ENOMEM;
	}
	sn->n_devs = 1;
	sn->n_ports = 1;
	sn->n_uars = s->n_uars;
	sn->n_jobs = jobs;
	sn->n_owners = jobs;
	strcpy(sn->devs[0].name, "sim0");
	sn->devs[0].since = 1;
	fill_caps(s, &sn->devs[0]);
	if (s->sc->device == SIM_RXE)
		sn->n_uars = 0;
	sn->ports[0] = (struct snap_port){
		.has = SNAP_BYTES | SNAP_SPEED, .index = 1,
		.speed = s->sc->nic.link_bps,
	};
	strcpy(sn->jobs[0].name, "unassigned");
	for (i = 0; i < jobs; i++) {
		sn->jobs[i].id = (uint32_t)i;
		sn->jobs[i].since = 1;
		sn->jobs[i].stats = &stats[i];
		sn->jobs[i].n_stats = 1;
		/* A job has one process, whose pid is the job's number. */
		sn->owners[i].pid = (uint32_t)i;
		if (!i)
			continue;
		sn->jobs[i].class = s->sc->jobs[i - 1].class;
		memcpy(sn->jobs[i].name, s->sc->jobs[i - 1].name, SNAP_NAME);
	}
	return 0;
}

/* The job whose class is the most sensitive to latency, of those that use QPs of @owner. */
static uint32_t seen_job(const struct sim *s, uint32_t owner)
{
	uint32_t i, job = owner, class, best = s->job[owner].is->class;

	for (i = 0; s->sharing && i < s->sc->n_jobs; i++) {
		class = s->job[i].is->class;
		/* Class 0: none */
		if (s->job[i].owner == owner && class && (!best || class < best)) {
			job = i;
			best = class;
		}
	}
	return job;
}

uint64_t sim_sent(const struct sim *s)
{
	uint64_t sent = 0;
	uint32_t c;

	for (c = 0; c < MODEL_CLASSES; c++)
		sent += s->m.port.cls[c].sent_bytes;
	return sent;
}

/*
 * How many QPs of the job are open even if no WR is outstanding: a QP that no thread uses
 * counts as closed; before its job begins it is not open.
 */
static uint32_t open_qps(const struct sim *s, const struct sim_state *j)
{
	uint64_t ns = s->now / PS_PER_NS;

	return ns >= j->is->start && (!j->is->stop || ns < j->is->stop) ? j->use_qps : 0;
}

/* The overrides in force of a job, as the kernel would list them. */
static void fill_knobs(const struct sim_state *j, struct snap_job_stat *st)
{
	if (j->level)
		st->has |= SNAP_LEVEL;
	if (j->weighed)
		st->has |= SNAP_WEIGHT;
	if (j->element)
		st->has |= SNAP_BIT_RATE;
	if (j->create_rate >= 0)
		st->has |= SNAP_CREATE_RATE;
	if (j->credits)
		st->has |= SNAP_CREDITS;
	if (j->wr_rate > 0)
		st->has |= SNAP_WR_RATE;
	st->level = j->level;
	st->weight = j->weight;
	st->bit_rate = j->bit_rate;
	st->credits = j->credits;
	st->wr_rate = (uint64_t)j->wr_rate;
	st->create_rate = j->create_rate < 0 ? 0 : (uint64_t)j->create_rate;
}

/* A scenario's control verbs create and break connections: each counts as a QP. */
static void fill_controls(const struct sim *s, const struct sim_state *j,
			  struct snap_job_stat *st)
{
	st->creates = j->controls;
	st->rejected = j->refused;
	st->commands = j->controls;
	st->command_time = j->controls * (s->sc->nic.ctrl_ps / PS_PER_NS);
}

static void fill_uars(const struct sim *s, struct snapshot *sn)
{
	uint32_t i;

	for (i = 0; i < sn->n_uars; i++)
		sn->uars[i] = (struct snap_uar){
			.has = SNAP_WRS | SNAP_CONTEXT_ID, .index = i,
			.since = 1, .time = sn->time, .wrs = s->uar[i].wrs,
			.context = s->uar[i].job,
		};
}

/* rxe counts doorbells, one for each work request here, and mlx5 counts WQEs. */
static void fill_jobs(const struct sim *s, struct snapshot *sn)
{
	bool rxe = s->sc->device == SIM_RXE;
	struct snap_job_stat *st;
	uint32_t i;

	sn->devs[0].mtts = 0;
	for (i = 0; i < sn->n_jobs; i++) {
		st = &sn->jobs[i].stats[0];
		sn->jobs[i].time = sn->time;
		st->has = rxe ? SNAP_DOORBELLS | SNAP_COMMANDS :
				SNAP_WRS | SNAP_MTTS | SNAP_COMMANDS;
		st->qps = 0;
		st->wrs = i && !rxe ? s->job[i - 1].wrs : 0;
		st->doorbells = i && rxe ? s->job[i - 1].wrs : 0;
		/* A region of a scenario is one page, and has one translation. */
		st->mtts = i && !rxe ? s->sc->jobs[i - 1].mrs : 0;
		sn->devs[0].mtts += st->mtts;
		if (!i)
			continue;
		fill_knobs(&s->job[i - 1], st);
		fill_controls(s, &s->job[i - 1], st);
	}
}

/* Samples a random QP of the last tick. The next sample follows after a random interval. */
void sim_look(struct sim *s)
{
	const struct snapshot *sn = &s->snap[!s->cur];
	const double mean = (double)s->sc->interval * PS_PER_NS / LOOKS;
	struct sim_qp *qp;
	uint64_t out;
	uint32_t q;

	s->look_at += 1 + (uint64_t)(2 * mean * model_xorshift(&s->look_rng) / UINT32_MAX);
	if (!sn->n_qps)
		return;
	q = sn->qps[(uint64_t)model_xorshift(&s->look_rng) * sn->n_qps >> 32].qpn;
	qp = &s->qp[q];
	out = sim_out(s, q);
	qp->looks++;
	qp->look_sum += out;
	qp->look_squares += out * out;
}

static void fill_qp(const struct sim *s, uint32_t q, uint32_t job, struct snap_qp *to)
{
	const bool rxe = s->sc->device == SIM_RXE;
	const struct model_qp *model = &s->m.qp[q];
	const struct sim_qp *qp = &s->qp[q];
	uint32_t level = model->cls, uar = rxe ? 0 : model->uar;

	/* Nearly all rows have the same QP as before, and only its counts differ. */
	if (to->serial != q + 1 || to->level != level || to->uar != uar)
		*to = (struct snap_qp){
			.has = SNAP_STATE | SNAP_PORT | SNAP_LEVEL | SNAP_OWNER |
			       (rxe ? SNAP_DOORBELLS : SNAP_WRS | SNAP_UAR | SNAP_LOOKS),
			.qpn = q, .serial = q + 1, .state = 3, .type = 2, .port = 1,
			.uar = uar, .job = job, .owner = job, .level = level, .since = 1,
		};
	to->wrs = rxe ? 0 : model->posted;
	to->doorbells = rxe ? model->posted : 0;
	to->outstanding_samples = qp->looks;
	to->outstanding_sum = qp->look_sum;
	to->outstanding_squares = qp->look_squares;
}

static void fill_qps(const struct sim *s, struct snapshot *sn)
{
	const bool rxe = s->sc->device == SIM_RXE;
	uint32_t k, i, q, n = 0;

	for (k = 0; k < s->sc->n_jobs; k++) {
		const struct sim_state *j = &s->job[k];
		uint32_t open = open_qps(s, j), job = 1 + seen_job(s, k);

		for (i = 0; i < j->n_qps; i++) {
			q = j->first_qp + i;
			if (i >= open && !sim_out(s, q))
				continue;
			fill_qp(s, q, job, &sn->qps[n]);
			sn->qps[n++].time = sn->time;
			sn->jobs[job].stats[0].qps++;
			if (!rxe)
				sn->uars[s->m.qp[q].uar].qps++;
		}
	}
	sn->n_qps = n;
}

static void fill_snap(struct sim *s, struct snapshot *sn)
{
	uint64_t ns = s->now / PS_PER_NS;

	sn->time = ns;
	if (s->sc->device != SIM_RXE) {
		sn->devs[0].mtt_hits = s->m.stats.hits[MODEL_MTT];
		sn->devs[0].mtt_misses = s->m.stats.misses[MODEL_MTT];
	}
	fill_uars(s, sn);
	fill_jobs(s, sn);
	fill_qps(s, sn);
	sim_library_fill(s, sn);
	sn->devs[0].qps = (uint32_t)sn->n_qps;
	sn->devs[0].created = s->controls;
	sn->devs[0].time = ns;
	sn->ports[0].tx_bytes = sim_sent(s);
	sn->ports[0].time = ns;
}

static void set_latency(struct sim *s, uint32_t n, uint64_t p99)
{
	struct sim_state *j = &s->job[n];

	signal_set(&s->sig, SIG_JOB_P50, n + 1,
		   (double)sim_hist_quantile(&j->tick, 0.5));
	signal_set(&s->sig, SIG_JOB_P99, n + 1, (double)p99);
	if (j->has_prev)
		signal_set(&s->sig, SIG_JOB_P99_PREV, n + 1,
			   (double)j->p99_prev);
	j->p99_prev = p99;
	j->has_prev = true;
}

static void set_job(struct sim *s, uint32_t n, double dt)
{
	struct sim_state *j = &s->job[n];
	double rate = (double)j->bytes * 8e9 / dt;
	uint64_t p99 = sim_hist_quantile(&j->tick, 0.99);

	sim_judge(s, n, rate, p99);
	if (s->sc->device != SIM_ALL)
		return;
	signal_set(&s->sig, SIG_JOB_BYTE_RATE, n + 1, rate);
	if (j->tick.n)
		set_latency(s, n, p99);
}

static void set_more(struct sim *s, double dt)
{
	const struct snapshot *sn = s->sig.snap;
	uint64_t hits = s->m.stats.hits[MODEL_QPC];
	uint64_t misses = s->m.stats.misses[MODEL_QPC], waits = 0;
	double all;
	uint32_t i;

	for (i = 0; i < sn->n_qps; i++) {
		uint32_t q = sn->qps[i].qpn;
		const struct model_qp *mq = &s->m.qp[q];
		struct sim_qp_tick *tick = &s->qp_tick[q];
		uint64_t done = mq->done - tick->done_before;

		signal_set(&s->sig, SIG_QP_OUTSTANDING, i, (double)sim_out(s, q));
		if (done)
			signal_set(&s->sig, SIG_QP_QUEUE_DELAY, i,
				   (double)(tick->wait_ps / done) / PS_PER_NS);
		*tick = (struct sim_qp_tick){ .done_before = mq->done };
	}
	for (i = 0; i < s->n_uars; i++)
		waits += s->uar[i].waits;
	signal_set(&s->sig, SIG_DEV_DB_CONGESTION, 0,
		   (double)(waits - s->waits_before) * 1e9 / dt);
	all = (double)(hits - s->hits_before + misses - s->misses_before);
	if (all > 0)
		signal_set(&s->sig, SIG_DEV_QPC_MISS, 0,
			   (double)(misses - s->misses_before) / all);
	s->hits_before = hits;
	s->misses_before = misses;
	s->waits_before = waits;
}

static void print_decision(const struct sim *s, const struct policy_decision *d)
{
	if (s->opt->log)
		fprintf(s->opt->log, "%9.3f ms  job %s: %s\n",
			(double)s->now / 1e9, d->job, d->reason);
}

static void write_csv_row(const struct sim *s)
{
	uint32_t i;
	double util = 0;

	if (!s->opt->csv)
		return;
	signal_get(&s->sig, SIG_PORT_UTIL, 0, &util);
	for (i = 0; i < s->sc->n_jobs; i++) {
		const struct sim_state *j = &s->job[i];

		fprintf(s->opt->csv, "%.3f,%s,%.3f,%.3f,%llu,%.4f,%u,%u,%u,%u\n",
			(double)s->now / 1e9, j->is->name,
			(double)sim_hist_quantile(&j->tick, 0.5) / 1000,
			(double)sim_hist_quantile(&j->tick, 0.99) / 1000,
			(unsigned long long)j->done, util, j->level,
			j->weight, j->credits, j->use_qps);
	}
}

int sim_view_init(struct sim *s)
{
	signals_init(&s->sig);
	policy_state_init(&s->state);
	s->out = calloc(DECISIONS, sizeof(*s->out));
	s->look_at = s->sc->device == SIM_RXE ? MODEL_NEVER : s->sc->interval * PS_PER_NS;
	/* Looks have a random sequence of their own, so they do not change the simulated work. */
	s->look_rng = s->rng;
	if (!s->out || make_snap(s, &s->snap[0]) || make_snap(s, &s->snap[1]) ||
	    sim_library_init(s))
		return -ENOMEM;
	if (s->opt->csv)
		fputs("ms,job,p50_us,p99_us,done,port_util,level,weight,credits,qps\n",
		      s->opt->csv);
	return 0;
}

void sim_view_free(struct sim *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct snapshot *sn = &s->snap[i];

		if (sn->jobs)
			free(sn->jobs[0].stats);
		free(sn->devs);
		free(sn->ports);
		free(sn->uars);
		free(sn->qps);
		free(sn->jobs);
		free(sn->owners);
	}
	sim_library_free(s);
	free(s->out);
	signals_free(&s->sig);
	policy_state_free(&s->state);
}

static uint64_t cpu_ns(const struct sim *s)
{
	struct timespec ts;

	if (!s->opt->cost)
		return 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Adds the work of the tick to the results, before sim_age_tick() adds what waits. */
static void add_tick(struct sim *s, uint32_t n)
{
	sim_hist_merge(&s->res->job[n].latency, &s->job[n].tick);
	s->res->job[n].bytes += s->job[n].bytes;
}

int sim_view_tick(struct sim *s)
{
	const struct config *cfg = s->opt->cfg;
	struct signal_opts opts = { 0 };
	struct snapshot *is = &s->snap[s->cur], *was = &s->snap[!s->cur];
	double dt = (double)(s->now - s->looked) / PS_PER_NS;
	size_t n = 0, i;
	uint64_t at[4];

	for (i = 0; s->now > s->warm && i < s->sc->n_jobs; i++)
		add_tick(s, (uint32_t)i);
	sim_age_tick(s);
	fill_snap(s, is);
	at[0] = cpu_ns(s);
	if (signals_reserve(&s->sig, is))
		return -ENOMEM;
	if (cfg)
		opts = config_signal_opts(cfg);
	signals_update(&s->sig, was->time ? was : NULL, is, &opts);
	at[1] = cpu_ns(s);
	if (s->sc->device == SIM_ALL)
		set_more(s, dt);
	for (i = 0; i < s->sc->n_jobs; i++)
		set_job(s, (uint32_t)i, dt);
	at[2] = cpu_ns(s);
	if (cfg && policy_state_reserve(&s->state, &cfg->policies, &s->sig))
		return -ENOMEM;
	if (cfg && was->time)
		n = policy_eval(&cfg->policies, &s->state, &s->sig, is->time,
				s->out, DECISIONS);
	at[3] = cpu_ns(s);
	if (n)
		policy_explain(&cfg->policies, &s->state, &s->sig, s->out, n);
	if (s->opt->cost) {
		s->opt->cost->signals_ns += at[1] - at[0];
		s->opt->cost->policies_ns += at[3] - at[2];
	}
	for (i = 0; i < n; i++) {
		sim_apply(s, &s->out[i]);
		print_decision(s, &s->out[i]);
	}
	s->res->decisions += n;
	write_csv_row(s);
	if (s->opt->on_snapshot && s->opt->on_snapshot(s->opt->on_snapshot_arg, is))
		return -EIO;
	for (i = 0; i < s->sc->n_jobs; i++) {
		memset(&s->job[i].tick, 0, sizeof(s->job[i].tick));
		s->job[i].bytes = 0;
		s->job[i].done = 0;
	}
	s->looked = s->now;
	s->cur = !s->cur;
	return 0;
}
