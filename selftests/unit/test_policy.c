// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Policy files: what is read, and what is said of each kind of mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/config.h"
#include "policy/doc.h"
#include "unit/levels.h"

static struct config cfg;
static struct diag rep;

static bool load(const char *text)
{
	diag_init(&rep, "f");
	text = with_levels(text);
	return config_load_text(&cfg, text, strlen(text), &rep);
}

/* The first mistake found is this one; nothing is left of the file. */
static void says(const char *text, const char *want)
{
	char line[1024];

	if (load(text))
		fail_msg("accepted: %s", text);
	assert_true(rep.n > 0);
	diag_line(&rep, 0, line, sizeof(line));
	if (strcmp(line, want))
		fail_msg("\n said: %s\nought: %s", line, want);
	assert_int_equal(cfg.n_jobs, 0);
	assert_int_equal(cfg.policies.n, 0);
}

static void load_ok(struct config *c, const char *text)
{
	if (!load(text))
		fail_msg("refused: %s: %s", text, rep.v[0].msg);
	*c = cfg;
	memset(&cfg, 0, sizeof(cfg));
}

static void accepts(const char *text)
{
	char line[1024];

	if (!load(text)) {
		diag_line(&rep, 0, line, sizeof(line));
		fail_msg("%s", line);
	}
	config_free(&cfg);
}

/* What is too long to be written down: @n times @item, with its number for '#'. */
static char *many(const char *before, unsigned int n, const char *item, const char *after)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	const char *s;
	unsigned int i;

	assert_non_null(f);
	fputs(before, f);
	for (i = 0; i < n; i++)
		for (s = item; *s; s++)
			*s == '#' ? fprintf(f, "%u", i) : fputc(*s, f);
	fputs(after, f);
	fclose(f);
	return text;
}

/* The same of such a text. */
static void long_says(char *text, const char *want)
{
	says(text, want);
	free(text);
}

#define JOB "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n"
#define POLICY(when, act, rest) \
	"policies:\n- name: p\n  for: job of class latency\n  when: " when \
	"\n  do: " act "\n" rest
#define UNDO "  undo: {when: port.util < 60%}\n"

static void test_whole_file(void **state)
{
	const struct prog_atom *atom;
	const struct policy *p;

	(void)state;
	if (!load("agent: {interval: 50ms, lease: 1s, rank: 20, smoothing: 300ms}\n"
		  "levels:\n- {level: 3, dscp: 26, sl: 2}\n- {level: 1, dscp: 10}\n"
		  "ports:\n- {dev: rxe0, speed: 20Mbit/s}\n"
		  "jobs:\n"
		  "- name: kv\n  class: latency\n  slo: {p99: 50us}\n"
		  "  match: [{cgroup: /a/*, uid: 7}, {comm: kv, exe: kvd, pid: 9}]\n"
		  "- {name: bulk, class: throughput, match: [{uid: 0}]}\n"
		  "policies:\n- name: port\n  for: each job of class latency\n"
		  "  when: port.util > 80% and job.qps > 0\n  hold: 200ms\n"
		  "  do: job.level += 1\n  floor: 1\n  ceiling: 3\n"
		  "  cooldown: 500ms\n"
		  "  undo: {when: port.util < 60%, hold: 2s, do: job.level -= 1, cooldown: 1s}\n"
		  "- {name: q, for: job bulk, when: dev.qps >= 512, do: job.max_qps = 100, undo: {when: dev.qps < 400}}\n")) {
		diag_print(&rep, stderr);
		fail();
	}
	assert_int_equal(cfg.interval, 50000000);
	assert_int_equal(cfg.lease, 1000000000);
	assert_int_equal(cfg.rank, 20);
	assert_int_equal(cfg.smoothing, 300000000);
	assert_int_equal(cfg.n_levels, 2);
	assert_true(cfg.levels[0].has_sl && cfg.levels[0].sl == 2);
	assert_true(cfg.levels[1].has_dscp && cfg.levels[1].dscp == 10);
	assert_false(cfg.levels[1].has_sl);
	assert_int_equal(cfg.policies.levels, 1u << 3 | 1u << 1);
	assert_int_equal(cfg.n_speeds, 1);
	assert_int_equal(cfg.speeds[0].speed, 20000000);
	assert_int_equal(cfg.speeds[0].port, 1);
	assert_int_equal(cfg.n_jobs, 2);
	assert_int_equal(cfg.jobs[0].n_rules, 2);
	assert_string_equal(cfg.jobs[0].rules[0].cgroup, "/a/*");
	assert_true(cfg.jobs[0].rules[0].has_uid);
	assert_int_equal(cfg.jobs[0].rules[0].uid, 7);
	assert_string_equal(cfg.jobs[0].rules[1].exe, "kvd");
	assert_true(cfg.jobs[1].rules[0].order > cfg.jobs[0].rules[1].order);
	assert_int_equal(cfg.slos[0].p99, 50000);
	assert_int_equal(cfg.policies.n, 2);
	p = &cfg.policies.v[0];
	assert_int_equal(p->classes, 1u << SWIFTRDMA_JOB_CLASS_LATENCY);
	assert_int_equal(p->when.terms.n, 1);
	atom = &cfg.policies.prog.atoms[OBJ_PORT][0];
	assert_true(atom->simple);
	assert_int_equal(atom->sig, SIG_PORT_UTIL);
	assert_int_equal(atom->cmp, CMP_GT);
	assert_true(atom->value == 0.8);
	assert_int_equal(p->hold, 200000000);
	assert_int_equal(p->act[0].op, STEP_ADD);
	assert_true(p->act[0].floor == 1 && p->act[0].ceiling == 3);
	assert_int_equal(p->cooldown, 500000000);
	assert_int_equal(p->undo[0].op, STEP_SUB);
	assert_int_equal(p->undo_hold, 2000000000);
	assert_int_equal(p->undo_cooldown, 1000000000);
	p = &cfg.policies.v[1];
	assert_string_equal(p->job, "bulk");
	assert_int_equal(p->n_undo, 0);
	assert_true(p->act[0].n == 100);
	config_free(&cfg);
}

static void test_shipped(void **state)
{
	(void)state;
	diag_init(&rep, "port.yaml");
	if (!config_load_file(&cfg, TOP "/user/policies/port.yaml", &rep)) {
		diag_print(&rep, stderr);
		fail();
	}
	assert_int_equal(cfg.policies.n, 1);
	config_free(&cfg);
}

static void test_yaml(void **state)
{
	(void)state;
	says("jobs:\n\t- name: kv\n", "f:2:1: a tab in the indentation; YAML indents with spaces");
	says("jobs: [\n", "f:2:1: not YAML: did not find expected node content while parsing a flow node; see the examples in swiftrdma-policy(5)");
	says("jobs: &a []\npolicies: *a\n", "f:1:7: an anchor (&name) is not understood here; write the value out where it is needed");
	says("jobs: *a\n", "f:1:7: an alias (*name) is not understood here; write the value out");
	says("jobs: !!seq []\n", "f:1:7: a tag (!name) is not understood here; leave it out");
	says("jobs: []\n---\njobs: []\n", "f:2:1: a second document (---) in one file; use one file each");
	says("- a\n", "f:1:1: a policy file is a map with the keys agent, levels, ports, criteria, jobs, order, policies, not a list");
	says("jobs: []\njobs: []\n", "f:2:1: 'jobs' is given twice, first in line 1; keep one of them");
	says("[[[[[[[[[[[[[[[[[[[[", "f:1:17: nested deeper than 16; a policy file needs 6");
	long_says(many("", 65, "k#: 1\n", ""), "f:65:1: more than 64 keys in one map; none of a policy file needs as many");
	says("? [a]\n: b\n", "f:1:3: a list or map as a key; a key is a word and a colon");
	says("a: \"x\\0y\"\n", "f:1:4: a NUL byte in a value; leave it out");
	says("a: \xff\n", "f: byte 3 is not UTF-8 text (invalid leading UTF-8 octet); save the file as UTF-8");
}

/* An agent that is to do nothing, and levels and jobs of others stay as they are. */
static void test_empty(void **state)
{
	static const char *const texts[] = { "", "\n", "# nothing\n", "---\n", "--- # yet\n...\n" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!load(texts[i])) {
			diag_print(&rep, stderr);
			fail_msg("refused: '%s'", texts[i]);
		}
		assert_int_equal(rep.warnings, 0);
		assert_int_equal(cfg.n_jobs, 0);
		assert_int_equal(cfg.policies.n, 0);
		assert_true(cfg.lease == CONFIG_LEASE_DEFAULT);
		config_free(&cfg);
	}
	/* Not the same: somebody meant something by it. */
	says("''\n", "f:1:1: a policy file is a map with the keys agent, levels, ports, criteria, jobs, order, policies, not nothing");
}

static void test_keys(void **state)
{
	(void)state;
	says("job: []\n", "f:1:1: unknown key 'job' in a policy file; did you mean 'jobs'?");
	says("agent: {intervalx: 1s}\n", "f:1:9: unknown key 'intervalx' in agent; did you mean 'interval'?");
	says("zebra: 1\n", "f:1:1: unknown key 'zebra' in a policy file; known are agent, levels, ports, criteria, jobs, order, policies");
	says("agent: 5\n", "f:1:8: agent is a map with the keys interval, lease, rank, smoothing, not a single value");
	says("jobs: {}\n", "f:1:7: jobs is a list, not a map; begin each entry with '- '");
	says("jobs:\n", "f:1:6: jobs is a list, not nothing; begin each entry with '- '");
	says("levels: 5\n", "f:1:9: levels is a list, not a single value; begin each entry with '- '");
	says("levels:\n- 5\n", "f:2:3: a level is a map with the keys level, dscp, sl, not a single value");
	says("ports: 5\n", "f:1:8: ports is a list, not a single value; begin each entry with '- '");
	says("ports:\n- [rxe0]\n", "f:2:3: a port is a map with the keys dev, port, speed, not a list");
	says("criteria: {mine: [5us]}\n", "f:1:18: mine is a single value, not a list");
	says("jobs:\n- kv\n", "f:2:3: a job is a map with the keys name, class, match, slo, environment, chunk, huge_pages, follow, not a single value");
	says("jobs:\n- {name: kv, class: latency, match: 5}\n", "f:2:37: match is a list, not a single value; begin each entry with '- '");
	says("jobs:\n- {name: kv, class: latency, match: [kv]}\n", "f:2:38: a match rule is a map with the keys cgroup, comm, exe, uid, pid, asked, slo_min, not a single value");
	says("jobs:\n- {name: kv, class: latency, match: [{uid: 1}], slo: 50us}\n", "f:2:54: slo is a map with the keys p99, byte_rate, not a single value");
	says(JOB "order: [kv]\n",
	     "f:3:8: order, as in 'kv > dlrm, web > bulk', is a single value, not a list");
	says("policies: {}\n", "f:1:11: policies is a list, not a map; begin each entry with '- '");
	says("policies:\n- p\n", "f:2:3: a policy is a map with the keys name, for, because, cause, when, fallback, hold, do, floor, ceiling, cooldown, max_steps, rate, rank, undo, not a single value");
	says("policies:\n- {name: p, for: [job], when: dev.qps > 5, do: job.level = 1, undo: {when: dev.qps < 3}}\n", "f:2:18: for is a single value, not a list");
	says("policies:\n- {name: p, for: job, when: dev.qps > 5, do: [job.level = 1], undo: {when: dev.qps < 3}}\n", "f:2:46: do is a single value, not a list");
	says("policies:\n- {name: p, for: job, when: dev.qps > 5, do: job.level = 1, undo: dev.qps < 3}\n", "f:2:67: undo is a map with the keys when, fallback, hold, do, cooldown, not a single value");
}

static void test_agent(void **state)
{
	(void)state;
	says("agent: {interval: 100}\n", "f:1:19: interval: '100' is a plain number; it should be a time, as in 5us (ns, us, ms or s)");
	says("agent: {interval: 100msec}\n", "f:1:22: interval: unknown unit 'msec'; write 'ms'");
	says("agent: {interval: 1us}\n", "f:1:19: interval 1us is out of range; it is 1 ms to 60 s");
	says("agent: {interval: 1s, lease: 2s}\n", "f:1:30: the lease (2000 ms) is shorter than three intervals (3000 ms); overrides would drop whenever a tick is late");
	says("agent: {rank: 300}\n", "f:1:15: rank 300 is out of range; it is 0 to 255");
	says("agent: {rank: 1.5}\n", "f:1:15: rank is a whole number, not 1.5");
	says("agent: {rank: []}\n", "f:1:15: rank is a single value, not a list");
	says("agent: {rank: 1234567890123456789}\n", "f:1:15: rank: '1234567890123456789' has too many digits; 15 are enough");
}

/* What a level is on the wire nobody guesses. */
static void test_levels_needed(void **state)
{
	(void)state;
	says("# no levels:\n" POLICY("port.util > 80%", "job.level += 1", UNDO),
	     "f:6:7: the policy raises a class level, and this file does not define levels on the wire; add for instance 'levels: [{level: 1, dscp: 10, sl: 1}]', with values that your switches and hosts treat as more urgent");
	says("# no levels:\n" POLICY("port.util > 80%", "job.max_qps = 8, job.level = job.qps", UNDO),
	     "f:6:7: the policy raises a class level, and this file does not define levels on the wire; add for instance 'levels: [{level: 1, dscp: 10, sl: 1}]', with values that your switches and hosts treat as more urgent");
	says("levels: [{level: 4, dscp: 1}]\n" POLICY("port.util > 80%", "job.level = 5", UNDO),
	     "f:6:7: no class level that the policy may set is among 'levels:'; add it there");
	says("levels: [{level: 4, dscp: 1}]\n" POLICY("port.util > 80%", "job.level += 1", "  ceiling: 3\n" UNDO),
	     "f:6:7: no class level that the policy may set is among 'levels:'; add it there");
	says("levels: [{level: 0, dscp: 1}]\n" POLICY("port.util > 80%", "job.level += 1", UNDO),
	     "f:6:7: no class level that the policy may set is among 'levels:'; add it there");
	assert_true(load("levels: [{level: 4, dscp: 1}]\n" POLICY("port.util > 80%", "job.level += 1", UNDO)));
	config_free(&cfg);
	says("# no levels:\n" JOB "- {name: bulk, class: throughput, match: [{comm: b}]}\norder: kv > bulk\n",
	     "f:5:8: order: at a busy port 'kv' gets a higher class level, and this file does not define levels on the wire; add for instance 'levels: [{level: 1, dscp: 10, sl: 1}]', with values that your switches and hosts treat as more urgent");
	/* Nobody is raised. */
	assert_true(load("# no levels:\n" POLICY("dev.qps > 5", "job.max_qps = 1", "  undo: {when: dev.qps < 3}\n")));
	config_free(&cfg);
}

static void test_levels_and_ports(void **state)
{
	(void)state;
	says("levels:\n- {level: 8, dscp: 1}\n", "f:2:11: level 8 is out of range; it is 0 to 7");
	says("levels:\n- {level: 1}\n", "f:2:3: a level lacks 'dscp:', 'sl:' or both; for instance 'dscp: 26'");
	says("levels:\n- {dscp: 1}\n", "f:2:3: a level lacks 'level:'; for instance 'level: 3'");
	says("levels:\n- {level: 1, dscp: 64}\n", "f:2:20: dscp 64 is out of range; it is 0 to 63");
	says("levels:\n- {level: 1, dscp: 1, sl: 16}\n", "f:2:27: sl 16 is out of range; it is 0 to 15");
	says("levels:\n- {level: 1, dscp: 1}\n- {level: 1, dscp: 2}\n", "f:3:3: level 1 is given twice; keep one of them");
	says("ports:\n- {dev: rxe0, speed: 20mbit}\n", "f:2:24: speed: unknown unit 'mbit'; write 'Mbit/s'");
	says("ports:\n- {dev: rxe0, speed: 20ms}\n", "f:2:22: speed: '20ms' is a time; it should be a speed, as in 20Mbit/s (bit/s, kbit/s, Mbit/s, Gbit/s)");
	says("ports:\n- {dev: rxe0, port: 0, speed: 20Mbit/s}\n", "f:2:21: port 0 is out of range; it is 1 to 255");
	says("ports:\n- {dev: rxe0, speed: 20Mbit/s}\n- {dev: rxe0, port: 1, speed: 1Gbit/s}\n", "f:3:3: port rxe0/1 is given twice; keep one of them");
	says("ports:\n- {dev: rxe0, speed: 20parsec}\n", "f:2:24: speed: unknown unit 'parsec'; this should be a speed, as in 20Mbit/s (bit/s, kbit/s, Mbit/s, Gbit/s)");
	says("ports:\n- {speed: 20Mbit/s}\n", "f:2:3: a port lacks 'dev:'; for instance 'dev: rxe0'");
}

static void test_jobs(void **state)
{
	(void)state;
	says("jobs:\n- {class: latency, match: [{uid: 1}]}\n", "f:2:3: a job lacks 'name:'; for instance 'name: kv'");
	says("jobs:\n- {name: k v, class: latency, match: [{uid: 1}]}\n", "f:2:11: 'k v': a job's name is made of letters, digits and _ . - only");
	says("jobs:\n- {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, class: latency, match: [{uid: 1}]}\n", "f:2:10: a job's name is 32 bytes long; at most 31 are possible");
	says("jobs:\n- {name: kv, class: latencyy, match: [{uid: 1}]}\n", "f:2:21: class: 'latencyy' is not a class; did you mean 'latency'?");
	says("jobs:\n- {name: kv, class: fast, match: [{uid: 1}]}\n", "f:2:21: class: 'fast' is not a job class: latency, balanced, throughput, best-effort");
	says("jobs:\n- {name: kv, class: latency}\n", "f:2:3: a job lacks 'match:'; for instance 'match: [{comm: kv-server}]'");
	says("jobs:\n- {name: kv, class: latency, match: []}\n", "f:2:37: a job has 1 to 64 match rules, not 0");
	says("jobs:\n- {name: kv, class: latency, match: [{}]}\n", "f:2:38: an empty rule would match no process; give it cgroup, comm, exe, uid, pid or 'asked: true'");
	says("jobs:\n- {name: kv, class: latency, match: [{user: 1}]}\n", "f:2:39: unknown key 'user' in a match rule; known are cgroup, comm, exe, uid, pid, asked, slo_min");
	says("jobs:\n- {name: kv, class: latency, match: [{uid: root}]}\n", "f:2:44: uid: 'root' is not a number; it should be a plain number, as in 512");
	says("jobs:\n- {name: kv, class: latency, match: [{comm: averyveryverylongcomm}]}\n", "f:2:45: comm is 21 bytes long; at most 15 are possible");
	says("jobs:\n- {name: kv, class: latency, match: [{exe: /usr/bin/kvd}]}\n", "f:2:44: exe is the last part of the path; write 'kvd'");
	says("jobs:\n- {name: kv, class: latency, match: [{cgroup: kv.service}]}\n", "f:2:47: cgroup 'kv.service' matches no path; a path begins with '/', as in /system.slice/kv.service");
	says("jobs:\n- {name: kv, class: latency, match: [{uid: 1}], slo: {p99: 5Gbit/s}}\n", "f:2:60: p99: '5Gbit/s' is a speed; it should be a time, as in 5us (ns, us, ms or s)");
	says("jobs:\n- {name: unassigned, class: latency, match: [{uid: 1}]}\n", "f:2:10: 'unassigned' is reserved for QPs without a job; choose another name");
	says("jobs:\n- {name: kv, class: latency, match: [{uid: 1}], slo: {}}\n", "f:2:54: an empty slo has no target; add one, for instance 'slo: {p99: 50us}'");
	long_says(many("jobs:\n", 1024, "- {name: j#, class: latency, match: [{uid: 1}]}\n", ""), "f:2:1: 1024 jobs; the kernel has room for 1023");
	says(JOB "- {name: kv, class: balanced, match: [{uid: 1}]}\n", "f:3:10: job 'kv' is already defined in line 2; put all its rules under one 'match:'");
}

/* What libraries in the job's processes do. */
static void test_properties(void **state)
{
	struct config c;

#define PROPERTY "jobs:\n- name: kv\n  class: latency\n  match: [{uid: 1}]\n  "
	(void)state;
	says(PROPERTY "chunk: 64\n", "f:5:10: chunk: '64' is a plain number; it should be a size, as in 64KiB (B, KiB, MiB, GiB)");
	says(PROPERTY "chunk: 2KiB\n", "f:5:10: chunk 2KiB is out of range; it is 4 KiB to 1 GiB");
	says(PROPERTY "chunk: 2GiB\n", "f:5:10: chunk 2GiB is out of range; it is 4 KiB to 1 GiB");
	says(PROPERTY "chunk: 65KiB\n", "f:5:10: chunk 65KiB is not a power of two, 4 KiB to 1 GiB");
	says(PROPERTY "huge_pages: maybe\n", "f:5:15: huge_pages: 'maybe' is not yes or no");
	load_ok(&c, PROPERTY "chunk: 64KiB\n");
	assert_int_equal(c.jobs[0].chunk, 65536);
	assert_true(c.jobs[0].huge_pages);
	config_free(&c);
	load_ok(&c, PROPERTY "huge_pages: no\n");
	assert_int_equal(c.jobs[0].chunk, 0);
	assert_false(c.jobs[0].huge_pages);
	config_free(&c);
}

/* Whether a job follows wishes of its peers, and how far. */
static void test_follow(void **state)
{
	struct config c;

#define WIRE "levels: [{level: 1, dscp: 8}, {level: 2, dscp: 16}, {level: 4, dscp: 32}]\n"
#define OTHERS								\
	"- {name: kv, class: latency, match: [{uid: 2}]}\n"		\
	"- {name: bulk, class: throughput, match: [{uid: 3}]}\n"
#define FOLLOW "jobs:\n- name: store\n  class: throughput\n  match: [{uid: 1}]\n  follow: "
	(void)state;
	says(FOLLOW "yes\n" WIRE, "f:5:11: follow: 'yes' is not understood; write 'peers', for as far as the order allows, or the highest level, as in 'follow: 2'");
	says(FOLLOW "8\n" WIRE, "f:5:11: follow 8 is out of range; it is 0 to 7");
	says(FOLLOW "[peers]\n" WIRE, "f:5:11: follow, as in 'follow: peers', is a single value, not a list");
	says(FOLLOW "2\n", "f:2:1: job 'store' follows wishes of peers for a class level, and this file does not define levels on the wire; add for instance 'levels: [{level: 1, dscp: 10, sl: 1}]', with values that your switches and hosts treat as more urgent");
	says(FOLLOW "peers\n" WIRE, "f:2:1: job 'store': 'follow: peers' goes as far as the order allows, and the order does not name the job; add it under 'order:', or write the highest level, as in 'follow: 2'");
	load_ok(&c, FOLLOW "2\n" OTHERS WIRE);
	assert_true(c.jobs[0].follows && !c.jobs[0].follows_order);
	assert_int_equal(c.jobs[0].follow, 2);
	assert_false(c.jobs[1].follows);
	config_free(&c);
	/* A place in the order is worth a level of its own, whatever the class of the job. */
	load_ok(&c, FOLLOW "peers\n" OTHERS WIRE "order: store > kv > bulk\n");
	assert_int_equal(c.jobs[0].follow, 2);
	config_free(&c);
	load_ok(&c, FOLLOW "peers\n" OTHERS WIRE "order: kv > store > bulk\n");
	assert_int_equal(c.jobs[0].follow, 1);
	config_free(&c);
	/* The last one may have none. */
	load_ok(&c, FOLLOW "peers\n" OTHERS WIRE "order: kv > bulk > store\n");
	assert_true(c.jobs[0].follows);
	assert_int_equal(c.jobs[0].follow, 0);
	config_free(&c);
	/* The job before it is raised further, so that it stays before it. */
	load_ok(&c, "jobs:\n" OTHERS WIRE "order: kv > bulk\n");
	assert_string_equal(c.texts[0].act, "job.level += 1");
	assert_int_equal(c.policies.v[0].act[0].ceiling, 1);
	config_free(&c);
	load_ok(&c, FOLLOW "peers\n" OTHERS WIRE "order: kv > store > bulk\n");
	assert_int_equal(c.policies.v[0].act[0].ceiling, 2);
	config_free(&c);
}

/* Rules for processes that ask for their job. */
static void test_asked(void **state)
{
	struct config c;

#define RULE(r) "jobs:\n- {name: kv, class: latency, match: [{" r "}]}\n"
	(void)state;
	says(RULE("asked: perhaps"), "f:2:46: asked: 'perhaps' is not yes or no");
	says(RULE("slo_min: 5"), "f:2:48: slo_min: '5' is a plain number; it should be a time, as in 5us (ns, us, ms or s)");
	says(RULE("slo_min: 5us"), "f:2:38: this rule has no condition, and 'slo_min' is none; add cgroup, comm, exe, uid, pid or 'asked: true'");
	says(RULE("asked: false"), "f:2:38: this rule has no condition, and 'slo_min' is none; add cgroup, comm, exe, uid, pid or 'asked: true'");
	load_ok(&c, RULE("asked: true"));
	assert_true(c.jobs[0].rules[0].asked);
	assert_int_equal(c.jobs[0].rules[0].slo_p99_min, 0);
	config_free(&c);
	load_ok(&c, RULE("uid: 1000, asked: true, slo_min: 50us"));
	assert_true(c.jobs[0].rules[0].asked && c.jobs[0].rules[0].has_uid);
	assert_int_equal(c.jobs[0].rules[0].slo_p99_min, 50000);
	config_free(&c);
	load_ok(&c, RULE("cgroup: /kv, slo_min: 1ms"));
	assert_false(c.jobs[0].rules[0].asked);
	assert_int_equal(c.jobs[0].rules[0].slo_p99_min, 1000000);
	config_free(&c);
}

static void test_environment(void **state)
{
	(void)state;
#define ENV "jobs:\n- name: kv\n  class: latency\n  match: [{uid: 1}]\n  environment: "
	says(ENV "512\n", "f:5:16: environment is a map of names and values, as in {MLX5_TOTAL_UUARS: 512}");
	long_says(many(ENV "{", 33, "V#: 1, ", "}\n"), "f:5:16: at most 32 variables, not 33");
	says(ENV "{8UARS: 512}\n", "f:5:17: '8UARS' is not the name of a variable; use letters, digits and _, and no digit at the beginning");
	says(ENV "{UU-ARS: 512}\n", "f:5:17: 'UU-ARS' is not the name of a variable; use letters, digits and _, and no digit at the beginning");
	says(ENV "{'': 512}\n", "f:5:17: a variable's name is a single value, not nothing");
	says(ENV "{UUARS: [512]}\n", "f:5:24: a variable's value is a single value, not a list");
	long_says(many(ENV "{", 64, "A", ": 1}\n"), "f:5:17: a variable's name is 64 bytes long; at most 63 are possible");
	long_says(many(ENV "{UUARS: ", 256, "1", "}\n"), "f:5:24: a variable's value is 256 bytes long; at most 255 are possible");
#undef ENV
}

static void test_states(void **state)
{
	(void)state;
	says(POLICY("port.utl > 80%", "job.level = 1", UNDO), "f:4:9: unknown signal 'port.utl'; did you mean 'port.util'?");
	says(POLICY("zebra.stripes > 80%", "job.level = 1", UNDO), "f:4:9: unknown signal 'zebra.stripes'; swiftrdma-policy(5) lists them all, for instance port.util and job.qps");
	says(POLICY("prt_busy < port.util", "job.level = 1", UNDO), "f:4:9: unknown name 'prt_busy'; did you mean 'port_busy'?");
	says(POLICY("port.util > 5us", "job.level = 1", UNDO), "f:4:21: port.util: '5us' is a time; it should be a ratio, as in 80%");
	says(POLICY("5us < port.util", "job.level = 1", UNDO), "f:4:9: port.util: '5us' is a time; it should be a ratio, as in 80%");
	says(POLICY("job.wr_rate > 5us", "job.level = 1", UNDO), "f:4:23: job.wr_rate: '5us' is a time; it should be a rate, as in 100/s (/s, k/s, M/s)");
	says(POLICY("port.util > 80", "job.level = 1", UNDO), "f:4:21: port.util: '80' is a plain number; it should be a ratio, as in 80%");
	says(POLICY("port.util > 180%", "job.level = 1", UNDO), "f:4:21: port.util: a ratio is between 0% and 100%");
	says(POLICY("port.util > queue_delay", "job.level = 1", UNDO), "f:4:21: port.util: 'queue_delay' is a time; it should be a ratio, as in 80%");
	says(POLICY("qp.queue_delay > qp.wr_rate", "job.level = 1", UNDO), "f:4:24: 'qp.queue_delay' is a time and 'qp.wr_rate' a rate: they cannot be compared");
	says(POLICY("port.util = 80%", "job.level = 1", UNDO), "f:4:19: '=' sets a knob; to compare, write '=='");
	says(POLICY("port.util is 80%", "job.level = 1", UNDO), "f:4:19: a comparison is expected here, not 'is'; it is one of > >= < <= == !=, or rising or falling");
	says(POLICY("port.util >", "job.level = 1", UNDO), "f:4:20: port.util: a value is missing; it should be a ratio, as in 80%");
	says(POLICY("port.util > 80% && job.qps > 1", "job.level = 1", UNDO), "f:4:25: '&&' is not understood; write 'and'");
	says(POLICY("port.util > 80% || job.qps > 1", "job.level = 1", UNDO), "f:4:25: '||' is not understood; write 'or'");
	says(POLICY("'!(port.util > 80%)'", "job.level = 1", UNDO), "f:4:10: '!' is not understood; write 'not'");
	says(POLICY("port.util > 80% and", "job.level = 1", UNDO), "f:4:28: something is missing here: a signal, a number or a criterion");
	says(POLICY("job.qps && dev.qps", "job.level = 1", UNDO), "f:4:17: '&&' is not understood; write 'and'");
	says(POLICY("port.util || dev.qps", "job.level = 1", UNDO), "f:4:19: '||' is not understood; write 'or'");
	says(POLICY("prt_busy >", "job.level = 1", UNDO), "f:4:9: unknown name 'prt_busy'; did you mean 'port_busy'?");
	says(POLICY("prt_busy", "job.level = 1", UNDO), "f:4:9: unknown name 'prt_busy'; did you mean 'port_busy'?");
	says(POLICY("job.p99 > 100 msec", "job.level = 1", UNDO), "f:4:23: unknown unit 'msec'; write 'ms'");
	says(POLICY("(port.util > 80%", "job.level = 1", UNDO), "f:4:25: ')' is expected here");
	says(POLICY("port.util > 80%)", "job.level = 1", UNDO), "f:4:24: ')' is not understood here; states are joined by 'and' and 'or'");
	says(POLICY("port.util", "job.level = 1", UNDO), "f:4:18: 'port.util' is a ratio, not true or false; compare it, as in 'port.util > 80%'");
	says(POLICY("port.tx_rate", "job.level = 1", UNDO), "f:4:21: 'port.tx_rate' is a speed, not true or false; compare it, as in 'port.tx_rate > 1Gbit/s'");
	says(POLICY("job.p99", "job.level = 1", UNDO), "f:4:16: 'job.p99' is a time, not true or false; compare it, as in 'job.p99 > 5us'");
	says(POLICY("job.wr_rate", "job.level = 1", UNDO), "f:4:20: 'job.wr_rate' is a rate, not true or false; compare it, as in 'job.wr_rate > 100/s'");
	says(POLICY("job.class", "job.level = 1", UNDO), "f:4:18: 'job.class' is a class, not true or false; compare it, as in 'job.class == latency'");
	says(POLICY("job.qps", "job.level = 1", UNDO), "f:4:16: 'job.qps' is a plain number, not true or false; compare it, as in 'job.qps > 1'");
	says(POLICY("job.class > latency", "job.level = 1", UNDO), "f:4:21: job.class has no order; compare it with == or !=");
	says(POLICY("qp.state == rts", "job.level = 1", UNDO), "f:4:21: qp.state: 'rts' is not a state; did you mean 'RTS'?");
	says(POLICY("job.qps > 5 and job.qps < 3", "job.level = 1", UNDO), "f:4:9: this state is never true: its clauses contradict each other");
	says(POLICY("job.qps > 5 and not job.qps > 4", "job.level = 1", UNDO), "f:4:9: this state is never true: its clauses contradict each other");
	says(POLICY("job.qps < 0", "job.level = 1", UNDO), "f:4:9: this state is never true: its clauses contradict each other");
	says(POLICY("port.util > 80%", "job.level = 1", "  fallback: job.qps < 0\n" UNDO), "f:6:13: this state is never true: its clauses contradict each other");
	says(POLICY("\"port.utl > 80%\"", "job.level = 1", UNDO), "f:4:10: unknown signal 'port.utl'; did you mean 'port.util'?");
	says(POLICY("port.util > $5", "job.level = 1", UNDO), "f:4:21: '$' is not understood here; a signal, a number or a criterion is expected");
	says(POLICY("\xc2\xb5 > 5", "job.level = 1", UNDO), "f:4:9: '\xc2\xb5' is not understood here; a signal, a number or a criterion is expected");
	says(POLICY("' '", "job.level = 1", UNDO), "f:4:10: an empty state; write for instance 'port.util > 80%'");
	says(POLICY("''", "job.level = 1", UNDO), "f:4:9: when is a single value, not nothing");
	says(POLICY("1 < 2", "job.level = 1", UNDO), "f:4:9: both sides are constants; one should be a signal");
	says(POLICY("port.util + qp.queue_delay > 5us", "job.level = 1", UNDO), "f:4:19: a ratio and a time cannot be added");
	says(POLICY("port.util - qp.queue_delay > 5us", "job.level = 1", UNDO), "f:4:19: a ratio and a time cannot be subtracted");
	says(POLICY("qp.queue_delay * job.p99 > 5us", "job.level = 1", UNDO), "f:4:24: a time times a time has no meaning here");
	says(POLICY("job.wr_rate / port.tx_rate > 5us", "job.level = 1", UNDO), "f:4:21: a rate divided by a speed has no meaning here");
	says(POLICY("job.class + 1 > 5", "job.level = 1", UNDO), "f:4:19: a class cannot be calculated with");
	says(POLICY("(port.util > 80%) > 1", "job.level = 1", UNDO), "f:4:9: '(port.util > 80%)' is true or false, and a number is expected here");
	says(POLICY("5 rising", "job.level = 1", UNDO), "f:4:9: this neither rises nor falls");
	says(POLICY("port.util > 80% for 5", "job.level = 1", UNDO), "f:4:29: after 'for' comes a time, as in 5us (ns, us, ms or s)");
	says(POLICY("port.util > 80% for 5msec", "job.level = 1", UNDO), "f:4:30: unknown unit 'msec'; write 'ms'");
	says(POLICY("max(qp.wr_rate) > 1/s", "job.level = 1", UNDO), "f:4:23: 'over' is expected here, as in 'max(qp.queue_delay over qps of uar)'");
	says(POLICY("max(qp.wr_rate over uar) > 1/s", "job.level = 1", UNDO), "f:4:29: objects are expected here: qps, uars, ports or jobs");
	says(POLICY("count(uars of job) > 1", "job.level = 1", UNDO), "f:4:9: no uars belong to a job; possible are qps of uar, port, dev or job, uars of dev, ports of dev or job, jobs of port");
	says(POLICY("max(qp.wr_rate over uars of dev) > 1/s", "job.level = 1", UNDO), "f:4:9: the uars of a dev are not of one of these each; look at what a uar belongs to");
	says(POLICY("count(qps of uar where count(qps of uar) > 1) > 1", "job.level = 1", UNDO), "f:4:32: a quantifier within a quantifier is not possible");
	says(POLICY("count(qps of uar where qp.wr_rate rising) > 1", "job.level = 1", UNDO), "f:4:32: rising and falling are not possible within a quantifier, which keeps no state of its objects");
	says(POLICY("count(qps of uar where qp.wr_rate > 1/s for 5ms) > 1", "job.level = 1", UNDO), "f:4:32: 'for' is not possible within a quantifier, which keeps no state of its objects");
	says(POLICY("count(qps of zebra) > 1", "job.level = 1", UNDO), "f:4:22: an object is expected here: uar, port, dev or job");
	says(POLICY("count(qps) > 1", "job.level = 1", UNDO), "f:4:18: 'of' and an object are expected here, as in 'qps of uar'");
	says(POLICY("count(qps of uar > 1", "job.level = 1", UNDO), "f:4:26: ')' is expected here");
	says(POLICY("count qps > 1", "job.level = 1", UNDO), "f:4:15: write 'count(qps of uar)'");
	says(POLICY("max qps > 1", "job.level = 1", UNDO), "f:4:13: write 'max(qp.queue_delay over qps of uar)'");
	long_says(many("policies:\n- name: p\n  for: job\n  when: ", 25, "not ", "job.qps > 1\n  do: job.level = 1\n" UNDO), "f:4:105: nested too deeply");
	/* Fewer parentheses than that, but more numbers than an evaluation keeps. */
	says(POLICY("1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (job.qps))))))))) > 5", "job.level = 1", UNDO), "f:4:76: nested too deeply");
	accepts(POLICY("1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (1 + 2 * (job.qps))))))) > 5", "job.level = 1", UNDO));
	says(POLICY("((((((((((((((((((((((((((port.util > 80%))))))))))))))))))))))))))", "job.level = 1", UNDO), "f:4:21: nested too deeply");
}

/* Three policies whose state is 80 % and @n more, numbered on. */
static char *three(unsigned int n, const char *item)
{
	char *text = NULL, *more;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	unsigned int i;

	assert_non_null(f);
	fprintf(f, "policies:\n");
	for (i = 1; i <= 3; i++) {
		char numbered[128];
		size_t to = 0;
		const char *s;

		/* 10, 11, ...; 20, 21, ... */
		for (s = item; *s && to + 2 < sizeof(numbered); s++) {
			if (*s == '#')
				numbered[to++] = (char)('0' + i);
			numbered[to++] = *s;
		}
		numbered[to] = '\0';
		more = many("port.util > 80%", n, numbered, "");
		fprintf(f, "- name: p%u\n  for: job\n  when: %s\n  do: job.level = 1\n%s", i,
			more, UNDO);
		free(more);
	}
	fclose(f);
	return text;
}

/* What a state, an action or a file has no room for. */
static void test_room(void **state)
{
	static const char head[] = "policies:\n- name: p\n  for: job\n  when: ";
	char *sum, *item;
	size_t len = 0;
	FILE *f;

	(void)state;
	long_says(many(head, 97, "1 + ", "job.qps > 5\n  do: job.level = 1\n" UNDO), "f:4:9: too long; split it into several policies");
	long_says(many(head, 16, "job.qps == # or ", "job.qps == 99\n  do: job.level = 1\n" UNDO), "f:4:9: too many alternatives; make several policies of it");
	says(POLICY("(job.qps == 1 or job.qps == 2 or job.qps == 3 or job.qps == 4 or job.qps == 5) and (job.level == 1 or job.level == 2 or job.level == 3 or job.level == 4)", "job.level = 1", UNDO), "f:4:9: too many alternatives; make several policies of it");
	long_says(many(head, 32, "job.qps != # and ", "job.qps > 99\n  do: job.level = 1\n" UNDO), "f:4:9: too many alternatives; make several policies of it");
	long_says(three(30, " and job.qps != #"), "f:14:101: more than 64 different conditions on one kind of object; split up the file");
	long_says(three(10, " and (job.qps rising and job.level falling) for #s"), "f:14:100: more than 64 of rising, falling and for on one kind of object; split up the file");
	long_says(three(25, " and count(qps of uar where qp.wr_rate > #/s) > 1"), "f:14:733: more than 64 different quantifiers; split up the file");
	long_says(many("policies:\n", 257, "- {name: p#, for: job, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", ""), "f:2:1: 257 policies; at most 256 are possible: one policy 'for: job of class latency' covers all jobs of that class");
	sum = many("job.max_qps = job.qps", 94, " + job.qps", "");
	f = open_memstream(&item, &len);
	assert_non_null(f);
	fprintf(f, "- {name: p#, for: job, when: port.util > 80%%, do: %s, undo: {when: port.util < 60%%, do: %s}}\n", sum, sum);
	fclose(f);
	long_says(many("policies:\n", 256, item, ""), "f:175:53: the policies are too long together; split up the file");
	free(sum);
	free(item);
}

static void test_actions(void **state)
{
	(void)state;
	says(POLICY("port.util > 80%", "zebra = 1", UNDO), "f:5:7: unknown knob 'zebra'; there are job.level, job.max_qps, job.create_rate, job.bit_rate, job.wr_rate, job.weight, job.credits, job.place, job.qps and qp.uar");
	says(POLICY("port.util > 80%", "job.level += latency", UNDO), "f:5:20: job.level: 'latency' is not a number; it should be a plain number, as in 512");
	says(POLICY("port.util > 80%", "job.level +=", UNDO), "f:5:19: job.level: a value is missing; it should be a plain number, as in 512");
	says(POLICY("port.util > 80%", "job.level = 1, job.max_qps = 1, job.create_rate = 1/s, job.weight = 1, job.credits = 1", UNDO), "f:5:78: more than 4 knobs; make it two policies");
	says(POLICY("port.util > 80%", "job.levelx += 1", UNDO), "f:5:7: unknown knob 'job.levelx'; did you mean 'job.level'?");
	says(POLICY("port.util > 80%", "job.level = 8", UNDO), "f:5:19: job.level = 8 is out of range; it is 0 to 7");
	says(POLICY("port.util > 80%", "job.level += 0", UNDO), "f:5:20: a step of 0 is out of range; it is above 0 and at most 7");
	says(POLICY("port.util > 80%", "job.level += 0.5", UNDO), "f:5:20: job.level takes whole numbers only");
	says(POLICY("port.util > 80%", "job.level += 1us", UNDO), "f:5:20: job.level: '1us' is a time; it should be a plain number, as in 512");
	says(POLICY("port.util > 80%", "job.level += job.p99", UNDO), "f:5:20: job.level: 'job.p99' is a time; it should be a plain number, as in 512");
	says(POLICY("port.util > 80%", "job.level ++", UNDO), "f:5:17: after job.level comes '+=', '-=' or '='; for instance 'job.level += 1'");
	says(POLICY("port.util > 80%", "job.level += 1, job.level = 3", UNDO), "f:5:23: job.level is turned twice; keep one of them");
	says(POLICY("port.util > 80%", "job.level += 1 job.weight += 1", UNDO), "f:5:22: 'job.weight += 1' is not understood here; several changes are joined by ','");
	says(POLICY("port.util > 80%", "job.create_rate = 5", UNDO), "f:5:25: job.create_rate: '5' is a plain number; it should be a rate, as in 100/s (/s, k/s, M/s)");
	says(POLICY("port.util > 80%", "migrate to uar 5", UNDO), "f:5:7: write 'migrate to lightest uar'");
	says(POLICY("port.util > 80%", "qp.uar = 5", UNDO), "f:5:7: a QP is not moved to a UAR by its number; write 'migrate to lightest uar'");
	says(POLICY("port.util > 80%", "job.place = 1", UNDO), "f:5:7: job.place is no number; write 'place on lightest uar' or 'place by thread'");
	says(POLICY("port.util > 80%", "place on uar 5", UNDO), "f:5:7: write 'place on lightest uar' or 'place by thread'");
	says(POLICY("port.util > 80%", "place lightest", UNDO), "f:5:7: write 'place on lightest uar' or 'place by thread'");
	says(POLICY("port.util > 80%", "place by threads", UNDO), "f:5:7: write 'place on lightest uar' or 'place by thread'");
	says(POLICY("port.util > 80%", "job.chunk = 4096", UNDO), "f:5:7: unknown knob 'job.chunk'; there are job.level, job.max_qps, job.create_rate, job.bit_rate, job.wr_rate, job.weight, job.credits, job.place, job.qps and qp.uar");
	says(POLICY("port.util > 80%", "place on lightest uar, place by thread", UNDO), "f:5:30: job.place is turned twice; keep one of them");
	says(POLICY("port.util > 80%", "merge qps into 5", UNDO), "f:5:17: 'to' and how many is expected here, as in 'merge to 8'");
	says(POLICY("port.util > 80%", "release job.level", UNDO), "f:5:7: a policy sets a knob, only its undo releases it; write 'job.level += 1'");
	says(POLICY("port.util > 80%", "job.max_qps += 1", UNDO), "f:2:3: policy 'p' steps job.max_qps, which has no value until it is set; use 'job.max_qps = n'");
	says(POLICY("port.util > 80%", "job.level = 1", "  ceiling: 9\n" UNDO), "f:6:12: ceiling 9 is out of range; it is 0 to 7");
	says(POLICY("port.util > 80%", "job.level += 1", "  floor: 4\n  ceiling: 3\n" UNDO), "f:7:12: the ceiling is below the floor; swap them");
	says(POLICY("port.util > 80%", "job.level = 5", "  ceiling: 3\n" UNDO), "f:5:7: the value set is outside floor and ceiling; it would never be reached");
	says(POLICY("port.util > 80%", "job.level += 1, job.max_qps = 5", "  ceiling: 3\n" UNDO), "f:6:12: the policy turns 2 knobs; name the knob, as in 'ceiling: {job.level: 3}'");
	says(POLICY("port.util > 80%", "job.level += 1", "  ceiling: {job.weight: 3}\n" UNDO), "f:6:13: the policy does not turn 'job.weight'");
	says(POLICY("port.util > 80%", "job.level = 5", "  cooldown: soon\n" UNDO), "f:6:13: cooldown: 'soon' is not a number; it should be a time, as in 5us (ns, us, ms or s)");
	says(POLICY("port.util > 80%", "job.level = 5", "  max_steps: 0\n" UNDO), "f:6:14: max_steps 0 is out of range; it is 1 to 1000000");
	says(POLICY("port.util > 80%", "job.level = 5", "  rate: 0/s\n" UNDO), "f:6:9: a rate of 0 would never let it act; leave 'rate:' out for no limit");
	says(POLICY("port.util > 80%", "job.level = 5", "  cause: bad luck\n" UNDO), "f:6:10: 'bad luck' is not a cause; causes are uar, cache, pu, hol and port");
}

/* What this system cannot do is a warning: the rest of the file still works. */
static void warns(const char *text, const char *want)
{
	char line[1024];

	if (!load(text))
		fail_msg("refused: %s", rep.v[0].msg);
	assert_int_equal(rep.warnings, 1);
	diag_line(&rep, 0, line, sizeof(line));
	if (strcmp(line, want))
		fail_msg("\n said: %s\nought: %s", line, want);
	config_free(&cfg);
}

/* On a system where nothing tells job.p99, libraries included. */
static void test_lacking(void **state)
{
	const struct caps here = caps_here(), caps = caps_without_library(&here);
	const char *text;
	char line[1024];

	(void)state;
	diag_init(&rep, "f");
	text = with_levels(POLICY("job.p99 > 50us", "job.level = 1",
				  "  undo: {when: job.p99 < 40us}\n"));
	assert_true(config_load_text_for(&cfg, &caps, text, strlen(text), &rep));
	assert_int_equal(rep.warnings, 1);
	diag_line(&rep, 0, line, sizeof(line));
	assert_string_equal(line, "f:4:9: warning: nothing measures job.p99 here (libswiftrdma does, in the process), and there is no 'fallback:' that works without it: policy 'p' stays idle");
	assert_true(cfg.policies.v[0].off);
	config_free(&cfg);
	text = with_levels(POLICY("job.p99 > 50us", "job.level = 1",
				  "  fallback: port.util > 80%\n  undo: {when: job.p99 < 40us, fallback: port.util < 60%}\n"));
	assert_true(config_load_text_for(&cfg, &caps, text, strlen(text), &rep));
	assert_true(cfg.texts[0].by_fallback);
	assert_string_equal(cfg.texts[0].library, "");
	config_free(&cfg);
}

/* One state that is asked where the first is unknown, or several, in this order. */
static void test_fallbacks(void **state)
{
	const struct caps here = caps_here(), caps = caps_without_library(&here);
	const char *text;

	(void)state;
	assert_true(load(POLICY("job.p99 > 50us", "job.level = 1",
				"  fallback: port.util > 80%\n  undo: {when: job.p99 < 40us}\n")));
	assert_int_equal(cfg.policies.v[0].n_fallback, 1);
	assert_string_equal(cfg.texts[0].fallback[0], "port.util > 80%");
	assert_null(cfg.texts[0].fallback[1]);
	config_free(&cfg);
	text = with_levels(POLICY("job.p99 > 50us", "job.level = 1",
				  "  fallback: [job.p50 > 20us, port.util > 80%]\n"
				  "  undo:\n    when: job.p99 < 40us\n    fallback:\n    - job.p50 < 9us\n    - port.util < 60%\n"));
	diag_init(&rep, "f");
	assert_true(config_load_text_for(&cfg, &caps, text, strlen(text), &rep));
	assert_int_equal(rep.warnings, 0);
	assert_int_equal(cfg.policies.v[0].n_fallback, 2);
	assert_string_equal(cfg.texts[0].fallback[0], "job.p50 > 20us");
	assert_string_equal(cfg.texts[0].fallback[1], "port.util > 80%");
	assert_int_equal(cfg.texts[0].lacks[0], SIG_JOB_P50);
	assert_int_equal(cfg.texts[0].lacks[1], SIGNALS);
	assert_true(cfg.texts[0].by_fallback);
	assert_false(cfg.policies.v[0].off);
	assert_int_equal(cfg.policies.v[0].n_undo_fallback, 2);
	assert_string_equal(cfg.texts[0].undo_fallback[1], "port.util < 60%");
	assert_null(cfg.texts[0].undo_fallback[2]);
	config_free(&cfg);
	says(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: [port.util > 80%, port.utl > 80%]\n" UNDO),
	     "f:6:31: unknown signal 'port.utl'; did you mean 'port.util'?");
	says(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: [port.util > 80%, job.qps < 0]\n" UNDO),
	     "f:6:31: this state is never true: its clauses contradict each other");
	says(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: []\n" UNDO),
	     "f:6:13: fallback is a state, or a list of 1 to 4 states in the order in which they are asked, not of 0");
	says(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: [job.qps > 1, job.qps > 2, job.qps > 3, job.qps > 4, job.qps > 5]\n" UNDO),
	     "f:6:13: fallback is a state, or a list of 1 to 4 states in the order in which they are asked, not of 5");
	says(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: [[job.qps > 1]]\n" UNDO),
	     "f:6:14: fallback is a single value, not a list");
	says(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: {when: job.qps > 1}\n" UNDO),
	     "f:6:13: fallback is a single value, not a map");
}

static void test_warnings(void **state)
{
	(void)state;
	warns(POLICY("job.p99 > 50us", "job.level = 1", "  undo: {when: job.p99 < 40us}\n"),
	      "f:4:9: warning: only libswiftrdma, in a job's processes, measures job.p99, and there is no 'fallback:' that works without it: for jobs without the library, the state of policy 'p' is unknown");
	warns(POLICY("port.util > 80%", "job.qps = 8", UNDO),
	      "f:5:7: warning: nothing enforces job.qps here (libswiftrdma would): policy 'p' stays idle");
	warns(POLICY("port.util > 80%", "job.level = 1", "  undo: {when: job.p99 < 5us and port.util < 60%}\n"),
	      "f:6:16: warning: only libswiftrdma, in a job's processes, measures job.p99, and there is no 'fallback:' that works without it: for jobs without the library, the state of policy 'p' is unknown");
	warns(POLICY("port.util rising", "job.level = 1", "  undo: {when: job.qps < 5}\n"),
	      "f:6:16: warning: undo's state may be true at the same time as the policy's, which then goes first; exclude it, or give undo a 'hold: 1s'");
	warns(POLICY("port.util > 80%", "job.level += 1", UNDO)
	      "- {name: q, for: job, when: job.qps > 5, do: job.level -= 1, undo: {when: job.qps < 3}}\n",
	      "f:7:3: warning: policies 'p' and 'q' pull job.level in opposite directions and can both be true; exclude one, or give each a 'rank:'");
	/* Where an alternative, or a fallback, can do without: nothing to say. */
	assert_true(load(POLICY("port.util > 80% or job.p99 > 50us", "job.level = 1", "  undo: {when: port.util < 60% and job.p99 < 40us, fallback: port.util < 60%}\n")));
	assert_int_equal(rep.warnings, 0);
	config_free(&cfg);
	assert_true(load(POLICY("job.p99 > 50us", "job.level = 1", "  fallback: port.util > 80%\n  undo: {when: job.p99 < 40us, fallback: port.util < 60%}\n")));
	assert_int_equal(rep.warnings, 0);
	assert_false(cfg.texts[0].by_fallback);
	assert_string_equal(cfg.texts[0].library, "job.p99");
	config_free(&cfg);
	/* An order between the two, by rank or because they exclude each other. */
	assert_true(load(POLICY("port.util > 80%", "job.level += 1", "  rank: 2\n" UNDO)
		    "- {name: q, for: job, when: job.qps > 5, do: job.level -= 1, rank: 1, undo: {when: job.qps < 3}}\n"));
	assert_int_equal(rep.warnings, 0);
	assert_string_equal(cfg.policies.v[0].name, "q");
	config_free(&cfg);
}

/* What can never come true, or be done, or be for anybody: a mistake, but not a broken file. */
static void test_never(void **state)
{
	static const char range[] = "this state is never true: no reading can reach it; a ratio is at most 100 %, a level at most 7";
	char line[400];

	(void)state;
	snprintf(line, sizeof(line), "f:4:9: warning: %s", range);
	warns(POLICY("dev.mtt_miss > 100%", "job.level = 1", "  undo: {when: dev.mtt_miss < 50%}\n"), line);
	warns(POLICY("uar.coactive > 100%", "job.level = 1", "  undo: {when: uar.coactive < 50%}\n"), line);
	warns(POLICY("job.level > 7", "job.max_qps = 9", "  undo: {when: job.level < 2}\n"), line);
	snprintf(line, sizeof(line), "f:6:13: warning: %s", range);
	warns(POLICY("port.util > 80%", "job.level = 1", "  fallback: dev.mtt_miss > 100%\n" UNDO), line);
	/* There may be more of a port than the file says, and as many QPs as anybody likes. */
	assert_true(load(POLICY("port.util > 99%", "job.level = 1", UNDO)));
	assert_int_equal(rep.warnings, 0);
	config_free(&cfg);
	assert_true(load(POLICY("job.qps > 1000000", "job.level = 1", "  undo: {when: job.qps < 4}\n")));
	assert_int_equal(rep.warnings, 0);
	config_free(&cfg);
	assert_true(load(POLICY("uar.coactive >= 100%", "job.level = 1", "  undo: {when: uar.coactive < 50%}\n")));
	assert_int_equal(rep.warnings, 0);
	config_free(&cfg);
	/* Between two counts that follow one another there is none. */
	says(POLICY("job.qps > 4 and job.qps < 5", "job.level = 1", UNDO), "f:4:9: this state is never true: its clauses contradict each other");
	assert_true(load(POLICY("job.qps > 4 and job.qps < 6", "job.level = 1", "  undo: {when: job.qps < 4}\n")));
	config_free(&cfg);

	warns(POLICY("port.util > 80%", "job.weight += 1", "  ceiling: 1\n" UNDO),
	      "f:6:12: warning: the policy never changes anything: job.weight starts at that bound");
	warns(JOB "policies:\n- {name: p, for: job of class throughput or balanced, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n",
	      "f:4:3: warning: policy 'p' is for 'job of class throughput or balanced', and this file has no such job; the policy waits for a job that is set by hand, as by 'swiftrdma job set'");
	assert_true(load(JOB "policies:\n- {name: p, for: job of class throughput or latency, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n"));
	assert_int_equal(rep.warnings, 0);
	config_free(&cfg);
}

/* The line itself and a caret below, on the right column. */
static void test_caret(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_false(load("policies:\n- name: p\n\n  for: job\n  when: port.utl > 80%\n  do: job.level = 1\n" UNDO));
	assert_non_null(f);
	diag_print(&rep, f);
	fclose(f);
	assert_string_equal(text,
			    "f:5:9: unknown signal 'port.utl'; did you mean 'port.util'?\n"
			    "      when: port.utl > 80%\n"
			    "            ^\n");
	free(text);
}

static void test_bindings(void **state)
{
	(void)state;
	says("policies:\n- {name: p, for: qp, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:2:18: 'qp': a policy is for 'job', 'job of class latency or balanced' or 'job NAME'");
	says("policies:\n- {name: p, for: job of class quick, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:2:31: 'quick' is not a job class: latency, balanced, throughput, best-effort");
	says(JOB "policies:\n- {name: p, for: job kw, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:4:3: policy 'p' is for job 'kw', which is not under 'jobs:'; did you mean 'kv'?");
	says("policies:\n- {name: p, for: job of kind a, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:2:25: after 'job of' comes 'class' and its name");
	says(JOB "policies:\n- {name: p, for: job zebra, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:4:3: policy 'p' is for job 'zebra', which is not under 'jobs:'; add it there");
	says("policies:\n- {name: p, for: job aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:2:22: a job's name has at most 31 characters");
	says("policies:\n- {name: p, for: job kv only, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:2:25: 'only' is not understood here; a policy is for 'job', 'job of class latency or balanced' or 'job NAME'");
	says("policies:\n- {name: p, for: job, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n- {name: p, for: job, when: dev.qps > 5, do: job.weight = 9, undo: {when: dev.qps < 3}}\n", "f:3:10: policy 'p' is already defined in line 2; choose another name");
	says("policies:\n- {name: p q, for: job, when: port.util > 80%, do: job.level = 1, undo: {when: port.util < 60%}}\n", "f:2:11: 'p q': a policy's name is made of letters, digits and _ . - only");
	says("policies:\n- {for: job}\n", "f:2:3: a policy lacks 'name:'; for instance 'name: port'");
}

static void test_undo(void **state)
{
	(void)state;
	says(POLICY("port.util > 80%", "job.level = 1", ""), "f:2:3: a policy lacks 'undo:'; for instance 'undo: {when: port.util < 60%, hold: 1s}'");
	says(POLICY("port.util > 80%", "job.level = 1", "  undo: {hold: 1s}\n"), "f:6:9: undo lacks 'when:'; for instance 'when: port.util < 60%'");
	says(POLICY("port.util > 80%", "job.level = 1", "  undo: {when: port.util < 90%}\n"), "f:6:16: undo's state can be true at the same time as the policy's; exclude it, as 'port.util < 60%' does 'port.util > 80%'");
	says(POLICY("port.util > 80%", "job.level = 1", "  undo: {when: job.qps < 90}\n"), "f:6:16: undo's state can be true at the same time as the policy's; exclude it, as 'port.util < 60%' does 'port.util > 80%'");
	says(POLICY("port.util > 80%", "job.level = 1", "  undo: {when: port.util <= 80%}\n"), "f:6:16: no gap between the policy's state and undo's: the knob would flap; leave a gap or give undo a 'hold: 1s'");
	says(POLICY("port.util > 80%", "job.level = 1", "  undo: {when: port.util < 60%, do: release job.max_qps}\n"), "f:6:37: undo does not turn the knob of the policy; it must turn job.level");
	says(POLICY("port.util > 80%", "job.level += 1", "  undo: {when: port.util < 60%, do: job.level += 1}\n"), "f:6:37: undo steps in the same direction as the policy; it should step the other way");
	assert_true(load(POLICY("port.util > 80%", "job.level = 1", "  undo: {when: port.util <= 80%, hold: 1s}\n")));
	config_free(&cfg);
	assert_true(load(POLICY("dev.qps > 5", "job.level = 1", "  undo: {when: dev.qps <= 5}\n")));
	config_free(&cfg);
}

/* Several mistakes are told at once, in the order of the file. */
static void test_several(void **state)
{
	char line[1024];

	(void)state;
	assert_false(load("agent: {rank: 300}\nlevels:\n- {level: 9, dscp: 1}\njobz: []\n"));
	assert_int_equal(rep.total, 3);
	assert_non_null(strstr(diag_line(&rep, 0, line, sizeof(line)), "f:1:15:"));
	assert_non_null(strstr(diag_line(&rep, 1, line, sizeof(line)), "f:3:11:"));
	assert_non_null(strstr(diag_line(&rep, 2, line, sizeof(line)), "f:4:1:"));
}

/* Of many the first are told, and how many there are. */
static void test_too_several(void **state)
{
	char *text = many("", 20, "k#: 1\n", ""), *said = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&said, &len);

	(void)state;
	assert_false(load(text));
	assert_int_equal(rep.total, 20);
	assert_non_null(f);
	diag_print(&rep, f);
	fclose(f);
	assert_non_null(strstr(said, "f:16:1: unknown key 'k15' in a policy file; "));
	assert_null(strstr(said, "f:17:1:"));
	assert_string_equal(strrchr(said, '^'), "^\nf: and 4 more\n");
	free(said);
	free(text);
}

static void test_bounds(void **state)
{
	size_t n = DOC_BYTES_MAX + 1, i;
	char *text = malloc(n + 1);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', n);
	text[n] = '\0';
	says(text, "f: 1048577 bytes; a policy file has at most 1048576");
	for (i = 0; i + 2 < 200000; i += 2)
		memcpy(text + i, i ? "1," : "[ ", 2);
	text[i] = '\0';
	says(text, "f:1:131073: more than 65536 values in one file; split it up");
	free(text);
	diag_init(&rep, "/nonexistent");
	assert_false(config_load_file(&cfg, "/nonexistent", &rep));
	assert_string_equal(rep.v[0].msg, "No such file or directory");
	diag_init(&rep, "/");
	assert_false(config_load_file(&cfg, "/", &rep));
	assert_string_equal(rep.v[0].msg, "Is a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_levels_needed),
		cmocka_unit_test(test_levels_and_ports),
		cmocka_unit_test(test_jobs),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_warnings), cmocka_unit_test(test_lacking),
		cmocka_unit_test(test_fallbacks),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_caret),
		cmocka_unit_test(test_bindings),
		cmocka_unit_test(test_undo),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_too_several),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
