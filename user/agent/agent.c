// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/log.h"

#define NSEC_PER_MSEC 1000000ULL
#define SETTINGS_TICKS 10

void agent_init(struct agent *a, const struct agent_options *opt,
		struct config *cfg)
{
	memset(a, 0, sizeof(*a));
	a->opt = *opt;
	a->cfg = *cfg;
	a->cfg.policies.lightest_by_process = true;
	memset(cfg, 0, sizeof(*cfg));
	a->events_fd = -1;
	a->published = -1;
	signals_init(&a->sig);
	crowd_init(&a->crowd);
	policy_state_init(&a->state);
	a->state.at_once = opt->once;
}

static void disconnect_module(struct agent *a)
{
	if (a->io)
		io_close(a->io);
	a->io = NULL;
	a->events_fd = -1;
	a->readings = 0;
	a->lease = 0;
	a->n_due = 0;
	agent_settings_lost(a);
	/*
	 * When the module is back, agent_take_over() takes over the overrides that are in force
	 * then: none after a reload, all of them if the module refused its disarm.
	 */
	policy_state_free(&a->state);
	a->taken_over = false;
	a->state.at_once = a->opt.once;
}

void agent_free(struct agent *a)
{
	agent_unpublish(a);
	disconnect_module(a);
	snapshot_free(&a->snap[0]);
	snapshot_free(&a->snap[1]);
	signals_free(&a->sig);
	crowd_free(&a->crowd);
	free(a->settings.is);
	free(a->settings.want);
	policy_state_free(&a->state);
	config_free(&a->cfg);
}

uint64_t agent_interval(const struct agent *a)
{
	return a->opt.interval ? a->opt.interval : a->cfg.interval;
}

static int note_module_away(struct agent *a, const char *why)
{
	if (!a->away_said)
		log_msg(LOG_WARNING, "swiftrdma.ko is away%s: %s",
			a->opt.once ? "" : ", waiting for it", why);
	a->away_said = true;
	disconnect_module(a);
	return -ENODEV;
}

/*
 * A disarmed module answers as if all devices had been removed, so policies must not act on its
 * answers. A module that is still being disarmed gives the same answers. If it refuses the disarm,
 * its leases stay alive, and the agent takes over its own overrides again.
 */
static int leave_disarmed(struct agent *a)
{
	return note_module_away(a, "it is disarmed, or being disarmed, and takes no changes until it is loaded anew or the disarm is refused");
}

static int connect_module(struct agent *a)
{
	int err = io_open(&a->io);

	/* note_module_away() also closes a connection that failed to open. */
	if (err < 0)
		return note_module_away(a, err == -ENOENT ?
				  "it is not loaded ('modprobe swiftrdma'; at each start, a line 'swiftrdma' in /etc/modules-load.d/swiftrdma.conf)" :
				  strerror(-err));
	if (io_armed(a->io) == -ESHUTDOWN)
		return leave_disarmed(a);
	a->events_fd = io_events_open(a->io);
	if (a->events_fd < 0) {
		log_msg(LOG_WARNING, "no events, results will not be logged: %s",
			io_error(a->io));
		a->events_fd = -1;
	}
	if (a->away_said)
		log_msg(LOG_INFO, "swiftrdma.ko is back");
	a->away_said = false;
	a->need_sync = true;
	a->readings = 0;
	a->hint_from = 0;
	return 0;
}

/* The kernel has no floating point: it keeps readings in millionths. */
static void to_reading(const struct policy_reading *from, struct snap_reading *to)
{
	double v = from->v * 1e6;
	struct text t;

	text_init(&t, to->signal, sizeof(to->signal));
	text_str(&t, vocab_signals[from->sig].name);
	to->known = from->v == from->v;
	if (!to->known)
		return;
	/* The greatest double below 2^63. */
	v = v > 9223372036854774784.0 ? 9223372036854774784.0 :
	    v < -9223372036854774784.0 ? -9223372036854774784.0 : v;
	to->value = (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

static void to_decision(const struct agent *a, const struct policy_decision *d,
			struct snap_decision *to)
{
	const struct policy_seen *seen = &d->seen;
	unsigned int i;

	memcpy(to->policy, a->cfg.policies.v[d->policy].name,
	       sizeof(to->policy));
	to->tick = d->tick;
	to->cooldown = d->cooldown;
	to->steps_left = d->steps_left;
	to->acts_left = d->acts_left;
	to->dev = seen->dev_index;
	to->port = seen->port;
	to->uar = seen->uar;
	to->qpn = seen->qpn;
	to->has = (d->cooldown ? SNAP_COOLDOWN : 0) |
		  (d->steps_left != UINT32_MAX ? SNAP_STEPS_LEFT : 0) |
		  (d->acts_left != UINT32_MAX ? SNAP_ACTS_LEFT : 0) |
		  (seen->has_dev ? SNAP_SEEN_DEV : 0) |
		  (seen->has_port ? SNAP_SEEN_PORT : 0) |
		  (seen->has_uar ? SNAP_SEEN_UAR : 0) |
		  (seen->has_qp ? SNAP_SEEN_QP : 0);
	for (i = 0; i < seen->n_values; i++)
		to_reading(&seen->values[i], &to->readings[i]);
	to->n_readings = seen->n_values;
}

static void to_action(const struct agent *a, const struct policy_decision *d,
		      struct snap_action *act)
{
	memset(act, 0, sizeof(*act));
	act->knob = d->knob;
	act->clear = d->release;
	act->value = d->release ? 0 : (uint64_t)d->new;
	if (d->has_qp) {
		act->has_dev = true;
		act->dev = d->dev_index;
		act->qpn = d->qpn;
		act->serial = d->serial;
	} else {
		memcpy(act->job, d->job, sizeof(act->job));
	}
	memcpy(act->reason, d->reason, sizeof(act->reason));
	to_decision(a, d, &act->decision);
}

/* ns. At least three ticks, also if the command line set a longer tick. */
uint64_t agent_lease_life(const struct agent *a)
{
	uint64_t least = 3 * agent_interval(a);

	return a->cfg.lease > least ? a->cfg.lease : least;
}

/* Ending the lease releases its overrides. */
static int end_lease(struct agent *a)
{
	int err = io_act(a->io, &a->lease, 0, 0, AGENT_ORIGIN, NULL, 0, NULL);

	a->lease = 0;
	return err;
}

static int send_batch(struct agent *a, const struct policy_decision *d,
		      size_t n, uint64_t *batch)
{
	uint32_t ttl = (uint32_t)(agent_lease_life(a) / NSEC_PER_MSEC);
	size_t i;
	int err;

	for (i = 0; i < n; i++)
		to_action(a, &d[i], &a->batch[i]);
	*batch = 0;
	err = io_act(a->io, &a->lease, ttl, a->cfg.rank, AGENT_ORIGIN,
		     a->batch, n, batch);
	if (err < 0)
		return err;
	a->renewed = a->snap[a->cur].time;
	agent_due_add(a, *batch, n);
	a->acts += n;
	return 0;
}

/*
 * The kernel takes a batch whole or not at all. One bad item, say of a job
 * that was removed a moment ago, must not keep the others from being done.
 */
static void send_one_by_one(struct agent *a, const struct policy_decision *d,
			    size_t n, bool say)
{
	uint64_t batch;
	size_t i;

	for (i = 0; i < n; i++) {
		if (send_batch(a, &d[i], 1, &batch) < 0) {
			log_msg(LOG_ERR, "not done: job %s: %s: %s", d[i].job,
				d[i].reason, io_error(a->io));
			policy_failed(&a->cfg.policies, &a->state, &d[i]);
		} else if (say) {
			log_decision(&a->cfg.policies.v[d[i].policy], &d[i],
				     false, batch, a->snap[a->cur].time);
		}
	}
}

/* Is the knob enforced by libraries only, on all devices of this host? */
static bool is_library_knob(const struct agent *a, uint32_t knob)
{
	const struct snapshot *snap = &a->snap[a->cur];

	if (vocab_knob(knob)->library)
		return true;
	for (size_t i = 0; i < snap->n_devs; i++) {
		const struct caps caps = caps_dev(snap, &snap->devs[i]);

		if (!(caps.library_knobs & 1u << knob))
			return false;
	}
	return snap->n_devs;
}

bool agent_has_library(const struct agent *a, const char *job_name, uint32_t knob)
{
	const struct snapshot *snap = &a->snap[a->cur];
	const struct snap_job *job = agent_find_job(snap, job_name);

	for (size_t i = 0; job && i < snap->n_job_reports; i++) {
		const struct snap_job_report *r = &snap->job_reports[i];

		for (uint32_t k = 0; r->job == job->id && k < r->n_held; k++)
			if (r->held[k].knob == knob && r->held[k].processes)
				return true;
	}
	return false;
}

/*
 * The kernel refuses a knob that no process of the job can enforce. This function removes such
 * decisions from @d and tells their policies that they failed, so a policy may decide again.
 * Returns the number of decisions that remain.
 */
static size_t drop_unenforceable(struct agent *a, struct policy_decision *d, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (d[i].release || !is_library_knob(a, d[i].knob) ||
		    agent_has_library(a, d[i].job, d[i].knob)) {
			d[left++] = d[i];
			continue;
		}
		if (!(a->without_library & 1u << d[i].knob))
			log_msg(LOG_WARNING,
				"not done: job %s: %s: no process of the job has libswiftrdma%s, which enforces %s (logged once)",
				d[i].job, d[i].reason, d[i].knob == SWIFTRDMA_KNOB_UAR ?
				" with SWIFTRDMA_MOVE=yes" : "", vocab_knob(d[i].knob)->name);
		a->without_library |= 1u << d[i].knob;
		policy_failed(&a->cfg.policies, &a->state, &d[i]);
	}
	return left;
}

/* Sends all overrides that policies hold under a new lease. 0 or -ESHUTDOWN. */
static int reissue_overrides(struct agent *a)
{
	uint64_t batch;
	size_t pos = 0, n;
	int err;

	a->lease = 0;
	while ((n = policy_held(&a->state, &pos,
				a->decisions, SWIFTRDMA_BATCH_MAX))) {
		err = send_batch(a, a->decisions, n, &batch);
		if (err == -ESHUTDOWN)
			return err;
		if (err < 0)
			send_one_by_one(a, a->decisions, n, false);
		else
			log_msg(LOG_INFO,
				"%zu overrides issued anew (batch %llu)", n,
				(unsigned long long)batch);
	}
	return 0;
}

/* Issues the overrides that policies hold under a new lease, and then ends the old lease. */
static int replace_lease(struct agent *a)
{
	uint64_t old = a->lease, new;
	int err = reissue_overrides(a);

	if (err < 0)
		return err;
	new = a->lease;
	a->lease = old;
	err = end_lease(a);
	a->lease = new;
	return err == -ESHUTDOWN ? err : 0;
}

/*
 * Ends overrides of QPs that are gone, which the kernel keeps until their lease ends. Otherwise they would
 * pile up until the kernel refuses all further actions.
 */
static int end_forgotten(struct agent *a)
{
	if (!a->state.forgotten)
		return 0;
	a->state.forgotten = 0;
	return a->lease ? replace_lease(a) : 0;
}

/*
 * For an agent without a lease, so the overrides of earlier decisions are not in force. True: there
 * are such overrides, or these decisions release some; then all overrides must be sent again.
 */
static bool needs_full_reissue(const struct agent *a, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (a->decisions[i].release)
			return true;
	return policy_n_held(&a->state) != n;
}

static int log_and_reissue(struct agent *a, size_t n)
{
	size_t i;

	/* Log first: reissue_overrides() uses the buffer of the decisions. */
	for (i = 0; i < n; i++)
		log_decision(&a->cfg.policies.v[a->decisions[i].policy],
			     &a->decisions[i], false, 0,
			     a->snap[a->cur].time);
	return reissue_overrides(a);
}

/*
 * -ENODEV: the module was unloaded or reloaded; the next reading handles it. -ESHUTDOWN: it has
 * been disarmed since the reading, or is being disarmed.
 */
static int send_decisions(struct agent *a, size_t n)
{
	const struct policy_decision *d = a->decisions;
	uint64_t batch = 0, now = a->snap[a->cur].time;
	bool fresh = !a->lease;
	size_t i;
	int err;

	if (a->opt.dry_run) {
		for (i = 0; i < n; i++)
			log_decision(&a->cfg.policies.v[d[i].policy], &d[i],
				     true, 0, now);
		return 0;
	}
	if (fresh && needs_full_reissue(a, n))
		return log_and_reissue(a, n);
	err = send_batch(a, d, n, &batch);
	if (err == -ENODEV || err == -ESHUTDOWN) {
		a->lease = 0;
		return err;
	}
	if (err == -ENOENT && !fresh) {
		/*
		 * Either the lease expired, or an item names a job that is gone. A renewal fails
		 * only in the first case.
		 */
		if (send_batch(a, NULL, 0, &batch) >= 0) {
			send_one_by_one(a, d, n, true);
			return 0;
		}
		/* The policies' state already includes these decisions. */
		log_msg(LOG_WARNING, "the lease is lost: %s",
			io_error(a->io));
		end_lease(a);
		return log_and_reissue(a, n);
	}
	if (err < 0) {
		send_one_by_one(a, d, n, true);
		return 0;
	}
	for (i = 0; i < n; i++)
		log_decision(&a->cfg.policies.v[d[i].policy], &d[i], false,
			     batch, now);
	return 0;
}

/*
 * Renews the lease at a third of its life, or at each tick if ticks are longer. 0 or -ESHUTDOWN,
 * as send_decisions().
 */
static int keep_lease(struct agent *a)
{
	uint64_t batch;
	int err;

	if (a->opt.dry_run)
		return 0;
	if (!policy_n_held(&a->state))
		return a->lease && end_lease(a) == -ESHUTDOWN ? -ESHUTDOWN : 0;
	if (!a->lease)
		return reissue_overrides(a);
	if (a->snap[a->cur].time - a->renewed < agent_lease_life(a) / 3)
		return 0;
	err = send_batch(a, NULL, 0, &batch);
	if (err >= 0 || err == -ESHUTDOWN)
		return err < 0 ? err : 0;
	log_msg(LOG_WARNING, "the lease is lost: %s", io_error(a->io));
	return reissue_overrides(a);
}

void agent_renew(struct agent *a)
{
	uint64_t batch;

	agent_settings_renew(a);
	if (!a->io || !a->lease || send_batch(a, NULL, 0, &batch) >= 0)
		return;
	log_msg(LOG_WARNING, "the lease is lost: %s", io_error(a->io));
	a->lease = 0;
}

/* Were jobs added, removed or replaced since the reading before? */
static bool jobs_changed(const struct snapshot *was, const struct snapshot *is)
{
	size_t i;

	if (was->n_jobs != is->n_jobs)
		return true;
	for (i = 0; i < is->n_jobs; i++)
		if (was->jobs[i].id != is->jobs[i].id ||
		    was->jobs[i].since != is->jobs[i].since ||
		    was->jobs[i].n_rules != is->jobs[i].n_rules)
			return true;
	return false;
}

/* Job 0 is as old as the module. */
static bool module_reloaded(const struct snapshot *was,
			    const struct snapshot *is)
{
	return was->n_jobs && is->n_jobs && !was->jobs[0].id &&
	       !is->jobs[0].id && was->jobs[0].since != is->jobs[0].since;
}

static int evaluate_policies(struct agent *a, const struct snapshot *older,
			     const struct snapshot *newer)
{
	struct signal_opts opts = config_signal_opts(&a->cfg);
	size_t n;
	int err;

	if (signals_reserve(&a->sig, newer) < 0) {
		log_msg(LOG_ERR, "out of memory");
		return -ENOMEM;
	}
	signals_update(&a->sig, older, newer, &opts);
	if (policy_state_reserve(&a->state, &a->cfg.policies, &a->sig) < 0) {
		log_msg(LOG_ERR, "out of memory");
		return -ENOMEM;
	}
	agent_take_over(a);
	if (!older)
		return 0;
	agent_imbalance(a);
	agent_warn_unmatched(a);
	n = policy_eval(&a->cfg.policies, &a->state, &a->sig, newer->time,
			a->decisions, SWIFTRDMA_BATCH_MAX);
	agent_log_passed_over(a, newer->time);
	policy_explain(&a->cfg.policies, &a->state, &a->sig, a->decisions, n);
	if (!a->opt.dry_run)
		n = drop_unenforceable(a, a->decisions, n);
	err = n ? send_decisions(a, n) : 0;
	if (!err)
		err = keep_lease(a);
	if (!err)
		err = end_forgotten(a);
	return err == -ESHUTDOWN ? leave_disarmed(a) : 0;
}

/*
 * True: the policies read a signal or set a knob that needs reports of libraries, or the file has a
 * target.
 */
static bool needs_reports(const struct agent *a)
{
	const struct prog *p = &a->cfg.policies.prog;
	unsigned int i, k;

	for (i = 0; i < SIGNALS; i++)
		if (vocab_signals[i].library && prog_reads(p, i))
			return true;
	for (i = 0; i < a->cfg.policies.n; i++)
		for (k = 0; k < a->cfg.policies.v[i].n_act; k++)
			if (is_library_knob(a, a->cfg.policies.v[i].act[k].knob))
				return true;
	return a->cfg.n_slos || prog_reads(p, SIG_JOB_WR_RATE) || prog_reads(p, SIG_JOB_SLO_P99);
}

/*
 * One tick in SETTINGS_TICKS is enough to see which jobs have libraries. A tick that connects to
 * the module always looks, because the lease of the settings may expire soon.
 */
static bool looks_at_settings(const struct agent *a)
{
	return (a->ticks % SETTINGS_TICKS == 1 || !a->io) &&
	       (a->settings.n_is || agent_has_settings(&a->cfg));
}

/*
 * Reads all objects, but takes cached figures where no policy needs fresh ones: a fresh
 * figure costs the NIC firmware commands at every tick. @settings: looks_at_settings().
 */
static struct io_want what_to_read(const struct agent *a, bool settings)
{
	const struct prog *p = &a->cfg.policies.prog;

	return (struct io_want){
		.devs = true, .ports = true, .uars = true, .qps = true,
		.jobs = true, .reports = needs_reports(a) || settings,
		.outstanding = prog_reads(p, SIG_QP_LATENCY) || prog_reads(p, SIG_JOB_LATENCY) ||
			       prog_reads(p, SIG_JOB_LATENCY_PREV),
		.cached = {
			.devs = !prog_looks_at(p, OBJ_DEV),
			.ports = !prog_looks_at(p, OBJ_PORT),
			.jobs = !prog_reads(p, SIG_JOB_MTTS),
		},
	};
}

int agent_tick(struct agent *a)
{
	const struct snapshot *older, *newer;
	struct io_want want;
	bool settings;
	int err;

	a->ticks++;
	settings = looks_at_settings(a);
	want = what_to_read(a, settings);
	if (!a->io) {
		err = connect_module(a);
		if (err < 0)
			return err;
	}
	err = io_snapshot(a->io, &a->snap[!a->cur], &want);
	if (err == -ENODEV || err == -ENOENT || err == -ESHUTDOWN)
		return note_module_away(a, io_error(a->io));
	if (err < 0) {
		log_msg(LOG_ERR, "reading failed: %s", io_error(a->io));
		return err == -EPERM ? err : 0;
	}
	a->cur = !a->cur;
	newer = &a->snap[a->cur];
	older = a->readings ? &a->snap[!a->cur] : NULL;
	if (!newer->admin) {
		log_msg(LOG_ERR,
			"not allowed to see jobs: run as root, or with CAP_NET_ADMIN in the initial user namespace");
		return -EPERM;
	}
	if (!newer->armed)
		return leave_disarmed(a);
	if (older && module_reloaded(older, newer)) {
		/* Events, lease and rules are gone: start over. */
		return note_module_away(a, "it was loaded anew");
	}
	a->readings++;
	if (a->need_sync || (!a->opt.dry_run && older &&
			     jobs_changed(older, newer)))
		agent_sync(a, newer);
	if (a->opt.dry_run) {
		err = agent_assume(a);
		if (err < 0) {
			log_msg(LOG_ERR, "out of memory");
			return err;
		}
		/* The last reading counted jobs in another way: it cannot be compared. */
		if (err != a->assumed)
			older = NULL;
		a->assumed = err;
	}
	agent_settings(a, settings);
	agent_settings_keep(a);
	return evaluate_policies(a, older, newer);
}

static void on_event(const struct snap_event *ev, void *arg)
{
	struct agent *a = arg;

	switch (ev->kind) {
	case SNAP_EVENT_ACTION:
		agent_due_event(a, ev);
		return;
	case SNAP_EVENT_LEASE_END:
		if (a->settings.lease && ev->lease == a->settings.lease)
			agent_settings_lost(a);
		if (!a->lease || ev->lease != a->lease)
			return;
		if (ev->expired)
			log_msg(LOG_WARNING,
				"the lease ran out; its overrides will be issued anew");
		a->lease = 0;
		return;
	case SNAP_EVENT_CONGESTION:
		log_msg(LOG_INFO, "dev %s: doorbells congested",
			ev->dev ? ev->dev->name : "?");
		return;
	case SNAP_EVENT_LOST:
		/* Each tick reads all objects, so only results of actions are missing. */
		log_msg(LOG_WARNING, "some events were lost: %s", ev->why);
		a->lost = true;
		return;
	case SNAP_EVENT_QP_CREATED:
	case SNAP_EVENT_QP_DESTROYED:
		return;
	}
}

void agent_events(struct agent *a)
{
	if (!a->io || a->events_fd < 0)
		return;
	io_events_read(a->io, on_event, a);
	if (a->lost)
		agent_due_read(a);
	a->lost = false;
}

/*
 * Sends the releases of policies that a new file dropped. @n may exceed the buffer: if a
 * batch cannot carry them, the lease is ended, which releases all overrides, and the next
 * tick sends the remaining ones again.
 */
static void release_dropped(struct agent *a, size_t n)
{
	size_t fit = n < SWIFTRDMA_BATCH_MAX ? n : SWIFTRDMA_BATCH_MAX, i;
	uint64_t batch = 0;

	if (!n)
		return;
	if (!a->opt.dry_run) {
		if (!a->io || !a->lease)
			return;
		if (n > fit || send_batch(a, a->decisions, n, &batch) < 0)
			end_lease(a);
	}
	for (i = 0; i < fit; i++)
		log_decision(NULL, &a->decisions[i], a->opt.dry_run, batch,
			     a->snap[a->cur].time);
	if (n > fit)
		log_msg(LOG_INFO, "... and %zu more releases", n - fit);
}

/* Issues all overrides under new leases, because a lease cannot change its rank. */
static void change_rank(struct agent *a)
{
	if (!a->io || a->opt.dry_run)
		return;
	/* The next reading issues the settings under a new lease. The old lease expires. */
	agent_settings_lost(a);
	if (a->lease)
		replace_lease(a);
}

void agent_reload(struct agent *a, struct config *cfg)
{
	const bool other_rank = cfg->rank != a->cfg.rank;
	struct policy_state st;

	policy_state_init(&st);
	st.at_once = a->state.at_once;
	if (policy_state_reserve_jobs(&st, &cfg->policies,
				      a->state.n_slots) < 0) {
		log_msg(LOG_ERR, "out of memory, the old policies stay");
		config_free(cfg);
		return;
	}
	release_dropped(a, policy_carry(&cfg->policies, &st, &a->cfg.policies,
					&a->state, a->decisions, SWIFTRDMA_BATCH_MAX));
	policy_state_free(&a->state);
	config_free(&a->cfg);
	a->state = st;
	a->cfg = *cfg;
	a->cfg.policies.lightest_by_process = true;
	memset(cfg, 0, sizeof(*cfg));
	a->need_sync = true;
	a->hint_from = 0;
	a->hinted = false;
	a->dropped_said = false;
	agent_publish(a);
	if (other_rank)
		change_rank(a);
	/* If the new file has longer leases, the present ones would be renewed too late. */
	agent_renew(a);
	/* Jobs of the new file may reuse numbers of the old file's jobs. */
	if (a->opt.dry_run)
		a->readings = 0;
}

void agent_stop(struct agent *a)
{
	agent_settings_stop(a);
	if (!a->io || !a->lease)
		return;
	if (end_lease(a) < 0)
		log_msg(LOG_WARNING,
			"the lease is not ended, it will run out by itself: %s",
			io_error(a->io));
	else
		log_msg(LOG_INFO, "lease ended, all overrides released");
}

void agent_status(const struct agent *a, char *buf, size_t cap)
{
	const struct snapshot *snap = &a->snap[a->cur];

	if (!a->io)
		snprintf(buf, cap, "waiting for swiftrdma.ko");
	else
		snprintf(buf, cap,
			 "%s%zu devices, %zu jobs, %zu QPs, %zu overrides held, %llu actions",
			 a->opt.dry_run ? "dry run: " : "", snap->n_devs,
			 snap->n_jobs, snap->n_qps, policy_n_held(&a->state),
			 (unsigned long long)a->acts);
}
