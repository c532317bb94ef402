/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A reading to fill, and a message to fill it from. */
#ifndef SELFTESTS_UNIT_IO_RIG_H
#define SELFTESTS_UNIT_IO_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/answer.h"
#include "io/merge.h"
#include "io/parse.h"

#define FAMILY	29
#define SEQ	7

struct fixture {
	struct snapshot snap;
	struct srdma_reading r;
	struct nl_msg *msg;
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->r = (struct srdma_reading){
		.snap = &f->snap,
		.qps = &f->snap.qps, .n_qps = &f->snap.n_qps,
		.cap_qps = &f->snap.cap_qps,
	};
	f->msg = nlmsg_alloc_size(65536);
	genlmsg_put(f->msg, 0, SEQ, FAMILY, 0, 0, SWIFTRDMA_CMD_QP_GET, 1);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	snapshot_free(&f->snap);
	free(f->r.actions);
	nlmsg_free(f->msg);
	free(f);
	return 0;
}

static inline int parse(struct fixture *f)
{
	struct nlmsghdr *nlh = nlmsg_hdr(f->msg);

	return srdma_parse((char *)nlmsg_data(nlh) + GENL_HDRLEN,
			   nlmsg_datalen(nlh) - GENL_HDRLEN, &f->r);
}

#define IO_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif /* SELFTESTS_UNIT_IO_RIG_H */
