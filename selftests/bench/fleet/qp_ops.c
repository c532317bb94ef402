// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What applications do to their QPs while others change the classes: modify, drain,
 * destroy and make anew. And the stuck ones, which get their receives or their end.
 */
#include <inttypes.h>
#include <stdio.h>

#include "fleet.h"
#include "stat.h"

/* A random pair, not a stuck one where there are others; NULL if it is gone. */
static struct pair *pick_pair(struct fleet *f)
{
	uint32_t free = f->o->pairs - f->o->stuck;
	struct pair *p = free ? &f->pairs[f->o->stuck + random_below(f, free)] :
				&f->pairs[random_below(f, f->o->pairs)];

	return p->gone ? NULL : p;
}

int churn_pair(struct fleet *f)
{
	struct pair *p = pick_pair(f);
	int ret;

	if (!p || p->end[0].draining || p->end[1].draining)
		return 0;
	ret = destroy_pair(f, p);
	if (!ret)
		ret = make_pair(f, p);
	f->sum.churned++;
	return ret;
}

static int modify_access(struct fleet *f, struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	uint64_t begun = now_ns();
	int ret = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);

	note_call_time(f, begun);
	return ret ? fail_with("modify RTS to RTS", ret) : 0;
}

int modify_any(struct fleet *f)
{
	struct pair *p = pick_pair(f);
	struct end *e = p ? &p->end[random_below(f, 2)] : NULL;
	int ret;

	if (!e || e->draining)
		return 0;
	ret = modify_access(f, e);
	f->sum.modified++;
	return ret;
}

int drain_any(struct fleet *f)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pair *p = pick_pair(f);
	struct end *e = p ? &p->end[random_below(f, 2)] : NULL;
	uint64_t begun = now_ns();
	int ret;

	if (!e || e->draining)
		return 0;
	e->draining = true;
	e->drain_end = begun + 10000000000ull;
	ret = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	note_call_time(f, begun);
	return ret ? fail_with("modify to SQD", ret) : 0;
}

/* SQ_DRAINED must come after each move to SQD: an application would wait for it for ever. */
void check_drains(struct fleet *f, uint64_t now)
{
	struct end *e;
	uint64_t i;

	for (i = 0; i < 2 * f->o->pairs; i++) {
		e = &f->pairs[i / 2].end[i % 2];
		if (!e->draining)
			continue;
		ring_doorbell(e);
		if (now < e->drain_end)
			continue;
		fprintf(stderr, "fleet: pair %" PRIu64 ": no SQ_DRAINED in 10 s\n", i / 2);
		e->draining = false;
		f->sum.failed++;
		f->done = true;
	}
}

int release_stuck(struct fleet *f)
{
	uint64_t i, k;
	int ret = 0;

	if (f->released)
		return 0;
	f->released = true;
	for (i = 0; i < f->o->stuck; i++)
		for (k = 0; !ret && !f->pairs[i].gone && k < f->o->depth; k++)
			ret = post_recv(f, &f->pairs[i].end[1]);
	printf("released %" PRIu64 "\n", f->o->stuck);
	return ret;
}

/* Applications may modify and destroy a QP while it is stuck, without delay. */
int end_stuck_pairs(struct fleet *f)
{
	uint64_t i, modify_ns, n = 0;
	int ret = 0;

	f->sum.max_call_ns = 0;
	for (i = 0; !ret && i < f->o->stuck; i++)
		ret = modify_access(f, &f->pairs[i].end[0]);
	modify_ns = f->sum.max_call_ns;
	f->sum.max_call_ns = 0;
	for (i = 0; !ret && i < f->o->stuck; i++) {
		if (f->pairs[i].gone)
			continue;
		ret = destroy_pair(f, &f->pairs[i]);
		f->pairs[i].gone = true;
		n++;
	}
	printf("ended %" PRIu64 " modify_us %" PRIu64 " destroy_us %" PRIu64 "\n", n,
	       modify_ns / 1000, f->sum.max_call_ns / 1000);
	return ret;
}
