/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The parts of io_host(). Each reads below an open directory (/, except in tests) and
 * skips what it cannot read. 0 or -ENOMEM.
 */
#ifndef SRDMA_IO_HOST_READ_H
#define SRDMA_IO_HOST_READ_H

#include "io/host_info.h"

/* host_read.c: the module, the kernel, the user */
void srdma_host_module(int root, struct host_module *m, const char *release);
void srdma_host_kernel(int root, struct host_kernel *k);
/* host_dev.c: devices, their ports, and the interfaces of these */
int srdma_host_devs(int root, struct host *h);
/* host_proc.c: processes of RDMA and of the agent, and limits of cgroups */
int srdma_host_procs(int root, struct host *h);
int srdma_host_maxima(int root, struct host *h);
/* Reads one process from a directory like /proc/PID. */
void srdma_host_proc(int dir, struct host_proc *p);

/* dcb.c: parses the attributes of an answer about one interface. */
void srdma_dcb_parse(const void *attrs, size_t len, struct host_dcb *dcb);

#endif /* SRDMA_IO_HOST_READ_H */
