// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Policies from jobs and an order; the policies that are shipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/config.h"
#include "policy/derive.h"
#include "unit/levels.h"
#include "unit/snap_build.h"

#define JOBS							\
	"jobs:\n"						\
	"- {name: kv, class: latency, slo: {p99: 50us}, match: [{uid: 1}]}\n" \
	"- {name: web, class: balanced, match: [{uid: 2}]}\n"	\
	"- {name: bulk, class: throughput, match: [{uid: 3}]}\n" \
	"- {name: odd, class: best-effort, match: [{uid: 4}]}\n"

static struct config cfg;
static struct diag rep;

static bool load(const char *text, struct caps caps)
{
	diag_init(&rep, "f");
	text = with_levels(text);
	return config_load_text_for(&cfg, &caps, text, strlen(text), &rep);
}

static const struct policy *find(const char *name)
{
	size_t i;

	for (i = 0; i < cfg.policies.n; i++)
		if (!strcmp(cfg.policies.v[i].name, name))
			return &cfg.policies.v[i];
	return NULL;
}

/* Each of the five contentions has somebody who acts on it. */
static void test_all_five(void **state)
{
	bool seen[CAUSES] = { false };
	size_t i;

	(void)state;
	assert_true(load(JOBS "order: kv > web > bulk, odd\n", caps_all()));
	assert_true(cfg.derived);
	assert_int_equal(rep.warnings, 0);
	for (i = 0; i < cfg.policies.n; i++) {
		seen[cfg.policies.v[i].cause] = true;
		assert_false(cfg.policies.v[i].off);
		/* Each says where it comes from. */
		assert_true(strlen(cfg.texts[i].because) > 8);
	}
	for (i = 1; i < CAUSES; i++)
		if (!seen[i])
			fail_msg("nothing for %s", cause_names[i]);
	/* Two that are to be told apart, and apart from the rest. */
	assert_true(find("port-kv")->act[0].ceiling == 2);
	assert_true(find("port-web")->act[0].ceiling == 1);
	assert_null(find("port-bulk"));
	assert_non_null(find("storm-bulk"));
	assert_non_null(strstr(cfg.texts[0].because, "p99 <= 50 us"));
	assert_non_null(strstr(cfg.texts[0].because, "goes before web"));
	config_free(&cfg);
}

/* New QPs of a latency job are placed, where a device and a library can. */
static void test_place(void **state)
{
	struct snap_dev dev = { .has = ~0ULL, .caps = ~0U };
	const struct snapshot snap = { .devs = &dev, .n_devs = 1 };
	const struct policy *p;

	(void)state;
	assert_true(load(JOBS "order: kv > web > bulk, odd\n", caps_dev(&snap, &dev)));
	p = find("place-kv");
	assert_non_null(p);
	assert_false(p->off);
	assert_int_equal(p->cause, CAUSE_UAR);
	assert_int_equal(p->n_act, 1);
	assert_int_equal(p->act[0].knob, SWIFTRDMA_KNOB_PLACE);
	assert_true(p->act[0].op == STEP_SET && p->act[0].n == 1);
	/* The undo gives back the default. */
	assert_int_equal(p->n_undo, 0);
	assert_string_equal(cfg.texts[p - cfg.policies.v].act, "place on lightest uar");
	assert_string_equal(cfg.texts[p - cfg.policies.v].library_knobs, "job.place");
	assert_non_null(find("place-web"));
	assert_null(find("place-bulk"));
	config_free(&cfg);
	dev.caps = SWIFTRDMA_DEV_CAP_DOORBELLS;
	assert_true(load(JOBS "order: kv > web > bulk, odd\n", caps_dev(&snap, &dev)));
	assert_true(find("place-kv")->off);
	assert_non_null(strstr(cfg.texts[find("place-kv") - cfg.policies.v].off,
			       "nothing enforces job.place here (libswiftrdma, on a ConnectX, would)"));
	config_free(&cfg);
}

/* The decision of uar-kv about two QPs that keep a UAR busy; @events: congestion told in a second. */
static bool moves_a_qp(double events, double wr_rate)
{
	static struct made scene;
	const struct signal_opts no_opts = { 0 };
	struct policy_decision out[8];
	struct policy_state st;
	struct signals sig;
	bool moves = false;
	size_t n;

	made_scene(&scene, 1000, 0);
	/* Another UAR of the process, without a QP. */
	made_uar(&scene, 0, 3)->context = 1;
	scene.uars[2].has |= SNAP_CONTEXT_ID;
	signals_init(&sig);
	policy_state_init(&st);
	assert_int_equal(signals_reserve(&sig, &scene.s), 0);
	signals_update(&sig, NULL, &scene.s, &no_opts);
	signal_set(&sig, SIG_DEV_DB_CONGESTION, 0, events);
	signal_set(&sig, SIG_UAR_ACTIVE_QPS, 0, 2);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_UAR_WR_RATE, 0, wr_rate);
	signal_set(&sig, SIG_UAR_WR_RATE, 2, 0);
	assert_int_equal(policy_state_reserve(&st, &cfg.policies, &sig), 0);
	n = policy_eval(&cfg.policies, &st, &sig, 1000000000, out, 8);
	for (size_t i = 0; i < n; i++)
		moves |= !strcmp(cfg.policies.v[out[i].policy].name, "uar-kv") && out[i].has_qp;
	policy_state_free(&st);
	signals_free(&sig);
	return moves;
}

/* A device tells of congestion when it begins, so what lasts is seen by its rate. */
static void test_uar_that_stays_busy(void **state)
{
	(void)state;
	assert_true(load(JOBS "order: kv > web > bulk, odd\n", caps_all()));
	assert_true(moves_a_qp(1, 1e3));
	assert_true(moves_a_qp(0, 3e6));
	assert_false(moves_a_qp(0, 1e3));
	config_free(&cfg);
}

#define TRAIN(slo) "- {name: train, class: throughput, slo: {" slo "}, match: [{uid: 5}]}\n"

static bool derived(const char *what)
{
	char *text = derive_text(&cfg);
	bool has;

	assert_non_null(text);
	has = strstr(text, what);
	free(text);
	return has;
}

/* Where nobody measures rates, who rings doorbells tells; libraries would. */
static void port_falls_back(struct caps caps)
{
	assert_true(load(JOBS TRAIN("byte_rate: 5Gbit/s") "order: train > bulk\n", caps));
	assert_false(find("port-train")->off);
	assert_string_equal(cfg.texts[find("port-train") - cfg.policies.v].library, "job.byte_rate");
	config_free(&cfg);
	caps = caps_without_library(&caps);
	assert_true(load(JOBS TRAIN("byte_rate: 5Gbit/s") "order: train > bulk\n", caps));
	assert_false(find("port-train")->off);
	assert_true(cfg.texts[find("port-train") - cfg.policies.v].by_fallback);
	config_free(&cfg);
}

/* A promised rate is a port's matter: the class that p99 would be given. */
static void test_rate(void **state)
{
	struct snap_dev dev = { .index = 3 };
	struct snap_port port = { .dev = 3, .has = SNAP_BYTES };
	const struct snapshot snap = { .ports = &port, .n_ports = 1 };
	size_t i;

	(void)state;
	assert_true(load(JOBS TRAIN("byte_rate: 5Gbit/s")
			 "order: kv > train > web > bulk\n", caps_all()));
	assert_int_equal(rep.warnings, 0);
	assert_true(derived("\n  - name: port-train\n"
			    "    for: job train\n"
			    "    cause: port\n"
			    "    because: train has byte_rate >= 5 Gbit/s and goes before web\n"
			    "    when: port.util > port_busy and job.byte_rate < job.slo_byte_rate\n"
			    "    fallback: port.util > port_busy and (count(jobs of port where job.wr_rate > 0/s) > 1 or count(jobs of port where job.doorbell_rate > 0/s) > 1)\n"
			    "    do: job.level += 1\n"
			    "    ceiling: 2\n"
			    "    cooldown: 500 ms\n"
			    "    undo:\n"
			    "      when: port.util < port_calm\n"));
	/* It has no latency to lose; and who goes before it, it makes way for. */
	assert_null(find("hol-train"));
	assert_null(find("scale-train"));
	assert_non_null(find("storm-train"));
	/* One more that wants a class. */
	assert_true(find("port-kv")->act[0].ceiling == 3);
	assert_true(find("port-web")->act[0].ceiling == 1);
	config_free(&cfg);
	port_falls_back(caps_here());
	/* A device that counts doorbells alone, as rxe, and one that counts WRs alone. */
	for (i = 0; i < 2; i++) {
		dev.caps = i ? SWIFTRDMA_DEV_CAP_WRS : SWIFTRDMA_DEV_CAP_DOORBELLS;
		port_falls_back(caps_dev(&snap, &dev));
	}
	assert_true(load(JOBS TRAIN("byte_rate: 5Gbit/s") "order: train > bulk\n",
			 caps_here()));
	/* For the sake of a rate others yield, as for a latency's. */
	assert_non_null(find("storm-bulk"));
	assert_non_null(strstr(cfg.texts[find("storm-bulk") - cfg.policies.v].because,
			       "train goes before bulk"));
	config_free(&cfg);
}

/* Both promised: missing either is to suffer. */
static void test_both(void **state)
{
	(void)state;
	assert_true(load(JOBS TRAIN("byte_rate: 5Gbit/s, p99: 100us")
			 "order: kv > train > bulk\n", caps_all()));
	assert_int_equal(rep.warnings, 0);
	assert_true(derived("    because: train has p99 <= 100 us and byte_rate >= 5 Gbit/s and goes before web\n"
			    "    when: port.util > port_busy and (job.p99 > job.slo_p99 * slo_near or job.byte_rate < job.slo_byte_rate)\n"
			    "    fallback:\n"
			    "      - port.util > port_busy and ((job.latency > job.slo_p99 * slo_near or job.latency > job.latency_prev) or job.byte_rate < job.slo_byte_rate)\n"
			    "      - port.util > port_busy and job.qps > 0\n"));
	/* What is not a port's matter is not for the rate's sake. */
	assert_true(derived("  - name: hol-train\n    for: job train\n    cause: hol\n"
			    "    because: train has p99 <= 100 us and may share QPs\n"));
	assert_true(derived("    because: train has p99 <= 100 us and may share doorbell registers\n"));
	assert_true(derived("  - name: scale-train\n    for: job train\n    cause: cache\n"
			    "    because: train has p99 <= 100 us\n"));
	config_free(&cfg);
	assert_true(load("jobs:\n- {name: a, class: balanced, slo: {byte_rate: 1Gbit/s}, match: [{uid: 1}]}\n"
			 "- {name: b, class: throughput, match: [{uid: 2}]}\norder: a > b\n",
			 caps_all()));
	assert_true(derived("and (job.p99 > job.p99_prev or job.byte_rate < job.slo_byte_rate)\n"));
	assert_true(derived("and (job.latency > job.latency_prev or job.byte_rate < job.slo_byte_rate)\n"));
	assert_true(derived("    because: a is of class balanced and may share QPs\n"));
	config_free(&cfg);
	/* Before nobody: nothing is done for it, and that is a file still. */
	assert_true(load("jobs:\n" TRAIN("byte_rate: 1Gbit/s") "order: train\n", caps_all()));
	assert_int_equal(cfg.policies.n, 0);
	assert_true(derived("policies: []\n"));
	config_free(&cfg);
}

#define LEVEL(n) "- {level: " #n ", dscp: " #n "}\n"

/*
 * One step for each place in the order whose jobs are raised, within the levels that
 * are set; of too few those that come last share the lowest.
 */
static const struct {
	const char *levels, *order;
	unsigned int kv, train, web;	/* 0: has no policy for the port */
} ceilings[] = {
	{ LEVEL(1) LEVEL(2) LEVEL(3), "kv > bulk", 1, 0, 0 },
	{ LEVEL(1) LEVEL(2) LEVEL(3), "kv > web > bulk, odd", 2, 0, 1 },
	{ LEVEL(1) LEVEL(2) LEVEL(3), "kv > train > web > bulk", 3, 2, 1 },
	{ LEVEL(1) LEVEL(2) LEVEL(3), "kv, web > train > bulk", 2, 1, 2 },
	/* The last of the order still goes before jobs without a place in it. */
	{ LEVEL(1) LEVEL(2) LEVEL(3), "kv > web", 2, 0, 1 },
	/* Who is not raised needs no step, wherever it stands. */
	{ LEVEL(1) LEVEL(2) LEVEL(3), "kv > bulk > web > odd", 2, 0, 1 },
	{ LEVEL(1) LEVEL(2) LEVEL(3), "bulk > kv > odd", 1, 0, 0 },
	/* Those that are set, in whatever order, and level 0 is no step. */
	{ LEVEL(6) LEVEL(0) LEVEL(2) LEVEL(5), "kv > train > web > bulk", 6, 5, 2 },
	{ LEVEL(6) LEVEL(2) LEVEL(5), "kv > bulk", 2, 0, 0 },
	/* Too few. */
	{ LEVEL(3) LEVEL(4), "kv > train > web > bulk", 4, 3, 3 },
	{ LEVEL(3), "kv > train > web > bulk", 3, 3, 3 },
};

static void has_ceiling(const char *name, unsigned int ceiling, unsigned int i)
{
	const struct policy *p = find(name);
	double is = p ? p->act[0].ceiling : 0;

	if (is != ceiling)
		fail_msg("case %u, %s: %s has %g, not %u", i,
			 ceilings[i].order, name, is, ceiling);
}

static void test_ceilings(void **state)
{
	unsigned int i;
	char text[1024];

	(void)state;
	for (i = 0; i < sizeof(ceilings) / sizeof(ceilings[0]); i++) {
		snprintf(text, sizeof(text), "levels:\n%s" JOBS
			 TRAIN("byte_rate: 5Gbit/s") "order: %s\n",
			 ceilings[i].levels, ceilings[i].order);
		assert_true(load(text, caps_all()));
		has_ceiling("port-kv", ceilings[i].kv, i);
		has_ceiling("port-train", ceilings[i].train, i);
		has_ceiling("port-web", ceilings[i].web, i);
		/* Who has no place in the order is not asked to yield to those last. */
		assert_true(strstr(ceilings[i].order, "odd") ||
			    find("merge-odd"));
		config_free(&cfg);
	}
}

static const struct config_policy *text_of(const char *name)
{
	const struct policy *p = find(name);

	assert_non_null(p);
	return &cfg.texts[p - cfg.policies.v];
}

/* Of jobs without a library nobody measures p99: the fallbacks act, and the rest is idle. */
static void test_here(void **state)
{
	const struct config_policy *t;

	(void)state;
	assert_true(load(JOBS "order: kv > bulk\n", caps_here()));
	t = text_of("port-kv");
	assert_false(find("port-kv")->off);
	assert_false(t->by_fallback);
	assert_string_equal(t->library, "job.p99");
	assert_int_equal(find("port-kv")->n_fallback, 2);
	assert_null(t->fallback[2]);
	assert_false(find("storm-bulk")->off);
	assert_true(find("merge-bulk")->off);
	config_free(&cfg);
}

/*
 * By p99; where it is unknown, by the mean that the kernel measures and its trend; and where a
 * device does not measure that, by what every device tells.
 */
static void test_by_latency(void **state)
{
	static const char port[] =
		"    when: port.util > port_busy and job.p99 > job.slo_p99 * slo_near\n"
		"    fallback:\n"
		"      - port.util > port_busy and (job.latency > job.slo_p99 * slo_near or job.latency > job.latency_prev)\n"
		"      - port.util > port_busy and job.qps > 0\n";
	static const char hol[] =
		"    when: job.p99 > job.p99_prev and port.util < port_busy and qp.queue_delay > queue_delay\n"
		"    fallback:\n"
		"      - job.latency > job.latency_prev and port.util < port_busy and qp.queue_delay > queue_delay\n"
		"      - port.util < port_busy and qp.queue_delay > queue_delay\n";
	struct snap_dev dev = { .index = 3, .caps = SWIFTRDMA_DEV_CAP_WQEBBS };
	struct snap_port ports[] = { { .dev = 3, .has = SNAP_BYTES } };
	const struct snapshot snap = { .ports = ports, .n_ports = 1 };
	const char *const *lines = (const char *const[]){ port, hol };
	struct caps caps;
	size_t i;

	(void)state;
	assert_true(load(JOBS "order: kv > web > bulk\n", caps_all()));
	for (i = 0; i < 2; i++)
		if (!derived(lines[i]))
			fail_msg("not derived:\n%s", lines[i]);
	/* A derived policy that compares readings would act in one tick of a window only. */
	assert_false(derived("rising"));
	assert_true(prog_reads(&cfg.policies.prog, SIG_JOB_LATENCY));
	assert_true(prog_reads(&cfg.policies.prog, SIG_JOB_LATENCY_PREV));
	config_free(&cfg);
	for (i = 0; i < 2; i++) {
		dev.caps = i ? 0 : SWIFTRDMA_DEV_CAP_WQEBBS;
		caps = caps_dev(&snap, &dev);
		caps = caps_without_library(&caps);
		assert_true(load(JOBS "order: kv > web > bulk\n", caps));
		assert_false(find("port-kv")->off);
		assert_true(text_of("port-kv")->by_fallback);
		assert_int_equal(text_of("port-kv")->lacks[0], i ? SIG_JOB_LATENCY : SIGNALS);
		assert_int_equal(text_of("port-kv")->lacks[1], SIGNALS);
		config_free(&cfg);
	}
}

static bool runs(const char *name)
{
	const struct policy *p = find(name);

	assert_non_null(p);
	return !p->off;
}

/* Which of them one device can run: by what it can tell, and what it can do. */
static void test_device(void **state)
{
	static const char text[] = JOBS
		"policies:\n"
		"- {name: port, for: job kv, when: port.util > 80%, do: job.level += 1, undo: {when: port.util < 60%}}\n"
		"- {name: rate, for: job bulk, when: job.qps > 1, do: job.weight = 10, undo: {when: job.qps == 0}}\n"
		"- {name: pace, for: job bulk, when: job.qps > 1, do: job.bit_rate = 1Gbit/s, undo: {when: job.qps == 0}}\n"
		"- {name: ring, for: job bulk, when: qp.doorbell_rate > 1/s, do: job.max_qps = 1, undo: {when: qp.doorbell_rate == 0/s}}\n"
		"- {name: post, for: job bulk, when: qp.wr_rate > 1/s, do: job.max_qps = 2, undo: {when: qp.wr_rate == 0/s}}\n"
		"- {name: miss, for: job bulk, when: dev.mtt_miss > 30%, do: job.max_qps = 3, undo: {when: dev.mtt_miss < 10%}}\n"
		"- {name: mtts, for: job bulk, when: dev.mtts > 9, do: job.max_qps = 4, undo: {when: dev.mtts < 2}}\n"
		"- {name: bell, for: job bulk, when: dev.db_congestion > 0/s, do: job.max_qps = 5, undo: {when: dev.db_congestion <= 0/s, hold: 1s}}\n"
		"- {name: meet, for: job bulk, when: uar.coactive > 50%, fallback: uar.qps > 8, do: job.max_qps = 6, undo: {when: uar.coactive < 20%, fallback: uar.qps < 4}}\n";
	static const char *const names[] = {
		"port", "rate", "ring", "post", "miss", "mtts", "bell",
	};
	struct snap_dev dev = { .index = 3 };
	struct snap_port ports[] = { { .dev = 2, .has = SNAP_BYTES }, { .dev = 3 } };
	const struct snapshot snap = { .ports = ports, .n_ports = 2 };
	size_t i, k;

	(void)state;
	/* One that has nothing, and then each thing by itself. */
	for (i = 0; i <= 7; i++) {
		dev.caps = i == 2 ? SWIFTRDMA_DEV_CAP_RATES :
			   i == 3 ? SWIFTRDMA_DEV_CAP_DOORBELLS :
			   i == 4 ? SWIFTRDMA_DEV_CAP_WRS : 0;
		dev.has = i == 5 ? SNAP_MTT : i == 6 ? SNAP_MTTS :
			  i == 7 ? SNAP_CONGESTION : 0;
		ports[1].has = i == 1 ? SNAP_BYTES : 0;
		if (!load(text, caps_dev(&snap, &dev))) {
			diag_print(&rep, stderr);
			fail();
		}
		for (k = 0; k < 7; k++)
			assert_true(runs(names[k]) == (k + 1 == i));
		assert_true(runs("meet"));
		/* Libraries enforce what the device does not. */
		assert_true(runs("pace"));
		assert_string_equal(cfg.texts[find("pace") - cfg.policies.v].library_knobs,
				    i == 2 ? "" : "job.bit_rate");
		assert_true(cfg.texts[find("meet") - cfg.policies.v].by_fallback ==
			    (i != 3 && i != 4));
		config_free(&cfg);
	}
}

#define READ JOBS TRAIN("byte_rate: 1Gbit/s, p99: 1ms")

/* What is printed is a file's policies section, and means the same. */
static void test_read_again(void **state)
{
	char *text, *whole;
	struct config was;
	size_t i;

	(void)state;
	assert_true(load(READ "order: kv > train > web > bulk > odd\n", caps_all()));
	text = derive_text(&cfg);
	assert_non_null(text);
	was = cfg;
	assert_true(asprintf(&whole, READ "%s", text) > 0);
	if (!load(whole, caps_all()))
		fail_msg("line %u: %s", rep.v[0].line, rep.v[0].msg);
	assert_false(cfg.derived);
	assert_int_equal(cfg.policies.n, was.policies.n);
	for (i = 0; i < cfg.policies.n; i++) {
		const struct policy *a = &was.policies.v[i];
		const struct policy *b = &cfg.policies.v[i];

		assert_string_equal(a->name, b->name);
		assert_memory_equal(&a->when, &b->when, sizeof(a->when));
		assert_memory_equal(a->fallback, b->fallback, sizeof(a->fallback));
		assert_int_equal(a->n_fallback, b->n_fallback);
		assert_memory_equal(a->undo_fallback, b->undo_fallback, sizeof(a->undo_fallback));
		assert_memory_equal(a->act, b->act, sizeof(a->act));
		assert_int_equal(a->undo_hold, b->undo_hold);
	}
	assert_int_equal(cfg.policies.prog.n_ins, was.policies.prog.n_ins);
	free(whole);
	free(text);
	config_free(&cfg);
	config_free(&was);
}

static void says(const char *text, const char *want)
{
	char line[1024];

	if (load(text, caps_all()))
		fail_msg("accepted: %s", text);
	diag_line(&rep, 0, line, sizeof(line));
	if (strcmp(line, want))
		fail_msg("\n said: %s\nought: %s", line, want);
}

static void test_refused(void **state)
{
	(void)state;
	says("jobs:\n- {name: a, class: latency, slo: {p99: 2us}, match: [{uid: 1}]}\norder: a\n",
	     "f:2:1: job 'a': p99 <= 2 us cannot be met: no request is answered in less than 2.8 us; if this device is faster, set 'base_latency' under 'criteria:'");
	says("ports:\n- {dev: x, speed: 1Gbit/s}\njobs:\n- {name: a, class: latency, slo: {p99: 30us}, match: [{uid: 1}]}\norder: a\n",
	     "f:4:1: job 'a': p99 <= 30 us cannot be met: 2.8 us for any request (base_latency) + 33 us for the packet that may be on the wire = 35.8 us");
	says("ports:\n- {dev: x, speed: 10Gbit/s}\njobs:\n- {name: a, class: throughput, slo: {byte_rate: 6Gbit/s}, match: [{uid: 1}]}\n- {name: b, class: throughput, slo: {byte_rate: 5Gbit/s}, match: [{uid: 1}]}\norder: a > b\n",
	     "f:5:1: the target rates exceed the ports: 6 Gbit/s for a + 5 Gbit/s for b = 11 Gbit/s; the ports have 10 Gbit/s, 1 Gbit/s less");
	/* A criterion that no policy can use: told where the policies were asked for. */
	says(JOBS "criteria: {port_busy: 120%}\norder: kv > bulk\n",
	     "f:7:8: order: the policy derived from it is wrong, in 'when: port.util > port_busy and job.p99 > job.slo_p99 * slo_near': port.util: a ratio is between 0% and 100%; change its values under 'jobs:' or 'criteria:'");
	/* The criterion is the operator's to change. */
	assert_true(load("criteria: {base_latency: 1us}\njobs:\n- {name: a, class: latency, slo: {p99: 2us}, match: [{uid: 1}]}\norder: a\n", caps_all()));
	config_free(&cfg);
}

/* Each job has its own: of many alike the file can make one. */
static void test_too_many(void **state)
{
	char *text = NULL;
	size_t len = 0, n;
	FILE *f = open_memstream(&text, &len);
	unsigned int i;
	char line[1024];

	(void)state;
	assert_non_null(f);
	fputs("jobs:\n", f);
	for (i = 0; i < 80; i++)
		fprintf(f, "- {name: j%u, class: latency, slo: {p99: 50us}, match: [{uid: %u}]}\n", i, i);
	fputs("order: j0", f);
	for (i = 1; i < 80; i++)
		fprintf(f, " > j%u", i);
	fputs("\n", f);
	fclose(f);
	assert_false(load(text, caps_all()));
	free(text);
	assert_int_equal(rep.total, 1);
	diag_line(&rep, 0, line, sizeof(line));
	n = strspn(line + strlen("f:82:8: order: "), "0123456789");
	assert_true(n == 3);
	assert_string_equal(line + strlen("f:82:8: order: ") + n,
			    " policies are derived from it for 80 jobs, and 256 are possible; combine similar jobs into one (its 'match:' takes several rules, and a cgroup wildcards), or write 'policies:' for classes of jobs, as in 'for: job of class latency'");
}

/* A device knows the speed of its ports, where the file does not say another. */
static void test_too_slow(void **state)
{
	static const char text[] = "jobs:\n" TRAIN("byte_rate: 30Gbit/s") "order: train\n";
	static const char ports[] = "ports:\n- {dev: x, speed: 40Gbit/s}\njobs:\n"
		TRAIN("byte_rate: 30Gbit/s") "order: train\n";
	struct snap_dev dev = { .index = 3 };
	struct snap_port p[] = {
		{ .dev = 2, .has = SNAP_SPEED, .speed = 100000000000 },
		{ .dev = 3, .has = SNAP_SPEED, .speed = 10000000000 },
		{ .dev = 3, .has = SNAP_SPEED, .speed = 10000000000 },
		{ .dev = 3, .speed = 10000000000 },
	};
	const struct snapshot snap = { .ports = p, .n_ports = 4 };
	char line[512];

	(void)state;
	assert_false(load(text, caps_dev(&snap, &dev)));
	diag_line(&rep, 0, line, sizeof(line));
	assert_string_equal(line, "f:2:1: the target rates exceed the ports: 30 Gbit/s for train; the ports have 20 Gbit/s, 10 Gbit/s less");
	assert_true(load(ports, caps_dev(&snap, &dev)));
	config_free(&cfg);
	dev.index = 2;
	assert_true(load(text, caps_dev(&snap, &dev)));
	config_free(&cfg);
	assert_true(load(text, caps_here()));
	config_free(&cfg);
}

static void test_order(void **state)
{
	char own[1024] = "criteria:\n";
	size_t n = strlen(own), i;

	(void)state;
	for (i = 0; i < 36; i++)
		n += (size_t)snprintf(own + n, sizeof(own) - n, "  own_name_%zu: 1\n", i);
	says(JOBS "order: kv > wbe\n", "f:6:13: order: no job 'wbe'; did you mean 'web'?");
	says(JOBS "order: kv > zebra\n", "f:6:13: order: no job 'zebra' under 'jobs:'; add it there");
	says(JOBS "order: kv > kv\n", "f:6:13: order: job 'kv' is named twice");
	says(JOBS "order: kv >\n", "f:6:12: order: a job's name is expected here, as in 'kv > dlrm, web > bulk'");
	says(JOBS "order: kv < web\n", "f:6:11: order: '< web' is not understood; jobs are separated by '>', equals by ','");
	says("criteria: {port_bussy: 70%}\n", "f:1:12: unknown criterion 'port_bussy'; did you mean 'port_busy'? A new criterion needs a less similar name");
	says("criteria: 70%\n", "f:1:11: criteria is a map of names and values, as in 'port_busy: 70%'");
	says(own, "f:34:3: more than 64 criteria; there is room for 32 of your own");
	says("criteria: {port_busy: 5us}\n", "f:1:23: port_busy: '5us' is a time; it should be a ratio, as in 80%");
	says("criteria: {Mine: 5us}\n", "f:1:12: a criterion's name is made of a-z, 0-9 and _ and begins with a letter");
	says("criteria: {mine: soon}\n", "f:1:18: mine: 'soon' is no number with a unit; write for instance 5us, 80% or 512");
	/* One of the file's own, and a changed one, in a state. */
	assert_true(load("criteria: {mine: 7us, port_busy: 70%}\npolicies:\n- {name: p, for: job, when: port.util > port_busy and qp.queue_delay > mine, do: job.level = 1, undo: {when: port.util < 60%}}\n", caps_all()));
	assert_true(cfg.policies.prog.atoms[OBJ_PORT][0].value == 0.7);
	assert_true(cfg.policies.prog.atoms[OBJ_QP][0].value == 7000);
	config_free(&cfg);
}

/* Names that differ only where they are cut for a policy's. */
static void test_long_names(void **state)
{
	(void)state;
	assert_true(load("jobs:\n"
		"- {name: aaaaaaaaaaaaaaaaaaaaaa1, class: latency, slo: {p99: 50us}, match: [{uid: 1}]}\n"
		"- {name: aaaaaaaaaaaaaaaaaaaaaa2, class: latency, slo: {p99: 50us}, match: [{uid: 2}]}\n"
		"- {name: eighteen-letters-x, class: latency, slo: {p99: 50us}, match: [{uid: 3}]}\n"
		"order: eighteen-letters-x > aaaaaaaaaaaaaaaaaaaaaa1, aaaaaaaaaaaaaaaaaaaaaa2\n",
		caps_all()));
	assert_non_null(find("port-eighteen-letters-x"));
	config_free(&cfg);
}

static void test_shipped(void **state)
{
	static const char *const files[] = {
		"port", "paper-hol", "paper-port", "uar", "cache", "control",
		"order",
	};
	const struct caps all = caps_all();
	char path[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), TOP "/user/policies/%s.yaml",
			 files[i]);
		diag_init(&rep, path);
		if (!config_load_file_for(&cfg, &all, path, &rep)) {
			diag_print(&rep, stderr);
			fail();
		}
		assert_int_equal(rep.warnings, 0);
		assert_true(cfg.policies.n > 0);
		config_free(&cfg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_five),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_uar_that_stays_busy),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_ceilings),
		cmocka_unit_test(test_here), cmocka_unit_test(test_by_latency),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_read_again),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_too_slow),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
