/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: messages to and from the processes at the other ends of this process's
 * connections, which the modules relay. swiftrdma_share.h has the rules.
 */
#ifndef LIB_CHANNEL_H
#define LIB_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/swiftrdma_share.h>

#pragma GCC visibility push(hidden)

struct device;

/*
 * Listens for messages of the device, unless that was done before. 0; -ENODEV: there is no module, or
 * it knows no messages; -errno. With lib_lock() held.
 */
int channel_open(struct device *dev);
/* The eventfd that is readable when a message may have come; -1: the device has no channel. */
int channel_event(const struct device *dev);
/* Whether a message may have come since the last call. */
bool channel_signalled(const struct device *dev);
/*
 * Sends a message to the peer of the QP that has the number @qpn in the kernel. 0: the message is in the
 * inbox of the peer's process; -ETIMEDOUT: it may be there; other errors: it is not. Takes 2 s at most.
 */
int channel_tell(const struct device *dev, uint32_t qpn, const void *bytes, uint32_t length);
/* The next message that came; false: none. */
bool channel_hear(const struct device *dev, struct swiftrdma_hear *h);

#pragma GCC visibility pop

#endif /* LIB_CHANNEL_H */
