// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* qp audit: the ends of connections that are on other hosts, which the module asks for. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cli/qp_audit.h"

/* After so many questions in a row without an answer an address is not asked any more. */
#define SILENT_MAX	3

static const struct {
	const char *key, *word, *words;
} statuses[AUDIT_STATUSES] = {
	[SWIFTRDMA_PEER_ANSWERED] = { "answered", "answered", NULL },
	[SWIFTRDMA_PEER_UNCONNECTED] = { "unconnected", "not connected any more",
		"was not connected any more when it was to be asked" },
	[SWIFTRDMA_PEER_NO_ADDRESS] = { "no_address", "cannot: QP older than the module",
		"is on another host and cannot be asked: the QP here is older than the module" },
	[SWIFTRDMA_PEER_NO_CHANNEL] = { "no_channel", "cannot: no channel",
		"is on another host and cannot be asked: the module here was loaded with peer=0, or the port has no QP 1" },
	[SWIFTRDMA_PEER_UNREACHABLE] = { "unreachable", "cannot: unreachable",
		"is on another host to which nothing could be sent" },
	[SWIFTRDMA_PEER_NO_MODULE] = { "no_module", "cannot: peer (no module)",
		"is on a host without the module: load it there" },
	[SWIFTRDMA_PEER_VERSION] = { "version", "cannot: peer (another version)",
		"is on a host whose module speaks another version: upgrade the older one" },
	[SWIFTRDMA_PEER_SILENT] = { "silent", "cannot: peer (no answer)",
		"is on another host and did not answer: it is gone, or older than the module there, or the host cannot be reached" },
};

const char *audit_status_word(uint32_t status)
{
	return statuses[status].word;
}

const char *audit_status_words(uint32_t status)
{
	return statuses[status].words;
}

const char *audit_status_key(uint32_t status)
{
	return statuses[status].key;
}

void audit_address(const struct snap_qp *qp, struct cell *c)
{
	static const uint8_t none[sizeof(qp->dgid)];

	if (memcmp(qp->dgid, none, sizeof(none))) {
		if (inet_ntop(AF_INET6, qp->dgid, c->buf, sizeof(c->buf)))
			cell_str(c, c->buf);
	} else if (qp->dlid) {
		snprintf(c->buf, sizeof(c->buf), "lid %u", qp->dlid);
		cell_str(c, c->buf);
	}
}

static struct audit_host *find_host(struct audit_peers *peers, const struct snap_qp *qp)
{
	struct audit_host *host;

	for (size_t i = 0; i < peers->n; i++) {
		host = &peers->host[i];
		if (host->dlid == qp->dlid && !memcmp(host->gid, qp->dgid, sizeof(host->gid)))
			return host;
	}
	host = array_next(&peers->host, peers->n, &peers->cap, sizeof(*host));
	if (!host)
		return NULL;
	host->dlid = qp->dlid;
	memcpy(host->gid, qp->dgid, sizeof(host->gid));
	peers->n++;
	return host;
}

/* A host without the module, or with another version, answers the same for each of its QPs. */
static bool is_given_up(const struct audit_host *host)
{
	return host->last.status == SWIFTRDMA_PEER_NO_MODULE ||
	       host->last.status == SWIFTRDMA_PEER_VERSION || host->silent >= SILENT_MAX;
}

int audit_ask_qp(struct cli *cli, const struct snap_qp *qp, struct io_peer *peer)
{
	int err = io_peer(cli->io, qp->dev, qp->qpn, peer);

	if (err == -ENOENT || err == -ENODEV) {
		*peer = (struct io_peer){ .status = SWIFTRDMA_PEER_UNCONNECTED };
		return 0;
	}
	/* A status that this command does not know: of a later module. */
	if (!err && (!peer->status || peer->status >= AUDIT_STATUSES))
		peer->status = SWIFTRDMA_PEER_UNREACHABLE;
	return err;
}

int audit_ask(struct cli *cli, struct audit_peers *peers, const struct snap_qp *qp,
	      struct io_peer *peer)
{
	struct audit_host *host = find_host(peers, qp);
	int err;

	*peer = (struct io_peer){ 0 };
	if (!host)
		return cli_no_memory();
	if (peers->off || !cli->snap.admin)
		return CLI_OK;
	if (is_given_up(host)) {
		*peer = host->last;
		return CLI_OK;
	}
	err = audit_ask_qp(cli, qp, peer);
	/* The module is older than the command, or this user may not ask. */
	if (err == -EOPNOTSUPP || err == -EPERM) {
		peers->off = true;
		*peer = (struct io_peer){ 0 };
		return CLI_OK;
	}
	if (err)
		return cli_io_error(cli);
	host->last = *peer;
	host->silent = peer->status == SWIFTRDMA_PEER_SILENT ? host->silent + 1 : 0;
	return CLI_OK;
}
