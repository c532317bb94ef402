// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What qp explain says, from made-up snapshots. */
#include <errno.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/qp_explain.c"
#include "unit/cli_rig.h"

static struct explain e;

/* Process 100 has four QPs on UAR 1 and one on UAR 2, on an mlx5 device. */
static void scene(struct made *m, uint64_t ms)
{
	struct snap_dev *d;

	made_init(m, ms);
	d = made_dev(m, 0);
	strcpy(d->name, "mlx5_0");
	strcpy(d->provider, "mlx5");
	d->qps = 5;
	d->caps = SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS |
		  SWIFTRDMA_DEV_CAP_UARS;
	made_port(m, 0, 0)->link_layer = 1;
	made_uar(m, 0, 27)->qps = 4;
	made_uar(m, 0, 28)->qps = 1;
	for (uint32_t i = 0; i < 5; i++) {
		struct snap_qp *qp = made_qp(m, 0, 100 + i, 1);

		qp->has &= ~SNAP_DOORBELLS;
		qp->has |= SNAP_CLASS;
		qp->uar = i < 4 ? 27 : 28;
		qp->sl_asked = 2;
		qp->sl = 2;
	}
	for (uint32_t i = 0; i < 2; i++) {
		m->uars[i].kind = SWIFTRDMA_UAR_KIND_DYNAMIC;
		m->uars[i].has = SNAP_WRS | SNAP_OWNERS;
		m->uars[i].threads = 3;
	}
	m->s.n_owners = 1;
	m->owners[0].pid = 100;
	strcpy(m->owners[0].comm, "kv\x1b[2J");
	strcpy(m->owners[0].cgroup, "/kv");
	made_job(m, 0, "unassigned", 0);
	made_job(m, 1, "kv", 1);
}

static void post(size_t qp, uint64_t wrs)
{
	is.qps[qp].wrs += wrs;
	is.uars[qp < 4 ? 0 : 1].wrs += wrs;
}

static int setup(void **state)
{
	(void)state;
	scene(&was, 1000);
	scene(&is, 2000);
	memset(&e, 0, sizeof(e));
	rig_begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_end();
	return 0;
}

static void explain(size_t qp)
{
	struct reading rd;

	rig_read();
	e.qp = qp;
	rd = cli_reading(&cli);
	explain_qp(&rd, &e);
}

static bool said(enum explain_topic topic, const char *text)
{
	for (size_t i = 0; i < e.n; i++)
		if (e.line[i].topic == topic && strstr(e.line[i].text, text))
			return true;
	return false;
}

static void must_say(enum explain_topic topic, const char *text)
{
	if (said(topic, text))
		return;
	for (size_t i = 0; i < e.n; i++)
		print_message("%s: %s\n", explain_topics[e.line[i].topic],
			      e.line[i].text);
	fail_msg("%s: nothing says '%s'", explain_topics[topic], text);
}

static void crowded(void **state)
{
	(void)state;
	post(0, 1000);
	post(1, 3000);
	is.ports[0].tx_bytes = 625000000;
	e.environment = "MLX5_SHUT_UP_BF=1";
	explain(0);
	must_say(EXPLAIN_QP, "QP 100 of mlx5_0, RC, RTS: of kv?[2J, pid 100");
	must_say(EXPLAIN_QP, "job kv, cgroup /kv");
	must_say(EXPLAIN_UAR, "27 (a page of the NIC, which its library asked for), with 3 other QPs, made by 3 threads");
	must_say(EXPLAIN_UAR, "2 of them posted work");
	must_say(EXPLAIN_UAR, "its process has 5 QPs on 2 UARs");
	must_say(EXPLAIN_UAR, "sets MLX5_SHUT_UP_BF=1");
	must_say(EXPLAIN_CLASS, "asked for service level 2");
	must_say(EXPLAIN_CLASS, "no level is forced");
	must_say(EXPLAIN_RATE, "1000/s blocks of 64 bytes in its send queue");
	must_say(EXPLAIN_RATE, "that is 25 % of the 4000/s of its UAR");
	must_say(EXPLAIN_CONTENTION, "UAR: yes, two or more of its 4 QPs advanced in 100 % of the readings (uar_contended: 50 %)");
	must_say(EXPLAIN_CONTENTION, "port: none, mlx5_0/1 is 50 % busy, of 10 Gbit/s (port_busy: 80 %)");
	must_say(EXPLAIN_UNTOLD, "doorbells: this device's provider does not count them");
	must_say(EXPLAIN_UNTOLD, "which threads post");
	must_say(EXPLAIN_UNTOLD, "NIC's cache: this device does not report it");
	must_say(EXPLAIN_UNTOLD, "stalls of PCIe: this device does not report it");
	must_say(EXPLAIN_ADVICE, "MLX5_TOTAL_UUARS=512");
	must_say(EXPLAIN_ADVICE, "take MLX5_SHUT_UP_BF out");
	must_say(EXPLAIN_ADVICE, "thread domain");
}

static void alone(void **state)
{
	(void)state;
	post(4, 1000);
	post(0, 10);
	explain(4);
	must_say(EXPLAIN_UAR, "28 (a page of the NIC, which its library asked for), alone");
	must_say(EXPLAIN_CONTENTION, "UAR: none, no other QP rings it");
	must_say(EXPLAIN_ADVICE, "nothing: there is no sign of contention");
	assert_false(said(EXPLAIN_UNTOLD, "which threads post"));
}

static void in_turns(void **state)
{
	(void)state;
	post(0, 1000);
	explain(0);
	must_say(EXPLAIN_CONTENTION, "UAR: hardly any");
	must_say(EXPLAIN_ADVICE, "nothing: there is no sign of contention");
}

static void forced(void **state)
{
	(void)state;
	is.qps[0].has |= SNAP_LEVEL | SNAP_CLASS_ERROR;
	is.qps[0].level = 5;
	is.qps[0].class_pending = true;
	is.qps[0].class_error = -EOPNOTSUPP;
	is.ports[0].tx_bytes = 1250000000;
	explain(0);
	must_say(EXPLAIN_CLASS, "level 5 is forced");
	must_say(EXPLAIN_CLASS, "service level 2 is programmed, and cannot be changed yet: its class is set when it is connected, not later");
	must_say(EXPLAIN_CONTENTION, "port: yes, mlx5_0/1 is 100 % busy");
	must_say(EXPLAIN_ADVICE, "raise the class of its job");
	/* On Ethernet the same is a traffic class. */
	is.ports[0].link_layer = 2;
	is.qps[0].class_pending = false;
	is.qps[0].tclass = 96;
	is.qps[0].udp_sport = 50000;
	is.qps[0].lag_port = 2;
	explain(0);
	must_say(EXPLAIN_CLASS, "its UDP source port is set to 50000");
	must_say(EXPLAIN_CLASS, "it is set to send through port 2 of the NIC's link aggregation");
	must_say(EXPLAIN_CLASS, "traffic class 96 is programmed");
}

/* Whatever is not told has its reason. */
static void absent(void **state)
{
	(void)state;
	is.qps[0].has = SNAP_ABSENT | SNAP_UAR | SNAP_OWNER;
	is.qps[0].wrs_absent = SWIFTRDMA_ABSENT_NO_PAGE;
	explain(0);
	must_say(EXPLAIN_QP, "in a state unknown");
	must_say(EXPLAIN_CLASS, "none known: it has not been connected");
	must_say(EXPLAIN_UNTOLD, "work requests: the page with its doorbell record cannot be held");
	must_say(EXPLAIN_UNTOLD, "contention on a port: it has none before it is in state INIT");
	is.qps[0].has = SNAP_OWNER;
	strcpy(is.devs[0].provider, "generic");
	explain(0);
	must_say(EXPLAIN_UAR, "unknown: nothing tells which UAR");
	must_say(EXPLAIN_UNTOLD, "contention on a UAR: it is not known which");
	must_say(EXPLAIN_UNTOLD, "work requests: doorbells of this device bypass the kernel");
	is.qps[0].has = 0;
	explain(0);
	must_say(EXPLAIN_QP, "an unknown process");
}

static void device_signals(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		(i ? &is : &was)->devs[0].has = SNAP_CONGESTION | SNAP_MTT |
						SNAP_UAR_LIMIT;
	is.devs[0].congestions = 5;
	is.devs[0].mtt_hits = 70;
	is.devs[0].mtt_misses = 30;
	is.devs[0].uars = 500;
	is.devs[0].uar_limit = 512;
	is.qps[0].wrs_ambiguous = true;
	post(0, 1000);
	explain(0);
	must_say(EXPLAIN_CONTENTION, "doorbells of the device: yes, congestion was raised 5/s");
	must_say(EXPLAIN_CONTENTION, "cache: yes, 30 % of its lookups of translations miss (miss_high: 30 %)");
	must_say(EXPLAIN_CONTENTION, "nearly all in use, 500 of 512");
	must_say(EXPLAIN_RATE, "may have wrapped unseen");
}

static bool verdict(const char *text)
{
	explain(0);
	return said(EXPLAIN_CONTENTION, text);
}

/* Every verdict is by a bound of the policies: those of the file that is run by. */
static void same_bounds(void **state)
{
	struct criteria *c = &cli.running.cfg.criteria;
	struct signal_speed speed = { .dev = "mlx5_0", .port = 1, .speed = 5000000000 };

	(void)state;
	cli.looked = true;
	criteria_init(c);
	is.devs[0].has = was.devs[0].has = SNAP_MTT | SNAP_PCIE;
	is.devs[0].pcie_stalled_reads = 9;
	is.devs[0].mtt_hits = 75;
	is.devs[0].mtt_misses = 25;
	is.devs[0].qps = 600;
	is.ports[0].tx_bytes = 625000000;
	assert_true(verdict("port: none, mlx5_0/1 is 50 % busy"));
	assert_true(verdict("cache: some, 25 %"));
	assert_true(verdict("cache: with 600 QPs and 0 MRs, the contexts may not fit into it (qps_warn: 512)"));
	assert_true(verdict("PCIe: hardly any, stalled 9 % of the time (pcie_stalled: 10 %)"));
	assert_false(verdict("bounds and port speeds are those of"));
	for (size_t i = 0; i < c->n; i++) {
		struct criterion *cr = &c->v[i];

		if (!strcmp(cr->name, "port_busy"))
			cr->v = 0.4;
		if (!strcmp(cr->name, "miss_high"))
			cr->v = 0.2;
		if (!strcmp(cr->name, "qps_warn"))
			cr->v = 1000;
		if (!strcmp(cr->name, "pcie_stalled"))
			cr->v = 0.05;
	}
	cli.running.pid = 212;
	strcpy(cli.running.file, "/p.yaml");
	assert_true(verdict("port: yes, mlx5_0/1 is 50 % busy, of 10 Gbit/s (port_busy: 40 %)"));
	assert_true(verdict("cache: yes, 25 % of its lookups of translations miss (miss_high: 20 %)"));
	assert_true(verdict("PCIe: yes, stalled 9 % of the time (pcie_stalled: 5 %)"));
	assert_false(verdict("QPs and 0 MRs are many"));
	assert_true(verdict("bounds and port speeds are those of /p.yaml, which the agent uses (pid 212)"));
	/* A port is as fast as that file says. */
	cli.running.cfg.speeds = &speed;
	cli.running.cfg.n_speeds = 1;
	assert_true(verdict("port: yes, mlx5_0/1 is 100 % busy, of 5 Gbit/s"));
	cli.running.cfg.speeds = NULL;
}

/* Between the two bounds of a UAR there is some. */
static void some(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct snap_uar *uar = &(i ? &is : &was)->uars[0];

		uar->has |= SNAP_SWEEPS;
		uar->sweeps = 100 * i;
		uar->active = 100 * i;
		uar->coactive = 40 * i;
	}
	post(0, 1000);
	explain(0);
	must_say(EXPLAIN_CONTENTION, "UAR: some, two or more of its 4 QPs advanced in 40 % of the readings (uar_contended: 50 %)");
	must_say(EXPLAIN_ADVICE, "MLX5_TOTAL_UUARS=512");
	is.uars[0].coactive = 15;
	explain(0);
	must_say(EXPLAIN_CONTENTION, "UAR: hardly any, two or more of its QPs advanced in 15 % of the readings (uar_calm: 20 %)");
	must_say(EXPLAIN_ADVICE, "nothing: there is no sign of contention");
}

/* The kernel's looks at the queue of a QP: all of them found so many blocks. */
static void look(size_t qp, uint64_t looks, uint64_t found)
{
	was.qps[qp].has |= SNAP_LOOKS;
	is.qps[qp].has |= SNAP_LOOKS;
	is.qps[qp].outstanding_samples = looks;
	is.qps[qp].outstanding_sum = looks * found;
	is.qps[qp].outstanding_squares = looks * found * found;
}

static void mixed_requests(void **state)
{
	(void)state;
	look(0, 100, 2);
	post(0, 1000);
	is.qps[0].has |= SNAP_REQUESTS;
	is.qps[0].request_changes = 1;
	explain(0);
	assert_false(said(EXPLAIN_LATENCY, "a request is in the send queue"));
	must_say(EXPLAIN_UNTOLD, "how long a request is in the send queue: its requests do not all take the same number of blocks");
}

/* What the kernel measures does not take the library. */
static void queue_latency(void **state)
{
	(void)state;
	made_stat(&was.jobs[1], 0, 5);
	made_stat(&is.jobs[1], 0, 5);
	look(0, 100, 2);
	look(1, 100, 2);
	post(0, 1000);
	post(1, 3000);
	explain(0);
	must_say(EXPLAIN_LATENCY, "a request is in the send queue for 2 ms on average, as the kernel measured");
	/* Two blocks in each of five queues, 4000 in a second. */
	must_say(EXPLAIN_LATENCY, "a request of its job is in a send queue for 2.5 ms on average, as the kernel measured");
	must_say(EXPLAIN_UNTOLD, "p99, outstanding requests and what waits behind others: libswiftrdma would tell them, and is not in its process");
	assert_false(said(EXPLAIN_UNTOLD, "how long a request is in the send queue"));
	/* Why it is not told. */
	explain(2);
	assert_false(said(EXPLAIN_LATENCY, "a request is in the send queue"));
	must_say(EXPLAIN_LATENCY, "a request of its job is in a send queue");
	must_say(EXPLAIN_UNTOLD, "how long a request is in the send queue: the kernel has not looked into the queue yet");
	must_say(EXPLAIN_UNTOLD, "latency, outstanding requests and what waits behind others: libswiftrdma would tell them");
	look(2, 3, 2);
	explain(2);
	must_say(EXPLAIN_UNTOLD, "how long a request is in the send queue: the kernel has not found enough requests in the queue: read for longer (-i)");
	is.qps[2].wrs_ambiguous = true;
	explain(2);
	must_say(EXPLAIN_UNTOLD, "may have wrapped unseen");
	is.qps[2].has &= ~(uint64_t)SNAP_WRS;
	explain(2);
	must_say(EXPLAIN_UNTOLD, "how long a request is in the send queue: the blocks that it posts are not counted");
	/* Another device cannot tell at all. */
	is.devs[0].caps &= ~(uint32_t)SWIFTRDMA_DEV_CAP_WQEBBS;
	explain(2);
	assert_false(said(EXPLAIN_UNTOLD, "how long a request is in the send queue"));
}

/* The other end, as far as it is seen. */
static void peer(void **state)
{
	struct pair one = { 0, 4, PAIR_DIFFER };
	struct pairs pairs = { &one, 1, 1 };

	(void)state;
	is.qps[4].sl = 5;
	e.pairs = &pairs;
	explain(0);
	must_say(EXPLAIN_CLASS, "its peer, QP 104 of mlx5_0, answers in another: service level 5");
	must_say(EXPLAIN_ADVICE, "give both ends the same level");
	explain(4);
	must_say(EXPLAIN_CLASS, "its peer, QP 100 of mlx5_0, answers in another: service level 2");
	explain(1);
	assert_false(said(EXPLAIN_CLASS, "peer") || said(EXPLAIN_UNTOLD, "peer"));
	one.verdict = PAIR_ALIKE;
	explain(0);
	must_say(EXPLAIN_CLASS, "its peer, QP 104 of mlx5_0, answers in the same");
	assert_false(said(EXPLAIN_ADVICE, "both ends"));
	one.peer = PAIR_NONE;
	one.verdict = PAIR_AWAY;
	explain(0);
	must_say(EXPLAIN_UNTOLD, "the class in which its peer answers: the peer is on another host");
}

/* Whether large requests are split, and why not. */
static void pieces(void **state)
{
	struct snap_job_stat *stat = made_stat(&is.jobs[1], 0, 5);
	struct snap_qp_report *r;

	(void)state;
	explain(0);
	for (size_t i = 0; i < e.n; i++)
		assert_int_not_equal(e.line[i].topic, EXPLAIN_PIECES);
	stat->has |= SNAP_CHUNK;
	stat->chunk = 65536;
	explain(0);
	must_say(EXPLAIN_PIECES, "not split at the 64 KiB of its job: libswiftrdma would do that, and is not in its process");
	r = made_qp_report(&is, &is.qps[0]);
	explain(0);
	must_say(EXPLAIN_PIECES, "without room for pieces: each of its requests completes");
	assert_false(said(EXPLAIN_ADVICE, "SWIFTRDMA_CHUNK"));
	e.chunk = "yes";
	explain(0);
	assert_false(said(EXPLAIN_PIECES, "SWIFTRDMA_CHUNK"));
	assert_false(said(EXPLAIN_ADVICE, "SWIFTRDMA_CHUNK"));
	e.chunk = "";
	explain(0);
	must_say(EXPLAIN_PIECES, "started without SWIFTRDMA_CHUNK=yes");
	must_say(EXPLAIN_ADVICE, "start it with SWIFTRDMA_CHUNK=yes");
	r->flags = SWIFTRDMA_SLOT_CHUNK;
	explain(0);
	must_say(EXPLAIN_PIECES, "libswiftrdma posts RDMA READs, and RDMA WRITEs without immediate data, of more than 64 KiB in pieces");
	must_say(EXPLAIN_PIECES, "left whole: all other requests, inline ones");
	assert_false(said(EXPLAIN_PIECES, "not split"));
	assert_false(said(EXPLAIN_ADVICE, "SWIFTRDMA_CHUNK"));
	r->flags |= SWIFTRDMA_SLOT_NO_ORDER;
	explain(0);
	must_say(EXPLAIN_PIECES, "not split at the 64 KiB of its job: libswiftrdma lost the order");
	r->flags = 0;
	is.qps[0].type = 4;
	explain(0);
	must_say(EXPLAIN_PIECES, "not split at the 64 KiB of its job: it is not of type RC");
	assert_false(said(EXPLAIN_ADVICE, "SWIFTRDMA_CHUNK"));
	/* On another device there may be another size, or none. */
	stat->dev = 1;
	explain(0);
	assert_false(said(EXPLAIN_PIECES, "of its job"));
}

/* Both ends of the connection, from each of them. */
static void ends(void **state)
{
	struct snap_qp *qp = &is.qps[0];

	(void)state;
	qp->has |= SNAP_CLASS | SNAP_LEVEL | SNAP_PEER_LEVEL;
	qp->level = qp->peer_level = 3;
	qp->ends = SWIFTRDMA_ENDS_BOTH;
	explain(0);
	must_say(EXPLAIN_CLASS, "both ends are raised: its peer has level 3, as this end wishes");
	qp->ends = SWIFTRDMA_ENDS_NO_AGENT;
	explain(0);
	must_say(EXPLAIN_CLASS, "one-sided: its peer answers in a class of its own, as no agent runs");
	qp->has |= SNAP_PEER_WISH;
	qp->peer_wish = 3;
	qp->follows = true;
	qp->ends = SWIFTRDMA_ENDS_BOTH;
	explain(0);
	must_say(EXPLAIN_CLASS, "its peer wishes level 3, which it has");
	qp->follows = false;
	qp->has &= ~(uint64_t)SNAP_LEVEL;
	qp->ends = SWIFTRDMA_ENDS_NOT_FOLLOWED;
	explain(0);
	must_say(EXPLAIN_CLASS, "its peer wishes level 3, which it does not have: the policy file");
	qp->has &= ~(uint64_t)SNAP_PEER_WISH;
	qp->ends = 0;
	explain(0);
	assert_false(said(EXPLAIN_CLASS, "peer wishes") || said(EXPLAIN_CLASS, "one-sided"));
}

/* Control characters in the environment of a process are replaced, and long settings are cut. */
static void environments(void **state)
{
	char found[256];

	(void)state;
	find_mlx5_settings("A=b\0MLX5_SHUT_UP_BF=\x1b]0;x\a\0MLX5_TOTAL_UUARS=2\0", found,
			   sizeof(found));
	assert_string_equal(found, "MLX5_TOTAL_UUARS=2 MLX5_SHUT_UP_BF=?]0;x?");
	/* As for getenv(), the first entry counts. */
	find_mlx5_settings("MLX5_SHUT_UP_BF=\0MLX5_SHUT_UP_BF=1\0", found, sizeof(found));
	assert_string_equal(found, "MLX5_SHUT_UP_BF=");
	find_mlx5_settings("MLX5_TOTAL_UUARS=123456789012345678901234567890\0", found,
			   sizeof(found));
	assert_string_equal(found, "MLX5_TOTAL_UUARS=12345678901234567890123...");
	find_mlx5_settings("A=b\0", found, sizeof(found));
	assert_string_equal(found, "");
}

static void long_cgroups(void **state)
{
	char text[EXPLAIN_LEN];

	(void)state;
	memset(is.owners[0].cgroup, 'a', SNAP_PATH - 1);
	is.owners[0].cgroup[SNAP_PATH - 1] = '\0';
	memset(is.jobs[1].name, 'j', SNAP_NAME - 1);
	snprintf(text, sizeof(text), "job %s, cgroup %s", is.jobs[1].name, is.owners[0].cgroup);
	explain(0);
	must_say(EXPLAIN_QP, text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(crowded), TEST(alone), TEST(in_turns), TEST(forced),
		TEST(absent), TEST(device_signals), TEST(peer), TEST(ends),
		TEST(same_bounds), TEST(some), TEST(mixed_requests), TEST(queue_latency),
		TEST(pieces),
		TEST(environments), TEST(long_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
