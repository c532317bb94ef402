/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The interface of io: reads snapshots, sends actions, delivers events by callback. Other
 * directories include no header of io but this and recording.h, and netlink is hidden behind
 * them.
 *
 * All functions return 0 or a positive count on success, else -errno. io_error() then
 * explains the error, with the kernel's extack message and the offending attribute. Not
 * thread-safe: use one struct io per thread.
 */
#ifndef SRDMA_IO_IO_H
#define SRDMA_IO_IO_H

#include "core/event.h"
#include "io/host_info.h"
#include "core/pair.h"
#include "core/snapshot.h"

struct io;

/**
 * io_open - connect to swiftrdma.ko
 * @io: out, the handle, to be closed; also set on failure, for io_error()
 *
 * -ENOENT: the module is not loaded (io_error() says how to load it).
 */
int io_open(struct io **io);
void io_close(struct io *io);
const char *io_error(const struct io *io);

/*
 * What io_snapshot() reads. A filter of QPs makes it a one-shot reading. For cached kinds
 * the kernel returns the figures it has and sends no firmware command; enough for names.
 * With .outstanding the kernel looks into send queues for some seconds from now on, by firmware
 * commands; the latency of QPs and jobs is computed from these looks.
 */
struct io_want {
	bool devs, ports, uars, qps, jobs;
	bool reports;	/* what libraries in processes say: .job_reports, .qp_reports */
	bool outstanding;
	struct {
		bool devs, ports, jobs;
	} cached;
	const char *dev;	/* filters, NULL or 0: none */
	const char *job;
	uint32_t port, uar, pid;
	bool has_qpn;
	uint32_t qpn;
};

/**
 * io_snapshot - read the kernel's figures into @snap
 * @io: the connection
 * @snap: zeroed, or of an earlier call
 * @want: what to read; NULL: everything
 *
 * Called again with the same @snap and an unfiltered @want, it requests only the QPs that
 * changed and merges them. If QPs are gone or the connection was lost, it falls back to
 * a full dump, so the result is always that of a full dump. It reconnects after a reload
 * of the module (-ENODEV while the module is unloaded). Jobs need CAP_NET_ADMIN; without
 * it, .jobs and .job_reports are empty and .admin false. Reports of libraries are read
 * whole, of one device if @want has one, whatever its other filters. A module that has no
 * such command gives none.
 */
int io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want);
void snapshot_free(struct snapshot *snap);

/*
 * Reads the addresses of the ports of @snap from sysfs, as far as it has them. The caller
 * frees *@addrs. 0 or -ENOMEM.
 */
int io_addresses(const struct snapshot *snap, struct pair_addr **addrs,
		 size_t *n);

/*
 * Reads the state of this host, with or without the module, as far as the user may see
 * it. host_free() frees it. 0 or -errno.
 */
int io_host(struct host *host);
void host_free(struct host *host);
/* The module alone. */
int io_host_module(struct host_module *m);
/* Limit of locked memory of a unit's processes, or HOST_NO_LIMIT. -ENOENT: no unit. */
int io_unit_memlock(const char *unit, uint64_t *bytes);
/*
 * Frames that the MAC of a network interface has sent, RDMA's among them. -EOPNOTSUPP: the
 * driver or the kernel does not tell. Any user may ask.
 */
int io_frames_sent(const char *netdev, uint64_t *frames);

/**
 * io_act - send a batch under a lease
 * @io: the connection
 * @lease: in: 0 for a new one; out: its id
 * @ttl_ms: lifetime from now; 0 ends the lease
 * @rank: of a new lease
 * @origin: of a new lease
 * @actions: the items
 * @n: how many
 * @batch: out, may be NULL: the number that results refer to
 *
 * The kernel takes all of a batch or nothing. @n 0 renews the lease. -ENODEV: the module
 * is unloaded, or was reloaded since it granted the lease.
 */
int io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
	   const char *origin, const struct snap_action *actions, size_t n,
	   uint64_t *batch);

/**
 * io_armed - does the module take changes?
 * @io: the connection
 *
 * 0: it does; -ESHUTDOWN: it is disarmed. It still answers readings, but without devices,
 * and its leases and their overrides are gone. A snapshot says the same of the time when it
 * was read (snapshot.armed).
 */
int io_armed(struct io *io);

/* Overrides in force and QPs pending; *actions is malloc()ed. */
int io_actions(struct io *io, struct snap_action **actions, size_t *n);

int io_job_set(struct io *io, const char *name, const char *origin,
	       uint32_t class, const struct snap_rule *rules, size_t n);
int io_job_del(struct io *io, const char *name, const char *origin);

/* A field that is not set leaves the application's value. */
struct io_level {
	uint32_t level, dscp, sl;
	bool has_dscp, has_sl;
};

/* The levels that are set, sorted. Returns their number or -errno. */
int io_levels(struct io *io, struct io_level *levels, size_t cap);
int io_levels_set(struct io *io, const struct io_level *levels, size_t n);

/*
 * The other end of a connection. .status: enum swiftrdma_peer_status; what follows .tries is
 * there if it is ANSWERED. .has: SNAP_LEVEL (.level, .level_tclass, .level_sl),
 * SNAP_CLASS_ERROR.
 */
struct io_peer {
	uint64_t has;
	uint32_t dev, qpn;		/* of this end */
	uint64_t serial;		/* the same */
	uint32_t status;
	uint32_t version;		/* of its module's messages; 0: not known */
	uint32_t tries;			/* messages that were sent */
	uint32_t tclass_asked, tclass, sl_asked, sl;
	uint32_t level, level_tclass, level_sl;
	bool class_pending;
	int32_t class_error;		/* -errno */
};

/**
 * io_peer - ask the other end of a connection for the class of its QP
 * @io: the connection
 * @dev: device of the QP at this end
 * @qpn: that QP
 * @peer: out
 *
 * Waits for 2 s at most. 0 also if the peer did not answer. -EOPNOTSUPP: the module is too old;
 * -ENOENT: no such QP; -EPERM.
 */
int io_peer(struct io *io, uint32_t dev, uint32_t qpn, struct io_peer *peer);

/**
 * io_events_open - listen to the module's events
 * @io: the connection
 *
 * Returns a file descriptor to poll for reading. io_events_read() calls @cb for each
 * queued event and returns their number. ENOBUFS, and the unloading and loading of the
 * module, give a SNAP_EVENT_LOST each; the number of lost events is unknown. The
 * descriptor belongs to @io and stays valid when the module is unloaded.
 */
int io_events_open(struct io *io);
int io_events_read(struct io *io, void (*cb)(const struct snap_event *, void *),
		   void *arg);

/*
 * Drops all capabilities, but for CAP_NET_ADMIN with @keep_net_admin, which the module
 * requires for reading jobs and other users' QPs. 0 or -errno; -EPERM: the process had no
 * CAP_NET_ADMIN to keep.
 */
int io_drop_privileges(bool keep_net_admin);

#endif /* SRDMA_IO_IO_H */
