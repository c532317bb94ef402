/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_NETLINK_H
#define SRDMA_NETLINK_H

#include "results.h"

int srdma_netlink_init(void);
void srdma_netlink_exit(void);

#endif /* SRDMA_NETLINK_H */
