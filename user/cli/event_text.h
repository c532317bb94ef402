/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Prints events, live or from a recording. */
#ifndef SRDMA_CLI_EVENT_TEXT_H
#define SRDMA_CLI_EVENT_TEXT_H

#include "cli/cli.h"

/*
 * @at: NULL: a live event, flushed at once. Else its time in the recording in seconds; the
 * event goes to the list that is being written. Names come from cli->snap.
 */
void event_show(struct cli *cli, const double *at, const struct snap_event *e);

#endif /* SRDMA_CLI_EVENT_TEXT_H */
