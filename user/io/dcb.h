/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_IO_DCB_H
#define SRDMA_IO_DCB_H

#include "io/host_info.h"

/* Reads the DCB settings of each interface, or sets its .error. */
void srdma_dcb(struct host *h);

#endif /* SRDMA_IO_DCB_H */
