/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Events in a recording: a head that all have, then the objects of their kind. */
#ifndef SRDMA_SIM_RECORD_EVENT_H
#define SRDMA_SIM_RECORD_EVENT_H

#include "sim/record.h"

/* @was: the event before. False: no memory. */
bool record_event_put(struct record_buf *to, const struct record_event *was,
		      uint64_t time, const struct snap_event *e);
/* RECORD_EVENT: @ev is the next one; 0: these bytes are none; -ENOMEM. */
int record_event_get(struct record_source *in, struct record_event *ev);
void record_event_free(struct record_event *ev);

#endif /* SRDMA_SIM_RECORD_EVENT_H */
