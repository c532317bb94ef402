/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Copies snapshots, within a process and between the exporter's two processes. The rules of
 * jobs are not copied, because nothing here reads them.
 */
#ifndef SRDMA_EXPORTER_SNAP_COPY_H
#define SRDMA_EXPORTER_SNAP_COPY_H

#include "core/snapshot.h"

/* All return 0 or -errno; -EPIPE: the other process is gone. */
int snap_copy(struct snapshot *to, const struct snapshot *from);
int snap_send(int fd, const struct snapshot *snap);
/* After an error @snap is incomplete. */
int snap_receive(int fd, struct snapshot *snap);

/* Write or read all of @len bytes on a blocking descriptor. */
int send_bytes(int fd, const void *p, size_t len);
int receive_bytes(int fd, void *p, size_t len);

#endif /* SRDMA_EXPORTER_SNAP_COPY_H */
