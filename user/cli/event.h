/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events in words, as they come or as they were recorded. */
#ifndef SRDMA_CLI_EVENT_H
#define SRDMA_CLI_EVENT_H

#include "cli/cli.h"

/* At once and flushed; names of devices and jobs are those in cli->snap. */
void event_show(struct cli *cli, const struct io_event *e);

/* The same of a recording, as one of the list that is being written. */
void event_show_at(struct cli *cli, double seconds, const struct io_event *e);

#endif /* SRDMA_CLI_EVENT_H */
