/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One request to another family of netlink than the module's, and its answer. Each has a socket of
 * its own, so that no query gets the rest of another's answer.
 */
#ifndef SRDMA_IO_QUERY_H
#define SRDMA_IO_QUERY_H

#include <netlink/netlink.h>

/* The id of a family of generic netlink, or libnl's error: -NLE_OBJ_NOTFOUND: there is none. */
int srdma_query_family(const char *name);

/*
 * Sends @msg, calls @take for the answer, and frees @msg. 0; -errno: the kernel's error, -ENOMEM
 * (also if @msg is NULL), or -EIO: no answer.
 */
int srdma_query(int protocol, struct nl_msg *msg, nl_recvmsg_msg_cb_t take, void *arg);

#endif /* SRDMA_IO_QUERY_H */
