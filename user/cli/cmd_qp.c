// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma_share.h>

#include "cli/qp_filter.h"
#include "explain/ends.h"

#define QP(member)		MEMBER(struct snap_qp, member)
#define QP_HAS(member, bits)	MEMBER_HAS(struct snap_qp, member, bits)
#define QP_IF(member, by)	MEMBER_IF(struct snap_qp, member, by)
#define OWNER(member)		.of = owner_of_qp, MEMBER(struct snap_owner, member)
#define PROCESS(member)		.of = process_of_qp, MEMBER(struct snap_owner, member)
/* What the library in the QP's process reported. */
#define REPORT(member)		.of = report_of_qp, MEMBER(struct snap_qp_report, member)
#define REPORT_IF(member, by)	.of = report_of_qp, MEMBER_IF(struct snap_qp_report, member, by)
#define REPORT_HAS(member, bit)	.of = report_of_qp, MEMBER_HAS(struct snap_qp_report, member, bit)

static const void *owner_of_qp(const struct cli *cli, const void *row)
{
	const struct snap_qp *qp = row;

	return view_owner(cli, snap_has(qp, SNAP_OWNER), qp->owner);
}

static const void *process_of_qp(const struct cli *cli, const void *row)
{
	return view_process(owner_of_qp(cli, row));
}

static const void *report_of_qp(const struct cli *cli, const void *row)
{
	return view_qp_report(cli, row);
}

GETTER(latency)
{
	struct snap_figures f;

	if (view_qp_times(cli, row, &f))
		cell_mean(c, f.latency_sum, f.latency_wrs);
}

GETTER(queue_delay)
{
	struct snap_figures f;

	if (view_qp_times(cli, row, &f))
		cell_mean(c, f.hol_sum, f.hol_wrs);
}

GETTER(library)
{
	cell_flag(c, view_qp_report(cli, row));
}

/* What is true of the library's figures: of a QP with no-order it measures nothing. */
GETTER(library_flags)
{
	static const struct bit_name flags[] = {
		{ SWIFTRDMA_SLOT_NO_ORDER, "no-order" },
		{ SWIFTRDMA_SLOT_ERROR, "error" },
		{ SWIFTRDMA_SLOT_WR_API, "wr-api" },
		{ SWIFTRDMA_SLOT_CHUNK, "chunk" },
		{ SWIFTRDMA_SLOT_FIXED, "fixed" },
		{ SWIFTRDMA_SLOT_DOMAIN, "domain" },
	};
	const struct snap_qp_report *r = view_qp_report(cli, row);

	if (r)
		cell_bits(c, r->flags, flags, sizeof(flags) / sizeof(flags[0]));
}

/* The QP that carries the requests of this one since the library has moved it; NULL: itself. */
static const struct snap_qp *now_of(const struct cli *cli, const struct snap_qp *qp)
{
	const struct snap_qp_report *r = view_qp_report(cli, qp);

	for (size_t i = 0; r && r->now_qpn && i < cli->snap.n_qps; i++)
		if (cli->snap.qps[i].dev == qp->dev && cli->snap.qps[i].qpn == r->now_qpn)
			return &cli->snap.qps[i];
	return NULL;
}

GETTER(now)
{
	const struct snap_qp_report *r = view_qp_report(cli, row);

	/* The other QP may not be among those that were asked for. */
	if (r && r->now_qpn)
		cell_u64(c, r->now_qpn);
}

GETTER(now_uar)
{
	const struct snap_qp *now = now_of(cli, row);

	if (now && snap_has(now, SNAP_UAR))
		cell_u64(c, now->uar);
}

/* The QP of the application whose requests this QP carries. */
GETTER(carries)
{
	const struct snap_qp *qp = row;

	for (size_t i = 0; i < cli->snap.n_qp_reports; i++)
		if (cli->snap.qp_reports[i].dev == qp->dev &&
		    cli->snap.qp_reports[i].now_qpn == qp->qpn)
			cell_u64(c, cli->snap.qp_reports[i].qpn);
}

GETTER(wrs_unseen)
{
	struct reading_unseen u;

	if (view_unseen(cli, row, &u) && u.has_wrs)
		cell_u64(c, u.wrs);
}

GETTER(doorbells_unseen)
{
	struct reading_unseen u;

	if (view_unseen(cli, row, &u) && u.has_doorbells)
		cell_u64(c, u.doorbells);
}

GETTER(type)
{
	view_word(UNIT_TYPE, ((const struct snap_qp *)row)->type, c);
}

GETTER(state)
{
	const struct snap_qp *qp = row;

	if (!snap_has(qp, SNAP_STATE))
		return;
	view_word(UNIT_STATE, qp->state, c);
	/* as in enum ib_qp_state: RTS, ERR */
	if (qp->state == 3)
		c->tone = TONE_GOOD;
	else if (qp->state == 6)
		c->tone = TONE_BAD;
}

/* Process or kernel user, in one column. */
GETTER(user)
{
	const struct snap_owner *o = owner_of_qp(cli, row);

	if (o)
		cell_str(c, o->kernel[0] ? o->kernel : o->comm);
}

/* Why WRS is absent. */
GETTER(wrs_absent)
{
	const struct snap_qp *qp = row;

	if (snap_has(qp, SNAP_ABSENT) && !snap_has(qp, SNAP_WRS))
		cell_str(c, reading_absent(qp->wrs_absent, false));
}

GETTER(dgid)
{
	static const uint8_t none[sizeof(((struct snap_qp *)0)->dgid)];
	const struct snap_qp *qp = row;

	if (snap_has(qp, SNAP_DEST) && memcmp(qp->dgid, none, sizeof(none)) &&
	    inet_ntop(AF_INET6, qp->dgid, c->buf, sizeof(c->buf)))
		cell_str(c, c->buf);
}

GETTER(class_error)
{
	const struct snap_qp *qp = row;

	if (!snap_has(qp, SNAP_CLASS_ERROR) || !qp->class_error)
		return;
	cell_s64(c, qp->class_error);
	c->tone = TONE_BAD;
}

GETTER(ends)
{
	const struct snap_qp *qp = row;
	const char *ends = ends_word(qp);

	if (!ends)
		return;
	cell_str(c, ends);
	c->tone = qp->ends == SWIFTRDMA_ENDS_BOTH ? TONE_GOOD : TONE_WARN;
}

GETTER(ends_why)
{
	cell_str(c, ends_why_word(row));
}

GETTER(ends_why_key)
{
	cell_str(c, ends_why_key(row));
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, DEV_NAME(struct snap_qp) },
	{ "port", "PORT", 0, 0, QP_HAS(port, SNAP_PORT) },
	{ "qpn", "QPN", 0, 0, QP(qpn) },
	{ "id", "ID", 0, COL_DETAIL, QP(serial) },
	{ "type", "TYPE", 0, COL_LEFT, .get = get_type },
	{ "state", "STATE", 0, COL_LEFT, .get = get_state },
	{ "uar", "UAR", 0, 0, QP_HAS(uar, SNAP_UAR) },
	{ "now", "NOW", 0, COL_SPARSE, .get = get_now },
	{ "now_uar", "NOW-UAR", 0, COL_SPARSE, .get = get_now_uar },
	{ "carries", "CARRIES", 0, COL_SPARSE, .get = get_carries },
	{ "job", "JOB", 0, COL_LEFT, MEMBER_AS(FROM_JOB, struct snap_qp, job) },
	{ "pid", "PID", 0, 0, PROCESS(pid) },
	{ "tid", "TID", 0, COL_DETAIL, QP_HAS(tid, SNAP_TID) },
	{ "uid", "UID", 0, COL_DETAIL, PROCESS(uid) },
	{ "owner", "OWNER", 0, COL_LEFT | COL_TEXT, .get = get_user },
	{ "comm", NULL, 0, COL_JSON, OWNER(comm) },
	{ "exe", "EXE", 0, COL_LEFT | COL_DETAIL, OWNER(exe) },
	{ "kernel", NULL, 0, COL_JSON, OWNER(kernel) },
	{ "send_cq", "SCQ", 0, COL_DETAIL, QP_HAS(send_cq, SNAP_SEND_CQ) },
	{ "recv_cq", "RCQ", 0, COL_DETAIL, QP_HAS(recv_cq, SNAP_RECV_CQ) },
	{ "max_send_wr", "SEND-WR", 0, COL_DETAIL, QP_HAS(max_send_wr, SNAP_CAP) },
	{ "max_recv_wr", "RECV-WR", 0, COL_DETAIL, QP_HAS(max_recv_wr, SNAP_CAP) },
	{ "max_send_sge", NULL, 0, COL_JSON, QP_HAS(max_send_sge, SNAP_CAP) },
	{ "max_recv_sge", NULL, 0, COL_JSON, QP_HAS(max_recv_sge, SNAP_CAP) },
	{ "max_inline", NULL, 0, COL_JSON, QP_HAS(max_inline, SNAP_CAP) },
	{ "wr_rate", "WR/s", SHOW_RATE, COL_RATE | COL_WRS, SIGNAL(QP_WR_RATE) },
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, SIGNAL(QP_DOORBELL_RATE) },
	{ "queue_latency", "Q-LATENCY", SHOW_TIME, COL_RATE | COL_SPARSE, SIGNAL(QP_LATENCY) },
	{ "doorbells", "DOORBELLS", 0, 0, QP_HAS(doorbells, SNAP_DOORBELLS) },
	{ "wrs", "WRS", 0, COL_WRS, QP_HAS(wrs, SNAP_WRS) },
	{ "wr_unit", NULL, 0, COL_JSON, WR_UNIT(struct snap_qp) },
	{ "outstanding", "OUTST", 0, COL_SPARSE, REPORT_HAS(outstanding, SNAP_OUTSTANDING) },
	{ "queue_delay", "HOL-WAIT", SHOW_TIME, COL_SPARSE, .get = get_queue_delay },
	{ "hol_max", "HOL-MAX", SHOW_TIME, COL_DETAIL | COL_SPARSE, REPORT_IF(sum.hol_max, sum.hol_wrs) },
	{ "latency", "LATENCY", SHOW_TIME, COL_SPARSE, .get = get_latency },
	{ "latency_max", "LAT-MAX", SHOW_TIME, COL_SPARSE, REPORT_IF(sum.latency_max, sum.samples) },
	{ "latency_samples", NULL, 0, COL_JSON, REPORT(sum.samples) },
	{ "reported_wrs", "LIB-WRS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.wrs) },
	{ "wrs_unseen", "UNSEEN", 0, COL_RATE | COL_DETAIL | COL_SPARSE, .get = get_wrs_unseen },
	{ "reported_calls", "LIB-CALLS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.calls) },
	{ "doorbells_unseen", "DB-UNSEEN", 0, COL_RATE | COL_DETAIL | COL_SPARSE, .get = get_doorbells_unseen },
	{ "reported_bytes", "LIB-BYTES", SHOW_BYTES, COL_DETAIL | COL_SPARSE, REPORT(sum.bytes) },
	{ "recv_wrs", "RECV-WRS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.recv_wrs) },
	{ "done", "DONE", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.done) },
	{ "dropped", "DROPPED", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.dropped) },
	{ "errors", "ERRORS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.errors) },
	{ "library", "LIBRARY", 0, COL_LEFT | COL_DETAIL, .get = get_library },
	{ "library_flags", "LIB-FLAGS", 0, COL_LEFT | COL_DETAIL | COL_SPARSE, .get = get_library_flags },
	{ "level", "LEVEL", 0, 0, QP_HAS(level, SNAP_LEVEL) },
	{ "peer_wish", "WISHED", 0, COL_SPARSE, QP_HAS(peer_wish, SNAP_PEER_WISH) },
	{ "follows", "FOLLOWS", 0, COL_LEFT | COL_DETAIL | COL_SPARSE, QP_IF(follows, follows) },
	{ "peer_level", "PEER-LEVEL", 0, COL_DETAIL | COL_SPARSE, QP_HAS(peer_level, SNAP_PEER_LEVEL) },
	{ "ends", "ENDS", 0, COL_LEFT | COL_SPARSE, .get = get_ends },
	{ "ends_why", NULL, 0, COL_JSON, .get = get_ends_why_key },
	{ "ends_why", "WHY", 0, COL_LEFT | COL_TEXT | COL_SPARSE, .get = get_ends_why },
	{ "tclass", "TCLASS", 0, 0, QP_HAS(tclass, SNAP_CLASS) },
	{ "tclass_asked", "ASKED", 0, 0, QP_HAS(tclass_asked, SNAP_CLASS) },
	{ "sl", "SL", 0, COL_DETAIL, QP_HAS(sl, SNAP_CLASS) },
	{ "sl_asked", "SL-ASKED", 0, COL_DETAIL, QP_HAS(sl_asked, SNAP_CLASS) },
	{ "class_pending", "PENDING", 0, COL_LEFT | COL_DETAIL, QP(class_pending) },
	{ "class_error", "ERROR", SHOW_ERRNO, COL_LEFT | COL_DETAIL, .get = get_class_error },
	{ "dest_qpn", "DEST-QPN", 0, COL_DETAIL, QP_HAS(dest_qpn, SNAP_DEST) },
	{ "dgid", "DGID", 0, COL_LEFT | COL_DETAIL, .get = get_dgid },
	{ "dlid", "DLID", 0, COL_DETAIL, QP_IF(dlid, dlid) },
	{ "udp_sport", "UDP-SPORT", 0, COL_DETAIL, QP_IF(udp_sport, udp_sport) },
	{ "lag_port", "LAG-PORT", 0, COL_DETAIL, QP_IF(lag_port, lag_port) },
	{ "adopted", "ADOPTED", 0, COL_LEFT | COL_DETAIL, QP(adopted) },
	{ "devx", "DEVX", 0, COL_LEFT | COL_DETAIL, QP(devx) },
	{ "wrs_since", NULL, 0, COL_JSON, QP_HAS(wrs_since, SNAP_WRS_SINCE) },
	{ "wrs_ambiguous", "AMBIGUOUS", 0, COL_LEFT | COL_DETAIL, QP(wrs_ambiguous) },
	{ "wrs_absent", "NO-WRS", 0, COL_LEFT | COL_DETAIL, .get = get_wrs_absent },
	{ "outstanding_samples", NULL, 0, COL_JSON, QP_HAS(outstanding_samples, SNAP_LOOKS) },
	{ "outstanding_sum", NULL, 0, COL_JSON, QP_HAS(outstanding_sum, SNAP_LOOKS) },
	{ "request_blocks", NULL, 0, COL_JSON, QP_HAS(request_blocks, SNAP_REQUESTS) },
	{ "request_changes", NULL, 0, COL_JSON, QP_HAS(request_changes, SNAP_REQUESTS) },
	{ "uncovered_samples", NULL, 0, COL_JSON, QP_HAS(uncovered_samples, SNAP_REQUESTS) },
	{ "uncovered_sum", NULL, 0, COL_JSON, QP_HAS(uncovered_sum, SNAP_REQUESTS) },
	{ "cgroup", "CGROUP", 0, COL_LEFT | COL_DETAIL, OWNER(cgroup) },
	{ "since", NULL, 0, COL_JSON, QP(since) },
	{ "time", NULL, 0, COL_JSON, QP(time) },
};

struct rows qp_rows(const struct snapshot *snap)
{
	return ROWS(columns, snap->qps, snap->n_qps);
}

static int show_qps(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true, .qps = true, .jobs = true, .reports = true,
		.outstanding = cli->interval_ms,
		.cached = { .devs = true, .jobs = true },
	};
	struct sorting sorting = { 0 };
	struct qp_filter f = { 0 };
	struct rows rows;
	int err = CLI_OK;

	while (args_left(args) && !err)
		err = qp_filter_parse(args, &want, &f, &sorting);
	if (!err)
		err = cli_read(cli, &want);
	if (err)
		return err;
	rows = qp_rows(&cli->snap);
	rows.want = qp_wanted;
	rows.arg = &f;
	return cli_list(cli, &rows, &sorting);
}

static const struct verb verbs[] = {
	{ "show", show_qps }, { "list", show_qps }, { "explain", qp_explain },
	{ "audit", qp_audit }, { "peer", qp_peer }, { 0 },
};

const struct noun_table qp_table = NOUN_TABLE("qp", columns);
static const struct noun_table *const tables[] = {
	&qp_table, &qp_audit_table, &qp_peer_table, NULL,
};

const struct noun noun_qp = {
	.name = "qp",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma qp [ show [ FILTER ... ] [ sort KEY ] [ top N ] ]\n"
	"       swiftrdma qp explain DEV QPN\n"
	"       swiftrdma qp audit [ FILTER ... ] [ all ] [ sort KEY ] [ top N ]\n"
	"       swiftrdma qp peer [ FILTER ... ] [ sort KEY ] [ top N ]\n"
	"\n"
	"FILTER := { dev DEV | port PORT | uar INDEX | qpn QPN | pid PID | job JOB |\n"
	"            comm NAME | uid UID | type TYPE | state STATE | cgroup GLOB }\n"
	"TYPE   := { RC | UC | UD | XRC_INI | XRC_TGT | RAW_PACKET | DRIVER | GSI | SMI }\n"
	"STATE  := { RESET | INIT | RTR | RTS | SQD | SQE | ERR }\n"
	"\n"
	"show lists queue pairs: their owners, figures, and traffic classes, the one that\n"
	"is programmed and the one that the application asked for. Without CAP_NET_ADMIN\n"
	"it lists your own QPs only. explain says in words how a QP is doing, from readings\n"
	"over a second or the time that -i gives. audit finds QPs whose peer, on this host\n"
	"or another, answers in another class; with all it also lists pairs that are alike,\n"
	"and QPs whose peer is not visible. peer shows what the module at the other end of\n"
	"each connection says of its QP.\n",
	.tables = tables,
};
