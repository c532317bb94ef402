/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_IO_SL2VL_H
#define SRDMA_IO_SL2VL_H

#include "io/host_info.h"

/* Queries an InfiniBand port of device @name, or sets .sl2vl_error. */
void srdma_sl2vl(struct host_port *port, const char *name);

#endif /* SRDMA_IO_SL2VL_H */
