/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_IO_UNIT_H
#define SRDMA_IO_UNIT_H

#include "core/host.h"

/* Ask systemd for the agent's unit. */
void srdma_unit(struct host_unit *u);

#endif /* SRDMA_IO_UNIT_H */
