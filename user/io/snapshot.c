// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads snapshots: one dump per kind of object. For QPs it requests only the changes if
 * possible.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/conn.h"
#include "io/merge.h"
#include "io/recorder.h"

/* Owners without QPs that a snapshot may keep before a full dump drops them. */
#define SPARE_OWNERS	256

static bool is_filtered(const struct io_want *w)
{
	return w->dev || w->job || w->port || w->uar || w->pid || w->has_qpn;
}

static struct srdma_known *find_known(struct io *io,
				      const struct snapshot *snap)
{
	for (int i = 0; i < SRDMA_KNOWN; i++)
		if (io->known[i].snap == snap)
			return &io->known[i];
	return NULL;
}

/* Can the QPs in @snap be updated by a delta? */
static bool can_delta(struct io *io, const struct snapshot *snap)
{
	const struct srdma_known *k = find_known(io, snap);

	return k && k->epoch == io->epoch && snap->generation &&
	       k->generation == snap->generation &&
	       snap->n_owners <= 2 * k->owners + SPARE_OWNERS;
}

static void forget_snapshot(struct io *io, const struct snapshot *snap)
{
	struct srdma_known *k = find_known(io, snap);

	if (k)
		k->snap = NULL;
}

static void remember_snapshot(struct io *io, const struct snapshot *snap, bool full)
{
	struct srdma_known *k = find_known(io, snap);

	if (!k)
		k = &io->known[io->next_known++ % SRDMA_KNOWN];
	k->snap = snap;
	k->epoch = io->epoch;
	k->generation = snap->generation;
	if (full)
		k->owners = snap->n_owners;
}

static void drop_devs(struct srdma_reading *r)
{
	r->snap->n_devs = 0;
}

static void drop_ports(struct srdma_reading *r)
{
	r->snap->n_ports = r->snap->n_prios = 0;
}

static void drop_uars(struct srdma_reading *r)
{
	r->snap->n_uars = 0;
}

static void drop_jobs(struct srdma_reading *r)
{
	r->snap->n_jobs = 0;
}

static void drop_reports(struct srdma_reading *r)
{
	r->snap->n_job_reports = r->snap->n_qp_reports = 0;
}

static void drop_qps(struct srdma_reading *r)
{
	*r->n_qps = 0;
}

static int put_filters(struct nl_msg *msg, int cmd, const struct io_want *w)
{
	bool qp = cmd == SWIFTRDMA_CMD_QP_GET;
	int err = 0;

	if ((w->cached.devs && cmd == SWIFTRDMA_CMD_DEV_GET) ||
	    (w->cached.ports && cmd == SWIFTRDMA_CMD_PORT_GET) ||
	    (w->cached.jobs && cmd == SWIFTRDMA_CMD_JOB_GET))
		err |= nla_put_flag(msg, SWIFTRDMA_A_CACHED);
	if (cmd == SWIFTRDMA_CMD_JOB_GET)
		return err;
	if (w->dev)
		err |= nla_put_string(msg, SWIFTRDMA_A_DEV_NAME, w->dev);
	if (w->port && (qp || cmd == SWIFTRDMA_CMD_PORT_GET))
		err |= nla_put_u32(msg, SWIFTRDMA_A_PORT, w->port);
	if (w->uar && (qp || cmd == SWIFTRDMA_CMD_UAR_GET))
		err |= nla_put_u32(msg, SWIFTRDMA_A_UAR, w->uar);
	if (qp && w->outstanding)
		err |= nla_put_flag(msg, SWIFTRDMA_A_OUTSTANDING);
	if (qp && w->has_qpn)
		err |= nla_put_u32(msg, SWIFTRDMA_A_QPN, w->qpn);
	if (qp && w->pid)
		err |= nla_put_u32(msg, SWIFTRDMA_A_PID, w->pid);
	if (qp && w->job)
		err |= nla_put_string(msg, SWIFTRDMA_A_JOB, w->job);
	return err;
}

/* @since 0: everything. */
static int dump_objects(struct io *io, int cmd, const struct io_want *w,
			uint64_t since, struct srdma_reading *r,
			void (*drop)(struct srdma_reading *r))
{
	struct nl_msg *msg = srdma_request(io, cmd, true, 1024);
	int err;

	if (!msg)
		return -ENOMEM;
	err = put_filters(msg, cmd, w);
	if (since)
		err |= nla_put_u64(msg, SWIFTRDMA_A_SINCE, since);
	if (err)
		err = srdma_fail(io, -EINVAL, "a filter is too long");
	else
		err = srdma_exchange(io, msg, r, drop);
	nlmsg_free(msg);
	return err;
}

static int read_jobs(struct io *io, const struct io_want *w,
		     struct srdma_reading *r)
{
	int err;

	drop_jobs(r);
	err = dump_objects(io, SWIFTRDMA_CMD_JOB_GET, w, 0, r, drop_jobs);
	r->snap->admin = !err;
	if (err == -EPERM) {
		drop_jobs(r);
		err = 0;
	}
	return err;
}

/* The command is younger than the family: an older module has no reports. */
static int read_reports(struct io *io, const struct io_want *w, struct srdma_reading *r)
{
	int err = dump_objects(io, SWIFTRDMA_CMD_REPORT_GET, w, 0, r, drop_reports);

	if (err != -EOPNOTSUPP)
		return err;
	drop_reports(r);
	return 0;
}

/*
 * Requests the QPs that changed. 1: QPs are gone, so a full dump is needed; -errno. Keeps
 * the owners of the snapshot, since unchanged QPs refer to them.
 */
static int read_delta(struct io *io, const struct io_want *w,
		      struct srdma_reading *r)
{
	struct snapshot *snap = r->snap;
	int err;

	r->qps = &io->delta;
	r->n_qps = &io->n_delta;
	r->cap_qps = &io->cap_delta;
	io->n_delta = 0;
	r->has_end = false;
	err = dump_objects(io, SWIFTRDMA_CMD_QP_GET, w, snap->generation, r, drop_qps);
	if (err)
		return err;
	srdma_sort_qps(io->delta, io->n_delta);
	err = srdma_merge_qps(snap, io->delta, io->n_delta);
	if (err < 0)
		return srdma_fail(io, err, "out of memory");
	snap->qps_since = err ? 0 : snap->time;
	return !r->has_end || snap->n_qps > r->count;
}

static int read_qps(struct io *io, const struct io_want *w, bool delta,
		    struct srdma_reading *r)
{
	struct snapshot *snap = r->snap;
	uint64_t epoch = io->epoch;
	int err;

	if (delta) {
		err = read_delta(io, w, r);
		if (err < 0 || io->epoch != epoch || !err)
			return err;
	}
	r->qps = &snap->qps;
	r->n_qps = &snap->n_qps;
	r->cap_qps = &snap->cap_qps;
	snap->n_qps = snap->n_qp_keys = 0;
	snap->qps_since = 0;
	r->has_end = false;
	err = dump_objects(io, SWIFTRDMA_CMD_QP_GET, w, 0, r, drop_qps);
	if (!err)
		srdma_sort_qps(snap->qps, snap->n_qps);
	return err;
}

/* 1: the module was reloaded in between. */
static int read_all(struct io *io, struct snapshot *snap,
		    const struct io_want *w)
{
	bool delta = w->qps && !is_filtered(w) && can_delta(io, snap);
	struct srdma_reading r = {
		.snap = snap,
		.qps = &snap->qps, .n_qps = &snap->n_qps,
		.cap_qps = &snap->cap_qps,
	};
	int err;

	snap->n_devs = snap->n_ports = snap->n_prios = 0;
	snap->n_uars = snap->n_jobs = 0;
	snap->n_job_reports = snap->n_qp_reports = 0;
	snap->admin = false;
	snap->qps_since = 0;
	if (!delta)
		snap->n_qps = snap->n_qp_keys = snap->n_owners = 0;

	err = w->devs ? dump_objects(io, SWIFTRDMA_CMD_DEV_GET, w, 0, &r, drop_devs) : 0;
	if (!err && w->ports)
		err = dump_objects(io, SWIFTRDMA_CMD_PORT_GET, w, 0, &r, drop_ports);
	if (!err && w->uars)
		err = dump_objects(io, SWIFTRDMA_CMD_UAR_GET, w, 0, &r, drop_uars);
	if (!err && w->jobs)
		err = read_jobs(io, w, &r);
	if (!err && w->reports)
		err = read_reports(io, w, &r);
	if (!err && w->qps)
		err = read_qps(io, w, delta, &r);
	if (err)
		return err;
	srdma_sort_others(snap);
	snap->time = r.time;
	snap->armed = r.has_end && !r.disarmed;
	snap->generation = w->qps ? r.generation : 0;
	if (w->qps && !is_filtered(w) && r.has_end)
		remember_snapshot(io, snap, !delta);
	return 0;
}

static int read_snapshot(struct io *io, struct snapshot *snap,
			 const struct io_want *want)
{
	int err = read_all(io, snap, want);

	if (err == 1) {
		forget_snapshot(io, snap);
		err = read_all(io, snap, want);
	}
	if (err == 1)
		err = srdma_fail(io, -EAGAIN,
				 "the module is being loaded and unloaded");
	if (err) {
		forget_snapshot(io, snap);
		snap->generation = 0;
	}
	return err;
}

int io_snapshot(struct io *io, struct snapshot *snap,
		const struct io_want *want)
{
	static const struct io_want all = {
		.devs = true, .ports = true, .uars = true, .qps = true,
		.jobs = true, .reports = true, .outstanding = true,
	};
	int err;

	io->record = io->recorder ? srdma_recorder_begin(io->recorder) : NULL;
	err = read_snapshot(io, snap, want ? want : &all);
	if (!err && io->record)
		srdma_recorder_commit(io->recorder);
	io->record = NULL;
	return err;
}

/* The first recorded reading must not be a delta: a player has no earlier reading. */
void io_record(struct io *io, struct recorder *r)
{
	io->recorder = r;
	for (int i = 0; i < SRDMA_KNOWN; i++)
		io->known[i].snap = NULL;
}

void snapshot_free(struct snapshot *snap)
{
	for (size_t i = 0; i < snap->cap_jobs; i++) {
		free(snap->jobs[i].rules);
		free(snap->jobs[i].stats);
	}
	free(snap->devs);
	free(snap->ports);
	free(snap->prios);
	free(snap->uars);
	free(snap->qps);
	free(snap->changed);
	free(snap->qp_key);
	free(snap->jobs);
	srdma_owners_free(snap);
	free(snap->job_reports);
	free(snap->qp_reports);
	memset(snap, 0, sizeof(*snap));
}
