/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_IO_SYSTEMD_H
#define SRDMA_IO_SYSTEMD_H

#include "io/host_info.h"

/* Reads the state of the agent's unit. */
void srdma_unit(struct host_unit *u);

#endif /* SRDMA_IO_SYSTEMD_H */
