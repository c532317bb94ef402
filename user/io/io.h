/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The whole way in and out: snapshots in, actions out, events by callback.
 * The only header of io that others include; netlink stays behind it.
 *
 * All functions return 0 or a positive count on success, -errno otherwise;
 * io_error() then says in words what went wrong, the kernel's extack message
 * and offending attribute included. Not thread-safe: one io per thread.
 */
#ifndef SRDMA_IO_IO_H
#define SRDMA_IO_IO_H

#include "core/event.h"
#include "core/host.h"
#include "core/pair.h"
#include "core/snapshot.h"

struct io;

/**
 * io_open - connect to swiftrdma.ko
 * @io: where the handle goes; also on failure, for io_error(), and to be closed
 *
 * -ENOENT: the module is not loaded (io_error() says how to load it).
 */
int io_open(struct io **io);
void io_close(struct io *io);
const char *io_error(const struct io *io);

/*
 * What io_snapshot() is to read; a QP filter makes it a one-shot reading. Of what is
 * cached the kernel gives what it read last and asks no device: for names, and whatever
 * else takes no firmware command.
 */
struct io_want {
	bool devs, ports, uars, qps, jobs;
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
 * Called again with the same unfiltered @want and @snap, it asks the kernel
 * only for the QPs that changed, merges them, and falls back to a full dump
 * when QPs went or the connection was lost: the result is the same as a full
 * dump. Reconnects when the module was reloaded (-ENODEV while it is away).
 * Jobs need CAP_NET_ADMIN; without, .jobs is left empty and .admin false.
 */
int io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want);
void snapshot_free(struct snapshot *snap);

/*
 * How the devices and ports of @snap are reached, as sysfs says and as far as it
 * does; *@addrs is to be freed. 0 or -ENOMEM.
 */
int io_addresses(const struct snapshot *snap, struct pair_addr **addrs,
		 size_t *n);

/*
 * What the machine says of itself, whether or not the module is loaded, and as
 * far as whoever asks may see it; host_free() frees it. 0 or -errno.
 */
int io_host(struct host *host);
void host_free(struct host *host);
/* The module alone. */
int io_host_module(struct host_module *m);
/* How much memory processes of a unit may lock, or HOST_NO_LIMIT. -ENOENT: no unit. */
int io_unit_memlock(const char *unit, uint64_t *bytes);

/**
 * io_act - issue a batch under a lease
 * @io: the connection
 * @lease: in: 0 for a new one; out: its id
 * @ttl_ms: lifetime from now; 0 ends the lease
 * @rank: of a new lease
 * @origin: of a new lease
 * @actions: the items
 * @n: how many
 * @batch: out, may be NULL: the number results refer to
 *
 * All or nothing. @n 0 with a lease keeps it alive. -ENODEV: the module is
 * gone, or is another than the one that gave the lease.
 */
int io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
	   const char *origin, const struct snap_action *actions, size_t n,
	   uint64_t *batch);

/**
 * io_armed - does the module take changes?
 * @io: the connection
 *
 * -ESHUTDOWN: it is disarmed. It can then still be read, but its devices are
 * gone from it, and so are leases and what they held.
 */
int io_armed(struct io *io);

/* Overrides in force and QPs pending; *actions is malloc()ed. */
int io_actions(struct io *io, struct snap_action **actions, size_t *n);

int io_job_set(struct io *io, const char *name, const char *origin,
	       uint32_t class, const struct snap_rule *rules, size_t n);
int io_job_del(struct io *io, const char *name, const char *origin);

/* What it does not have stays as the application asked for. */
struct io_level {
	uint32_t level, dscp, sl;
	bool has_dscp, has_sl;
};

/* Those that are set, sorted by level; their number or -errno. */
int io_levels(struct io *io, struct io_level *levels, size_t cap);
int io_levels_set(struct io *io, const struct io_level *levels, size_t n);

/**
 * io_events_open - listen to the module's events
 * @io: the connection
 *
 * Returns a file descriptor to poll for reading; io_events_read() then calls
 * @cb for each event there is and returns their number. ENOBUFS becomes one
 * SNAP_EVENT_LOST, and so do the unloading and loading of the module. How many were
 * lost nobody knows. The descriptor belongs to @io and outlives the module.
 */
int io_events_open(struct io *io);
int io_events_read(struct io *io, void (*cb)(const struct snap_event *, void *),
		   void *arg);

#endif /* SRDMA_IO_IO_H */
