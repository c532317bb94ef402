/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Asking the ends of connections that are on other hosts. */
#ifndef SRDMA_CLI_QP_AUDIT_H
#define SRDMA_CLI_QP_AUDIT_H

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define AUDIT_STATUSES	(SWIFTRDMA_PEER_SILENT + 1)	/* of enum swiftrdma_peer_status */

/* The results of asking the host at one address. */
struct audit_host {
	uint8_t gid[16];
	uint32_t dlid;
	uint32_t silent;	/* questions without an answer since the last answer */
	struct io_peer last;
};

struct audit_peers {
	struct audit_host *host;
	size_t n, cap;
	bool off;		/* the module, or the reader, cannot ask */
};

/* Asks the peer of @qp. 0, or -errno that io_error() explains; a QP that is gone is no error. */
int audit_ask_qp(struct cli *cli, const struct snap_qp *qp, struct io_peer *peer);

/*
 * Asks the peer of @qp, unless earlier questions show that its host cannot answer. @peer->status
 * UNSPEC: the peer cannot be asked. CLI_OK, or CLI_ERROR with a message.
 */
int audit_ask(struct cli *cli, struct audit_peers *peers, const struct snap_qp *qp,
	      struct io_peer *peer);

/* The address of the peer: a GID, or a LID. */
void audit_address(const struct snap_qp *qp, struct cell *c);

/* A status that is not UNSPEC: for a table, for the sum (not ANSWERED), for JSON. */
const char *audit_status_word(uint32_t status);
const char *audit_status_words(uint32_t status);
const char *audit_status_key(uint32_t status);

#endif /* SRDMA_CLI_QP_AUDIT_H */
