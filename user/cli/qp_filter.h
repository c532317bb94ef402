/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The filters of qp show. */
#ifndef SRDMA_CLI_QP_FILTER_H
#define SRDMA_CLI_QP_FILTER_H

#include "cli/cli.h"

/* Filters that the kernel does not have, or for whose value 0 it has no encoding. */
struct qp_filter {
	struct snap_rule owner;		/* as a job's rule would have it */
	bool has_type, has_state, has_uar, has_port;
	uint32_t uar, port;
	double type, state;
};

/*
 * Reads one filter, or sort or top. Filters that the kernel has go to @want. CLI_OK, or
 * CLI_USAGE with a message on stderr.
 */
int qp_filter_parse(struct args *args, struct io_want *want,
		    struct qp_filter *f, struct sorting *sorting);

/* Applies the filters that the kernel does not have. For rows.want. */
bool qp_wanted(const struct cli *cli, const void *row, const void *arg);

#endif /* SRDMA_CLI_QP_FILTER_H */
