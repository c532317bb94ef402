/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events in words, as they come or as they were recorded. */
#ifndef SRDMA_CLI_EVENT_H
#define SRDMA_CLI_EVENT_H

#include "cli/cli.h"

/*
 * @at NULL: at once and flushed. Else seconds into a recording, as one of the list
 * that is being written. Names of devices and jobs are those in cli->snap.
 */
void event_show(struct cli *cli, const double *at, const struct snap_event *e);

#endif /* SRDMA_CLI_EVENT_H */
