/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRDMA_EXPORTER_OWNER_NAME_H
#define SRDMA_EXPORTER_OWNER_NAME_H

#include "core/snapshot.h"

#define OWNER_NAME	128

/**
 * owner_name - the owner of a QP as a label
 * @owner: the owner; NULL: unknown
 * @buf: at least %OWNER_NAME bytes; returned
 *
 * The job, container or service that the path of the cgroup names, else the path:
 *
 *	slurm:4711			the id of a Slurm job
 *	container:4f5c0a1b2c3d		the first 12 digits of a container's id
 *	unit:kv.service			the innermost unit of systemd
 *	cgroup:/kv
 *	kernel:nvme_rdma		a user inside the kernel
 *	unknown
 */
const char *owner_name(const struct snap_owner *owner, char *buf);

#endif /* SRDMA_EXPORTER_OWNER_NAME_H */
