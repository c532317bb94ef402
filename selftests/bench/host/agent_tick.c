// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures a tick of the agent, agent_tick(), on the host: the tick begins with the bytes of the
 * kernel's answers and ends with the bytes of the agent's request. The made-up kernel has 10,000
 * QPs of 100 jobs on 1,000 UARs of one device, with the figures that mlx5 has, and the agent has
 * twenty policies. Before each tick the answers are encoded as the kernel would send them: all
 * devices, ports, UARs and jobs, and the QPs that changed since the reading before the last,
 * because the agent reads into two snapshots in turn. In place of a socket,
 * __wrap_srdma_exchange() below hands over the answer to a request.
 *
 * What recvmsg() does is not the agent's cost, so the copy that stands for it is left out.
 *
 * Times are of the thread's CPU clock, and of each tick the least of several runs counts, as
 * in policy_tick.c. Decisions are not logged.
 *
 *   agent_tick [ROW]	one JSON object a row, as in selftests/bench/run.sh
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/swiftrdma.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "base/array.h"
#include "bench/host/twenty_policies.h"
#include "io/conn.h"
#include "policy/caps.h"

#define JOBS		100
#define TICK		100000000ULL	/* ns */
#define SINCE		1000000000ULL	/* when everything was created, ns */
#define DATAGRAM	32768		/* bytes that the kernel sends at a time, at most */
#define FAMILY		NLMSG_MIN_TYPE	/* of the messages of srdma_encode() */
/* Ticks until each signal is known and no array grows any more. */
#define WARM		20

/* --- what is measured ---------------------------------------------------------------- */

enum part { RECEIVE, PARSE, SIGNALS_OF, EVALUATE, ACT, WHOLE, PARTS };

static const char *const part_names[PARTS] = {
	[RECEIVE] = "receive", [PARSE] = "parse", [SIGNALS_OF] = "signals", [EVALUATE] = "evaluate", [ACT] = "act",
};

static double spent[PARTS];	/* us, in this tick */

static double now_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1000;
}

/*
 * Reading the thread's clock is a system call, so parts are measured by one that is none. Of
 * each part, too, the least of all runs counts.
 */
#define MEASURE(part, call) do {				\
	double begin_ = now_us(CLOCK_MONOTONIC);		\
								\
	call;							\
	spent[part] += now_us(CLOCK_MONOTONIC) - begin_;	\
} while (0)

int __real_io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want);
int __wrap_io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want);
int __wrap_io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want)
{
	int err;

	MEASURE(PARSE, err = __real_io_snapshot(io, snap, want));
	return err;
}

int __real_signals_reserve(struct signals *s, const struct snapshot *snap);
int __wrap_signals_reserve(struct signals *s, const struct snapshot *snap);
int __wrap_signals_reserve(struct signals *s, const struct snapshot *snap)
{
	int err;

	MEASURE(SIGNALS_OF, err = __real_signals_reserve(s, snap));
	return err;
}

void __real_signals_update(struct signals *s, const struct snapshot *older,
			   const struct snapshot *newer, const struct signal_opts *opts);
void __wrap_signals_update(struct signals *s, const struct snapshot *older,
			   const struct snapshot *newer, const struct signal_opts *opts);
void __wrap_signals_update(struct signals *s, const struct snapshot *older,
			   const struct snapshot *newer, const struct signal_opts *opts)
{
	MEASURE(SIGNALS_OF, __real_signals_update(s, older, newer, opts));
}

size_t __real_policy_eval(const struct policy_set *set, struct policy_state *st,
			  const struct signals *s, uint64_t now, struct policy_decision *out,
			  size_t cap);
size_t __wrap_policy_eval(const struct policy_set *set, struct policy_state *st,
			  const struct signals *s, uint64_t now, struct policy_decision *out,
			  size_t cap);
size_t __wrap_policy_eval(const struct policy_set *set, struct policy_state *st,
			  const struct signals *s, uint64_t now, struct policy_decision *out,
			  size_t cap)
{
	size_t n;

	MEASURE(EVALUATE, n = __real_policy_eval(set, st, s, now, out, cap));
	return n;
}

int __real_io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
		  const char *origin, const struct snap_action *actions, size_t n,
		  uint64_t *batch);
int __wrap_io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
		  const char *origin, const struct snap_action *actions, size_t n,
		  uint64_t *batch);
int __wrap_io_act(struct io *io, uint64_t *lease, uint32_t ttl_ms, uint32_t rank,
		  const char *origin, const struct snap_action *actions, size_t n,
		  uint64_t *batch)
{
	int err;

	MEASURE(ACT, err = __real_io_act(io, lease, ttl_ms, rank, origin, actions, n, batch));
	return err;
}

/* --- the made-up socket -------------------------------------------------------------- */

static struct srdma_bytes answers;	/* requests and answers of this tick's reading */
static size_t n_acts;			/* actions that were sent */

static int command_of(const struct nlmsghdr *nlh)
{
	return ((const struct genlmsghdr *)nlmsg_data(nlh))->cmd;
}

static size_t count_actions(const struct nlmsghdr *nlh)
{
	const struct nlattr *a = nlmsg_attrdata(nlh, GENL_HDRLEN);
	int left = nlmsg_attrlen(nlh, GENL_HDRLEN);
	size_t n = 0;

	for (; nla_ok(a, left); a = nla_next(a, &left))
		n += nla_type(a) == SWIFTRDMA_A_ACTION;
	return n;
}

/* Messages of the kernel that have not been received yet. */
struct queue {
	const struct nlmsghdr *nlh;
	int left;
};

/* Goes to the request for a dump by @cmd. False: there is none. */
static bool find_request(struct queue *q, int cmd)
{
	while (nlmsg_ok(q->nlh, q->left)) {
		if (q->nlh->nlmsg_flags & NLM_F_REQUEST && command_of(q->nlh) == cmd)
			return true;
		q->nlh = nlmsg_next((struct nlmsghdr *)q->nlh, &q->left);
	}
	return false;
}

/* What recvmsg() does: copies some whole messages to a buffer. Returns their size. */
static size_t receive(struct queue *q, unsigned char *buf)
{
	const char *begin = (const char *)q->nlh;
	size_t len = 0;

	while (nlmsg_ok(q->nlh, q->left) && len + NLMSG_ALIGN(q->nlh->nlmsg_len) <= DATAGRAM) {
		len += NLMSG_ALIGN(q->nlh->nlmsg_len);
		q->nlh = nlmsg_next((struct nlmsghdr *)q->nlh, &q->left);
	}
	memcpy(buf, begin, len);
	return len;
}

/* The answer to the request for a dump by @cmd. */
static int answer_dump(struct io *io, int cmd, struct srdma_reading *r)
{
	struct queue q = { (const struct nlmsghdr *)answers.p, (int)answers.len };
	struct srdma_answer a = { 0 };
	bool found;
	int err = 0;
	uint32_t seq;
	size_t len;

	MEASURE(RECEIVE, found = find_request(&q, cmd));
	/* No process has a library. */
	if (!found)
		return cmd == SWIFTRDMA_CMD_REPORT_GET ? 0 : -EBADMSG;
	seq = q.nlh->nlmsg_seq;
	q.nlh = nlmsg_next((struct nlmsghdr *)q.nlh, &q.left);
	while (!err && !a.done) {
		MEASURE(RECEIVE, len = receive(&q, io->buf));
		err = srdma_answer(io->buf, len, FAMILY, seq, r, &a);
	}
	return err;
}

static int answer(struct io *io, struct nl_msg *msg, struct srdma_reading *r)
{
	const struct nlmsghdr *nlh = nlmsg_hdr(msg);

	if (command_of(nlh) != SWIFTRDMA_CMD_ACT)
		return answer_dump(io, command_of(nlh), r);
	n_acts += count_actions(nlh);
	r->has_lease = r->has_batch = true;
	r->lease.id = 1;
	r->batch = 1;
	return 0;
}

int __wrap_srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
			  void (*again)(struct srdma_reading *r));
int __wrap_srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
			  void (*again)(struct srdma_reading *r))
{
	(void)again;
	return answer(io, msg, r);
}

int __wrap_srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		      void (*again)(struct srdma_reading *r));
int __wrap_srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		      void (*again)(struct srdma_reading *r))
{
	int err = answer(io, msg, r);

	(void)again;
	nlmsg_free(msg);
	return err;
}

/* --- the made-up kernel ------------------------------------------------------------------------ */

static uint32_t rng;

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return rng;
}

static void *array(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p) {
		perror("agent_tick");
		exit(1);
	}
	return p;
}

struct kernel {
	struct snapshot is, was[2];	/* now; at the two readings before */
	uint32_t turn;
	size_t n_ticks;
};

/* Each job is one process, which has the same number of UARs. */
static uint32_t process_of_uar(const struct kernel *k, uint32_t uar)
{
	return uar / ((uint32_t)k->is.n_uars / JOBS);
}

static void make_qp(struct kernel *k, uint32_t i)
{
	uint32_t uar = i % (uint32_t)k->is.n_uars, process = process_of_uar(k, uar);

	k->is.qps[i] = (struct snap_qp){
		.has = SNAP_DOORBELLS | SNAP_WRS | SNAP_STATE | SNAP_PORT | SNAP_UAR | SNAP_TID |
		       SNAP_CLASS | SNAP_LEVEL | SNAP_DEST | SNAP_OWNER | SNAP_CAP | SNAP_SEND_CQ |
		       SNAP_RECV_CQ | SNAP_WRS_SINCE,
		.qpn = 100 + i, .serial = 1 + i, .type = 2, .state = 3, .port = 1,
		.uar = uar, .job = 1 + process, .owner = process, .tid = 1000 + i,
		.send_cq = i, .recv_cq = i,
		.max_send_wr = 128, .max_recv_wr = 128, .max_send_sge = 1, .max_recv_sge = 1,
		.dest_qpn = 100 + i, .dgid = { 0xfe, 0x80, 1 }, .since = SINCE, .wrs_since = SINCE,
		.time = SINCE,
	};
}

static void make_kernel(struct kernel *k, uint32_t qps)
{
	struct snapshot *s = &k->is;
	struct snap_job_stat *stats = array(JOBS + 1, sizeof(*stats));
	uint32_t i;

	*k = (struct kernel){ .is = { .time = SINCE, .generation = 1, .admin = true, .armed = true } };
	s->n_devs = s->n_ports = 1;
	s->n_uars = qps / 10;
	s->n_jobs = s->n_owners = JOBS + 1;
	s->n_qps = qps;
	s->devs = array(1, sizeof(*s->devs));
	s->ports = array(1, sizeof(*s->ports));
	s->uars = array(s->n_uars, sizeof(*s->uars));
	s->jobs = array(s->n_jobs, sizeof(*s->jobs));
	s->owners = array(s->n_owners, sizeof(*s->owners));
	s->qps = array(qps, sizeof(*s->qps));
	s->devs[0] = (struct snap_dev){
		.has = SNAP_LIMIT | SNAP_COMMANDS | SNAP_SWEEPS | SNAP_QPC, .name = "mlx5_0",
		.provider = "mlx5", .ports = 1, .qps = qps, .uars = qps / 10, .since = SINCE,
		.caps = SWIFTRDMA_DEV_CAP_DOORBELLS | SWIFTRDMA_DEV_CAP_WRS |
			SWIFTRDMA_DEV_CAP_LIVE_CLASS | SWIFTRDMA_DEV_CAP_UARS |
			SWIFTRDMA_DEV_CAP_WQEBBS | SWIFTRDMA_DEV_CAP_RATES,
	};
	s->ports[0] = (struct snap_port){
		.has = SNAP_BYTES | SNAP_SPEED | SNAP_STATE, .index = 1, .state = 4,
		.speed = 100000000000ULL,
	};
	for (i = 0; i < s->n_uars; i++)
		s->uars[i] = (struct snap_uar){
			.has = SNAP_DOORBELLS | SNAP_WRS | SNAP_OWNER | SNAP_OWNERS | SNAP_SWEEPS |
			       SNAP_CONTEXT | SNAP_LIMIT | SNAP_CONTEXT_ID,
			.index = i, .qps = 10, .created = 10, .owner = process_of_uar(k, i),
			.context = process_of_uar(k, i),
			.since = SINCE, .owners = 1 + i % 2, .threads = 4, .context_uars = 10,
			.context_limit = 512,
		};
	for (i = 0; i < s->n_jobs; i++) {
		s->jobs[i] = (struct snap_job){
			.id = i, .class = 1 + i % 4, .stats = &stats[i], .n_stats = 1, .since = SINCE,
		};
		snprintf(s->jobs[i].name, SNAP_NAME, "job%u", i);
		stats[i] = (struct snap_job_stat){
			.has = SNAP_DOORBELLS | SNAP_WRS | SNAP_LEVEL | SNAP_COMMANDS,
			.qps = i ? qps / JOBS : 0, .created = qps / JOBS,
		};
		s->owners[i] = (struct snap_owner){ .pid = 1000 + i, .cgroup_id = 77 + i };
		snprintf(s->owners[i].comm, SNAP_COMM, "job%u", i);
		snprintf(s->owners[i].exe, SNAP_EXE, "job%u", i);
		snprintf(s->owners[i].cgroup, SNAP_PATH, "/swiftrdma/job%u", i);
	}
	for (i = 0; i < qps; i++)
		make_qp(k, i);
	for (i = 0; i < 2; i++)
		k->was[i].qps = array(qps, sizeof(*s->qps));
}

static void free_kernel(struct kernel *k)
{
	free(k->is.jobs[0].stats);
	free(k->is.devs);
	free(k->is.ports);
	free(k->is.uars);
	free(k->is.jobs);
	free(k->is.owners);
	free(k->is.qps);
	free(k->was[0].qps);
	free(k->was[1].qps);
}

/* A QP works: mostly a little, one in 33 far more. */
static void work(struct kernel *k, struct snap_qp *qp)
{
	uint64_t n = rnd() % (rnd() % 33 ? 1000 : 800000);

	qp->wrs += n;
	qp->doorbells += n / 2;
	qp->time = k->is.time;
	k->is.uars[qp->uar].wrs += n;
	k->is.uars[qp->uar].doorbells += n / 2;
	k->is.jobs[qp->job].stats[0].wrs += n;
	k->is.jobs[qp->job].stats[0].doorbells += n / 2;
}

/* @part of the QPs work until the next reading, whose answers are encoded. */
static void next_answers(struct kernel *k, double part)
{
	struct snapshot *s = &k->is, *was = &k->was[k->turn];
	uint32_t i, n = (uint32_t)(part * (double)s->n_qps);

	s->time += TICK;
	s->generation++;
	for (i = 0; i < n; i++)
		work(k, &s->qps[part < 1 ? rnd() % s->n_qps : i]);
	s->devs[0].time = s->ports[0].time = s->time;
	s->devs[0].sweeps += 100;
	s->ports[0].tx_bytes += rnd() % 125000000 + 1125000000;
	for (i = 0; i < s->n_uars; i++) {
		s->uars[i].time = s->time;
		s->uars[i].sweeps += 100;
		s->uars[i].coactive += rnd() % (rnd() % 33 ? 20 : 100);
	}
	for (i = 0; i < s->n_jobs; i++)
		s->jobs[i].time = s->time;
	answers.len = 0;
	if (srdma_encode(&answers, s, k->n_ticks++ < 2 ? NULL : was))
		exit(1);
	was->generation = s->generation;
	was->n_qps = s->n_qps;
	was->owners = s->owners;
	memcpy(was->qps, s->qps, s->n_qps * sizeof(*s->qps));
	k->turn = !k->turn;
}

/* --- runs ---------------------------------------------------------------------------- */

static struct io *make_io(void)
{
	struct io *io = calloc(1, sizeof(*io));

	if (io)
		io->buf = malloc(SRDMA_BUF);
	if (!io || !io->buf) {
		perror("agent_tick");
		exit(1);
	}
	io->epoch = 1;
	return io;
}

static void load_policies(struct config *cfg)
{
	const struct caps caps = caps_all();
	struct diag r;

	diag_init(&r, "twenty_policies");
	if (config_load_text_for(cfg, &caps, twenty_policies, strlen(twenty_policies), &r))
		return;
	diag_print(&r, stderr);
	exit(1);
}

/* Returns the number of actions that the agent sent. @us: of each tick its parts. */
static size_t run(uint32_t qps, double part, size_t ticks, bool first, double (*us)[PARTS])
{
	static struct agent agent;
	const struct agent_options opt = { .log_level = LOG_ERR };
	struct config cfg;
	struct kernel kernel;
	size_t t, i;

	rng = 12345;
	n_acts = 0;
	load_policies(&cfg);
	agent_init(&agent, &opt, &cfg);
	agent.io = make_io();
	make_kernel(&kernel, qps);
	for (t = 0; t < WARM + ticks; t++) {
		double begin;
		int err;

		next_answers(&kernel, t < WARM ? 1 : part);
		memset(spent, 0, sizeof(spent));
		/* The results of all actions have come. */
		agent.n_due = 0;
		begin = now_us(CLOCK_THREAD_CPUTIME_ID);
		err = agent_tick(&agent);
		spent[WHOLE] = now_us(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (err || !agent.readings || agent.snap[agent.cur].n_qps != qps) {
			fprintf(stderr, "agent_tick: tick %zu failed: %s\n", t,
				io_error(agent.io));
			exit(1);
		}
		for (i = 0; i < PARTS && t >= WARM; i++)
			if (first || spent[i] < us[t - WARM][i])
				us[t - WARM][i] = spent[i];
	}
	free_kernel(&kernel);
	free(agent.io->buf);
	free(agent.io->delta);
	free(agent.io);
	agent.io = NULL;
	agent_free(&agent);
	return n_acts;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(double (*us)[PARTS], size_t n, enum part part, double q)
{
	double *v = array(n, sizeof(*v)), is;
	size_t i;

	for (i = 0; i < n; i++) {
		v[i] = us[i][part];
		if (part == WHOLE || part == PARSE)
			v[i] -= us[i][RECEIVE];
	}
	qsort(v, n, sizeof(*v), by_value);
	is = v[(size_t)ceil(q * (double)n) - 1];
	free(v);
	return is;
}

static void row(const char *name, double (*us)[PARTS], size_t n, double goal, size_t acts)
{
	double p99 = quantile(us, n, WHOLE, 0.99);
	unsigned int i;

	printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"us\",\"vs\":null,\"ratio\":null,\"goal\":\"value <= %g\",\"ok\":%s,\"p50\":%.4g",
	       name, p99, goal, p99 <= goal ? "true" : "false", quantile(us, n, WHOLE, 0.5));
	for (i = 0; i < WHOLE; i++)
		printf(",\"%s_p50\":%.4g", part_names[i], quantile(us, n, i, 0.5));
	printf(",\"actions\":%zu,\"bytes\":%zu}\n", acts, answers.len);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double part;
		size_t ticks;
		unsigned int runs;
		double goal;
	} rows[] = {
		{ "agent_tick_10k", 0.01, 300, 20, 250 },
		{ "agent_tick_10k_all", 1, 100, 9, 5000 },
	};
	size_t i, acts;
	unsigned int k;

	log_open(LOG_ERR, false);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double (*us)[PARTS] = array(rows[i].ticks, sizeof(*us));

		if (argc > 1 && strcmp(argv[1], rows[i].name))
			continue;
		acts = 0;
		for (k = 0; k < rows[i].runs; k++) {
			size_t n = run(10000, rows[i].part, rows[i].ticks, !k, us);

			if (!n || (k && n != acts)) {
				fprintf(stderr, "agent_tick: %zu actions, before %zu\n", n, acts);
				return 1;
			}
			acts = n;
		}
		row(rows[i].name, us, rows[i].ticks, rows[i].goal, acts);
		free(us);
	}
	return 0;
}
