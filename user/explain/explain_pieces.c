// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What qp explain says about requests in pieces (job.chunk), which libswiftrdma makes. */
#include <string.h>

#include <rdma/swiftrdma.h>

#include "explain/explain.h"
#include "base/text.h"

#define RC 2	/* IB_QPT_RC */

/* The size above which requests of the job are split on the device; 0: there is none. */
static uint64_t chunk_in_force(const struct snap_job *job, uint32_t dev)
{
	for (size_t i = 0; job && i < job->n_stats; i++)
		if (job->stats[i].dev == dev && snap_has(&job->stats[i], SNAP_CHUNK))
			return job->stats[i].chunk;
	return 0;
}

/* Why libswiftrdma does not split requests of a QP that it reports. */
static const char *why_whole(const struct snap_qp *qp, const struct snap_qp_report *r,
			     const char *chunk)
{
	if (qp->type != RC)
		return "it is not of type RC";
	if (!(r->flags & SWIFTRDMA_SLOT_CHUNK))
		return chunk && strcmp(chunk, "yes") ?
		       "it was created without room for pieces: before the knob was in force, in a process that was started without SWIFTRDMA_CHUNK=yes; or each of its requests completes (sq_sig_all), or its completion queue has no room" :
		       "it was created without room for pieces: each of its requests completes (sq_sig_all), or its completion queue has no room, or the library only counts";
	return "libswiftrdma lost the order of its send queue, till the next RESET";
}

void explain_pieces(const struct reading *rd, struct explain *e)
{
	const struct snap_qp *qp = &rd->snap->qps[e->qp];
	const struct snap_owner *o = reading_owner(rd->snap, snap_has(qp, SNAP_OWNER), qp->owner);
	uint64_t chunk = chunk_in_force(reading_job(rd->snap, qp->job), qp->dev);
	const struct snap_qp_report *r = reading_qp_report(rd->snap, qp);
	char size[32];
	struct text t;

	if (!chunk || (o && o->kernel[0]))
		return;
	text_init(&t, size, sizeof(size));
	units_format(&t, (double)chunk, UNIT_BYTES);
	if (!r) {
		add_sentence(e, EXPLAIN_PIECES,
			     "not split at the %s of its job: libswiftrdma would do that, and is not in its process, or does not see this QP (swiftrdma run --check)",
			     size);
		return;
	}
	if (qp->type == RC && r->flags & SWIFTRDMA_SLOT_CHUNK &&
	    !(r->flags & SWIFTRDMA_SLOT_NO_ORDER)) {
		add_sentence(e, EXPLAIN_PIECES,
			     "libswiftrdma posts RDMA READs, and RDMA WRITEs without immediate data, of more than %s in pieces",
			     size);
		add_sentence(e, EXPLAIN_PIECES,
			     "left whole: all other requests, inline ones, those of more than 1 GiB or of more SGEs than the QP was created with, and those for whose pieces the queues have no room at the moment");
		return;
	}
	add_sentence(e, EXPLAIN_PIECES, "not split at the %s of its job: %s", size,
		     why_whole(qp, r, e->chunk));
	if (qp->type == RC && !(r->flags & SWIFTRDMA_SLOT_CHUNK) && e->chunk &&
	    strcmp(e->chunk, "yes"))
		add_sentence(e, EXPLAIN_ADVICE,
			     "start it with SWIFTRDMA_CHUNK=yes in its environment, so that its queues have room for pieces (swiftrdma run sets it if the policy file has chunk for the job)");
}
