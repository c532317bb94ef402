/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Messages to the processes at the other ends of connections, without the library. */
#ifndef SELFTESTS_RELAY_H
#define SELFTESTS_RELAY_H

#include <rdma/swiftrdma_share.h>

/* All return 0 or -errno. */
int relay_attach(const char *dev_name);
/* Listens by a new eventfd, which replaces the one before. */
int relay_listen(uint32_t dev);
int relay_tell(uint32_t dev, uint32_t qpn, const void *bytes, uint32_t length);
int relay_hear(uint32_t dev, struct swiftrdma_hear *h);
/* The number of times that the eventfd was signalled since the last wait. -ETIMEDOUT. */
int relay_wait(int ms);

#endif
