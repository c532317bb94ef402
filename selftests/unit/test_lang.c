// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The language of states, as it is evaluated: operators, units, quantifiers. */
#include "unit/eval_rig.h"

/* kv's state, asked afresh: what is true for some object that it uses. */
static enum tri ask(const char *s)
{
	const struct truth_view v = { .t = &st.truth, .p = &set.prog, .s = &sig };
	struct cond c, not;
	const char *why;
	enum tri r, contrary;

	policy_state_free(&st);
	prog_free(&set.prog);
	memset(&set, 0, sizeof(set));
	set.v = pol;
	read_state(&c, COMPILE_STATE, &not, s);
	if (!prog_verify(&set.prog, &why) ||
	    !prog_verify_cond(&set.prog, &c, &why))
		fail_msg("%s: %s", s, why);
	assert_int_equal(policy_state_reserve(&st, &set, &sig), 0);
	truth_update(&st.truth, &set.prog, &sig, 1000 * MS);
	r = truth_some(&v, &c, 1);
	/* Of a single object a state and its contrary are each other's. */
	if (!(c.kinds & (1u << OBJ_QP | 1u << OBJ_UAR))) {
		contrary = truth_some(&v, &not, 1);
		assert_int_equal(contrary, r == TRI_UNKNOWN ? r :
				 r == TRI_TRUE ? TRI_FALSE : TRI_TRUE);
	}
	return r;
}

#define IS(s, want)							\
	do {								\
		enum tri r_ = ask(s);					\
		if (r_ != (want))					\
			fail_msg("%s is %d, not %d", s, r_, want);	\
	} while (0)

/* port rxe0/1: util 90 %; kv: qps 2, wr_rate 1000/s, p99 40 us, slo 50 us */
static void scene_set(void)
{
	util(0.9);
	signal_set(&sig, SIG_JOB_WR_RATE, 1, 1000);
	signal_set(&sig, SIG_JOB_P99, 1, 40000);
	signal_set(&sig, SIG_JOB_SLO_P99, 1, 50000);
	signal_set(&sig, SIG_PORT_TX_RATE, 0, 18e6);
	signal_set(&sig, SIG_DEV_CREATE_RATE, 0, 5);
	signal_set(&sig, SIG_QP_WR_RATE, 0, 100);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 900);
	signal_set(&sig, SIG_QP_WR_RATE, 2, 10);
	signal_set(&sig, SIG_QP_QUEUE_DELAY, 0, 1000);
	signal_set(&sig, SIG_QP_QUEUE_DELAY, 1, 9000);
	signal_set(&sig, SIG_UAR_WR_RATE, 0, 1000);
	signal_set(&sig, SIG_UAR_WR_RATE, 1, 10);
}

static void test_connectives(void **state)
{
	(void)state;
	scene_set();
	IS("port.util > 80% and job.qps > 1", TRI_TRUE);
	IS("port.util > 80% and job.qps > 2", TRI_FALSE);
	IS("port.util > 95% or job.qps > 1", TRI_TRUE);
	IS("port.util > 95% or job.qps > 2", TRI_FALSE);
	IS("not port.util > 95%", TRI_TRUE);
	IS("not (port.util > 95% or job.qps > 2)", TRI_TRUE);
	IS("not (port.util > 95% or job.qps > 1)", TRI_FALSE);
	IS("not (port.util > 80% and not job.qps > 2)", TRI_FALSE);
	IS("not not port.util > 80%", TRI_TRUE);
	/* "and" binds closer than "or". */
	IS("job.qps > 1 or job.qps > 5 and job.qps > 9", TRI_TRUE);
	IS("(job.qps > 1 or job.qps > 5) and job.qps > 9", TRI_FALSE);
	IS("job.class == latency", TRI_TRUE);
	IS("job.class != latency", TRI_FALSE);
	IS("latency == job.class", TRI_TRUE);
	IS("qp.state == RTS and qp.type == RC", TRI_TRUE);
	IS("80% < port.util", TRI_TRUE);
	IS("95% <= port.util", TRI_FALSE);
}

static void test_three_values(void **state)
{
	(void)state;
	scene_set();
	forget(SIG_PORT_UTIL, 0);
	IS("port.util > 80%", TRI_UNKNOWN);
	IS("not port.util > 80%", TRI_UNKNOWN);
	IS("port.util > 80% and job.qps > 1", TRI_UNKNOWN);
	IS("port.util > 80% and job.qps > 9", TRI_FALSE);
	IS("job.qps > 9 and port.util > 80%", TRI_FALSE);
	IS("port.util > 80% or job.qps > 1", TRI_TRUE);
	IS("port.util > 80% or job.qps > 9", TRI_UNKNOWN);
	IS("port.util * 2 > 80%", TRI_UNKNOWN);
	IS("port.util rising", TRI_UNKNOWN);
	IS("not (port.util > 80% or job.qps > 1)", TRI_FALSE);
	/* Not a number either: a division by nought. */
	IS("job.qps / dev.active_qps > 1", TRI_UNKNOWN);
	signal_set(&sig, SIG_DEV_ACTIVE_QPS, 0, 0);
	IS("job.qps / dev.active_qps > 1", TRI_UNKNOWN);
}

static void test_arithmetic(void **state)
{
	(void)state;
	scene_set();
	IS("job.qps + 1 == 3", TRI_TRUE);
	IS("job.qps - 1 == 1", TRI_TRUE);
	IS("job.qps * 3 == 6", TRI_TRUE);
	IS("job.qps / 4 == 0.5", TRI_TRUE);
	IS("1 + job.qps * 2 == 5", TRI_TRUE);
	IS("(1 + job.qps) * 2 == 6", TRI_TRUE);
	IS("job.qps - 1 - 1 == 0", TRI_TRUE);
	IS("-job.qps < -1", TRI_TRUE);
	IS("job.p99 > job.slo_p99 * 70%", TRI_TRUE);
	IS("job.p99 > job.slo_p99 * slo_near", TRI_FALSE);
	IS("job.p99 / job.slo_p99 == 80%", TRI_TRUE);
	IS("job.slo_p99 - job.p99 == 10us", TRI_TRUE);
	IS("port.tx_rate / port.speed == 90%", TRI_TRUE);
	/* What comes of rates and times, and times of rates. */
	IS("job.wr_rate * 10ms == 10", TRI_TRUE);
	IS("job.qps / job.wr_rate == 2ms", TRI_TRUE);
	IS("job.qps / 2ms == 1000/s", TRI_TRUE);
	/* 18 Mbit/s over 1000/s: 18000 bits each. */
	IS("port.tx_rate / job.wr_rate == 18000", TRI_TRUE);
}

static void test_units(void **state)
{
	static const struct {
		const char *s;
		enum tri want;
	} cases[] = {
		{ "job.p99 == 40000ns", TRI_TRUE },
		{ "job.p99 == 40us", TRI_TRUE },
		{ "job.p99 == 40 us", TRI_TRUE },
		{ "job.p99 == 0.04ms", TRI_TRUE },
		{ "job.p99 == 0.00004s", TRI_TRUE },
		{ "port.tx_rate == 18000000bit/s", TRI_TRUE },
		{ "port.tx_rate == 18000kbit/s", TRI_TRUE },
		{ "port.tx_rate == 18Mbit/s", TRI_TRUE },
		{ "port.tx_rate == 0.018Gbit/s", TRI_TRUE },
		{ "port.tx_rate < 1Tbit/s", TRI_TRUE },
		{ "job.wr_rate == 1000/s", TRI_TRUE },
		{ "job.wr_rate == 1k/s", TRI_TRUE },
		{ "job.wr_rate < 1M/s", TRI_TRUE },
		{ "job.qps < 1k", TRI_TRUE },
		{ "job.qps < 1M", TRI_TRUE },
		{ "port.util == 90%", TRI_TRUE },
		{ "port.util == 90 %", TRI_TRUE },
		{ "job.p99 > 0", TRI_TRUE },
		/* A criterion by its name. */
		{ "port.util > port_busy", TRI_TRUE },
		{ "job.p99 < queue_delay", TRI_FALSE },
	};
	size_t i;

	(void)state;
	scene_set();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		IS(cases[i].s, cases[i].want);
}

static void test_bindings(void **state)
{
	(void)state;
	scene_set();
	/* One and the same QP for all of it. */
	IS("qp.wr_rate > 500/s and qp.queue_delay > 5us", TRI_TRUE);
	IS("qp.wr_rate < 500/s and qp.queue_delay > 5us", TRI_FALSE);
	/* With its UAR, its port and its job. */
	IS("qp.wr_rate > uar.wr_rate * 80% and port.util > 80% and job.qps == 2", TRI_TRUE);
	IS("qp.wr_rate > uar.wr_rate", TRI_FALSE);
	IS("qp.wr_rate > job.wr_rate / 2", TRI_TRUE);
	IS("uar.wr_rate > 500/s", TRI_TRUE);
	IS("uar.wr_rate < 500/s", TRI_FALSE);	/* bulk's */
}

static void test_quantifiers(void **state)
{
	(void)state;
	scene_set();
	IS("count(qps of uar) == 2", TRI_TRUE);
	IS("count(qps of uar where qp.wr_rate > 500/s) == 1", TRI_TRUE);
	IS("count(qps of uar where qp.wr_rate > 500/s or qp.queue_delay < 2us) == 2", TRI_TRUE);
	IS("count(qps of port) == 3", TRI_TRUE);
	IS("count(qps of dev) == 3", TRI_TRUE);
	IS("count(qps of job) == 2", TRI_TRUE);
	IS("count(uars of dev) == 2", TRI_TRUE);
	IS("count(ports of dev) == 1", TRI_TRUE);
	IS("count(ports of job) == 1", TRI_TRUE);
	IS("count(jobs of port) == 2", TRI_TRUE);
	IS("count(jobs of port where job.class == throughput) == 1", TRI_TRUE);
	IS("max(qp.wr_rate over qps of uar) == 900/s", TRI_TRUE);
	IS("min(qp.wr_rate over qps of uar) == 100/s", TRI_TRUE);
	IS("sum(qp.wr_rate over qps of uar) == 1000/s", TRI_TRUE);
	IS("mean(qp.wr_rate over qps of uar) == 500/s", TRI_TRUE);
	IS("sum(qp.wr_rate over qps of port) == 1010/s", TRI_TRUE);
	IS("max(job.wr_rate over jobs of port) == 1000/s", TRI_TRUE);
	IS("max(qp.wr_rate / uar.wr_rate over qps of job) == 90%", TRI_TRUE);
	/* Who cannot tell is left out; of nobody there is no number. */
	IS("mean(qp.queue_delay over qps of port) == 5us", TRI_TRUE);
	IS("max(qp.wr_rate over qps of uar where qp.wr_rate > 5k/s) > 0", TRI_UNKNOWN);
	IS("count(qps of uar where qp.wr_rate > 5k/s) == 0", TRI_TRUE);
	IS("qp.wr_rate == max(qp.wr_rate over qps of uar)", TRI_TRUE);
}

/* A policy that acts as often as its state is true. */
static struct policy *counting(const char *when)
{
	struct policy *p = add("p", "job kv", when, "job.max_qps -= 1",
			       "job.qps == 99");

	scene.jobs[1].stats[0].has |= SNAP_MAX_QPS;
	scene.jobs[1].stats[0].max_qps = 100;
	return p;
}

static void test_rising(void **state)
{
	(void)state;
	scene_set();
	counting("job.p99 rising");
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_JOB_P99, 1, 41000);
	assert_int_equal(eval(1100), 1);
	/* It stands still: it rises no more. */
	assert_int_equal(eval(1200), 0);
	signal_set(&sig, SIG_JOB_P99, 1, 30000);
	assert_int_equal(eval(1300), 0);
	forget(SIG_JOB_P99, 1);
	assert_int_equal(eval(1400), 0);
	signal_set(&sig, SIG_JOB_P99, 1, 50000);
	assert_int_equal(eval(1500), 0);	/* from what? */
	signal_set(&sig, SIG_JOB_P99, 1, 50001);
	assert_int_equal(eval(1600), 1);
}

static void test_falling(void **state)
{
	(void)state;
	scene_set();
	counting("qp.queue_delay is falling");
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_QP_QUEUE_DELAY, 1, 8000);
	assert_int_equal(eval(1100), 1);
	assert_string_equal(out[0].reason,
			    "p: qp.queue_delay is falling (qp rxe0/18 queue_delay 8 us): max_qps 100 -> 99");
	assert_int_equal(eval(1200), 0);
}

static void test_held(void **state)
{
	(void)state;
	scene_set();
	counting("port.util > 80% for 5ms and job.qps > 0");
	assert_int_equal(eval(1000), 0);
	assert_int_equal(eval(1004), 0);
	assert_int_equal(eval(1005), 1);
	util(0.7);
	assert_int_equal(eval(1006), 0);
	util(0.9);
	assert_int_equal(eval(1007), 0);
	assert_int_equal(eval(1011), 0);
	assert_int_equal(eval(1012), 1);
	forget(SIG_PORT_UTIL, 0);
	assert_int_equal(eval(1013), 0);
}

/* Of each QP its own time. */
static void test_held_by_qps(void **state)
{
	(void)state;
	scene_set();
	counting("(qp.wr_rate > 500/s and port.util > 80%) for 10ms");
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 100);
	signal_set(&sig, SIG_QP_WR_RATE, 0, 900);
	assert_int_equal(eval(1005), 0);
	assert_int_equal(eval(1010), 0);
	util(0.5);
	assert_int_equal(eval(1012), 0);
	util(0.9);
	assert_int_equal(eval(1013), 0);
	assert_int_equal(eval(1023), 1);
}

/* What is remembered of an object stays with it when rows shift. */
static void test_rows_shift(void **state)
{
	struct snap_qp *qp = scene.qps;

	(void)state;
	scene_set();
	counting("qp.wr_rate > 500/s for 10ms");
	assert_int_equal(eval(1000), 0);
	/* The first QP goes; the one that counts moves to its row. */
	memmove(qp, qp + 1, 2 * sizeof(*qp));
	scene.s.n_qps = 2;
	scene_changed();
	signal_set(&sig, SIG_QP_WR_RATE, 0, 900);
	assert_int_equal(eval(1009), 0);
	assert_int_equal(eval(1010), 1);
	/* And a new one comes before it. */
	memmove(qp + 1, qp, 2 * sizeof(*qp));
	qp[0].qpn = 3;
	qp[0].serial = 3;
	scene.s.n_qps = 3;
	scene_changed();
	signal_set(&sig, SIG_QP_WR_RATE, 0, 0);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 900);
	assert_int_equal(eval(1011), 1);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 0);
	signal_set(&sig, SIG_QP_WR_RATE, 0, 900);
	assert_int_equal(eval(1012), 0);
	assert_int_equal(eval(1022), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVAL_TEST(test_connectives),
		EVAL_TEST(test_three_values),
		EVAL_TEST(test_arithmetic),
		EVAL_TEST(test_units),
		EVAL_TEST(test_bindings),
		EVAL_TEST(test_quantifiers),
		EVAL_TEST(test_rising),
		EVAL_TEST(test_falling),
		EVAL_TEST(test_held),
		EVAL_TEST(test_held_by_qps),
		EVAL_TEST(test_rows_shift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
