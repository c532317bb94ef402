// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * qp audit: compares the classes of both ends of each connection. Each end sets the class
 * of what it sends, so a level helps both directions only if both ends have it. The class of
 * an end on another host is asked for over the network, see qp_audit_peer.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/qp_audit.h"
#include "cli/qp_filter.h"
#include "explain/ends.h"

/* One end: the class its application asked for, its level's, and the programmed one. */
struct end {
	bool known;			/* asked, programmed and what follows are */
	const struct snap_qp *qp;	/* NULL: not on this host, or not seen */
	const char *owner;		/* a process or a kernel user; NULL: unknown */
	bool is_process, has_forced, has_level, class_pending;
	uint32_t pid, qpn, level, asked, forced, programmed;
	int32_t class_error;		/* of a class that is pending; 0: none */
};

struct line {
	struct end end[2];
	enum pair_verdict verdict;
	uint32_t status;		/* enum swiftrdma_peer_status; UNSPEC: not asked */
	bool by_sl;
};

static const struct {
	const char *name, *words;
} verdicts[PAIR_VERDICTS] = {
	[PAIR_ALIKE] = { "alike", NULL },
	[PAIR_DIFFER] = { "differ", NULL },
	[PAIR_AWAY] = { "away", "is on another host and was not asked: that takes CAP_NET_ADMIN, and a module that can" },
	[PAIR_HIDDEN] = { "hidden", "is on this host but not visible: it is another user's, or was not made by verbs" },
	[PAIR_LOOSE] = { "loose", "is not connected back" },
	[PAIR_NOWHERE] = { "nowhere", "has an unknown address" },
};

static const void *first_qp(const struct cli *cli, const void *row)
{
	(void)cli;
	return ((const struct line *)row)->end[0].qp;
}

static const void *peer_qp(const struct cli *cli, const void *row)
{
	(void)cli;
	return ((const struct line *)row)->end[1].qp;
}

#define QP(which, member)	.of = which##_qp, MEMBER(struct snap_qp, member)
#define QP_AS(which, from, member) .of = which##_qp, MEMBER_AS(from, struct snap_qp, member)
#define END(i, member)		MEMBER(struct line, end[i].member)
#define END_IF(i, member, by)	MEMBER_IF(struct line, end[i].member, end[i].by)

GETTER(kind)
{
	cell_str(c, ((const struct line *)row)->by_sl ? "sl" : "tclass");
}

/* The peer's device, or its address on another host. */
GETTER(peer)
{
	const struct line *l = row;

	if (l->end[1].qp)
		view_dev_name(cli, l->end[1].qp->dev, c);
	else if (l->verdict == PAIR_AWAY || l->status)
		audit_address(l->end[0].qp, c);
}

GETTER(peer_address)
{
	const struct line *l = row;

	if (l->verdict == PAIR_AWAY || l->status)
		audit_address(l->end[0].qp, c);
}

GETTER(verdict)
{
	const struct line *l = row;

	cell_str(c, l->verdict <= PAIR_DIFFER ? verdicts[l->verdict].name : "unknown");
	c->tone = l->verdict == PAIR_ALIKE ? TONE_GOOD :
		  l->verdict == PAIR_DIFFER ? TONE_BAD : TONE_WARN;
}

/* The error of the end whose class could not be changed. */
GETTER(why)
{
	const struct line *l = row;

	if (l->verdict > PAIR_DIFFER)
		cell_str(c, l->status ? audit_status_word(l->status) : verdicts[l->verdict].name);
	for (int i = 0; i < 2 && c->kind == CELL_ABSENT; i++)
		if (l->end[i].class_pending && l->end[i].class_error)
			cell_str(c, vocab_class_error(l->end[i].class_error));
}

/* The first end that has a value for the column "ends" of qp show. */
static const struct snap_qp *wished_end(const struct line *l)
{
	for (int i = 0; i < 2; i++)
		if (l->end[i].qp && l->end[i].qp->ends)
			return l->end[i].qp;
	return NULL;
}

GETTER(ends)
{
	const struct snap_qp *qp = wished_end(row);

	if (!qp)
		return;
	cell_str(c, ends_word(qp));
	c->tone = qp->ends == SWIFTRDMA_ENDS_BOTH ? TONE_GOOD : TONE_WARN;
}

GETTER(ends_why)
{
	const struct snap_qp *qp = wished_end(row);

	cell_str(c, qp ? ends_why_word(qp) : NULL);
}

GETTER(ends_why_key)
{
	const struct snap_qp *qp = wished_end(row);

	cell_str(c, qp ? ends_why_key(qp) : NULL);
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, QP_AS(first, FROM_DEV, dev) },
	{ "qpn", "QPN", 0, 0, QP(first, qpn) },
	{ "id", NULL, 0, COL_JSON, QP(first, serial) },
	{ "job", "JOB", 0, COL_LEFT, QP_AS(first, FROM_JOB, job) },
	{ "pid", "PID", 0, COL_DETAIL, END_IF(0, pid, is_process) },
	{ "owner", "OWNER", 0, COL_LEFT | COL_DETAIL, END(0, owner) },
	{ "kind", "CLASS", 0, COL_LEFT, .get = get_kind },
	{ "level", "LEVEL", 0, COL_DETAIL, END_IF(0, level, has_level) },
	{ "asked", "ASKED", 0, 0, END_IF(0, asked, known) },
	{ "forced", "FORCED", 0, 0, END_IF(0, forced, has_forced) },
	{ "programmed", "IS", 0, 0, END_IF(0, programmed, known) },
	{ "class_pending", "PENDING", 0, COL_LEFT | COL_DETAIL, END(0, class_pending) },
	{ "dest_qpn", NULL, 0, COL_JSON, QP(first, dest_qpn) },
	{ "peer", "PEER", 0, COL_LEFT | COL_TEXT, .get = get_peer },
	{ "peer_dev", NULL, 0, COL_JSON, QP_AS(peer, FROM_DEV, dev) },
	{ "peer_address", NULL, 0, COL_JSON, .get = get_peer_address },
	{ "peer_qpn", "QPN", 0, 0, END_IF(1, qpn, qpn) },
	{ "peer_id", NULL, 0, COL_JSON, QP(peer, serial) },
	{ "peer_job", "JOB", 0, COL_LEFT, QP_AS(peer, FROM_JOB, job) },
	{ "peer_pid", "PID", 0, COL_DETAIL, END_IF(1, pid, is_process) },
	{ "peer_owner", "OWNER", 0, COL_LEFT | COL_DETAIL, END(1, owner) },
	{ "peer_level", "LEVEL", 0, COL_DETAIL, END_IF(1, level, has_level) },
	{ "peer_asked", "ASKED", 0, 0, END_IF(1, asked, known) },
	{ "peer_forced", "FORCED", 0, 0, END_IF(1, forced, has_forced) },
	{ "peer_programmed", "IS", 0, 0, END_IF(1, programmed, known) },
	{ "peer_class_pending", "PENDING", 0, COL_LEFT | COL_DETAIL, END(1, class_pending) },
	{ "verdict", "VERDICT", 0, COL_LEFT, .get = get_verdict },
	{ "why", "WHY", 0, COL_LEFT, .get = get_why },
	{ "ends", "ENDS", 0, COL_LEFT | COL_SPARSE, .get = get_ends },
	{ "ends_why", NULL, 0, COL_JSON, .get = get_ends_why_key },
	{ "ends_why", "ENDS-WHY", 0, COL_LEFT | COL_SPARSE, .get = get_ends_why },
};

const struct noun_table qp_audit_table = NOUN_TABLE("qp.audit", columns);

struct audit {
	struct qp_filter filter;
	struct io_want named;	/* filters; the kernel is not asked for them, see audit_pairs() */
	bool all;
	struct sorting sorting;
	struct line *lines;
	size_t n;
	struct pairs pairs;
	/* per verdict: connections, and those of them that are forced to a level */
	size_t count[PAIR_VERDICTS], forced[PAIR_VERDICTS];
	struct audit_peers peers;	/* those on other hosts */
	size_t away[PAIR_DIFFER + 1];	/* with an end on another host, which answered */
	/* the others with an end there, by status; and those forced to a level */
	size_t status[AUDIT_STATUSES], status_forced[AUDIT_STATUSES];
	struct io_level levels[SWIFTRDMA_LEVEL_MAX + 1];
	int n_levels;
};

int cli_pairs(struct cli *cli, struct pairs *pairs)
{
	struct pair_addr *addrs = NULL;
	size_t n = 0;
	int err = io_addresses(&cli->snap, &addrs, &n);

	if (!err)
		err = pair_find(pairs, &cli->snap, addrs, n);
	free(addrs);
	return err ? cli_no_memory() : CLI_OK;
}

static bool pair_wanted(const struct cli *cli, const struct audit *a, const struct snap_qp *qp)
{
	const struct io_want *n = &a->named;
	const struct snap_dev *dev;
	const struct snap_job *job;

	if (!qp || (n->has_qpn && qp->qpn != n->qpn))
		return false;
	dev = view_dev(cli, qp->dev);
	job = view_job(cli, qp->job);
	if ((n->dev && (!dev || strcmp(dev->name, n->dev))) ||
	    (n->job && (!job || strcmp(job->name, n->job))))
		return false;
	return qp_wanted(cli, qp, &a->filter);
}

static void fill_end(const struct cli *cli, const struct audit *a, const struct snap_qp *qp,
		     bool by_sl, struct end *e)
{
	const struct snap_owner *o = view_owner(cli, snap_has(qp, SNAP_OWNER), qp->owner);

	e->known = true;
	e->qp = qp;
	e->qpn = qp->qpn;
	e->has_level = snap_has(qp, SNAP_LEVEL);
	e->level = qp->level;
	e->class_pending = qp->class_pending;
	e->class_error = snap_has(qp, SNAP_CLASS_ERROR) ? qp->class_error : 0;
	if (o) {
		e->is_process = view_process(o);
		e->owner = e->is_process ? o->comm : o->kernel;
		e->pid = o->pid;
	}
	e->asked = by_sl ? qp->sl_asked : qp->tclass_asked;
	e->programmed = by_sl ? qp->sl : qp->tclass;
	for (int i = 0; i < a->n_levels && snap_has(qp, SNAP_LEVEL); i++) {
		if (a->levels[i].level != qp->level)
			continue;
		e->has_forced = by_sl ? a->levels[i].has_sl : a->levels[i].has_dscp;
		/* The low two bits (ECN) stay as the application set them. */
		e->forced = by_sl ? a->levels[i].sl :
			    a->levels[i].dscp << 2 | (qp->tclass_asked & 3);
	}
}

/* The end on another host: what it said of itself. */
static void fill_away(const struct io_peer *peer, uint32_t qpn, bool by_sl, struct end *e)
{
	*e = (struct end){
		.qpn = qpn, .known = peer->status == SWIFTRDMA_PEER_ANSWERED,
		.has_level = snap_has(peer, SNAP_LEVEL), .level = peer->level,
		.has_forced = snap_has(peer, SNAP_LEVEL),
		.forced = by_sl ? peer->level_sl : peer->level_tclass,
		.asked = by_sl ? peer->sl_asked : peer->tclass_asked,
		.programmed = by_sl ? peer->sl : peer->tclass,
		.class_pending = peer->class_pending, .class_error = peer->class_error,
	};
}

/* Asks the peer of a QP that is on another host, and compares. */
static int ask_away(struct cli *cli, struct audit *a, struct line *l)
{
	const struct snap_qp *qp = l->end[0].qp;
	uint32_t mine = l->end[0].programmed, theirs;
	struct io_peer peer;
	int err = audit_ask(cli, &a->peers, qp, &peer);

	if (err || !peer.status)
		return err;
	l->status = peer.status;
	fill_away(&peer, qp->dest_qpn, l->by_sl, &l->end[1]);
	if (!l->end[1].known)
		return CLI_OK;
	theirs = l->end[1].programmed;
	/* The low two bits of the traffic class are ECN, which may differ. */
	l->verdict = (l->by_sl ? mine == theirs : mine >> 2 == theirs >> 2) ? PAIR_ALIKE :
									     PAIR_DIFFER;
	return CLI_OK;
}

/* Counts a line under its verdict. Lines whose peer was asked have counters of their own. */
static void count_line(struct audit *a, const struct line *l)
{
	bool forced = l->end[0].has_level;

	if (!l->status) {
		a->count[l->verdict]++;
		a->forced[l->verdict] += forced;
	} else if (l->verdict <= PAIR_DIFFER) {
		a->away[l->verdict]++;
	} else {
		a->status[l->status]++;
		a->status_forced[l->status] += forced;
	}
}

static int build_lines(struct cli *cli, struct audit *a)
{
	const struct snapshot *snap = &cli->snap;
	int err;

	a->lines = calloc(a->pairs.n + 1, sizeof(*a->lines));
	if (!a->lines)
		return cli_no_memory();
	for (size_t i = 0; i < a->pairs.n; i++) {
		const struct pair *p = &a->pairs.pair[i];
		const struct snap_qp *qp = &snap->qps[p->qp];
		const struct snap_qp *peer = p->peer == PAIR_NONE ? NULL : &snap->qps[p->peer];
		struct line *l = &a->lines[a->n];

		if (!pair_wanted(cli, a, qp) && !pair_wanted(cli, a, peer))
			continue;
		*l = (struct line){ .verdict = p->verdict, .by_sl = pair_by_sl(snap, qp) };
		/* A forced end is always the first of the pair. */
		fill_end(cli, a, qp, l->by_sl, &l->end[0]);
		if (peer)
			fill_end(cli, a, peer, l->by_sl, &l->end[1]);
		err = p->verdict == PAIR_AWAY ? ask_away(cli, a, l) : CLI_OK;
		if (err)
			return err;
		count_line(a, l);
		a->n += a->all || l->verdict == PAIR_DIFFER;
	}
	return CLI_OK;
}

static void print_unknown(FILE *f, size_t n, size_t forced, const char *words)
{
	if (!n)
		return;
	fprintf(f, "unknown: %zu QP%s", n, n == 1 ? "" : "s");
	if (forced)
		fprintf(f, " (%zu forced to a level)", forced);
	fprintf(f, " whose peer %s\n", words);
}

static void print_sum(FILE *f, const struct audit *a)
{
	size_t n = a->count[PAIR_ALIKE] + a->count[PAIR_DIFFER];

	fprintf(f, "%zu pair%s with both ends on this host: %zu differ%s, %zu alike\n",
		n, n == 1 ? "" : "s", a->count[PAIR_DIFFER],
		a->count[PAIR_DIFFER] == 1 ? "s" : "", a->count[PAIR_ALIKE]);
	n = a->away[PAIR_ALIKE] + a->away[PAIR_DIFFER];
	if (n)
		fprintf(f, "%zu pair%s with an end on another host: %zu differ%s, %zu alike\n",
			n, n == 1 ? "" : "s", a->away[PAIR_DIFFER],
			a->away[PAIR_DIFFER] == 1 ? "s" : "", a->away[PAIR_ALIKE]);
	for (int v = PAIR_DIFFER + 1; v < PAIR_VERDICTS; v++)
		print_unknown(f, a->count[v], a->forced[v], verdicts[v].words);
	for (uint32_t s = 0; s < AUDIT_STATUSES; s++)
		print_unknown(f, a->status[s], a->status_forced[s], audit_status_words(s));
}

static void json_sum(struct json *j, const size_t *count)
{
	json_begin(j, '{');
	for (int v = 0; v < PAIR_VERDICTS; v++) {
		json_key(j, verdicts[v].name);
		json_u64(j, count[v]);
	}
	json_end(j, '}');
}

/* Connections with an end on another host that was asked. */
static void json_away(struct json *j, const struct audit *a)
{
	json_begin(j, '{');
	for (int v = 0; v <= PAIR_DIFFER; v++) {
		json_key(j, verdicts[v].name);
		json_u64(j, a->away[v]);
	}
	for (uint32_t s = SWIFTRDMA_PEER_ANSWERED + 1; s < AUDIT_STATUSES; s++) {
		json_key(j, audit_status_key(s));
		json_u64(j, a->status[s]);
	}
	json_end(j, '}');
}

static int print_audit(struct cli *cli, struct audit *a)
{
	struct rows rows = ROWS(columns, a->lines, a->n);
	struct out *o = &cli->out;
	int err = sort_rows(cli, &rows, &a->sorting);

	if (err)
		return err;
	if (!o->json) {
		err = a->n ? cli_show(cli, &rows) : CLI_OK;
		if (!err)
			print_sum(o->f, a);
		return err;
	}
	o->j = (struct json){ .f = o->f, .pretty = o->pretty, .first = true };
	json_begin(&o->j, '{');
	out_list(cli, o, "pairs", &rows);
	json_key(&o->j, "count");
	json_sum(&o->j, a->count);
	json_key(&o->j, "forced");
	json_sum(&o->j, a->forced);
	json_key(&o->j, "asked");
	json_away(&o->j, a);
	json_end(&o->j, '}');
	putc('\n', o->f);
	return CLI_OK;
}

static int parse_audit(struct args *args, struct audit *a)
{
	int err = CLI_OK;

	while (args_left(args) && !err) {
		if (args_is(args_peek(args), "all")) {
			args_next(args);
			a->all = true;
			continue;
		}
		err = qp_filter_parse(args, &a->named, &a->filter, &a->sorting);
	}
	return err;
}

/* Reads all QPs, since the peer of a wanted QP may be any of them. */
static int audit_pairs(struct cli *cli, struct audit *a)
{
	struct io_want want = {
		.devs = true, .ports = true, .qps = true, .jobs = true,
		.cached = { .devs = true, .ports = true, .jobs = true },
	};
	uint32_t index;
	int err = cli_read(cli, &want);

	if (!err && a->named.dev)
		err = view_find_dev(cli, a->named.dev, &index);
	if (!err && a->named.job && !reading_job_named(&cli->snap, a->named.job))
		err = cli_fail("no job '%s' that you may see", a->named.job);
	if (err)
		return err;
	if (cli->snap.admin)
		a->n_levels = io_levels(cli->io, a->levels, SWIFTRDMA_LEVEL_MAX + 1);
	if (a->n_levels < 0)
		return cli_io_error(cli);
	err = cli_pairs(cli, &a->pairs);
	if (!err)
		err = build_lines(cli, a);
	return err ? err : print_audit(cli, a);
}

int qp_audit(struct cli *cli, struct args *args)
{
	struct audit *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return cli_no_memory();
	err = parse_audit(args, a);
	if (!err)
		err = audit_pairs(cli, a);
	free(a->sorting.order);
	free(a->lines);
	pair_free(&a->pairs);
	free(a->peers.host);
	free(a);
	return err;
}
