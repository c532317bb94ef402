// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "io/query.h"

#include <errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

int srdma_query_family(const char *name)
{
	struct nl_sock *sk = nl_socket_alloc();
	int family = sk ? genl_connect(sk) : -NLE_NOMEM;

	if (!family)
		family = genl_ctrl_resolve(sk, name);
	nl_socket_free(sk);
	return family;
}

/* Keeps the kernel's error, which libnl would replace by one of its own. */
static int take_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	(void)from;
	*(int *)arg = e->error ? e->error : -EBADMSG;
	return NL_STOP;
}

int srdma_query(int protocol, struct nl_msg *msg, nl_recvmsg_msg_cb_t take, void *arg)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	struct nl_sock *sk = nl_socket_alloc();
	int err = -NLE_NOMEM, refused = 0;

	if (msg && cb && sk) {
		nl_socket_disable_auto_ack(sk);
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, take, arg);
		nl_cb_err(cb, NL_CB_CUSTOM, take_error, &refused);
		err = nl_connect(sk, protocol);
		if (!err)
			err = nl_send_auto(sk, msg);
		if (err >= 0)
			err = nl_recvmsgs(sk, cb);
	}
	nlmsg_free(msg);
	nl_socket_free(sk);
	nl_cb_put(cb);
	if (refused)
		return refused;
	return err >= 0 ? 0 : err == -NLE_NOMEM ? -ENOMEM : -EIO;
}
