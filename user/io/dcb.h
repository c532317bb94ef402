/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_IO_DCB_H
#define SRDMA_IO_DCB_H

#include "core/host.h"

/* Ask the kernel for DCB of each interface; what went wrong is in its .error. */
void srdma_dcb(struct host *h);

#endif /* SRDMA_IO_DCB_H */
