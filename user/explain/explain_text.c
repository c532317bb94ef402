// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "explain/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "explain/ends.h"

const char *const explain_topics[EXPLAIN_TOPICS] = {
	"qp", "uar", "class", "rate", "pieces", "latency", "contention", "untold", "advice",
};

void add_sentence(struct explain *e, enum explain_topic topic, const char *fmt, ...)
{
	va_list ap;

	if (e->n == EXPLAIN_LINES)
		return;
	e->line[e->n].topic = topic;
	va_start(ap, fmt);
	vsnprintf(e->line[e->n].text, EXPLAIN_LEN, fmt, ap);
	va_end(ap);
	e->n++;
}

/* A number with its unit, "97.3 %". */
struct figure {
	char s[48];
};

static struct figure figure_of(double v, enum unit unit)
{
	struct figure f;
	struct text t;

	text_init(&t, f.s, sizeof(f.s));
	units_format(&t, v, unit);
	return f;
}

/* The name of a process, or the path of a cgroup. */
struct name {
	char s[SNAP_PATH];
};

/* A process chooses its name, so control characters are replaced. */
static struct name format_name(const char *name)
{
	struct name n;
	struct text t;

	text_init(&t, n.s, sizeof(n.s));
	text_tame(&t, name);
	return n;
}

/* "port_busy: 80 %", a criterion of the policies. */
static struct figure bound_of(const struct reading *rd, const char *name)
{
	const struct criteria *c = &rd->running->cfg.criteria;
	const struct criterion *is = criteria_find(c, name, strlen(name));
	struct figure f;
	struct text t;

	text_init(&t, f.s, sizeof(f.s));
	text_str(&t, name);
	text_str(&t, ": ");
	if (is)
		units_format(&t, is->v, is->unit);
	return f;
}

struct about {
	const struct reading *rd;
	const struct signals *sig;
	const struct snap_qp *qp;
	const struct snap_dev *dev;
	const struct snap_owner *owner;
	const struct snap_job *job;
	const struct snap_uar *uar;
	const struct snap_port *port;
	struct signal_qp_ref ref;
	const struct crowd_proc *proc;
};

static struct about gather_facts(const struct reading *rd, size_t row)
{
	struct about a = {
		.rd = rd, .sig = rd->sig, .qp = &rd->snap->qps[row], .ref = rd->sig->qps[row],
	};

	a.dev = reading_dev(rd->snap, a.qp->dev);
	a.owner = reading_owner(rd->snap, snap_has(a.qp, SNAP_OWNER), a.qp->owner);
	a.job = reading_job(rd->snap, a.qp->job);
	if (a.ref.uar >= 0)
		a.uar = &rd->snap->uars[a.ref.uar];
	if (a.ref.port >= 0)
		a.port = &rd->snap->ports[a.ref.port];
	a.proc = crowd_proc_of(rd->crowd, row);
	return a;
}

static void describe_qp(const struct about *a, struct explain *e)
{
	const char *type = vocab_word_name(UNIT_TYPE, a->qp->type);
	const char *state = snap_has(a->qp, SNAP_STATE) ?
			    vocab_word_name(UNIT_STATE, a->qp->state) : NULL;
	const char *job = a->job ? a->job->name : NULL;

	if (a->owner && a->owner->kernel[0])
		add_sentence(e, EXPLAIN_QP, "QP %u of %s, %s, %s: the kernel's own, of %s",
			     a->qp->qpn, a->dev ? a->dev->name : "?", type ? type : "?",
			     state ? state : "in a state unknown", a->owner->kernel);
	else
		add_sentence(e, EXPLAIN_QP, "QP %u of %s, %s, %s: of %s, pid %u",
			     a->qp->qpn, a->dev ? a->dev->name : "?", type ? type : "?",
			     state ? state : "in a state unknown",
			     a->owner ? format_name(a->owner->comm).s : "an unknown process",
			     a->owner ? a->owner->pid : 0);
	if (a->owner && !a->owner->kernel[0])
		add_sentence(e, EXPLAIN_QP, "job %s, cgroup %s", job ? job : "unknown",
			     a->owner->cgroup[0] ? format_name(a->owner->cgroup).s : "unknown");
	if (a->qp->devx)
		add_sentence(e, EXPLAIN_QP,
			     "it was created without RDMA core (DEVX): nothing else is known about it, and nothing can be changed");
	if (a->qp->adopted)
		add_sentence(e, EXPLAIN_QP,
			     "it is older than the module: its figures began with the module");
}

static void describe_uar(const struct about *a, struct explain *e)
{
	static const char *const what[] = {
		[SWIFTRDMA_UAR_KIND_HW] = "a page of the NIC",
		[SWIFTRDMA_UAR_KIND_CONTEXT] =
			"the process's user context: this device has no UARs",
		[SWIFTRDMA_UAR_KIND_KERNEL] = "the kernel's own",
		[SWIFTRDMA_UAR_KIND_STATIC] =
			"a page of the NIC, which its context got when it was opened",
		[SWIFTRDMA_UAR_KIND_DYNAMIC] = "a page of the NIC, which its library asked for",
		[SWIFTRDMA_UAR_KIND_DEDICATED] =
			"a page of the NIC, which its library asked for",
	};
	const struct crowd_uar *c;
	char others[64] = "", threads[64] = "";
	double active;

	if (!a->uar) {
		add_sentence(e, EXPLAIN_UAR, "unknown: %s", snap_has(a->qp, SNAP_UAR) ?
			     "it was created after the UARs were read" :
			     "nothing tells which UAR this QP rings");
		return;
	}
	c = a->rd->crowd->uars ? &a->rd->crowd->uars[a->ref.uar] : NULL;
	if (a->uar->qps > 1)
		snprintf(others, sizeof(others), ", with %u other QP%s",
			 a->uar->qps - 1, a->uar->qps > 2 ? "s" : "");
	else
		snprintf(others, sizeof(others), ", alone");
	if (c && c->threads && a->uar->qps > 1)
		snprintf(threads, sizeof(threads), ", made by %u thread%s",
			 c->threads, c->threads > 1 ? "s" : "");
	add_sentence(e, EXPLAIN_UAR, "%u (%s)%s%s", a->uar->index,
		     a->uar->kind < sizeof(what) / sizeof(what[0]) ? what[a->uar->kind]
							  : "of unknown kind",
	    others, threads);
	if (a->uar->qps > 1 &&
	    signal_get(a->sig, SIG_UAR_ACTIVE_QPS, (size_t)a->ref.uar, &active))
		add_sentence(e, EXPLAIN_UAR, "%.0f of them posted work in this time", active);
	if (a->proc)
		add_sentence(e, EXPLAIN_UAR, "its process has %u QP%s on %u UAR%s",
			     a->proc->qps, a->proc->qps > 1 ? "s" : "", a->proc->uars,
			     a->proc->uars > 1 ? "s" : "");
	if (snap_has(a->uar, SNAP_CONTEXT) && snap_has(a->uar, SNAP_LIMIT))
		add_sentence(e, EXPLAIN_UAR,
			     "its context has %u page%s, and may use %u for QPs outside of thread domains",
			     a->uar->context_uars,
			     a->uar->context_uars == 1 ? "" : "s",
			     a->uar->context_limit);
	if (e->environment && crowd_is_page(a->uar->kind))
		add_sentence(e, EXPLAIN_UAR, "its environment sets %s",
			     e->environment[0] ? e->environment :
			     "nothing of libmlx5's: 4 registers for one QP each, 12 shared");
}

/* On InfiniBand the class is the service level. */
static bool on_ib(const struct about *a)
{
	return a->port && a->port->link_layer == 1;
}

static void describe_class(const struct about *a, struct explain *e)
{
	const char *what = on_ib(a) ? "service level" : "traffic class";
	uint32_t asked = on_ib(a) ? a->qp->sl_asked : a->qp->tclass_asked;
	uint32_t is = on_ib(a) ? a->qp->sl : a->qp->tclass;

	if (!snap_has(a->qp, SNAP_CLASS)) {
		add_sentence(e, EXPLAIN_CLASS, "none known: it has not been connected%s",
			     a->qp->adopted ? " since the module was loaded" : "");
		return;
	}
	add_sentence(e, EXPLAIN_CLASS, "its application asked for %s %u", what, asked);
	if (snap_has(a->qp, SNAP_LEVEL))
		add_sentence(e, EXPLAIN_CLASS, "level %u is forced (see swiftrdma action show)",
			     a->qp->level);
	else
		add_sentence(e, EXPLAIN_CLASS, "no level is forced");
	if (a->qp->class_pending && snap_has(a->qp, SNAP_CLASS_ERROR) && a->qp->class_error)
		add_sentence(e, EXPLAIN_CLASS,
			     "%s %u is programmed, and cannot be changed yet: %s",
			     what, is, vocab_class_error(a->qp->class_error) ?:
			      strerrordesc_np(-a->qp->class_error));
	else if (a->qp->class_pending)
		add_sentence(e, EXPLAIN_CLASS,
			     "%s %u is programmed, which is about to be changed", what, is);
	else
		add_sentence(e, EXPLAIN_CLASS, "%s %u is programmed", what, is);
}

/* Are both ends of the connection raised? */
static void describe_ends(const struct about *a, struct explain *e)
{
	const char *why = ends_why_words(a->qp);

	if (!a->qp->ends)
		return;
	if (!ends_is_wished_here(a->qp))
		add_sentence(e, EXPLAIN_CLASS, "its peer wishes level %u%s%s", a->qp->peer_wish,
			     why ? ", which it does not have: " : ", which it has", why ?: "");
	else if (!why)
		add_sentence(e, EXPLAIN_CLASS,
			     "both ends are raised: its peer has level %u, as this end wishes",
			     a->qp->peer_level);
	else
		add_sentence(e, EXPLAIN_CLASS,
			     "one-sided: its peer answers in a class of its own, as %s", why);
}

static void describe_path(const struct about *a, struct explain *e)
{
	if (a->qp->udp_sport)
		add_sentence(e, EXPLAIN_CLASS, "its UDP source port is set to %u",
			     a->qp->udp_sport);
	if (a->qp->lag_port)
		add_sentence(e, EXPLAIN_CLASS,
			     "it is set to send through port %u of the NIC's link aggregation",
			     a->qp->lag_port);
}

/* The class in which the peer answers. */
static void describe_peer(const struct about *a, struct explain *e)
{
	const struct pair *p = e->pairs ? pair_of(e->pairs, e->qp) : NULL;
	const char *what = on_ib(a) ? "service level" : "traffic class";
	const struct snap_qp *peer;
	const struct snap_dev *dev;

	if (!p)
		return;
	if (p->peer == PAIR_NONE) {
		add_sentence(e, EXPLAIN_UNTOLD, "the class in which its peer answers: %s",
			     p->verdict == PAIR_AWAY ? "the peer is on another host" :
			     p->verdict == PAIR_HIDDEN ? "the peer is on this host, but not visible" :
			     p->verdict == PAIR_LOOSE ? "the peer is not connected back" :
			     "the peer's address is unknown");
		return;
	}
	peer = &a->rd->snap->qps[p->qp == e->qp ? p->peer : p->qp];
	dev = reading_dev(a->rd->snap, peer->dev);
	if (p->verdict == PAIR_ALIKE) {
		add_sentence(e, EXPLAIN_CLASS, "its peer, QP %u of %s, answers in the same",
			     peer->qpn, dev ? dev->name : "?");
		return;
	}
	add_sentence(e, EXPLAIN_CLASS, "its peer, QP %u of %s, answers in another: %s %u",
		     peer->qpn, dev ? dev->name : "?", what,
		     on_ib(a) ? peer->sl : peer->tclass);
	add_sentence(e, EXPLAIN_ADVICE,
		     "give both ends the same level, because the level of one end covers one direction only: swiftrdma qp audit");
}

static const char *no_rate(const struct about *a, uint32_t cap)
{
	if (!a->dev)
		return "its device is gone";
	if (cap == SWIFTRDMA_DEV_CAP_WRS && snap_has(a->qp, SNAP_ABSENT) &&
	    !snap_has(a->qp, SNAP_WRS) && reading_absent(a->qp->wrs_absent, true))
		return reading_absent(a->qp->wrs_absent, true);
	if (!strcmp(a->dev->provider, "generic"))
		return "doorbells of this device bypass the kernel, and nothing here can read them";
	if (!(a->dev->caps & cap))
		return "this device's provider does not count them";
	if (!(a->qp->has & (cap == SWIFTRDMA_DEV_CAP_WRS ? SNAP_WRS : SNAP_DOORBELLS)))
		return "this device counts them, but could not for this QP";
	return "two readings of the same QP are needed";
}

static void describe_rate(const struct about *a, struct explain *e, size_t row)
{
	double wrs = 0, rings = 0, uar = 0;
	bool has_wrs = signal_get(a->sig, SIG_QP_WR_RATE, row, &wrs);
	bool has_rings = signal_get(a->sig, SIG_QP_DOORBELL_RATE, row, &rings);

	if (has_wrs)
		add_sentence(e, EXPLAIN_RATE, "%s %s%s", figure_of(wrs, UNIT_RATE).s,
			     a->dev && a->dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS ?
			     "blocks of 64 bytes in its send queue, one or more for each work request"
			     : "work requests", a->qp->wrs_ambiguous ?
			     " (or more: the counter may have wrapped unseen)" : "");
	else
		add_sentence(e, EXPLAIN_UNTOLD, "work requests: %s",
			     no_rate(a, SWIFTRDMA_DEV_CAP_WRS));
	if (has_rings)
		add_sentence(e, EXPLAIN_RATE, "%s doorbells", figure_of(rings, UNIT_RATE).s);
	else
		add_sentence(e, EXPLAIN_UNTOLD, "doorbells: %s",
			     no_rate(a, SWIFTRDMA_DEV_CAP_DOORBELLS));
	if (a->ref.uar < 0)
		return;
	if (has_wrs && signal_get(a->sig, SIG_UAR_WR_RATE, (size_t)a->ref.uar, &uar) && uar > 0)
		add_sentence(e, EXPLAIN_RATE, "that is %s of the %s of its UAR",
			     figure_of(wrs / uar, UNIT_RATIO).s, figure_of(uar, UNIT_RATE).s);
	else if (has_rings && signal_get(a->sig, SIG_UAR_DOORBELL_RATE,
					 (size_t)a->ref.uar, &uar) && uar > 0)
		add_sentence(e, EXPLAIN_RATE, "that is %s of the %s of its UAR",
			     figure_of(rings / uar, UNIT_RATIO).s,
			     figure_of(uar, UNIT_RATE).s);
}

static void describe_job_latency(const struct about *a, struct explain *e)
{
	struct signal_quantile p99;
	double slo;

	if (!a->job || !reading_quantile(a->rd, a->job, 0.99, &p99))
		return;
	if (!p99.has) {
		add_sentence(e, EXPLAIN_UNTOLD,
			     "p99 of its job: %llu latencies were sampled, and it takes %llu: read for longer (-i)",
			     (unsigned long long)p99.samples,
			     (unsigned long long)reading_samples_needed(0.99));
		return;
	}
	if (signal_get(a->sig, SIG_JOB_SLO_P99, (size_t)a->ref.job, &slo))
		add_sentence(e, EXPLAIN_LATENCY,
			     "p99 of its job is %s, by %llu samples: the target of %s is %s",
			     figure_of(p99.ns, UNIT_TIME).s, (unsigned long long)p99.samples,
			     figure_of(slo, UNIT_TIME).s, p99.ns <= slo ? "met" : "missed");
	else
		add_sentence(e, EXPLAIN_LATENCY, "p99 of its job is %s, by %llu samples",
			     figure_of(p99.ns, UNIT_TIME).s, (unsigned long long)p99.samples);
}

static const char *no_queue_latency(const struct about *a, size_t qp)
{
	if (!snap_has(a->qp, SNAP_WRS))
		return "the blocks that it posts are not counted";
	if (a->qp->wrs_ambiguous)
		return "the count of the blocks that it posts may have wrapped unseen";
	if (!snap_has(a->qp, SNAP_LOOKS))
		return "the kernel has not looked into the queue yet, or the device refuses it: read for longer (-i)";
	if (signals_mixed_requests(a->sig, qp))
		return "its requests do not all take the same number of blocks of the queue";
	return "the kernel has not found enough requests in the queue: read for longer (-i)";
}

/* Adds latencies that the kernel measured by sampling send queues. */
static void describe_queue_latency(const struct about *a, struct explain *e)
{
	double qp, job;

	if (signal_get(a->sig, SIG_QP_LATENCY, e->qp, &qp))
		add_sentence(e, EXPLAIN_LATENCY,
			     "a request is in the send queue for %s on average, as the kernel measured",
			     figure_of(qp, UNIT_TIME).s);
	else if (a->dev && a->dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS)
		add_sentence(e, EXPLAIN_UNTOLD, "how long a request is in the send queue: %s",
			     no_queue_latency(a, e->qp));
	if (a->ref.job >= 0 && signal_get(a->sig, SIG_JOB_LATENCY, (size_t)a->ref.job, &job))
		add_sentence(e, EXPLAIN_LATENCY,
			     "a request of its job is in a send queue for %s on average, as the kernel measured",
			     figure_of(job, UNIT_TIME).s);
}

/* Adds requests and doorbells that the kernel counted and the library in the process did not. */
static void describe_unseen(const struct about *a, struct explain *e)
{
	struct reading_unseen u;

	if (!reading_unseen(a->rd, a->qp, &u))
		return;
	if (u.all)
		add_sentence(e, EXPLAIN_UNTOLD,
			     "its requests: libswiftrdma in its process saw none of them, so the program writes them itself");
	else if (u.wrs)
		add_sentence(e, EXPLAIN_UNTOLD,
			     "%llu of its requests: libswiftrdma in its process did not see them, so the program wrote them itself",
			     (unsigned long long)u.wrs);
	else if (u.doorbells)
		add_sentence(e, EXPLAIN_UNTOLD,
			     "what was posted with %llu of its doorbells: libswiftrdma in its process did not see it, so the program writes requests itself, or posting them failed",
			     (unsigned long long)u.doorbells);
}

/* Adds latencies that the kernel measured, and those that the library in the process measured. */
static void describe_latency(const struct about *a, struct explain *e)
{
	const struct snap_qp_report *r = reading_qp_report(a->rd->snap, a->qp);
	struct snap_figures f;
	double v;

	describe_queue_latency(a, e);
	if (!r) {
		add_sentence(e, EXPLAIN_UNTOLD,
			     "%s, outstanding requests and what waits behind others: %s",
			     signal_get(a->sig, SIG_QP_LATENCY, e->qp, &v) ? "p99" : "latency",
			     a->owner && a->owner->kernel[0] ?
			     "libswiftrdma tells them, which is not in the kernel" :
			     "libswiftrdma would tell them, and is not in its process, or does not see this QP (swiftrdma run --check)");
		return;
	}
	describe_unseen(a, e);
	reading_qp_times(a->rd, a->qp, &f);
	if (r->flags & SWIFTRDMA_SLOT_NO_ORDER)
		add_sentence(e, EXPLAIN_UNTOLD,
			     "latency and outstanding requests: libswiftrdma in its process only counts, or lost the order of its send queue, till the next RESET");
	else if (f.latency_wrs)
		add_sentence(e, EXPLAIN_LATENCY,
			     "libswiftrdma in its process saw requests take %s on average; the longest since it attached, %s",
			     figure_of((double)f.latency_sum / (double)f.latency_wrs, UNIT_TIME).s,
			     figure_of((double)r->sum.latency_max, UNIT_TIME).s);
	else
		add_sentence(e, EXPLAIN_LATENCY,
			     "libswiftrdma in its process saw no request complete meanwhile");
	if (snap_has(r, SNAP_OUTSTANDING))
		add_sentence(e, EXPLAIN_LATENCY, "%llu requests were outstanding",
			     (unsigned long long)r->outstanding);
	if (r->sum.errors)
		add_sentence(e, EXPLAIN_LATENCY, "%llu completions had an error",
			     (unsigned long long)r->sum.errors);
	describe_job_latency(a, e);
}

/* Head-of-line blocking: a request waits for those before it in the same send queue. */
static void describe_queue_contention(const struct about *a, struct explain *e)
{
	double delay;

	if (!signal_get(a->sig, SIG_QP_QUEUE_DELAY, e->qp, &delay))
		return;
	add_sentence(e, EXPLAIN_CONTENTION,
		     "send queue: %s, a request waits %s on average for those before it (%s)",
		     delay > reading_criterion(a->rd, "queue_delay") ? "yes" : "hardly any",
		     figure_of(delay, UNIT_TIME).s, bound_of(a->rd, "queue_delay").s);
}

static void describe_uar_contention(const struct about *a, struct explain *e)
{
	double coactive;

	if (!a->uar) {
		add_sentence(e, EXPLAIN_UNTOLD,
			     "contention on a UAR: it is not known which UAR the QP rings");
		return;
	}
	if (a->uar->qps < 2) {
		add_sentence(e, EXPLAIN_CONTENTION, "UAR: none, no other QP rings it");
		return;
	}
	if (!signal_get(a->sig, SIG_UAR_COACTIVE, (size_t)a->ref.uar, &coactive)) {
		add_sentence(e, EXPLAIN_UNTOLD,
			     "contention on its UAR: neither work requests nor doorbells of its QPs are counted");
		return;
	}
	if (!crowd_is_page(a->uar->kind))
		add_sentence(e, EXPLAIN_CONTENTION,
			     "UAR: none, two or more of its QPs advanced in %s of the readings, but there is no register to contend for",
			     figure_of(coactive, UNIT_RATIO).s);
	else if (coactive <= reading_criterion(a->rd, "uar_calm"))
		add_sentence(e, EXPLAIN_CONTENTION,
			     "UAR: hardly any, two or more of its QPs advanced in %s of the readings (%s)",
			     figure_of(coactive, UNIT_RATIO).s, bound_of(a->rd, "uar_calm").s);
	else if (a->uar->qps <= CROWD_PAGE_QPS)
		add_sentence(e, EXPLAIN_CONTENTION,
			     "UAR: little at most, both its QPs advanced in %s of the readings, but a page has a register for each",
			     figure_of(coactive, UNIT_RATIO).s);
	else
		add_sentence(e, EXPLAIN_CONTENTION,
			     "UAR: %s, two or more of its %u QPs advanced in %s of the readings (%s)",
			     coactive > reading_criterion(a->rd, "uar_contended") ? "yes" : "some",
			     a->uar->qps, figure_of(coactive, UNIT_RATIO).s,
			     bound_of(a->rd, "uar_contended").s);
	if (crowd_is_page(a->uar->kind))
		add_sentence(e, EXPLAIN_UNTOLD,
			     "which threads post: only the program knows; QPs of one thread do not wait for a lock");
}

/* Congestion signals from the network. */
static void describe_network(const struct about *a, struct explain *e)
{
	size_t row = (size_t)a->ref.port;
	double v;

	if (signal_get(a->sig, SIG_PORT_PAUSE_RATE, row, &v) && v > 0)
		add_sentence(e, EXPLAIN_CONTENTION,
			     "switch: yes, it told the port to pause, %s",
			     figure_of(v, UNIT_RATE).s);
	if (signal_get(a->sig, SIG_PORT_CNP_RATE, row, &v) && v > 0)
		add_sentence(e, EXPLAIN_CONTENTION,
			     "network: yes, notifications of congestion slow QPs of the port down, %s",
			     figure_of(v, UNIT_RATE).s);
}

static bool port_busy(const struct about *a, double util)
{
	return util > reading_criterion(a->rd, "port_busy");
}

static void describe_port_contention(const struct about *a, struct explain *e)
{
	double util, speed = 0;

	if (a->port)
		signal_get(a->sig, SIG_PORT_SPEED, (size_t)a->ref.port, &speed);

	if (!a->port) {
		add_sentence(e, EXPLAIN_UNTOLD, "contention on a port: %s",
			     snap_has(a->qp, SNAP_PORT) ? "the port was not found" :
			     "it has none before it is in state INIT");
	} else if (!signal_get(a->sig, SIG_PORT_UTIL, (size_t)a->ref.port, &util)) {
		add_sentence(e, EXPLAIN_UNTOLD,
			     "contention on its port: the port's %s is unknown",
			     snap_has(a->port, SNAP_BYTES) ? "speed" : "traffic");
	} else {
		add_sentence(e, EXPLAIN_CONTENTION, "port: %s, %s/%u is %s busy, of %s (%s)",
			     port_busy(a, util) ? "yes" : "none",
			     a->dev ? a->dev->name : "?", a->port->index,
			     figure_of(util, UNIT_RATIO).s, figure_of(speed, UNIT_BITRATE).s,
			     bound_of(a->rd, "port_busy").s);
	}
	if (a->port)
		describe_network(a, e);
}

static void describe_cache(const struct about *a, struct explain *e)
{
	size_t row = a->ref.dev >= 0 ? (size_t)a->ref.dev : SIZE_MAX;
	double qpc = 0, mtt = 0, worst;
	bool has_qpc = signal_get(a->sig, SIG_DEV_QPC_MISS, row, &qpc);
	bool has_mtt = signal_get(a->sig, SIG_DEV_MTT_MISS, row, &mtt);

	worst = qpc > mtt ? qpc : mtt;
	if (has_qpc || has_mtt)
		add_sentence(e, EXPLAIN_CONTENTION, "cache: %s, %s of its lookups of %s miss (%s)",
			     worst >= reading_criterion(a->rd, "miss_high") ? "yes" :
			     worst > reading_criterion(a->rd, "miss_low") ? "some" :
			     "hardly any", figure_of(worst, UNIT_RATIO).s,
			     has_mtt && mtt >= qpc ? "translations" : "contexts",
			     bound_of(a->rd, "miss_high").s);
	else
		add_sentence(e, EXPLAIN_UNTOLD, "contention in the NIC's cache: %s",
			     "this device does not report it");
	if (a->dev && a->dev->qps > reading_criterion(a->rd, "qps_warn"))
		add_sentence(e, EXPLAIN_CONTENTION,
			     "cache: with %u QPs and %u MRs, the contexts may not fit into it (%s)",
			     a->dev->qps, a->dev->mrs, bound_of(a->rd, "qps_warn").s);
}

static void describe_nic_limit(const struct about *a, struct explain *e)
{
	const struct snap_dev *d = a->dev;

	if (d && snap_has(d, SNAP_UAR_LIMIT) && d->uar_limit && d->uars > d->uar_limit / 10 * 9)
		add_sentence(e, EXPLAIN_CONTENTION,
			     "UARs of the device: nearly all in use, %u of %u; creating a context will fail soon",
			     d->uars, d->uar_limit);
}

static void describe_nic(const struct about *a, struct explain *e)
{
	size_t row = a->ref.dev >= 0 ? (size_t)a->ref.dev : SIZE_MAX;
	double v;

	if (signal_get(a->sig, SIG_DEV_DB_CONGESTION, row, &v))
		add_sentence(e, EXPLAIN_CONTENTION,
			     "doorbells of the device: %s, congestion was raised %s",
			     v > 0 ? "yes" : "none", figure_of(v, UNIT_RATE).s);
	else
		add_sentence(e, EXPLAIN_UNTOLD, "congestion of the device's doorbells: %s",
			     "this device does not report it");
	if (signal_get(a->sig, SIG_DEV_PCIE_STALL, row, &v))
		add_sentence(e, EXPLAIN_CONTENTION, "PCIe: %s, stalled %s of the time (%s)",
			     v > reading_criterion(a->rd, "pcie_stalled") ? "yes" : "hardly any",
			     figure_of(v, UNIT_RATIO).s, bound_of(a->rd, "pcie_stalled").s);
	else
		add_sentence(e, EXPLAIN_UNTOLD, "stalls of PCIe: %s",
			     "this device does not report it");
}

/* Names the source of the criteria. */
static void describe_limits(const struct about *a, struct explain *e)
{
	const struct running *r = a->rd->running;

	if (r->pid)
		add_sentence(e, EXPLAIN_CONTENTION,
			     "bounds and port speeds are those of %s, which the agent uses (pid %u)",
			     strcmp(r->file, "-") ? r->file : "its standard input",
			     r->pid);
	else if (r->file[0])
		add_sentence(e, EXPLAIN_CONTENTION,
			     "bounds and port speeds are those of %s, which an agent would use",
			     r->file);
}

static void add_advice(const struct about *a, struct explain *e)
{
	const struct crowd_proc *p = a->proc;
	const char *what = NULL;
	double util;

	if (p && a->uar && (p->state == CROWD_HARD || p->state == CROWD_UNTOLD))
		what = crowd_advise(p->advice);
	if (what && p->state == CROWD_UNTOLD)
		add_sentence(e, EXPLAIN_ADVICE, "if several threads post at a time: %s", what);
	else if (what)
		add_sentence(e, EXPLAIN_ADVICE, "%s", what);
	if (what && p->advice == CROWD_UUARS && e->environment &&
	    strstr(e->environment, "MLX5_SHUT_UP_BF"))
		add_sentence(e, EXPLAIN_ADVICE,
			     "take MLX5_SHUT_UP_BF out of its environment, which puts all QPs on one register (swiftrdma run does)");
	if (what && p->advice == CROWD_UUARS)
		add_sentence(e, EXPLAIN_ADVICE,
			     "or create the QPs of each thread in a thread domain of their own (ibv_alloc_td(3)), if the program can be changed");
	if (a->port && a->job && a->job->id &&
	    signal_get(a->sig, SIG_PORT_UTIL, (size_t)a->ref.port, &util) && port_busy(a, util))
		add_sentence(e, EXPLAIN_ADVICE,
			     "raise the class of its job while the port is busy: swiftrdma action set job %s level N, or a policy that does",
			     a->job->name);
	for (size_t i = 0; i < e->n; i++)
		if (e->line[i].topic == EXPLAIN_ADVICE)
			return;
	add_sentence(e, EXPLAIN_ADVICE, "nothing: there is no sign of contention that could be avoided");
}

/* Sorts the lines by topic and keeps the order within a topic. */
static void sort_by_topic(struct explain *e)
{
	for (size_t i = 1; i < e->n; i++)
		for (size_t k = i; k && e->line[k].topic < e->line[k - 1].topic; k--) {
			__typeof__(e->line[0]) tmp = e->line[k];

			e->line[k] = e->line[k - 1];
			e->line[k - 1] = tmp;
		}
}

void explain_qp(const struct reading *rd, struct explain *e)
{
	struct about a = gather_facts(rd, e->qp);

	e->n = 0;
	describe_qp(&a, e);
	describe_uar(&a, e);
	describe_class(&a, e);
	describe_ends(&a, e);
	describe_path(&a, e);
	describe_peer(&a, e);
	describe_rate(&a, e, e->qp);
	explain_pieces(rd, e);
	describe_latency(&a, e);
	describe_queue_contention(&a, e);
	describe_uar_contention(&a, e);
	describe_port_contention(&a, e);
	describe_cache(&a, e);
	describe_nic(&a, e);
	describe_nic_limit(&a, e);
	describe_limits(&a, e);
	add_advice(&a, e);
	sort_by_topic(e);
}

void explain_json(struct json *j, const struct explain *e)
{
	json_begin(j, '{');
	for (int t = 0; t < EXPLAIN_TOPICS; t++) {
		json_key(j, explain_topics[t]);
		json_begin(j, '[');
		for (size_t i = 0; i < e->n; i++)
			if ((int)e->line[i].topic == t)
				json_str(j, e->line[i].text);
		json_end(j, ']');
	}
	json_end(j, '}');
}
