// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The contention model's port: order, classes, elements, rates. */
#include "model_rig.h"

/* A byte takes 1000 ps, a packet of 1000 bytes a microsecond. */
#define BPS 8000000000ULL
#define US 1000000ULL

static struct model_params port_params(void)
{
	struct model_params p = rig_params();

	p.link_bps = BPS;
	return p;
}

static void bytes_take_their_time(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.pipe_ps = 70;
	p.header = 10;
	r = rig_new(&p, 1);
	rig_post(r, 0, 2500, 0);
	rig_post(r, 0, 0, 0);
	assert_int_equal(r->m.port.cls[0].backlog, 1500);
	rig_run(r);
	assert_done(r, 0, 0, 2530 * 1000 + 70);
	assert_done(r, 1, 1, 2540 * 1000 + 70);
	assert_int_equal(r->m.port.cls[0].packets, 4);
	assert_int_equal(r->m.port.cls[0].sent_bytes, 2540);
	assert_int_equal(r->m.port.busy_ps, 2540 * 1000);
	assert_int_equal(r->m.port.cls[0].backlog, 0);
	rig_free(r);
}

static void fractions_are_not_lost(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.link_bps = 3000000000ULL;	/* 2666 2/3 ps a byte */
	r = rig_new(&p, 1);
	rig_burst(r, 0, 3000, 1, 0);
	rig_run(r);
	assert_done(r, 0, 0, 2666);
	assert_done(r, 1, 1, 5333);
	assert_done(r, 2, 2, 8000);
	assert_done(r, 2999, 2999, 8000000);
	rig_free(r);
}

static void only_the_head_may_go(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.strict = 0xff;
	r = rig_new(&p, 2);
	rig_post(r, 0, 100000, 0);
	rig_post(r, 0, 64, 0);		/* behind the bulk of its own QP */
	rig_post(r, 1, 64, 0);		/* a QP of its own */
	rig_run(r);
	/* The next packet of the bulk stood in line before it came. */
	assert_done(r, 0, 2, 2064 * 1000);
	assert_done(r, 1, 0, 100064 * 1000);
	assert_done(r, 2, 1, 100128 * 1000);
	rig_free(r);
}

/* Whose messages end before another QP has its turn. */
static void whole_messages_block(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.whole_messages = 1;
	r = rig_new(&p, 2);
	rig_post(r, 0, 100000, 0);
	rig_post(r, 0, 100000, 0);
	rig_post(r, 1, 64, 0);
	rig_run(r);
	assert_done(r, 0, 0, 100000 * 1000);
	assert_done(r, 1, 2, 100064 * 1000);
	assert_done(r, 2, 1, 200064 * 1000);
	rig_free(r);
	/* The same bytes in smaller messages: the other QP waits for one of these. */
	r = rig_new(&p, 2);
	rig_burst(r, 0, 20, 10000, 0);
	rig_post(r, 1, 64, 0);
	rig_run(r);
	assert_done(r, 0, 0, 10000 * 1000);
	assert_done(r, 1, 20, 10064 * 1000);
	rig_free(r);
}

static void strict_is_strict_but_not_preemptive(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.strict = 0xff;
	r = rig_new(&p, 3);
	rig_class(r, 1, 3, 0);
	rig_class(r, 2, 5, 0);
	rig_burst(r, 0, 4, 5000, 0);
	model_run_until(&r->m, US / 4);
	rig_post(r, 1, 3000, US / 4);	/* waits for the packet that is on the wire */
	rig_post(r, 2, 2000, US / 4);
	assert_int_equal(r->m.port.cls[5].waiting, 1);
	rig_run(r);
	assert_done(r, 0, 5, 3 * US);
	assert_done(r, 1, 4, 6 * US);
	assert_done(r, 2, 0, 10 * US);
	rig_free(r);
}

static void strict_before_weighted(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.strict = 1 << 2;
	p.weight[7] = 100;
	r = rig_new(&p, 2);
	rig_class(r, 0, 7, 0);
	rig_class(r, 1, 2, 0);
	rig_post(r, 0, 1000, 0);
	rig_post(r, 0, 1000, 0);
	rig_post(r, 1, 5000, 0);
	rig_run(r);
	assert_done(r, 0, 0, 1 * US);
	assert_done(r, 1, 2, 6 * US);
	assert_done(r, 2, 1, 7 * US);
	rig_free(r);
}

static void paused_classes_wait(void **state)
{
	struct model_params p = port_params();
	uint64_t when;
	struct rig *r;

	(void)state;
	p.strict = 0xff;
	r = rig_new(&p, 2);
	rig_class(r, 1, 3, 0);
	rig_burst(r, 1, 2, 2000, 0);
	rig_post(r, 0, 1000, 0);
	model_run_until(&r->m, US / 2);
	/* The packet on the wire ends, then it is the lower class's turn. */
	assert_int_equal(model_pause(&r->m, 1 << 3, US / 2), 0);
	model_run_until(&r->m, 5 * US);
	assert_int_equal(r->n_done, 1);
	assert_done(r, 0, 2, 2 * US);
	assert_false(model_next(&r->m, &when));
	assert_true(r->m.port.stalled);
	assert_int_equal(r->m.port.cls[3].backlog, 3000);
	/* A message of a class that may go does, and ends the stall. */
	rig_post(r, 0, 1000, 5 * US);
	model_run_until(&r->m, 8 * US);
	assert_done(r, 1, 3, 6 * US);
	assert_int_equal(r->m.port.stalled_ps, 3 * US);
	assert_int_equal(model_pause(&r->m, 0, 8 * US), 0);
	rig_run(r);
	assert_done(r, 2, 0, 9 * US);
	assert_done(r, 3, 1, 11 * US);
	assert_int_equal(r->m.port.stalled_ps, 5 * US);
	assert_false(r->m.port.stalled);
	assert_int_equal(model_pause(&r->m, 1, 10 * US), 0);	/* before its own time: taken as that */
	rig_free(r);
}

/* Bulk that never ends on QP 0; another message of @bytes each time one is done. */
static void small_beside_bulk(uint32_t bytes, uint64_t worst)
{
	struct model_params p = port_params();
	struct rig *r = rig_new(&p, 2);
	uint64_t when;
	size_t i, at = 0;

	rig_burst(r, 0, 100, 10000000, 0);
	rig_post(r, 1, bytes, 0);
	for (i = 0; i < 500; ) {
		assert_true(model_next(&r->m, &when));
		model_run_until(&r->m, when);
		if (r->n_done == at)
			continue;
		assert_int_equal(r->done[at].qp, 1);
		assert_true(r->done[at].at - r->done[at].posted <= worst);
		at = r->n_done;
		rig_post(r, 1, bytes, when);
		i++;
	}
	rig_free(r);
}

static void small_flows_are_not_starved(void **state)
{
	(void)state;
	/* A packet of bulk, itself, and what it owes the other for a full packet. */
	small_beside_bulk(64, 2 * US + 64000);
	small_beside_bulk(1000, 3 * US);
}

static void qps_share_bytes_not_messages(void **state)
{
	static const uint32_t size[4] = { 64, 300, 1000, 7777 };
	struct model_params p = port_params();
	struct rig *r = rig_new(&p, 4);
	uint64_t least = UINT64_MAX, most = 0, sent, posted[4] = { 0 };
	uint32_t q, i;

	(void)state;
	for (q = 0; q < 4; q++)
		for (i = 0; i < 200000 / size[q] && i < 1500; i++) {
			rig_post(r, q, size[q], 0);
			posted[q] += size[q];
		}
	model_run_until(&r->m, 350 * US);
	for (q = 0; q < 4; q++) {
		sent = posted[q] - r->m.qp[q].ready_bytes;
		least = sent < least ? sent : least;
		most = sent > most ? sent : most;
	}
	/* Each within a packet and a quantum of the others. */
	assert_true(most - least <= 2000);
	assert_true(least > 86000);
	rig_free(r);
}

static void classes_share_by_weight(void **state)
{
	struct model_params p = port_params();
	struct rig *r;
	uint32_t i;

	(void)state;
	p.weight[0] = 1;
	p.weight[1] = 3;
	p.weight[2] = 6;
	r = rig_new(&p, 3);
	rig_class(r, 1, 1, 0);
	rig_class(r, 2, 2, 0);
	for (i = 0; i < 1000; i++) {
		rig_post(r, 0, 1000, 0);
		rig_post(r, 1, 500, 0);
		rig_post(r, 1, 500, 0);
		rig_post(r, 2, 2000, 0);
	}
	model_run_until(&r->m, 1000 * US);
	assert_in_range(r->m.port.cls[0].sent_bytes, 98000, 102000);
	assert_in_range(r->m.port.cls[1].sent_bytes, 298000, 302000);
	assert_in_range(r->m.port.cls[2].sent_bytes, 598000, 602000);
	rig_free(r);
}

static void elements_share_by_weight(void **state)
{
	struct model_params p = port_params();
	struct rig *r = rig_new(&p, 4);
	uint32_t i;

	(void)state;
	assert_int_equal(model_element_set(&r->m, 1, 0, 0, 1), 0);
	assert_int_equal(model_element_set(&r->m, 2, 0, 0, 4), 0);
	/* Three QPs of one element get no more than one of another. */
	rig_class(r, 0, 0, 1);
	rig_class(r, 1, 0, 1);
	rig_class(r, 2, 0, 1);
	rig_class(r, 3, 0, 2);
	for (i = 0; i < 900; i++) {
		rig_post(r, i % 3, 1000, 0);
		rig_post(r, 3, 1000, 0);
	}
	model_run_until(&r->m, 1000 * US);
	assert_in_range(r->m.element[1].sent_bytes, 196000, 204000);
	assert_in_range(r->m.element[2].sent_bytes, 796000, 804000);
	rig_free(r);
}

static void rates_are_exact(void **state)
{
	/* bit/s, none a divisor of a picosecond */
	static const uint64_t bps[] = { 3000000000ULL, 700000007ULL, 1234567, 999 };
	struct model_params p = port_params();
	uint64_t bytes, ideal;
	struct rig *r;
	uint32_t t;

	(void)state;
	for (t = 0; t < 4; t++) {
		r = rig_new(&p, 1);
		assert_int_equal(model_element_set(&r->m, 1, bps[t], 0, 1), 0);
		rig_class(r, 0, 0, 1);
		rig_burst(r, 0, 4000, 900, 0);
		rig_run(r);
		assert_int_equal(r->n_done, 4000);
		/* The last packet begins when those before it have left at the rate. */
		bytes = 3999 * 900;
		ideal = (uint64_t)((__uint128_t)bytes * 8 * MODEL_PS / bps[t]) + 900 * 1000;
		assert_true(r->done[3999].at >= ideal && r->done[3999].at <= ideal + 1);
		assert_true(r->m.element[1].blocks >= 3998);
		rig_free(r);
	}
}

static void a_burst_goes_at_link_speed(void **state)
{
	struct model_params p = port_params();
	struct rig *r = rig_new(&p, 1);

	(void)state;
	assert_int_equal(model_element_set(&r->m, 1, BPS / 10, 5000, 1), 0);
	rig_class(r, 0, 0, 1);
	rig_burst(r, 0, 20, 1000, 0);
	rig_run(r);
	/*
	 * 5 packets ahead is what it may be; while it sends it earns a tenth.
	 * The n-th starts no sooner than (n - 5) packets at its rate.
	 */
	assert_done(r, 4, 4, 5 * US);
	assert_done(r, 5, 5, 6 * US);
	assert_done(r, 6, 6, 11 * US);
	assert_done(r, 19, 19, 141 * US);
	rig_free(r);
}

static void idleness_earns_nothing(void **state)
{
	struct model_params p = port_params();
	struct rig *r = rig_new(&p, 2);
	uint32_t i;

	(void)state;
	/* An element that was silent goes on at its rate, */
	assert_int_equal(model_element_set(&r->m, 1, BPS / 10, 0, 1), 0);
	rig_class(r, 0, 0, 1);
	rig_post(r, 0, 1000, 0);
	model_run_until(&r->m, 1000 * US);
	rig_burst(r, 0, 4, 1000, 1000 * US);
	rig_run(r);
	for (i = 0; i < 4; i++)
		assert_done(r, i + 1, i + 1, (1001 + 10 * i) * US);
	rig_free(r);

	/* and a class that was silent with its share, not with all it missed. */
	r = rig_new(&p, 2);
	rig_class(r, 1, 1, 0);
	rig_burst(r, 0, 1000, 1000, 0);
	model_run_until(&r->m, 500 * US);
	rig_burst(r, 1, 1000, 1000, 500 * US);
	model_run_until(&r->m, 700 * US);
	assert_in_range(r->m.qp[0].done, 599, 601);
	assert_in_range(r->m.qp[1].done, 98, 101);
	rig_free(r);
}

static void a_limit_is_nobody_elses(void **state)
{
	struct model_params p = port_params();
	struct rig *r;
	uint32_t i;

	(void)state;
	p.strict = 0xff;
	r = rig_new(&p, 2);
	assert_int_equal(model_element_set(&r->m, 1, BPS / 100, 0, 1), 0);
	rig_class(r, 0, 7, 1);		/* the higher class, but limited */
	for (i = 0; i < 100; i++) {
		rig_post(r, 0, 1000, 0);
		rig_post(r, 1, 1000, 0);
	}
	model_run_until(&r->m, 102 * US);
	assert_int_equal(r->m.qp[1].done, 100);
	assert_int_equal(r->m.qp[0].done, 2);
	/* No limit any more: at once. */
	assert_int_equal(model_element_set(&r->m, 1, 0, 0, 1), 0);
	model_run_until(&r->m, 200 * US);
	assert_int_equal(r->m.qp[0].done, 100);
	rig_free(r);
}

static void classes_change_live(void **state)
{
	struct model_params p = port_params();
	struct rig *r;

	(void)state;
	p.strict = 0xff;
	r = rig_new(&p, 2);
	rig_burst(r, 0, 10, 1000, 0);
	rig_post(r, 1, 1500, 0);
	rig_class(r, 1, 6, 0);
	assert_int_equal(r->m.port.cls[6].backlog, 1500);
	assert_int_equal(r->m.port.cls[6].waiting, 1);
	assert_int_equal(r->m.port.cls[0].backlog, 9000);
	assert_int_equal(r->m.port.cls[0].waiting, 9);
	rig_run(r);
	assert_done(r, 0, 0, 1 * US);
	assert_done(r, 1, 10, 2500000);
	rig_free(r);
}

static void flush_on_the_wire(void **state)
{
	struct model_params p = port_params();
	struct model_qp_attr attr = { .qpn = 0 };
	struct rig *r;

	(void)state;
	p.pipe_ps = 5 * US;
	r = rig_new(&p, 2);
	rig_post(r, 0, 1000, 0);	/* will be in the pipe */
	rig_post(r, 0, 1000, 0);	/* on the wire */
	rig_post(r, 0, 3000, 0);	/* at the port */
	rig_post(r, 1, 1000, 0);
	model_run_until(&r->m, 2500000);
	assert_int_equal(model_qp_flush(&r->m, 0), 3);
	/* The number may be used again at once; the old ones stay nobody's. */
	model_qp_close(&r->m, 0);
	assert_int_equal(model_qp_open(&r->m, 0, &attr), 0);
	rig_post(r, 0, 1000, 2500000);
	rig_run(r);
	assert_int_equal(r->n_done, 2);
	assert_int_equal(r->done[0].cookie, 3);
	assert_int_equal(r->done[1].cookie, 4);
	assert_int_equal(r->m.inflight, 0);
	assert_int_equal(r->m.stats.dropped, 3);
	assert_int_equal(r->m.stats.dropped_bytes, 5000);
	assert_int_equal(r->m.port.cls[0].backlog, 0);
	rig_free(r);
}

/* What a day looks like: the same at its end as at its beginning. */
static void a_day_goes_by(void **state)
{
	const uint64_t second = MODEL_PS;
	struct model_params p;
	uint64_t at, s, first = 0;
	struct rig *r;
	uint32_t i;

	(void)state;
	model_preset(MODEL_CX6, &p);
	p.jitter_pct = 0;
	r = rig_new(&p, 4);
	assert_int_equal(model_element_set(&r->m, 1, 1000000, 0, 1), 0);
	rig_class(r, 3, 0, 1);
	/* A second apart for 24 hours, and then far on, half a year. */
	for (s = 0; s <= 24 * 3600 + 1; s++) {
		at = s <= 24 * 3600 ? s * second : 180ULL * 24 * 3600 * second;
		model_run_until(&r->m, at);
		r->n_done = 0;
		for (i = 0; i < 4; i++)
			rig_post(r, i, 4096, at);
		model_run_until(&r->m, at + second / 2);
		assert_int_equal(r->n_done, 4);
		if (s == 1)	/* the first time contexts were fetched */
			first = r->done[3].at - at;
		if (s >= 1)
			assert_int_equal(r->done[3].at - at, first);
	}
	assert_int_equal(r->m.stats.done, 4 * (24 * 3600 + 2));
	rig_free(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_take_their_time),
		cmocka_unit_test(fractions_are_not_lost),
		cmocka_unit_test(only_the_head_may_go), cmocka_unit_test(whole_messages_block),
		cmocka_unit_test(strict_is_strict_but_not_preemptive),
		cmocka_unit_test(strict_before_weighted),
		cmocka_unit_test(paused_classes_wait),
		cmocka_unit_test(small_flows_are_not_starved),
		cmocka_unit_test(qps_share_bytes_not_messages),
		cmocka_unit_test(classes_share_by_weight),
		cmocka_unit_test(elements_share_by_weight),
		cmocka_unit_test(rates_are_exact),
		cmocka_unit_test(a_burst_goes_at_link_speed),
		cmocka_unit_test(idleness_earns_nothing),
		cmocka_unit_test(a_limit_is_nobody_elses),
		cmocka_unit_test(classes_change_live),
		cmocka_unit_test(flush_on_the_wire),
		cmocka_unit_test(a_day_goes_by),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
