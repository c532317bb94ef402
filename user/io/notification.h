/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Turns a notification of the module into an event in plain structures. Pure. */
#ifndef SRDMA_IO_NOTIFICATION_H
#define SRDMA_IO_NOTIFICATION_H

#include "core/event.h"

/* The event, and the memory that it points to, reused for the next event. */
struct srdma_notification {
	struct snap_event event;
	struct snapshot snap;
	struct snap_action *actions;
	size_t cap_actions;
};

/**
 * srdma_notification_parse - take in one notification
 * @n: zeroed, or of an earlier call; n->event is valid until the next one
 * @cmd: command of the generic netlink header
 * @attrs: first attribute after that header
 * @len: bytes there are
 *
 * 1; 0: @cmd is no event, or lacks the object that the event is about; -EBADMSG:
 * malformed; -ENOMEM.
 */
int srdma_notification_parse(struct srdma_notification *n, uint8_t cmd,
			     const void *attrs, size_t len);
void srdma_notification_free(struct srdma_notification *n);

#endif /* SRDMA_IO_NOTIFICATION_H */
