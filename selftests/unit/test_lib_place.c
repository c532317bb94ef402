// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where libswiftrdma puts new QPs, over a provider whose QPs in thread domains have no locks and
 * that notices when two threads are in one. Its own registers are two, so that the third QP of a
 * test, after that of the rig, is the library's to place.
 */
#include "control_rig.h"
#include "lib/placed.h"

#define QPS 100

static struct ibv_qp *made[QPS];

static int place_setup(void **state)
{
	setenv("MLX5_TOTAL_UUARS", "2", 1);
	setenv("MLX5_NUM_LOW_LAT_UUARS", "0", 1);
	place_is_mlx5 = every_device;
	memset(made, 0, sizeof(made));
	ctl_setup(state);
	settings.place = SWIFTRDMA_PLACE_LIGHTEST;
	return 0;
}

static int place_teardown(void **state)
{
	for (int i = 0; i < QPS; i++)
		if (made[i])
			assert_int_equal(ibv_destroy_qp(made[i]), 0);
	rig_teardown(state);
	assert_int_equal(stub.tds, 0);
	assert_int_equal(stub.domains, 0);
	assert_int_equal(stub.misplaced, 0);
	assert_int_equal(stub.violations, 0);
	settings.place = SWIFTRDMA_PLACE_DEFAULT;
	return 0;
}

#define PLACE_TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

static void make(int from, int to)
{
	for (int i = from; i < to; i++) {
		made[i] = rig_qp(rig.cq, 0);
		assert_non_null(made[i]);
	}
}

static void drop(int i)
{
	assert_int_equal(ibv_destroy_qp(made[i]), 0);
	made[i] = NULL;
}

static struct stub_td *td_of(const struct ibv_qp *qp)
{
	const struct stub_domain *d = ((const struct stub_qp *)qp)->domain;

	return d ? d->td : NULL;
}

static struct ibv_qp *make_ex(uint32_t more)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC,
		.cap.max_send_wr = STUB_WRS, .comp_mask = IBV_QP_INIT_ATTR_PD | more, .pd = &rig.pd,
	};
	struct ibv_qp *qp = verbs_get_ctx(rig.ctx)->create_qp_ex(rig.ctx, &attr);

	assert_ptr_equal(attr.pd, &rig.pd);
	return qp;
}

static int post_one_wr(struct ibv_qp *qp, uint64_t id)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	return rig.ctx->ops.post_send(qp, &wr, &bad);
}

/* --- which register ------------------------------------------------------------------ */

/* As long as libmlx5 has a register for each QP, nothing is placed. */
static void test_nothing_to_gain(void **state)
{
	(void)state;
	make(0, 1);
	assert_null(td_of(rig.qp));
	assert_null(td_of(made[0]));
	make(1, 2);
	assert_non_null(td_of(made[1]));
	/* One of libmlx5's is free again. */
	drop(0);
	make(0, 1);
	assert_null(td_of(made[0]));
}

static void test_register_for_each(void **state)
{
	(void)state;
	make(0, 1 + PLACE_REGISTERS);
	assert_int_equal(stub.tds, PLACE_REGISTERS);
	for (int i = 1; i <= PLACE_REGISTERS; i++) {
		assert_non_null(td_of(made[i]));
		assert_ptr_equal(made[i]->pd, &rig.pd);
		for (int k = 1; k < i; k++)
			assert_ptr_not_equal(td_of(made[i]), td_of(made[k]));
	}
	assert_int_equal(atomic_load(&devices->placed), PLACE_REGISTERS);
}

/* All registers are in use: the next QP goes where the least was posted, then to the emptiest. */
static void test_least_loaded(void **state)
{
	(void)state;
	make(0, 1 + PLACE_REGISTERS);
	for (int i = 1; i <= PLACE_REGISTERS; i++)
		for (int n = 0; n < (i == 7 ? 2 : i == 8 ? 1 : 5); n++)
			assert_int_equal(post_one_wr(made[i], 1), 0);
	make(80, 81);
	assert_ptr_equal(td_of(made[80]), td_of(made[8]));
	/* It has two QPs now, but still the least to do. libmlx5's have two as well. */
	make(81, 82);
	assert_ptr_equal(td_of(made[81]), td_of(made[8]));
	/* Two windows later nothing of that counts. */
	rig.now += 2 * S;
	make(82, 83);
	rig.now += 2 * S;
	for (int i = 1; i <= PLACE_REGISTERS; i++)
		if (i != 9)
			assert_int_equal(post_one_wr(made[i], 1), 0);
	make(83, 84);
	assert_ptr_equal(td_of(made[83]), td_of(made[9]));
}

/* Where the library's registers have more QPs than libmlx5's, it leaves QPs to libmlx5. */
static void test_balance_with_default(void **state)
{
	int placed = 0;

	(void)state;
	make(0, 2);
	stub.fail_tds = 1;
	make(2, 8);
	for (int i = 0; i < 8; i++)
		placed += !!td_of(made[i]);
	/* Nine QPs on two registers of libmlx5 and one of the library's. */
	assert_int_equal(placed, 3);
	stub.fail_tds = 0;
}

static void *make_in_thread(void *at)
{
	for (int i = 0; i < 3; i++)
		((struct ibv_qp **)at)[i] = rig_qp(rig.cq, 0);
	return NULL;
}

static void test_by_thread(void **state)
{
	pthread_t t;

	(void)state;
	settings.place = SWIFTRDMA_PLACE_BY_THREAD;
	make(0, 3);
	pthread_create(&t, NULL, make_in_thread, &made[3]);
	pthread_join(t, NULL);
	assert_int_equal(stub.tds, 2);
	for (int i = 0; i < 6; i++)
		assert_ptr_equal(td_of(made[i]), td_of(made[i / 3 * 3]));
	assert_ptr_not_equal(td_of(made[0]), td_of(made[3]));
	/* One parent domain for each PD in a register. */
	assert_int_equal(stub.domains, 2);
}

/* --- what is left alone --------------------------------------------------------------- */

static void test_left_alone(void **state)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RAW_PACKET,
		.cap.max_send_wr = STUB_WRS,
	};
	struct ibv_td *td = ibv_alloc_td(rig.ctx, &(struct ibv_td_init_attr){ 0 });
	struct ibv_pd *own = ibv_alloc_parent_domain(rig.ctx,
		&(struct ibv_parent_domain_init_attr){ .pd = &rig.pd, .td = td });
	uint32_t by_default = context_find(rig.ctx)->place.by_default;

	(void)state;
	make(0, 1);
	made[1] = ibv_create_qp(&rig.pd, &attr);
	assert_null(td_of(made[1]));
	attr.qp_type = IBV_QPT_RC;
	made[2] = ibv_create_qp(own, &attr);
	assert_ptr_equal(td_of(made[2]), td);
	assert_ptr_equal(made[2]->pd, own);
	assert_int_equal(context_find(rig.ctx)->place.by_default, by_default + 2);
	assert_true(rig_slot(made[2])->id.flags & SWIFTRDMA_SLOT_DOMAIN);
	assert_false(rig_slot(made[1])->id.flags & SWIFTRDMA_SLOT_DOMAIN);
	made[3] = make_ex(IBV_QP_INIT_ATTR_CREATE_FLAGS);
	assert_null(td_of(made[3]));
	attr.cap.max_send_wr = 0;
	made[4] = ibv_create_qp(&rig.pd, &attr);
	assert_null(td_of(made[4]));
	assert_int_equal(atomic_load(&devices->placed), 0);
	/* The program's domain is busy, and stays the program's. */
	assert_int_equal(ibv_dealloc_pd(own), EBUSY);
	stub.misplaced = 0;
	assert_true(place_knows_pd(own));
	drop(2);
	assert_int_equal(ibv_dealloc_pd(own), 0);
	assert_false(place_knows_pd(own));
	ibv_dealloc_td(td);
	/* A plain PD at the same address would be placed in again. */
	make(5, 6);
	assert_non_null(td_of(made[5]));
}

static void test_other_provider(void **state)
{
	struct swiftrdma_knob_report *r;

	(void)state;
	ibv_destroy_qp(rig.qp);
	ibv_destroy_cq(rig.cq);
	ibv_close_device(rig.ctx);
	place_is_mlx5 = no_device;
	snprintf(stub_device.name, sizeof(stub_device.name), "other");
	rig.ctx = ibv_open_device(&stub_device);
	rig.pd.context = rig.ctx;
	rig.cq = ibv_create_cq(rig.ctx, 1, NULL, NULL, 0);
	rig.qp = rig_qp(rig.cq, 0);
	r = &ctl.report->knob[SWIFTRDMA_SHARE_KNOB_PLACE];
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_UNABLE);
	ctl_set(SWIFTRDMA_SHARE_KNOB_PLACE, SWIFTRDMA_PLACE_LIGHTEST);
	make(0, 8);
	assert_int_equal(post_one_wr(made[0], 1), 0);
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_UNABLE);
	assert_int_equal(stub.tds, 0);
}

/* --- the knob ---------------------------------------------------------------------------- */

static void test_knob(void **state)
{
	struct swiftrdma_knob_report *r = &ctl.report->knob[SWIFTRDMA_SHARE_KNOB_PLACE];

	(void)state;
	settings.place = SWIFTRDMA_PLACE_DEFAULT;
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_IDLE);
	make(0, 4);
	assert_int_equal(stub.tds, 0);
	ctl_set_until(SWIFTRDMA_SHARE_KNOB_PLACE, SWIFTRDMA_PLACE_LIGHTEST, rig.now + S);
	/* A post tells that the library obeys; posts do not wait, nor look at the clock. */
	assert_int_equal(post_one_wr(made[0], 1), 0);
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	assert_int_equal(r->value, SWIFTRDMA_PLACE_LIGHTEST);
	assert_int_equal(ctl.report->control_seen, ctl.job->changes);
	assert_int_equal(post_one_wr(made[0], 2), 0);
	assert_true(control_quiet(qp_find(made[0])));
	make(4, 6);
	assert_int_equal(stub.tds, 2);
	/* It is over without a word of the kernel. */
	rig.now += S;
	make(6, 8);
	assert_int_equal(stub.tds, 2);
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_IDLE);
	/* The knob goes before the environment. */
	settings.place = SWIFTRDMA_PLACE_LIGHTEST;
	ctl_set(SWIFTRDMA_SHARE_KNOB_PLACE, SWIFTRDMA_PLACE_DEFAULT);
	make(8, 10);
	assert_int_equal(stub.tds, 2);
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	ctl_set(SWIFTRDMA_SHARE_KNOB_PLACE, 77);
	make(10, 11);
	assert_int_equal(stub.tds, 2);
	assert_int_equal(r->state, SWIFTRDMA_KNOB_STATE_UNABLE);
	ctl_clear(SWIFTRDMA_SHARE_KNOB_PLACE);
	make(11, 12);
	assert_int_equal(stub.tds, 3);
	ctl_set(SWIFTRDMA_SHARE_KNOB_PLACE, SWIFTRDMA_PLACE_BY_THREAD);
	ctl_state(SWIFTRDMA_CONTROL_ENDED);
	make(12, 13);
	assert_int_equal(stub.tds, 4);
}

/* --- failures ------------------------------------------------------------------------------ */

/* Whatever fails, the program gets the QP that it would get without the library. */
static void check_falls_back(struct ibv_qp *qp)
{
	assert_non_null(qp);
	assert_null(td_of(qp));
	assert_ptr_equal(qp->pd, &rig.pd);
	assert_int_equal(errno, 4711);
	assert_int_equal(stub.tds, 0);
	assert_int_equal(stub.domains, 0);
	assert_int_equal(post_one_wr(qp, 1), 0);
}

static void test_failures(void **state)
{
	int *const knob[] = { &stub.fail_tds, &stub.fail_domains, &stub.fail_placed };
	int n = 1;

	(void)state;
	make(0, 1);
	for (size_t k = 0; k < 3; k++) {
		*knob[k] = 1;
		errno = 4711;
		make(n, n + 1);
		check_falls_back(made[n++]);
		made[n] = make_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
		check_falls_back(made[n++]);
		*knob[k] = 0;
	}
}

/* A QP that cannot be destroyed keeps its register, and its program its PD. */
static void test_busy_qp(void **state)
{
	(void)state;
	make(0, 2);
	assert_non_null(td_of(made[1]));
	stub.fail_destroy = 1;
	assert_int_equal(ibv_destroy_qp(made[1]), EBUSY);
	stub.fail_destroy = 0;
	assert_ptr_equal(made[1]->pd, &rig.pd);
	assert_int_equal(stub.domains, 1);
	assert_int_equal(post_one_wr(made[1], 1), 0);
}

/* Two PDs share a register; each parent domain goes with its last QP. */
static void test_two_pds(void **state)
{
	struct ibv_pd other = { .context = rig.ctx };
	struct ibv_qp_init_attr attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC,
		.cap.max_send_wr = STUB_WRS,
	};

	(void)state;
	settings.place = SWIFTRDMA_PLACE_BY_THREAD;
	make(0, 2);
	made[2] = ibv_create_qp(&other, &attr);
	assert_ptr_equal(made[2]->pd, &other);
	assert_ptr_equal(td_of(made[2]), td_of(made[0]));
	assert_int_equal(stub.domains, 2);
	drop(2);
	assert_int_equal(stub.domains, 1);
	drop(0);
	assert_int_equal(stub.domains, 1);
	drop(1);
	assert_int_equal(stub.domains, 0);
	assert_int_equal(stub.tds, 0);
}

/* --- locks -------------------------------------------------------------------------------- */

#define POSTS 3000

static void *post_many(void *qp)
{
	struct ibv_recv_wr recv = { 0 }, *bad;

	for (int i = 0; i < POSTS; i++) {
		assert_int_equal(post_one_wr(qp, 1), 0);
		assert_int_equal(rig.ctx->ops.post_recv(qp, &recv, &bad), 0);
	}
	return NULL;
}

static void *build_many(void *qp)
{
	struct ibv_qp_ex *qpx = stub_to_qp_ex(qp);

	for (int i = 0; i < POSTS; i++) {
		qpx->wr_start(qpx);
		qpx->wr_id = 1;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		qpx->wr_send(qpx);
		if (i % 3)
			assert_int_equal(qpx->wr_complete(qpx), 0);
		else
			qpx->wr_abort(qpx);
	}
	return NULL;
}

static void drain(void)
{
	struct ibv_wc wc[16];

	while (rig.ctx->ops.poll_cq(rig.cq, 16, wc) > 0)
		;
}

/* Threads share QPs and a register, by every way to post; the rig's provider counts two in one. */
static void test_threads(void **state)
{
	struct swiftrdma_figures f;
	struct place_register *r;
	pthread_t t[5];

	(void)state;
	settings.place = SWIFTRDMA_PLACE_BY_THREAD;
	lib_clock = rig_clock;
	made[0] = make_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	made[1] = make_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	assert_non_null(td_of(made[0]));
	assert_ptr_equal(td_of(made[0]), td_of(made[1]));
	r = qp_find(made[0])->placed->reg;
	pthread_create(&t[0], NULL, post_many, made[0]);
	pthread_create(&t[1], NULL, post_many, made[0]);
	pthread_create(&t[2], NULL, post_many, made[1]);
	pthread_create(&t[3], NULL, build_many, made[0]);
	pthread_create(&t[4], NULL, build_many, made[1]);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(stub.violations, 0);
	assert_int_equal(atomic_load(&r->rings), 3 * POSTS + 2 * (POSTS - POSTS / 3));
	assert_int_equal(swiftrdma_read_qp(made[0], &f, sizeof(f)), 0);
	assert_int_equal(f.wrs, 2 * POSTS + POSTS - POSTS / 3);
	assert_int_equal(f.recv_wrs, 2 * POSTS);
	drain();
}

/* One thread builds batches of two QPs of a register at once; the others go on meanwhile. */
static void test_interleaved_batches(void **state)
{
	struct ibv_qp_ex *a, *b;
	pthread_t t;

	(void)state;
	settings.place = SWIFTRDMA_PLACE_BY_THREAD;
	made[0] = make_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	made[1] = make_ex(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	make(2, 3);
	assert_ptr_equal(td_of(made[2]), td_of(made[0]));
	a = stub_to_qp_ex(made[0]);
	b = stub_to_qp_ex(made[1]);
	a->wr_start(a);
	b->wr_start(b);
	pthread_create(&t, NULL, post_many, made[2]);
	pthread_join(t, NULL);
	a->wr_send(a);
	b->wr_send(b);
	assert_int_equal(a->wr_complete(a), 0);
	b->wr_abort(b);
	/* libmlx5 sets wr_complete anew; the library's stands in for it again. */
	assert_int_equal(ibv_modify_qp(made[0], &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS },
				       IBV_QP_STATE), 0);
	build_many(made[0]);
	assert_int_equal(atomic_load(&qp_find(made[0])->placed->reg->rings),
			 POSTS + 1 + POSTS - POSTS / 3);
	drain();
}

static void test_bind_mw(void **state)
{
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw mw = { .context = rig.ctx };

	(void)state;
	make(0, 2);
	assert_int_equal(rig.ctx->ops.bind_mw(made[1], &mw, &bind), 0);
	assert_int_equal(atomic_load(&qp_find(made[1])->placed->reg->rings), 1);
}

static uint64_t slow_reads;
static struct bias *slow;

/* The holder leaves long after any patience has ended. */
static uint64_t slow_clock(void)
{
	rig.now += 10 * MS;
	if (++slow_reads == 5000)
		atomic_store(&slow->holder, 0);
	return rig.now;
}

static void test_lock_is_never_lost(void **state)
{
	struct bias b = { .owner = BIAS_SHARED, .holder = 4711 };

	(void)state;
	slow = &b;
	slow_reads = 0;
	lib_clock = slow_clock;
	assert_int_equal(bias_lock_kept(&b), BIAS_HELD);
	assert_int_equal(slow_reads, 5000);
	assert_int_equal(bias_lock_kept(&b), BIAS_NESTED);
	bias_unlock(&b, BIAS_HELD);
	/* A signal handler interrupts the thread that the lock is biased to. */
	b = (struct bias){ 0 };
	assert_int_equal(bias_lock_kept(&b), BIAS_OWNER);
	assert_int_equal(bias_lock_kept(&b), BIAS_NESTED);
	bias_unlock(&b, BIAS_NESTED);
	assert_int_equal(b.inside, 1);
	lib_clock = rig_clock;
}

/* --- libmlx5's own registers --------------------------------------------------------------- */

static void check_default(const char *total, const char *low, const char *shut_up,
			  uint32_t dedicated, uint32_t shared)
{
	struct ibv_context *ctx;
	struct context *c;

	if (total)
		setenv("MLX5_TOTAL_UUARS", total, 1);
	else
		unsetenv("MLX5_TOTAL_UUARS");
	if (low)
		setenv("MLX5_NUM_LOW_LAT_UUARS", low, 1);
	else
		unsetenv("MLX5_NUM_LOW_LAT_UUARS");
	if (shut_up)
		setenv("MLX5_SHUT_UP_BF", shut_up, 1);
	ctx = ibv_open_device(&stub_device);
	c = context_find(ctx);
	assert_int_equal(c->place.dedicated, dedicated);
	assert_int_equal(c->place.shared, shared);
	ibv_close_device(ctx);
	unsetenv("MLX5_SHUT_UP_BF");
}

static void test_default_registers(void **state)
{
	(void)state;
	check_default(NULL, NULL, NULL, 4, 12);
	check_default(NULL, NULL, "0", 4, 12);
	check_default("512", NULL, NULL, 500, 12);
	check_default("10", "0", NULL, 0, 10);
	check_default("9", "1", NULL, 2, 10);
	check_default("4", "0", NULL, 0, 4);
	check_default("1", "0", NULL, 0, 2);
	check_default("16", "15", NULL, 16, 2);
	check_default(NULL, NULL, "1", 0, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PLACE_TEST(test_nothing_to_gain),
		PLACE_TEST(test_register_for_each),
		PLACE_TEST(test_least_loaded),
		PLACE_TEST(test_balance_with_default),
		PLACE_TEST(test_by_thread),
		PLACE_TEST(test_left_alone),
		PLACE_TEST(test_other_provider),
		PLACE_TEST(test_knob),
		PLACE_TEST(test_failures),
		PLACE_TEST(test_busy_qp),
		PLACE_TEST(test_two_pds),
		PLACE_TEST(test_threads),
		PLACE_TEST(test_interleaved_batches),
		PLACE_TEST(test_bind_mw),
		PLACE_TEST(test_lock_is_never_lost),
		PLACE_TEST(test_default_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
