// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "cli/qp_filter.h"

#define GETTER(name)							\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)

#define NUMBER(name, field, bit)					\
	GETTER(name)							\
	{								\
		const struct snap_qp *qp = row;				\
									\
		(void)cli;						\
		if ((bit) == 0 || snap_has(qp, bit))			\
			cell_u64(c, qp->field);				\
	}

#define FLAG(name)							\
	GETTER(name)							\
	{								\
		(void)cli;						\
		cell_flag(c, ((const struct snap_qp *)row)->name);	\
	}

#define RATE(name, id)							\
	GETTER(name)							\
	{								\
		view_signal(cli, id, (const struct snap_qp *)row -	\
			    cli->snap.qps, c);				\
	}

static const struct snap_owner *owner_of_qp(const struct cli *cli, const void *row)
{
	const struct snap_qp *qp = row;

	return view_owner(cli, snap_has(qp, SNAP_OWNER), qp->owner);
}

#define OWNER_STR(name)							\
	GETTER(name)							\
	{								\
		const struct snap_owner *o = owner_of_qp(cli, row);		\
									\
		if (o)							\
			cell_str(c, o->name);				\
	}

#define OWNER_ID(name)							\
	GETTER(name)							\
	{								\
		const struct snap_owner *o = owner_of_qp(cli, row);		\
									\
		if (o && !o->kernel[0])					\
			cell_u64(c, o->name);				\
	}

NUMBER(qpn, qpn, 0)
NUMBER(id, serial, 0)
NUMBER(port, port, SNAP_PORT)
NUMBER(uar, uar, SNAP_UAR)
NUMBER(tid, tid, SNAP_TID)
NUMBER(send_cq, send_cq, SNAP_SEND_CQ)
NUMBER(recv_cq, recv_cq, SNAP_RECV_CQ)
NUMBER(max_send_wr, max_send_wr, SNAP_CAP)
NUMBER(max_recv_wr, max_recv_wr, SNAP_CAP)
NUMBER(max_send_sge, max_send_sge, SNAP_CAP)
NUMBER(max_recv_sge, max_recv_sge, SNAP_CAP)
NUMBER(max_inline, max_inline, SNAP_CAP)
NUMBER(doorbells, doorbells, SNAP_DOORBELLS)
NUMBER(wrs, wrs, SNAP_WRS)
NUMBER(level, level, SNAP_LEVEL)
NUMBER(tclass_asked, tclass_asked, SNAP_CLASS)
NUMBER(tclass, tclass, SNAP_CLASS)
NUMBER(sl_asked, sl_asked, SNAP_CLASS)
NUMBER(sl, sl, SNAP_CLASS)
NUMBER(dest_qpn, dest_qpn, SNAP_DEST)
NUMBER(since, since, 0)
NUMBER(time, time, 0)
FLAG(adopted)
FLAG(devx)
FLAG(class_pending)
FLAG(wrs_ambiguous)
NUMBER(wrs_since, wrs_since, SNAP_WRS_SINCE)
RATE(wr_rate, SIG_QP_WR_RATE)
RATE(doorbell_rate, SIG_QP_DOORBELL_RATE)
RATE(queue_latency, SIG_QP_LATENCY)
NUMBER(outstanding_samples, outstanding_samples, SNAP_LOOKS)
NUMBER(outstanding_sum, outstanding_sum, SNAP_LOOKS)
OWNER_ID(pid)
OWNER_ID(uid)
OWNER_STR(comm)
OWNER_STR(exe)
OWNER_STR(cgroup)
OWNER_STR(kernel)

/* Of @r, what a library told of the QP. */
#define REPORT(name, value, known)					\
	GETTER(name)							\
	{								\
		const struct snap_qp_report *r = view_qp_report(cli, row); \
									\
		if (r && (known))					\
			cell_u64(c, r->value);				\
	}

/* The mean of a time over the requests that it is of. */
#define MEAN(name, time)						\
	GETTER(name)							\
	{								\
		struct snap_figures f;					\
									\
		if (view_qp_times(cli, row, &f) && f.time##_wrs)	\
			cell_real(c, (double)f.time##_sum / (double)f.time##_wrs); \
	}

REPORT(outstanding, outstanding, snap_has(r, SNAP_OUTSTANDING))
MEAN(queue_delay, hol)
MEAN(latency, latency)
REPORT(latency_max, sum.latency_max, r->sum.samples)
REPORT(latency_samples, sum.samples, true)
REPORT(reported_wrs, sum.wrs, true)
REPORT(reported_bytes, sum.bytes, true)
REPORT(errors, sum.errors, true)

GETTER(library)
{
	cell_flag(c, view_qp_report(cli, row));
}

GETTER(dev)
{
	view_dev_name(cli, ((const struct snap_qp *)row)->dev, c);
}

GETTER(type)
{
	(void)cli;
	view_word(UNIT_TYPE, ((const struct snap_qp *)row)->type, c);
}

GETTER(state)
{
	const struct snap_qp *qp = row;

	(void)cli;
	if (!snap_has(qp, SNAP_STATE))
		return;
	view_word(UNIT_STATE, qp->state, c);
	/* as in enum ib_qp_state: RTS, ERR */
	if (qp->state == 3)
		c->tone = TONE_GOOD;
	else if (qp->state == 6)
		c->tone = TONE_BAD;
}

GETTER(job)
{
	view_job_name(cli, ((const struct snap_qp *)row)->job, c);
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

	(void)cli;
	if (snap_has(qp, SNAP_ABSENT) && !snap_has(qp, SNAP_WRS))
		cell_str(c, view_absent(qp->wrs_absent, false));
}

GETTER(dgid)
{
	static const uint8_t none[sizeof(((struct snap_qp *)0)->dgid)];
	const struct snap_qp *qp = row;

	(void)cli;
	if (snap_has(qp, SNAP_DEST) && memcmp(qp->dgid, none, sizeof(none)) &&
	    inet_ntop(AF_INET6, qp->dgid, c->buf, sizeof(c->buf)))
		cell_str(c, c->buf);
}

/* A number that is absent where it is 0. */
#define NOT_NOUGHT(name)						\
	GETTER(name)							\
	{								\
		const struct snap_qp *qp = row;				\
									\
		(void)cli;						\
		if (qp->name)						\
			cell_u64(c, qp->name);				\
	}

NOT_NOUGHT(dlid)
NOT_NOUGHT(udp_sport)
NOT_NOUGHT(lag_port)

GETTER(class_error)
{
	const struct snap_qp *qp = row;

	(void)cli;
	if (!snap_has(qp, SNAP_CLASS_ERROR) || !qp->class_error)
		return;
	cell_s64(c, qp->class_error);
	c->tone = TONE_BAD;
}

static void get_wr_unit(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_qp *qp = row;

	if (snap_has(qp, SNAP_WRS))
		view_wr_unit(cli, qp->dev, c);
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, get_dev },
	{ "port", "PORT", 0, 0, get_port },
	{ "qpn", "QPN", 0, 0, get_qpn },
	{ "id", "ID", 0, COL_DETAIL, get_id },
	{ "type", "TYPE", 0, COL_LEFT, get_type },
	{ "state", "STATE", 0, COL_LEFT, get_state },
	{ "uar", "UAR", 0, 0, get_uar },
	{ "job", "JOB", 0, COL_LEFT, get_job },
	{ "pid", "PID", 0, 0, get_pid },
	{ "tid", "TID", 0, COL_DETAIL, get_tid },
	{ "uid", "UID", 0, COL_DETAIL, get_uid },
	{ "owner", "OWNER", 0, COL_LEFT | COL_TEXT, get_user },
	{ "comm", NULL, 0, COL_JSON, get_comm },
	{ "exe", "EXE", 0, COL_LEFT | COL_DETAIL, get_exe },
	{ "kernel", NULL, 0, COL_JSON, get_kernel },
	{ "send_cq", "SCQ", 0, COL_DETAIL, get_send_cq },
	{ "recv_cq", "RCQ", 0, COL_DETAIL, get_recv_cq },
	{ "max_send_wr", "SEND-WR", 0, COL_DETAIL, get_max_send_wr },
	{ "max_recv_wr", "RECV-WR", 0, COL_DETAIL, get_max_recv_wr },
	{ "max_send_sge", NULL, 0, COL_JSON, get_max_send_sge },
	{ "max_recv_sge", NULL, 0, COL_JSON, get_max_recv_sge },
	{ "max_inline", NULL, 0, COL_JSON, get_max_inline },
	{ "wr_rate", "WR/s", SHOW_RATE, COL_RATE | COL_WRS, get_wr_rate },
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, get_doorbell_rate },
	{ "queue_latency", "Q-LATENCY", SHOW_TIME, COL_RATE, get_queue_latency },
	{ "doorbells", "DOORBELLS", 0, 0, get_doorbells },
	{ "wrs", "WRS", 0, COL_WRS, get_wrs },
	{ "wr_unit", NULL, 0, COL_JSON, get_wr_unit },
	{ "outstanding", "OUTST", 0, 0, get_outstanding },
	{ "queue_delay", "HOL-WAIT", SHOW_TIME, 0, get_queue_delay },
	{ "latency", "LATENCY", SHOW_TIME, 0, get_latency },
	{ "latency_max", "LAT-MAX", SHOW_TIME, 0, get_latency_max },
	{ "latency_samples", NULL, 0, COL_JSON, get_latency_samples },
	{ "reported_wrs", "LIB-WRS", 0, COL_DETAIL, get_reported_wrs },
	{ "reported_bytes", "LIB-BYTES", SHOW_BYTES, COL_DETAIL, get_reported_bytes },
	{ "errors", "ERRORS", 0, COL_DETAIL, get_errors },
	{ "library", "LIBRARY", 0, COL_LEFT | COL_DETAIL, get_library },
	{ "level", "LEVEL", 0, 0, get_level },
	{ "tclass", "TCLASS", 0, 0, get_tclass },
	{ "tclass_asked", "ASKED", 0, 0, get_tclass_asked },
	{ "sl", "SL", 0, COL_DETAIL, get_sl },
	{ "sl_asked", "SL-ASKED", 0, COL_DETAIL, get_sl_asked },
	{ "class_pending", "PENDING", 0, COL_LEFT | COL_DETAIL,
	  get_class_pending },
	{ "class_error", "ERROR", SHOW_ERRNO, COL_LEFT | COL_DETAIL,
	  get_class_error },
	{ "dest_qpn", "DEST-QPN", 0, COL_DETAIL, get_dest_qpn },
	{ "dgid", "DGID", 0, COL_LEFT | COL_DETAIL, get_dgid },
	{ "dlid", "DLID", 0, COL_DETAIL, get_dlid },
	{ "udp_sport", "UDP-SPORT", 0, COL_DETAIL, get_udp_sport },
	{ "lag_port", "LAG-PORT", 0, COL_DETAIL, get_lag_port },
	{ "adopted", "ADOPTED", 0, COL_LEFT | COL_DETAIL, get_adopted },
	{ "devx", "DEVX", 0, COL_LEFT | COL_DETAIL, get_devx },
	{ "wrs_since", NULL, 0, COL_JSON, get_wrs_since },
	{ "wrs_ambiguous", "AMBIGUOUS", 0, COL_LEFT | COL_DETAIL,
	  get_wrs_ambiguous },
	{ "wrs_absent", "NO-WRS", 0, COL_LEFT | COL_DETAIL, get_wrs_absent },
	{ "outstanding_samples", NULL, 0, COL_JSON, get_outstanding_samples },
	{ "outstanding_sum", NULL, 0, COL_JSON, get_outstanding_sum },
	{ "cgroup", "CGROUP", 0, COL_LEFT | COL_DETAIL, get_cgroup },
	{ "since", NULL, 0, COL_JSON, get_since },
	{ "time", NULL, 0, COL_JSON, get_time },
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
	err = sort_rows(cli, &rows, &sorting);
	if (!err)
		err = cli_show_own(cli, &rows);
	free(sorting.order);
	return err;
}

static const struct verb verbs[] = {
	{ "show", show_qps }, { "list", show_qps }, { "explain", qp_explain },
	{ "audit", qp_audit }, { 0 },
};

const struct noun noun_qp = {
	"qp", verbs,
	"Usage: swiftrdma qp [ show [ FILTER ... ] [ sort KEY ] [ top N ] ]\n"
	"       swiftrdma qp explain DEV QPN\n"
	"       swiftrdma qp audit [ FILTER ... ] [ all ] [ sort KEY ] [ top N ]\n"
	"\n"
	"FILTER := { dev DEV | port PORT | uar INDEX | qpn QPN | pid PID | job JOB |\n"
	"            comm NAME | uid UID | type TYPE | state STATE | cgroup GLOB }\n"
	"TYPE   := { RC | UC | UD | GSI | SMI }\n"
	"STATE  := { RESET | INIT | RTR | RTS | SQD | SQE | ERR }\n"
	"\n"
	"show lists queue pairs: their owners, figures, and traffic classes, the one that\n"
	"is programmed and the one that the application asked for. Without CAP_NET_ADMIN\n"
	"it lists your own QPs only. explain says in words how a QP is doing, from readings\n"
	"over a second or the time that -i gives. audit finds QPs whose peer is on this\n"
	"host and answers in another class; with all it also lists pairs that are alike,\n"
	"and QPs whose peer is not visible.\n",
};
