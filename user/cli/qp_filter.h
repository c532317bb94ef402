/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Which QPs are wanted, in the words of qp show. */
#ifndef SRDMA_CLI_QP_FILTER_H
#define SRDMA_CLI_QP_FILTER_H

#include "cli/cli.h"

/* Those the kernel does not know, and those whose 0 it cannot be told. */
struct qp_filter {
	const char *comm, *cgroup;
	bool has_pid, has_uid, has_type, has_state, has_uar, has_port;
	uint32_t pid, uid, uar, port;
	double type, state;
};

/*
 * One filter, or sort and top; what the kernel can filter by goes to @want. CLI_OK
 * or, after saying why, CLI_USAGE.
 */
int qp_filter_parse(struct args *args, struct io_want *want,
		    struct qp_filter *f, struct sorting *sorting);

/* The rest of it, as rows.want; @arg is the struct qp_filter. */
bool qp_wanted(const struct cli *cli, const void *row, const void *arg);

#endif /* SRDMA_CLI_QP_FILTER_H */
