// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "cli/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/table.h"

const char *const explain_topics[EXPLAIN_TOPICS] = {
	"qp", "uar", "class", "rate", "contention", "untold", "advice",
};

static void say(struct explain *e, enum explain_topic topic,
		const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void say(struct explain *e, enum explain_topic topic,
		const char *fmt, ...)
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

/* A figure as it is written in columns, but with its blank. */
struct figure {
	char s[48];
};

static struct figure figure(double v, enum unit unit)
{
	struct figure f;
	struct text t;

	text_init(&t, f.s, sizeof(f.s));
	units_format(&t, v, unit);
	return f;
}

/* Names are a process's to choose. */
static struct figure tame(const char *name)
{
	struct figure f;
	struct text t;

	text_init(&t, f.s, sizeof(f.s));
	text_tame(&t, name);
	return f;
}

/* "port_busy: 80 %", a bound of the policies. */
static struct figure bound(const struct cli *cli, const char *name)
{
	const struct criteria *c = &cli->running.cfg.criteria;
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
	const struct cli *cli;
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

static struct about about(const struct cli *cli, size_t row)
{
	struct about a = {
		.cli = cli, .sig = &cli->sig, .qp = &cli->snap.qps[row],
		.ref = cli->sig.qps[row],
	};

	a.dev = view_dev(cli, a.qp->dev);
	a.owner = view_owner(cli, snap_has(a.qp, SNAP_OWNER), a.qp->owner);
	a.job = view_job(cli, a.qp->job);
	if (a.ref.uar >= 0)
		a.uar = &cli->snap.uars[a.ref.uar];
	if (a.ref.port >= 0)
		a.port = &cli->snap.ports[a.ref.port];
	a.proc = crowd_proc_of(&cli->crowd, row);
	return a;
}

static void say_who(const struct about *a, struct explain *e)
{
	const char *type = vocab_word_name(UNIT_TYPE, a->qp->type);
	const char *state = snap_has(a->qp, SNAP_STATE) ?
			    vocab_word_name(UNIT_STATE, a->qp->state) : NULL;
	const char *job = a->job ? a->job->name : NULL;

	if (a->owner && a->owner->kernel[0])
		say(e, EXPLAIN_QP, "QP %u of %s, %s, %s: the kernel's own, of %s",
		    a->qp->qpn, a->dev ? a->dev->name : "?", type ? type : "?",
		    state ? state : "in a state unknown", a->owner->kernel);
	else
		say(e, EXPLAIN_QP, "QP %u of %s, %s, %s: of %s, pid %u",
		    a->qp->qpn, a->dev ? a->dev->name : "?", type ? type : "?",
		    state ? state : "in a state unknown",
		    a->owner ? tame(a->owner->comm).s : "an unknown process",
		    a->owner ? a->owner->pid : 0);
	if (a->owner && !a->owner->kernel[0])
		say(e, EXPLAIN_QP, "job %s, cgroup %s", job ? job : "unknown",
		    a->owner->cgroup[0] ? tame(a->owner->cgroup).s : "unknown");
	if (a->qp->devx)
		say(e, EXPLAIN_QP,
		    "it was made past RDMA core (DEVX): nothing else of it is known, and nothing can be changed");
	if (a->qp->adopted)
		say(e, EXPLAIN_QP,
		    "it is older than the module: its figures began with the module");
}

static void say_uar(const struct about *a, struct explain *e)
{
	static const char *const what[] = {
		[SWIFTRDMA_UAR_KIND_HW] = "a page of the NIC",
		[SWIFTRDMA_UAR_KIND_CONTEXT] =
			"the process's user context: this device has no UARs",
		[SWIFTRDMA_UAR_KIND_KERNEL] =
			"the kernel's own",
		[SWIFTRDMA_UAR_KIND_STATIC] =
			"a page of the NIC, which its context got when it was opened",
		[SWIFTRDMA_UAR_KIND_DYNAMIC] =
			"a page of the NIC, which its library asked for",
		[SWIFTRDMA_UAR_KIND_DEDICATED] =
			"a page of the NIC, which its library asked for",
	};
	const struct crowd_uar *c;
	char others[64] = "", threads[64] = "";
	double active;

	if (!a->uar) {
		say(e, EXPLAIN_UAR, "unknown: %s", snap_has(a->qp, SNAP_UAR) ?
		    "it came after the UARs were read" :
		    "nothing tells which UAR this QP rings");
		return;
	}
	c = a->cli->crowd.uars ? &a->cli->crowd.uars[a->ref.uar] : NULL;
	if (a->uar->qps > 1)
		snprintf(others, sizeof(others), ", with %u other QP%s",
			 a->uar->qps - 1, a->uar->qps > 2 ? "s" : "");
	else
		snprintf(others, sizeof(others), ", alone");
	if (c && c->threads && a->uar->qps > 1)
		snprintf(threads, sizeof(threads), ", made by %u thread%s",
			 c->threads, c->threads > 1 ? "s" : "");
	say(e, EXPLAIN_UAR, "%u (%s)%s%s", a->uar->index,
	    a->uar->kind < sizeof(what) / sizeof(what[0]) ? what[a->uar->kind]
							  : "of unknown kind",
	    others, threads);
	if (a->uar->qps > 1 &&
	    signal_get(a->sig, SIG_UAR_ACTIVE_QPS, (size_t)a->ref.uar, &active))
		say(e, EXPLAIN_UAR, "%.0f of them did something meanwhile", active);
	if (a->proc)
		say(e, EXPLAIN_UAR, "its process has %u QP%s on %u UAR%s",
		    a->proc->qps, a->proc->qps > 1 ? "s" : "", a->proc->uars,
		    a->proc->uars > 1 ? "s" : "");
	if (snap_has(a->uar, SNAP_CONTEXT) && snap_has(a->uar, SNAP_LIMIT))
		say(e, EXPLAIN_UAR,
		    "its context has %u page%s; for QPs it may use %u, thread domains apart",
		    a->uar->context_uars,
		    a->uar->context_uars == 1 ? "" : "s",
		    a->uar->context_limit);
	if (e->environment && crowd_is_page(a->uar->kind))
		say(e, EXPLAIN_UAR, "its environment sets %s",
		    e->environment[0] ? e->environment :
		    "nothing of libmlx5's: 4 registers for one QP each, 12 shared");
}

/* On InfiniBand the class is the service level. */
static bool on_ib(const struct about *a)
{
	return a->port && a->port->link_layer == 1;
}

static void say_class(const struct about *a, struct explain *e)
{
	const char *what = on_ib(a) ? "service level" : "traffic class";
	uint32_t asked = on_ib(a) ? a->qp->sl_asked : a->qp->tclass_asked;
	uint32_t is = on_ib(a) ? a->qp->sl : a->qp->tclass;

	if (!snap_has(a->qp, SNAP_CLASS)) {
		say(e, EXPLAIN_CLASS, "none known: it has not been connected%s",
		    a->qp->adopted ? " since the module was loaded" : "");
		return;
	}
	say(e, EXPLAIN_CLASS, "its application asked for %s %u", what, asked);
	if (snap_has(a->qp, SNAP_LEVEL))
		say(e, EXPLAIN_CLASS, "level %u is forced (swiftrdma action show says by whom)",
		    a->qp->level);
	else
		say(e, EXPLAIN_CLASS, "no level is forced");
	if (a->qp->class_pending && snap_has(a->qp, SNAP_CLASS_ERROR) &&
	    a->qp->class_error)
		say(e, EXPLAIN_CLASS,
		    "%s %u is programmed, which is not yet what it should be: %s",
		    what, is, vocab_class_error(a->qp->class_error) ?:
			      strerrordesc_np(-a->qp->class_error));
	else if (a->qp->class_pending)
		say(e, EXPLAIN_CLASS,
		    "%s %u is programmed, which is about to be changed", what, is);
	else
		say(e, EXPLAIN_CLASS, "%s %u is programmed", what, is);
}

static void say_path(const struct about *a, struct explain *e)
{
	if (a->qp->udp_sport)
		say(e, EXPLAIN_CLASS, "it is made to send from UDP port %u",
		    a->qp->udp_sport);
	if (a->qp->lag_port)
		say(e, EXPLAIN_CLASS,
		    "it is made to send by port %u of the NIC's link aggregation",
		    a->qp->lag_port);
}

/* What it gets answered in, which is half of its traffic. */
static void say_peer(const struct about *a, struct explain *e)
{
	const struct pair *p = e->pairs ? pair_of(e->pairs, e->qp) : NULL;
	const char *what = on_ib(a) ? "service level" : "traffic class";
	const struct snap_qp *peer;
	const struct snap_dev *dev;

	if (!p)
		return;
	if (p->peer == PAIR_NONE) {
		say(e, EXPLAIN_UNTOLD, "in which class its peer answers: %s",
		    p->verdict == PAIR_AWAY ? "that is on another host" :
		    p->verdict == PAIR_HIDDEN ? "that is on this host, but not seen" :
		    p->verdict == PAIR_LOOSE ? "that is not connected back" :
		    "its address is not told");
		return;
	}
	peer = &a->cli->snap.qps[p->qp == e->qp ? p->peer : p->qp];
	dev = view_dev(a->cli, peer->dev);
	if (p->verdict == PAIR_ALIKE) {
		say(e, EXPLAIN_CLASS, "its peer, QP %u of %s, answers in the same",
		    peer->qpn, dev ? dev->name : "?");
		return;
	}
	say(e, EXPLAIN_CLASS, "its peer, QP %u of %s, answers in another: %s %u",
	    peer->qpn, dev ? dev->name : "?", what,
	    on_ib(a) ? peer->sl : peer->tclass);
	say(e, EXPLAIN_ADVICE,
	    "give both ends the same level, or one direction goes without: swiftrdma qp audit");
}

static const char *no_rate(const struct about *a, uint32_t cap)
{
	if (!a->dev)
		return "its device is gone";
	if (cap == SWIFTRDMA_DEV_CAP_WRS && snap_has(a->qp, SNAP_ABSENT) &&
	    !snap_has(a->qp, SNAP_WRS) && view_absent(a->qp->wrs_absent, true))
		return view_absent(a->qp->wrs_absent, true);
	if (!strcmp(a->dev->provider, "generic"))
		return "doorbells of this device bypass the kernel, and nothing here can read them";
	if (!(a->dev->caps & cap))
		return "this device's provider does not count them";
	if (!(a->qp->has & (cap == SWIFTRDMA_DEV_CAP_WRS ? SNAP_WRS
							 : SNAP_DOORBELLS)))
		return "they are counted on this device, but could not be of this QP";
	return "two readings with the same QP in it are needed";
}

static void say_rate(const struct about *a, struct explain *e, size_t row)
{
	double wrs = 0, rings = 0, uar = 0;
	bool has_wrs = signal_get(a->sig, SIG_QP_WR_RATE, row, &wrs);
	bool has_rings = signal_get(a->sig, SIG_QP_DOORBELL_RATE, row, &rings);

	if (has_wrs)
		say(e, EXPLAIN_RATE, "%s %s%s", figure(wrs, UNIT_RATE).s,
		    a->dev && a->dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS ?
		    "blocks of 64 bytes in its send queue, one or more for each work request"
		    : "work requests", a->qp->wrs_ambiguous ?
		    " (or more: the counter may have wrapped unseen)" : "");
	else
		say(e, EXPLAIN_UNTOLD, "work requests: %s",
		    no_rate(a, SWIFTRDMA_DEV_CAP_WRS));
	if (has_rings)
		say(e, EXPLAIN_RATE, "%s doorbells",
		    figure(rings, UNIT_RATE).s);
	else
		say(e, EXPLAIN_UNTOLD, "doorbells: %s",
		    no_rate(a, SWIFTRDMA_DEV_CAP_DOORBELLS));
	if (a->ref.uar < 0)
		return;
	if (has_wrs && signal_get(a->sig, SIG_UAR_WR_RATE,
				  (size_t)a->ref.uar, &uar) && uar > 0)
		say(e, EXPLAIN_RATE, "that is %s of the %s of its UAR",
		    figure(wrs / uar, UNIT_RATIO).s, figure(uar, UNIT_RATE).s);
	else if (has_rings && signal_get(a->sig, SIG_UAR_DOORBELL_RATE,
					 (size_t)a->ref.uar, &uar) && uar > 0)
		say(e, EXPLAIN_RATE, "that is %s of the %s of its UAR",
		    figure(rings / uar, UNIT_RATIO).s,
		    figure(uar, UNIT_RATE).s);
}

static void contention_uar(const struct about *a, struct explain *e)
{
	double coactive;

	if (!a->uar) {
		say(e, EXPLAIN_UNTOLD,
		    "contention on a UAR: it is not known which it rings");
		return;
	}
	if (a->uar->qps < 2) {
		say(e, EXPLAIN_CONTENTION, "UAR: none, no other QP rings it");
		return;
	}
	if (!signal_get(a->sig, SIG_UAR_COACTIVE, (size_t)a->ref.uar,
			&coactive)) {
		say(e, EXPLAIN_UNTOLD,
		    "contention on its UAR: neither work requests nor doorbells of its QPs are counted");
		return;
	}
	if (!crowd_is_page(a->uar->kind))
		say(e, EXPLAIN_CONTENTION,
		    "UAR: none, two or more of its QPs advanced in %s of the readings, but there is no register to contend for",
		    figure(coactive, UNIT_RATIO).s);
	else if (coactive <= cli_criterion(a->cli, "uar_calm"))
		say(e, EXPLAIN_CONTENTION,
		    "UAR: hardly any, two or more of its QPs advanced in %s of the readings (%s)",
		    figure(coactive, UNIT_RATIO).s, bound(a->cli, "uar_calm").s);
	else if (a->uar->qps <= CROWD_PAGE_QPS)
		say(e, EXPLAIN_CONTENTION,
		    "UAR: little at most, both its QPs advanced in %s of the readings, but a page has a register for each",
		    figure(coactive, UNIT_RATIO).s);
	else
		say(e, EXPLAIN_CONTENTION,
		    "UAR: %s, two or more of its %u QPs advanced in %s of the readings (%s)",
		    coactive > cli_criterion(a->cli, "uar_contended") ? "yes" : "some",
		    a->uar->qps, figure(coactive, UNIT_RATIO).s,
		    bound(a->cli, "uar_contended").s);
	if (crowd_is_page(a->uar->kind))
		say(e, EXPLAIN_UNTOLD,
		    "which threads post: nobody but the program knows; QPs of one thread wait for no lock");
}

/* What the network behind the port says of itself. */
static void contention_beyond(const struct about *a, struct explain *e)
{
	size_t row = (size_t)a->ref.port;
	double v;

	if (signal_get(a->sig, SIG_PORT_PAUSE_RATE, row, &v) && v > 0)
		say(e, EXPLAIN_CONTENTION,
		    "switch: yes, it told the port to pause, %s",
		    figure(v, UNIT_RATE).s);
	if (signal_get(a->sig, SIG_PORT_CNP_RATE, row, &v) && v > 0)
		say(e, EXPLAIN_CONTENTION,
		    "network: yes, notifications of congestion slow QPs of the port down, %s",
		    figure(v, UNIT_RATE).s);
}

static bool port_busy(const struct about *a, double util)
{
	return util > cli_criterion(a->cli, "port_busy");
}

static void contention_port(const struct about *a, struct explain *e)
{
	double util, speed = 0;

	if (a->port)
		signal_get(a->sig, SIG_PORT_SPEED, (size_t)a->ref.port, &speed);

	if (!a->port) {
		say(e, EXPLAIN_UNTOLD, "contention on a port: %s",
		    snap_has(a->qp, SNAP_PORT) ? "its port is not there" :
		    "it has none before it is in state INIT");
	} else if (!signal_get(a->sig, SIG_PORT_UTIL, (size_t)a->ref.port,
			       &util)) {
		say(e, EXPLAIN_UNTOLD,
		    "contention on its port: its %s is not told",
		    snap_has(a->port, SNAP_BYTES) ? "speed" : "traffic");
	} else {
		say(e, EXPLAIN_CONTENTION, "port: %s, %s/%u is %s busy, of %s (%s)",
		    port_busy(a, util) ? "yes" : "none",
		    a->dev ? a->dev->name : "?", a->port->index,
		    figure(util, UNIT_RATIO).s, figure(speed, UNIT_BITRATE).s,
		    bound(a->cli, "port_busy").s);
	}
	if (a->port)
		contention_beyond(a, e);
}

static const char *why_absent(enum signal_id id)
{
	return vocab_signals[id].measured ? "this device does not tell" :
	       "nothing here measures it";
}

static void contention_cache(const struct about *a, struct explain *e)
{
	size_t row = a->ref.dev >= 0 ? (size_t)a->ref.dev : SIZE_MAX;
	double qpc = 0, mtt = 0, worst;
	bool has_qpc = signal_get(a->sig, SIG_DEV_QPC_MISS, row, &qpc);
	bool has_mtt = signal_get(a->sig, SIG_DEV_MTT_MISS, row, &mtt);

	worst = qpc > mtt ? qpc : mtt;
	if (has_qpc || has_mtt)
		say(e, EXPLAIN_CONTENTION, "cache: %s, %s of its lookups of %s miss (%s)",
		    worst >= cli_criterion(a->cli, "miss_high") ? "yes" :
		    worst > cli_criterion(a->cli, "miss_low") ? "some" :
		    "hardly any", figure(worst, UNIT_RATIO).s,
		    has_mtt && mtt >= qpc ? "translations" : "contexts",
		    bound(a->cli, "miss_high").s);
	else
		say(e, EXPLAIN_UNTOLD, "contention in the NIC's cache: %s",
		    why_absent(SIG_DEV_MTT_MISS));
	if (a->dev && a->dev->qps > cli_criterion(a->cli, "qps_warn"))
		say(e, EXPLAIN_CONTENTION,
		    "cache: %u QPs and %u MRs are many, their contexts may not fit into it (%s)",
		    a->dev->qps, a->dev->mrs, bound(a->cli, "qps_warn").s);
}

static void contention_limit(const struct about *a, struct explain *e)
{
	const struct snap_dev *d = a->dev;

	if (d && snap_has(d, SNAP_UAR_LIMIT) && d->uar_limit &&
	    d->uars > d->uar_limit / 10 * 9)
		say(e, EXPLAIN_CONTENTION,
		    "UARs of the device: nearly all in use, %u of %u; creating a context will fail soon",
		    d->uars, d->uar_limit);
}

static void contention_nic(const struct about *a, struct explain *e)
{
	size_t row = a->ref.dev >= 0 ? (size_t)a->ref.dev : SIZE_MAX;
	double v;

	if (signal_get(a->sig, SIG_DEV_DB_CONGESTION, row, &v))
		say(e, EXPLAIN_CONTENTION,
		    "doorbells of the device: %s, congestion was raised %s",
		    v > 0 ? "yes" : "none", figure(v, UNIT_RATE).s);
	else
		say(e, EXPLAIN_UNTOLD, "congestion of the device's doorbells: %s",
		    why_absent(SIG_DEV_DB_CONGESTION));
	if (signal_get(a->sig, SIG_DEV_PCIE_STALL, row, &v))
		say(e, EXPLAIN_CONTENTION, "PCIe: %s, stalled %s of the time (%s)",
		    v > cli_criterion(a->cli, "pcie_stalled") ? "yes" : "hardly any",
		    figure(v, UNIT_RATIO).s, bound(a->cli, "pcie_stalled").s);
	else
		say(e, EXPLAIN_UNTOLD, "stalls of PCIe: %s",
		    why_absent(SIG_DEV_PCIE_STALL));
}

/* Whose word it is what counts as busy. */
static void say_bounds(const struct about *a, struct explain *e)
{
	const struct running *r = &a->cli->running;

	if (r->pid)
		say(e, EXPLAIN_CONTENTION,
		    "bounds and port speeds are those of %s, by which the agent runs (pid %u)",
		    strcmp(r->file, "-") ? r->file : "its standard input",
		    r->pid);
	else if (r->file[0])
		say(e, EXPLAIN_CONTENTION,
		    "bounds and port speeds are those of %s, by which an agent would run",
		    r->file);
}

static void advise(const struct about *a, struct explain *e)
{
	const struct crowd_proc *p = a->proc;
	const char *what = NULL;
	double util;

	if (p && a->uar && (p->state == CROWD_HARD || p->state == CROWD_UNTOLD))
		what = crowd_advise(p->advice);
	if (what && p->state == CROWD_UNTOLD)
		say(e, EXPLAIN_ADVICE, "if several threads post at a time: %s",
		    what);
	else if (what)
		say(e, EXPLAIN_ADVICE, "%s", what);
	if (what && p->advice == CROWD_UUARS && e->environment &&
	    strstr(e->environment, "MLX5_SHUT_UP_BF"))
		say(e, EXPLAIN_ADVICE,
		    "take MLX5_SHUT_UP_BF out of its environment, which puts all QPs on one register (swiftrdma run does)");
	if (what && p->advice == CROWD_UUARS)
		say(e, EXPLAIN_ADVICE,
		    "or make the QPs of each thread in a thread domain of their own (ibv_alloc_td(3)), if the program can be changed");
	if (a->port && a->job && a->job->id &&
	    signal_get(a->sig, SIG_PORT_UTIL, (size_t)a->ref.port, &util) &&
	    port_busy(a, util))
		say(e, EXPLAIN_ADVICE,
		    "raise the class of its job while the port is busy: swiftrdma action set job %s level N, or a policy that does",
		    a->job->name);
	for (size_t i = 0; i < e->n; i++)
		if (e->line[i].topic == EXPLAIN_ADVICE)
			return;
	say(e, EXPLAIN_ADVICE, "nothing: no contention is seen that could be avoided");
}

void explain_qp(const struct cli *cli, struct explain *e)
{
	struct about a = about(cli, e->qp);

	e->n = 0;
	say_who(&a, e);
	say_uar(&a, e);
	say_class(&a, e);
	say_path(&a, e);
	say_peer(&a, e);
	say_rate(&a, e, e->qp);
	contention_uar(&a, e);
	contention_port(&a, e);
	contention_cache(&a, e);
	contention_nic(&a, e);
	contention_limit(&a, e);
	say_bounds(&a, e);
	advise(&a, e);
}
