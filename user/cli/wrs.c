// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What work requests are counted in. Where a library posts past the kernel, its
 * doorbell record counts blocks of 64 bytes of the send queue (WQEBBs). A request
 * takes one or more of them: the type of the QP and its capacities bound how many,
 * but how large each one is, only the program knows. So they are not converted.
 */
#include <rdma/swiftrdma.h>

#include "cli/cli.h"
#include "cli/table.h"

static uint32_t caps_of(const struct cli *cli, uint32_t dev)
{
	for (size_t i = 0; i < cli->snap.n_devs; i++)
		if (cli->snap.devs[i].index == dev)
			return cli->snap.devs[i].caps;
	return 0;
}

/* Does anything here count blocks? Those that do not, count no requests. */
static bool has_wqebbs(const struct cli *cli)
{
	for (size_t i = 0; i < cli->snap.n_devs; i++)
		if (cli->snap.devs[i].caps & SWIFTRDMA_DEV_CAP_WQEBBS)
			return true;
	return false;
}

const char *out_head(const struct cli *cli, const struct column *col)
{
	if (!(col->flags & COL_WRS) || !has_wqebbs(cli))
		return col->head;
	return col->show == SHOW_RATE ? "WQEBB/s" : "WQEBBS";
}

void view_wr_unit(const struct cli *cli, uint32_t dev, struct cell *c)
{
	uint32_t caps = caps_of(cli, dev);

	if (caps & SWIFTRDMA_DEV_CAP_WQEBBS)
		cell_str(c, "wqebb");
	else if (caps & SWIFTRDMA_DEV_CAP_WRS)
		cell_str(c, "wr");
}
