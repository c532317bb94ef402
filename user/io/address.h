/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_IO_ADDRESS_H
#define SRDMA_IO_ADDRESS_H

#include "io/io.h"

/* io_addresses() for a directory other than sysfs. */
int srdma_addresses(const char *sys, const struct snapshot *snap,
		    struct pair_addr **addrs, size_t *n);

#endif /* SRDMA_IO_ADDRESS_H */
