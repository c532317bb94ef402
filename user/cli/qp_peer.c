// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* qp peer: what the other ends of connections say of their QPs. */
#include <stdlib.h>

#include "cli/qp_audit.h"
#include "cli/qp_filter.h"

struct line {
	const struct snap_qp *qp;
	bool answered;
	struct io_peer peer;
};

static const void *qp_of_line(const struct cli *cli, const void *row)
{
	(void)cli;
	return ((const struct line *)row)->qp;
}

#define PEER_IF(member)	MEMBER_IF(struct line, peer.member, answered)

GETTER(address)
{
	audit_address(((const struct line *)row)->qp, c);
}

GETTER(status)
{
	const struct line *l = row;

	cell_str(c, audit_status_word(l->peer.status));
	c->tone = l->answered ? TONE_GOOD : TONE_WARN;
}

GETTER(status_key)
{
	cell_str(c, audit_status_key(((const struct line *)row)->peer.status));
}

GETTER(level)
{
	const struct line *l = row;

	if (snap_has(&l->peer, SNAP_LEVEL))
		cell_u64(c, l->peer.level);
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, .of = qp_of_line, MEMBER_AS(FROM_DEV, struct snap_qp, dev) },
	{ "qpn", "QPN", 0, 0, .of = qp_of_line, MEMBER(struct snap_qp, qpn) },
	{ "address", "PEER", 0, COL_LEFT, .get = get_address },
	{ "dest_qpn", "QPN", 0, 0, .of = qp_of_line, MEMBER(struct snap_qp, dest_qpn) },
	{ "tclass_asked", "TC-ASKED", 0, 0, PEER_IF(tclass_asked) },
	{ "tclass", "TCLASS", 0, 0, PEER_IF(tclass) },
	{ "sl_asked", "SL-ASKED", 0, 0, PEER_IF(sl_asked) },
	{ "sl", "SL", 0, 0, PEER_IF(sl) },
	{ "level", "LEVEL", 0, 0, .get = get_level },
	{ "class_pending", "PENDING", 0, COL_LEFT | COL_DETAIL,
	  MEMBER(struct line, peer.class_pending) },
	{ "version", "VERSION", 0, COL_DETAIL,
	  MEMBER_IF(struct line, peer.version, peer.version) },
	{ "tries", "TRIES", 0, COL_DETAIL, MEMBER(struct line, peer.tries) },
	{ "status", NULL, 0, COL_JSON, .get = get_status_key },
	{ "status", "STATUS", 0, COL_LEFT | COL_TEXT, .get = get_status },
};

const struct noun_table qp_peer_table = NOUN_TABLE("qp.peer", columns);

/* CLI_ERROR with a message: a later QP would have the same error. */
static int ask_peer(struct cli *cli, const struct snap_qp *qp, struct line *l)
{
	if (audit_ask_qp(cli, qp, &l->peer))
		return cli_io_error(cli);
	l->qp = qp;
	l->answered = l->peer.status == SWIFTRDMA_PEER_ANSWERED;
	return CLI_OK;
}

static int list_peers(struct cli *cli, const struct qp_filter *f, struct sorting *sorting)
{
	const struct snapshot *snap = &cli->snap;
	struct line *lines = calloc(snap->n_qps + 1, sizeof(*lines));
	int err = lines ? CLI_OK : cli_no_memory();
	struct rows rows;
	size_t n = 0;

	/* A QP that is connected has a number for its peer. */
	for (size_t i = 0; i < snap->n_qps && !err; i++)
		if (snap_has(&snap->qps[i], SNAP_DEST) && snap->qps[i].dest_qpn &&
		    qp_wanted(cli, &snap->qps[i], f))
			err = ask_peer(cli, &snap->qps[i], &lines[n++]);
	if (!err) {
		rows = ROWS(columns, lines, n);
		err = cli_list(cli, &rows, sorting);
	}
	free(lines);
	return err;
}

int qp_peer(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true, .qps = true, .jobs = true,
		.cached = { .devs = true, .jobs = true },
	};
	struct sorting sorting = { 0 };
	struct qp_filter f = { 0 };
	int err = CLI_OK;

	while (args_left(args) && !err)
		err = qp_filter_parse(args, &want, &f, &sorting);
	if (!err)
		err = cli_read(cli, &want);
	return err ? err : list_peers(cli, &f, &sorting);
}
