// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What policies see of the simulated device and what their decisions do to it:
 * the place that io has in the agent. Counters go through the same signals.c;
 * what the kernel cannot tell, and here is known, is set on top.
 */
#include "sim/host.h"
#include "sim/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DECISIONS 256
#define PS_PER_NS 1000ULL

static int make_snap(struct sim *s, struct snapshot *sn)
{
	const size_t jobs = s->sc->n_jobs + 1;
	struct snap_job_stat *stats;
	size_t i;

	sn->admin = true;
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
	sn->devs[0].has = SNAP_MTT | SNAP_MTTS;
	sn->devs[0].since = 1;
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
		stats[i].has = SNAP_WRS | SNAP_MTTS;
		if (!i)
			continue;
		sn->jobs[i].class = s->sc->jobs[i - 1].class;
		memcpy(sn->jobs[i].name, s->sc->jobs[i - 1].name, SNAP_NAME);
	}
	return 0;
}

/* A QP that several jobs share counts as that of the one that suffers in it. */
static uint32_t seen_job(const struct sim *s, const struct sim_qp *qp)
{
	uint32_t i, job = qp->job;

	for (i = 0; s->sharing && i < s->sc->n_jobs; i++)
		if (s->job[i].owner == qp->job && s->job[i].is->class &&
		    s->job[i].is->class < s->job[job].is->class)
			job = i;
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

/* One that no thread uses is as good as closed, and before it begins not open. */
static bool is_open(const struct sim *s, uint32_t q)
{
	const struct sim_qp *qp = &s->qp[q];
	const struct sim_state *j = &s->job[qp->job];
	uint64_t ns = s->now / PS_PER_NS;

	if (qp->out)
		return true;
	return q - j->first_qp < j->use_qps && ns >= j->is->start &&
	       (!j->is->stop || ns < j->is->stop);
}

/* What the kernel would say is in force of a job. */
static void fill_knobs(const struct sim_state *j, struct snap_job_stat *st)
{
	st->has = SNAP_WRS | SNAP_MTTS | SNAP_COMMANDS;
	if (j->level)
		st->has |= SNAP_LEVEL;
	if (j->weighed)
		st->has |= SNAP_WEIGHT;
	if (j->element)
		st->has |= SNAP_BIT_RATE;
	if (j->create_rate >= 0)
		st->has |= SNAP_CREATE_RATE;
	st->level = j->level;
	st->weight = j->weight;
	st->bit_rate = j->bit_rate;
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

static void fill_snap(struct sim *s, struct snapshot *sn)
{
	uint64_t ns = s->now / PS_PER_NS;
	uint32_t i, n = 0;

	sn->time = ns;
	sn->devs[0].mtts = 0;
	sn->devs[0].mtt_hits = s->m.stats.hits[MODEL_MTT];
	sn->devs[0].mtt_misses = s->m.stats.misses[MODEL_MTT];
	for (i = 0; i < s->n_uars; i++)
		sn->uars[i] = (struct snap_uar){
			.has = SNAP_WRS | SNAP_CONTEXT_ID, .index = i,
			.since = 1, .time = ns, .wrs = s->uar[i].wrs,
			.context = s->uar[i].job,
		};
	for (i = 0; i < sn->n_jobs; i++) {
		sn->jobs[i].time = ns;
		sn->jobs[i].stats[0].qps = 0;
		sn->jobs[i].stats[0].wrs = i ? s->job[i - 1].wrs : 0;
		/* A region of a scenario is one page, and has one translation. */
		sn->jobs[i].stats[0].mtts = i ? s->sc->jobs[i - 1].mrs : 0;
		sn->devs[0].mtts += sn->jobs[i].stats[0].mtts;
		if (!i)
			continue;
		fill_knobs(&s->job[i - 1], &sn->jobs[i].stats[0]);
		fill_controls(s, &s->job[i - 1], &sn->jobs[i].stats[0]);
	}
	for (i = 0; i < s->n_qps; i++) {
		const struct sim_qp *qp = &s->qp[i];
		uint32_t job = 1 + seen_job(s, qp);

		if (!is_open(s, i))
			continue;
		sn->qps[n++] = (struct snap_qp){
			.has = SNAP_WRS | SNAP_STATE | SNAP_PORT | SNAP_UAR |
			       SNAP_LEVEL | SNAP_OWNER,
			.qpn = i, .serial = i + 1, .state = 3, .type = 2,
			.port = 1, .uar = qp->uar, .job = job, .owner = job,
			.level = s->job[qp->job].level, .wrs = qp->wrs,
			.since = 1, .time = ns,
		};
		sn->uars[qp->uar].qps++;
		sn->jobs[job].stats[0].qps++;
	}
	sn->n_qps = n;
	sn->devs[0].qps = n;
	sn->devs[0].created = s->controls;
	sn->devs[0].time = ns;
	sn->ports[0].tx_bytes = sim_sent(s);
	sn->ports[0].time = ns;
}

/*
 * What was promised is looked at in the ticks in which it could be kept: not before
 * the job begins or after it has stopped. Where nothing came to an end, that says
 * something of the rate alone.
 */
static void judge(struct sim *s, uint32_t n, double rate, uint64_t p99)
{
	struct sim_job_result *r = &s->res->job[n];
	const struct sim_job *is = s->job[n].is;
	uint64_t now = s->now / PS_PER_NS;

	if (s->now <= s->warm || !sim_promised(is) ||
	    now < is->start + s->sc->interval || (is->stop && now > is->stop) ||
	    (!s->job[n].tick.n && is->slo_byte_rate <= 0))
		return;
	r->ticks++;
	r->met += (!is->slo_p99 || p99 <= is->slo_p99) &&
		  rate >= is->slo_byte_rate;
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
	double rate = (double)j->bytes_done * 8e9 / dt;
	uint64_t p99 = sim_hist_quantile(&j->tick, 0.99);

	signal_set(&s->sig, SIG_JOB_BYTE_RATE, n + 1, rate);
	if (j->is->slo_p99)
		signal_set(&s->sig, SIG_JOB_SLO_P99, n + 1,
			   (double)j->is->slo_p99);
	if (j->is->slo_byte_rate > 0)
		signal_set(&s->sig, SIG_JOB_SLO_BYTE_RATE, n + 1,
			   j->is->slo_byte_rate);
	if (j->tick.n)
		set_latency(s, n, p99);
	judge(s, n, rate, p99);
}

static void set_more(struct sim *s)
{
	const struct snapshot *sn = s->sig.snap;
	uint64_t hits = s->m.stats.hits[MODEL_QPC];
	uint64_t misses = s->m.stats.misses[MODEL_QPC], waits = 0;
	double dt = (double)s->sc->interval, all;
	uint32_t i;

	for (i = 0; i < sn->n_qps; i++) {
		struct sim_qp *qp = &s->qp[sn->qps[i].qpn];
		uint64_t done = qp->done - qp->done_before;

		signal_set(&s->sig, SIG_QP_OUTSTANDING, i, qp->out);
		if (done)
			signal_set(&s->sig, SIG_QP_QUEUE_DELAY, i,
				   (double)(qp->wait_ps / done) / PS_PER_NS);
		qp->done_before = qp->done;
		qp->wait_ps = 0;
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
	for (i = 0; i < s->sc->n_jobs; i++)
		set_job(s, i, dt);
}

/* --- Knobs ------------------------------------------------------------------------ */

static void set_class(struct sim *s, const struct sim_state *j)
{
	const struct sim_state *o = &s->job[j->owner];
	uint32_t i;

	for (i = 0; i < o->n_qps; i++) {
		const struct sim_qp *qp = &s->qp[o->first_qp + i];
		struct model_qp_attr attr = {
			.qpn = o->first_qp + i, .uar = qp->uar,
			.cq = o->first_qp + i, .element = o->element, .reads = MODEL_READS,
			.cls = (uint8_t)(j->level < 8 ? j->level : 7),
		};

		model_qp_modify(&s->m, o->first_qp + i, &attr);
	}
}

static void apply(struct sim *s, const struct policy_decision *d)
{
	struct sim_state *j = NULL;
	uint32_t i, v = d->release ? 0 : (uint32_t)d->new;

	for (i = 0; i < s->sc->n_jobs; i++)
		if (!strcmp(s->sc->jobs[i].name, d->job))
			j = &s->job[i];
	if (!j)
		return;
	switch (d->knob) {
	case SWIFTRDMA_KNOB_LEVEL:
		j->level = v;
		set_class(s, j);
		break;
	case SWIFTRDMA_KNOB_WEIGHT:
		j->weight = v ? v : 1;
		j->weighed = !d->release;
		break;
	case SWIFTRDMA_KNOB_CREDITS:
		j->credits = v;
		sim_wake_job(s, (uint32_t)(j - s->job));
		break;
	case SWIFTRDMA_KNOB_QPS:
		/* Threads go over when they post next. */
		j = &s->job[j->owner];
		sim_use_qps(j, !v ? j->is->used : v < j->n_qps ? v : j->n_qps);
		break;
	case SWIFTRDMA_KNOB_CREATE_RATE:
		j->create_rate = d->release ? -1 : d->new;
		break;
	case SWIFTRDMA_KNOB_BIT_RATE:
		/* A scheduling element of its own, as long as it has a limit. */
		j->element = d->release ? 0 : 1 + (uint32_t)(j - s->job);
		j->bit_rate = d->release ? 0 : (uint64_t)d->new;
		if (j->element)
			model_element_set(&s->m, j->element, j->bit_rate, 0, 1);
		set_class(s, j);
		break;
	case SWIFTRDMA_KNOB_UAR:
		if (!d->release && d->qpn < s->n_qps && v < s->n_uars)
			s->qp[d->qpn].want = v;
		break;
	}
}

static void say(const struct sim *s, const struct policy_decision *d)
{
	if (s->opt->log)
		fprintf(s->opt->log, "%9.3f ms  job %s: %s\n",
			(double)s->now / 1e9, d->job, d->reason);
}

static void csv(const struct sim *s)
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
			(unsigned long long)j->tick.n, util, j->level,
			j->weight, j->credits, j->use_qps);
	}
}

int sim_view_init(struct sim *s)
{
	signals_init(&s->sig);
	policy_state_init(&s->state);
	s->out = calloc(DECISIONS, sizeof(*s->out));
	if (!s->out || make_snap(s, &s->snap[0]) || make_snap(s, &s->snap[1]))
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

int sim_view_tick(struct sim *s)
{
	const struct config *cfg = s->opt->cfg;
	struct signal_opts opts = { .tau = 2 * s->sc->interval };
	struct snapshot *is = &s->snap[s->cur], *was = &s->snap[!s->cur];
	size_t n = 0, i;
	uint64_t at[4];

	fill_snap(s, is);
	at[0] = cpu_ns(s);
	if (signals_reserve(&s->sig, is))
		return -ENOMEM;
	if (cfg)
		opts.slos = cfg->slos;
	if (cfg)
		opts.n_slos = cfg->n_slos;
	signals_update(&s->sig, was->time ? was : NULL, is, &opts);
	at[1] = cpu_ns(s);
	set_more(s);
	at[2] = cpu_ns(s);
	if (cfg && policy_state_reserve(&s->state, &cfg->policies, &s->sig))
		return -ENOMEM;
	if (cfg && was->time)
		n = policy_eval(&cfg->policies, &s->state, &s->sig, is->time,
				s->out, DECISIONS);
	at[3] = cpu_ns(s);
	if (s->opt->cost) {
		s->opt->cost->signals_ns += at[1] - at[0];
		s->opt->cost->policies_ns += at[3] - at[2];
	}
	for (i = 0; i < n; i++) {
		apply(s, &s->out[i]);
		say(s, &s->out[i]);
	}
	s->res->decisions += n;
	csv(s);
	if (s->opt->record && record_write(s->opt->record, is))
		return -EIO;
	for (i = 0; i < s->sc->n_jobs; i++) {
		memset(&s->job[i].tick, 0, sizeof(s->job[i].tick));
		s->job[i].bytes_done = 0;
	}
	s->cur = !s->cur;
	return 0;
}
