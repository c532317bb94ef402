// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * libswiftrdma: random lists of requests, posted whole and in pieces of random sizes, by
 * ibv_post_send() and by ibv_wr_*(). The program must see the same completions, the memory must be
 * the same, and the counts, too.
 */
#include "control_rig.h"

#define SCRIPTS 400
#define STEPS 24
#define WRS 16
#define SGES 4
#define MEMORY (1u << 20)
#define DONE_MAX (STEPS * WRS)

static uint32_t rnd = 1;

static uint32_t below(uint32_t n)
{
	rnd ^= rnd << 13;
	rnd ^= rnd >> 17;
	rnd ^= rnd << 5;
	return rnd % n;
}

/* A request by offsets, so that it can be posted in two memories. */
struct plan {
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint64_t wr_id;
	uint32_t remote;
	int sges;
	struct { uint32_t at, bytes; } sge[SGES];
};

struct script {
	int n[STEPS];		/* requests of each list */
	struct plan plan[STEPS][WRS];
	uint32_t error_in;	/* 0: none */
};

struct seen {
	int n;
	struct { uint64_t wr_id; enum ibv_wc_status status; uint32_t bytes; } done[DONE_MAX];
	char *memory;		/* the remote one, then the local one */
	struct swiftrdma_figures figures;
	uint64_t wrs;
};

static struct plan draw_request(void)
{
	static const enum ibv_wr_opcode opcode[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_READ,
		IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct plan p = {
		.opcode = opcode[below(6)], .wr_id = below(4), .sges = (int)below(SGES + 1),
		.remote = 1 + below(MEMORY / 2),
	};
	uint32_t most = below(3) ? 5000 : 100000;

	for (int i = 0; i < p.sges; i++) {
		p.sge[i].bytes = below(5) ? below(most) : 0;
		p.sge[i].at = below(MEMORY / 2);
	}
	p.flags = (below(3) ? 0 : IBV_SEND_SIGNALED) | (below(5) ? 0 : IBV_SEND_FENCE);
	return p;
}

/* At no time more than WRS requests are outstanding for the program. */
static void draw_script(struct script *s)
{
	int outstanding = 0;

	s->error_in = below(4) ? 0 : 1 + below(MEMORY / 2);
	for (int i = 0; i < STEPS; i++) {
		s->n[i] = 1 + (int)below((uint32_t)(WRS - outstanding));
		for (int k = 0; k < s->n[i]; k++) {
			struct plan *p = &s->plan[i][k];

			*p = draw_request();
			if (++outstanding == WRS)
				p->flags |= IBV_SEND_SIGNALED;
			if (p->flags & IBV_SEND_SIGNALED)
				outstanding = 0;
		}
		/* The last list's end must be heard of. */
		if (i == STEPS - 1)
			s->plan[i][s->n[i] - 1].flags |= IBV_SEND_SIGNALED;
	}
}

static void post_list(struct ibv_qp *qp, const struct script *s, int step, char *memory)
{
	struct ibv_sge sge[WRS][SGES];
	struct ibv_send_wr wr[WRS], *bad;

	for (int i = 0; i < s->n[step]; i++) {
		const struct plan *p = &s->plan[step][i];

		for (int k = 0; k < p->sges; k++)
			sge[i][k] = (struct ibv_sge){
				.addr = (uintptr_t)memory + MEMORY + p->sge[k].at,
				.length = p->sge[k].bytes,
			};
		wr[i] = (struct ibv_send_wr){
			.wr_id = p->wr_id, .opcode = p->opcode, .send_flags = p->flags,
			.sg_list = sge[i], .num_sge = p->sges,
			.wr.rdma.remote_addr = (uintptr_t)memory + p->remote,
			.next = i + 1 < s->n[step] ? &wr[i + 1] : NULL,
		};
	}
	assert_int_equal(ibv_post_send(qp, wr, &bad), 0);
	/* As programs may, once the post has returned. */
	memset(wr, 0xff, sizeof(wr));
	memset(sge, 0xff, sizeof(sge));
}

/* The same in a batch, of which some that come before it are given up. */
static void post_batch(struct ibv_qp *qp, const struct script *s, int step, char *memory)
{
	struct ibv_qp_ex *qpx = stub_to_qp_ex(qp);
	int n = s->n[step], given_up = below(4) ? 0 : 1 + (int)below((uint32_t)n);
	struct ibv_sge sge[SGES];

	for (int from = given_up ? -given_up : 0; from < n; from++) {
		const struct plan *p = &s->plan[step][from < 0 ? from + given_up : from];
		uint64_t remote = (uintptr_t)memory + p->remote;

		if (from == -given_up || !from)
			ibv_wr_start(qpx);
		qpx->wr_id = p->wr_id;
		qpx->wr_flags = p->flags;
		if (p->opcode == IBV_WR_RDMA_WRITE)
			ibv_wr_rdma_write(qpx, 0, remote);
		else if (p->opcode == IBV_WR_RDMA_READ)
			ibv_wr_rdma_read(qpx, 0, remote);
		else if (p->opcode == IBV_WR_SEND)
			ibv_wr_send(qpx);
		else
			ibv_wr_rdma_write_imm(qpx, 0, remote, 0);
		/* Until the data come, the request is as it was begun. */
		qpx->wr_id = 1000;
		qpx->wr_flags = below(2) ? IBV_SEND_SIGNALED : 0;
		for (int k = 0; k < p->sges; k++)
			sge[k] = (struct ibv_sge){
				.addr = (uintptr_t)memory + MEMORY + p->sge[k].at,
				.length = p->sge[k].bytes,
			};
		if (p->sges == 1 && below(2))
			ibv_wr_set_sge(qpx, sge->lkey, sge->addr, sge->length);
		else
			ibv_wr_set_sge_list(qpx, (size_t)p->sges, sge);
		memset(sge, 0xff, sizeof(sge));
		if (from == -1)
			ibv_wr_abort(qpx);
	}
	assert_int_equal(ibv_wr_complete(qpx), 0);
}

static void poll_all(struct ibv_cq *cq, struct seen *seen)
{
	struct ibv_wc wc[8];
	int n;

	while ((n = ibv_poll_cq(cq, 1 + (int)below(8), wc)) > 0) {
		for (int i = 0; i < n; i++, seen->n++) {
			assert_true(seen->n < DONE_MAX);
			seen->done[seen->n].wr_id = wc[i].wr_id;
			seen->done[seen->n].status = wc[i].status;
			seen->done[seen->n].bytes = wc[i].status ? 0 : wc[i].byte_len;
		}
	}
	assert_int_equal(n, 0);
}

typedef void post_fn(struct ibv_qp *qp, const struct script *s, int step, char *memory);

/* @chunk 0: whole. */
static void run(const struct script *s, post_fn *post, uint32_t chunk, struct seen *seen)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = WRS, .max_send_sge = SGES },
		.pd = &rig.pd, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	ctl_set(SWIFTRDMA_SHARE_KNOB_CHUNK, 4096);
	cq = ibv_create_cq(rig.ctx, WRS, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = cq;
	qp = ibv_create_qp_ex(rig.ctx, &attr);
	if (chunk)
		ctl_set(SWIFTRDMA_SHARE_KNOB_CHUNK, chunk);
	else
		ctl_clear(SWIFTRDMA_SHARE_KNOB_CHUNK);
	for (uint32_t i = 0; i < 2 * MEMORY; i++)
		seen->memory[i] = (char)(i * 2654435761u >> 24);
	seen->n = 0;
	stub.wrs = 0;
	stub.error_in = s->error_in ? (uintptr_t)seen->memory + s->error_in : 0;
	for (int i = 0; i < STEPS; i++) {
		stub.hold = (int)below(2);
		post(qp, s, i, seen->memory);
		/* In parts, with polls in between. */
		if (below(2))
			stub_complete(qp, (int)below(20));
		poll_all(cq, seen);
		stub_complete(qp, STUB_RING);
		poll_all(cq, seen);
	}
	seen->figures = rig_figures(qp);
	seen->wrs = stub.wrs;
	assert_int_equal(stub.overflows, 0);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

static void is_same(post_fn *post)
{
	static struct script script;
	static struct seen whole, pieces;
	uint64_t added = 0, failed = 0;

	stub.real = 1;
	whole.memory = malloc(2 * MEMORY);
	pieces.memory = malloc(2 * MEMORY);
	for (int i = 0; i < SCRIPTS; i++) {
		draw_script(&script);
		run(&script, post_list, 0, &whole);
		run(&script, post, 4096u << below(5), &pieces);
		assert_int_equal(pieces.n, whole.n);
		assert_memory_equal(pieces.done, whole.done, (size_t)whole.n * sizeof(whole.done[0]));
		failed += whole.figures.errors;
		/* Of a request that fails, a part may be done. */
		if (!whole.figures.errors)
			assert_memory_equal(pieces.memory, whole.memory, 2 * MEMORY);
		assert_int_equal(pieces.figures.wrs, whole.figures.wrs);
		assert_int_equal(pieces.figures.bytes, whole.figures.bytes);
		assert_int_equal(pieces.figures.calls, whole.figures.calls);
		assert_int_equal(pieces.figures.wcs, whole.figures.wcs);
		assert_int_equal(pieces.figures.done, whole.figures.done);
		assert_int_equal(pieces.figures.errors, whole.figures.errors);
		assert_int_equal(pieces.figures.stopped, whole.figures.stopped);
		assert_true(pieces.wrs >= whole.wrs);
		added += pieces.wrs - whole.wrs;
	}
	assert_true(added > 10000);
	assert_true(failed > 1000);
	free(whole.memory);
	free(pieces.memory);
}

static void test_lists(void **state)
{
	(void)state;
	is_same(post_list);
}

static void test_batches(void **state)
{
	(void)state;
	is_same(post_batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = { CTL_TEST(test_lists), CTL_TEST(test_batches) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
