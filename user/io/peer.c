// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asks for the other end of a connection. */
#include <errno.h>
#include <stdlib.h>

#include <rdma/swiftrdma.h>

#include "io/conn.h"

int io_peer(struct io *io, uint32_t dev, uint32_t qpn, struct io_peer *peer)
{
	struct nl_msg *msg = srdma_request(io, SWIFTRDMA_CMD_PEER_GET, false, 2 * 8);
	struct srdma_reading r;
	int err;

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, SWIFTRDMA_A_DEV_INDEX, dev) ||
	    nla_put_u32(msg, SWIFTRDMA_A_QPN, qpn)) {
		nlmsg_free(msg);
		return srdma_fail(io, -ENOMEM, "out of memory");
	}
	srdma_reading_scratch(io, &r);
	err = srdma_call(io, msg, &r, NULL);
	free(r.actions);
	if (err)
		return err;
	if (!r.has_peer)
		return srdma_fail(io, -EBADMSG, "the module's answer names no peer");
	*peer = r.peer;
	return 0;
}
