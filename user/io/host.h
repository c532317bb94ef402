/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * io_host() in pieces. Each reads below an open directory, which is / but in
 * tests, and leaves out what it cannot read. 0 or -ENOMEM.
 */
#ifndef SRDMA_IO_HOST_H
#define SRDMA_IO_HOST_H

#include "core/host.h"

/* host.c: the module, the kernel, who asks */
void srdma_host_module(int root, struct host_module *m, const char *release);
void srdma_host_kernel(int root, struct host_kernel *k);
/* host_dev.c: devices, their ports, and the interfaces of these */
int srdma_host_devs(int root, struct host *h);
/* host_proc.c: processes of RDMA and of the agent, and limits of cgroups */
int srdma_host_procs(int root, struct host *h);
int srdma_host_maxima(int root, struct host *h);
/* What is said of one process, in a directory like /proc/PID. */
void srdma_host_proc(int dir, struct host_proc *p);

/* dcb.c: of an interface, out of the attributes of an answer. */
void srdma_dcb_parse(const void *attrs, size_t len, struct host_dcb *dcb);

#endif /* SRDMA_IO_HOST_H */
