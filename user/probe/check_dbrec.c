// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The doorbell record, from which the module counts. libmlx5 writes into it how many WQEBBs
 * (blocks of 64 bytes in the send queue) have been posted, modulo 2^16, before it rings.
 */
#include <endian.h>
#include <infiniband/mlx5dv.h>

#include "probe/probe.h"

#define DEPTH		64
#define SEND_RECORD	1	/* the receive counter is before it */
#define WQEBB		64
/* Control and address segments of a write, of 16 bytes each, then data or a pointer to it. */
#define HEAD		32
#define POINTER		16
#define LENGTH		4	/* before the data of an inline WQE */

#define SINGLES		100
#define LISTS		25
#define LIST		8
#define INLINE		400	/* 7 WQEBBs, so that few requests cause a wrap */
#define WRAP		(65536 + 1000)

static uint32_t blocks_of(uint32_t bytes, bool in_wqe)
{
	uint32_t data = in_wqe ? (LENGTH + bytes + 15) / 16 * 16 : POINTER;

	return (HEAD + data + WQEBB - 1) / WQEBB;
}

/* @calls of @list requests each; -errno, or the WQEBBs that they take. */
static int64_t post_part(struct nic_pair *pair, uint32_t calls, uint32_t list, uint32_t bytes,
			 bool in_wqe)
{
	int err = 0;

	for (uint32_t i = 0; i < calls && !err; i++) {
		err = nic_wait(pair, DEPTH - list);
		if (!err)
			err = nic_write(pair, list, bytes, in_wqe);
	}
	if (!err)
		err = nic_wait(pair, 0);
	return err ? err : (int64_t)calls * list * blocks_of(bytes, in_wqe);
}

static const struct part {
	const char *name;
	uint32_t calls, list, bytes;
	bool in_wqe;
} parts[] = {
	{ "single requests", SINGLES, 1, 8, false },
	{ "lists of 8", LISTS, LIST, 8, false },
	{ "data in the WQE", WRAP / 7 + 1, 1, INLINE, true },
};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

static int open_pair(struct probe *p, struct nic_pair *pair)
{
	const struct nic_want want = { .depth = DEPTH, .inline_bytes = INLINE };

	return nic_pair_open(pair, &p->nic, probe_to(p), &want);
}

static volatile __be32 *find_record(struct ibv_qp *qp)
{
	struct mlx5dv_qp dv = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &dv } };

	return mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) ? NULL : dv.dbrec;
}

static void compare_parts(struct probe_finding *f, struct nic_pair *pair,
			  volatile __be32 *record)
{
	uint64_t posted = 0;

	for (size_t i = 0; i < N_PARTS; i++) {
		const struct part *a = &parts[i];
		int64_t n = post_part(pair, a->calls, a->list, a->bytes, a->in_wqe);

		if (n < 0) {
			finding_nic(f);
			return;
		}
		posted += (uint64_t)n;
		finding_compare(f, PROBE_EXACT, "WQEBB", (double)(posted & 0xffff),
				be32toh(record[SEND_RECORD]) & 0xffff, "record after %s", a->name);
	}
	finding_say(f, "%zu posts of %llu WQEBBs, over a wrap of the record's 16 bits",
		    (size_t)SINGLES + LISTS + parts[2].calls, (unsigned long long)posted);
}

void check_dbrec(struct probe *p, struct probe_finding *f)
{
	volatile __be32 *record;
	struct nic_pair pair;

	if (open_pair(p, &pair)) {
		finding_nic(f);
		return;
	}
	record = find_record(pair.a);
	if (record)
		compare_parts(f, &pair, record);
	else
		finding_cannot(f, "libmlx5 does not tell where the record is");
	nic_pair_close(&pair);
}

static void compare_module(struct probe *p, struct probe_finding *f, const struct nic_pair *pair,
			   uint64_t posted)
{
	const struct snap_qp *q = probe_module_qp(p, pair->a->qp_num);

	if (!q) {
		finding_differs(f, "the module does not list QP %u of this process", pair->a->qp_num);
		return;
	}
	if (!snap_has(q, SNAP_WRS)) {
		finding_cannot(f, "the module does not count this device's work requests: is swiftrdma_mlx5 loaded, with its sampler?");
		return;
	}
	finding_compare(f, PROBE_EXACT, "WQEBB", (double)posted, (double)q->wrs, "counted");
	finding_say(f, "the module counted %llu of %llu WQEBBs%s", (unsigned long long)q->wrs,
		    (unsigned long long)posted,
		    q->wrs_ambiguous ? ", and says that it may have missed a wrap" : "");
}

void check_module_count(struct probe *p, struct probe_finding *f)
{
	struct nic_pair pair;
	uint64_t posted = 0;
	int64_t n = 0;

	if (open_pair(p, &pair)) {
		finding_nic(f);
		return;
	}
	for (size_t i = 0; i < N_PARTS && n >= 0; i++) {
		n = post_part(&pair, parts[i].calls, parts[i].list, parts[i].bytes,
			      parts[i].in_wqe);
		posted += n < 0 ? 0 : (uint64_t)n;
	}
	if (n < 0)
		finding_nic(f);
	else
		compare_module(p, f, &pair, posted);
	nic_pair_close(&pair);
}
