// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Measures a tick of the evaluator, policy_eval(), on the host, with 100 jobs, 20 policies and a
 * UAR for ten QPs. Before each tick some of the signals, or all, get new values. In the same run
 * LuaJIT evaluates the same rules over the same arrays, as a script would: all rules at each tick.
 *
 * Times are of the thread's CPU clock. That is not enough on a machine that others
 * use: there a fixed piece of work takes twice its median in one of a hundred
 * cases ("noise"). So each run is repeated, which does the same in each tick, and
 * of each tick the least counts, of so many runs that each tick is met undisturbed;
 * "raw_p99" is of a single run.
 *
 *   policy_tick [ROW]	one JSON object a row, as in selftests/bench/run.sh
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_LUAJIT
#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>
#endif

#include "bench/host/twenty_policies.h"
#include "policy/config.h"

#define JOBS		100
#define MS		1000000ULL
#define DECISIONS	1024

static uint32_t rng = 1;

static uint32_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return rng;
}

static double unit(void)
{
	return rnd() / 4294967296.0;
}

/* Of this thread: what others do on the machine is not the evaluator's cost. */
static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void *array(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		perror("policy_tick");
		exit(1);
	}
	return p;
}

static void make_scene(struct snapshot *s, uint32_t qps, uint32_t uars)
{
	struct snap_job_stat *stats = array(JOBS + 1, sizeof(*stats));
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->admin = true;
	s->devs = array(1, sizeof(*s->devs));
	s->n_devs = 1;
	snprintf(s->devs[0].name, sizeof(s->devs[0].name), "mlx5_0");
	s->devs[0].qps = qps;
	s->ports = array(1, sizeof(*s->ports));
	s->n_ports = 1;
	s->ports[0].index = 1;
	s->uars = array(uars, sizeof(*s->uars));
	s->n_uars = uars;
	for (i = 0; i < uars; i++) {
		s->uars[i].index = i;
		s->uars[i].qps = qps / uars;
	}
	s->jobs = array(JOBS + 1, sizeof(*s->jobs));
	s->n_jobs = JOBS + 1;
	for (i = 0; i <= JOBS; i++) {
		s->jobs[i].id = i;
		s->jobs[i].class = 1 + i % 4;
		snprintf(s->jobs[i].name, SNAP_NAME, "job%u", i);
		s->jobs[i].stats = &stats[i];
		s->jobs[i].n_stats = 1;
		stats[i].qps = qps / JOBS;
	}
	s->qps = array(qps, sizeof(*s->qps));
	s->n_qps = qps;
	for (i = 0; i < qps; i++) {
		s->qps[i].has = SNAP_PORT | SNAP_UAR | SNAP_STATE;
		s->qps[i].qpn = i;
		s->qps[i].serial = i + 1;
		s->qps[i].port = 1;
		s->qps[i].uar = i % uars;
		s->qps[i].job = 1 + i % JOBS;
		s->qps[i].state = 3;
	}
}

/* Mostly as on a calm device, one in 33 far beyond what it should be. */
static double reading(double calm, double wild)
{
	return (rnd() % 33 ? calm : wild) * unit();
}

static void move_qp(struct signals *s, uint32_t i)
{
	signal_set(s, SIG_QP_WR_RATE, i, reading(1000, 2000));
	signal_set(s, SIG_QP_DOORBELL_RATE, i, reading(500e3, 6e6));
	signal_set(s, SIG_QP_QUEUE_DELAY, i, reading(2500, 60000));
	signal_set(s, SIG_QP_OUTSTANDING, i, floor(reading(128, 600)));
}

static void move_uar(struct signals *s, uint32_t i)
{
	signal_set(s, SIG_UAR_COACTIVE, i, reading(0.2, 1));
	signal_set(s, SIG_UAR_ACTIVE_QPS, i, 1 + floor(3 * unit()));
	signal_set(s, SIG_UAR_WR_RATE, i, reading(1e6, 4e6));
	signal_set(s, SIG_UAR_OWNERS, i, 1 + floor(2 * unit()));
}

static void move_job(struct signals *s, uint32_t i)
{
	signal_set(s, SIG_JOB_P99, i, 60000 * unit());
	signal_set(s, SIG_JOB_SLO_P99, i, 50000);
	signal_set(s, SIG_JOB_WR_RATE, i, 60e6 * unit());
}

static void move_rest(struct signals *s)
{
	signal_set(s, SIG_PORT_UTIL, 0, 0.6 + 0.25 * unit());
	signal_set(s, SIG_DEV_QPC_MISS, 0, 0.4 * unit());
	signal_set(s, SIG_DEV_CREATE_RATE, 0, 700 * unit());
	signal_set(s, SIG_DEV_MODIFY_RATE, 0, 700 * unit());
}

/* Which objects change: @part of them, chosen anew at each tick. */
static void next_reading(struct signals *s, double part)
{
	const struct snapshot *snap = s->snap;
	uint32_t i, n;

	n = (uint32_t)(part * (double)snap->n_qps);
	for (i = 0; i < n; i++)
		move_qp(s, part < 1 ? rnd() % snap->n_qps : i);
	n = (uint32_t)ceil(part * (double)snap->n_uars);
	for (i = 0; i < n; i++)
		move_uar(s, part < 1 ? rnd() % snap->n_uars : i);
	n = (uint32_t)ceil(part * JOBS);
	for (i = 0; i < n; i++)
		move_job(s, 1 + (part < 1 ? rnd() % JOBS : i));
	move_rest(s);
}

#ifdef HAVE_LUAJIT
/*
 * The twenty policies, written by hand in Lua. LuaJIT's FFI reads the same columns. The script
 * finds which policies are true for each job; policy_eval() also decides what to do about them.
 */
static const char script[] =
	"local ffi = require 'ffi'\n"
	"local n_jobs = ...\n"
	"local prev = ffi.new('double[?]', n_jobs)\n"
	"local acts = ffi.new('uint32_t[?]', n_jobs)\n"
	"local bor = bit.bor\n"
	"local function floats(p) return ffi.cast('float *', p) end\n"
	"local function doubles(p) return ffi.cast('double *', p) end\n"
	"return function(rest, first, uar_of, class, q_wr, q_db, q_dl, q_out, q_st, u_co, u_act, u_wr, u_own, j_p99, j_slo, j_wr, j_qps)\n"
	"  rest = doubles(rest)\n"
	"  first = ffi.cast('uint32_t *', first); class = ffi.cast('uint32_t *', class)\n"
	"  uar_of = ffi.cast('int32_t *', uar_of)\n"
	"  q_wr, q_db, q_dl, q_out, q_st = floats(q_wr), floats(q_db), floats(q_dl), floats(q_out), floats(q_st)\n"
	"  u_co, u_act, u_wr, u_own = floats(u_co), floats(u_act), floats(u_wr), floats(u_own)\n"
	"  j_p99, j_slo, j_wr, j_qps = doubles(j_p99), doubles(j_slo), doubles(j_wr), doubles(j_qps)\n"
	"  local util, miss, create, modify, dqps = rest[0], rest[1], rest[2], rest[3], rest[4]\n"
	"  local total = 0\n"
	"  for j = 1, n_jobs - 1 do\n"
	"    local m, c = 0, class[j]\n"
	"    local p99 = j_p99[j]\n"
	"    local rising = p99 > prev[j]\n"
	"    prev[j] = p99\n"
	"    for q = first[j], first[j + 1] - 1 do\n"
	"      local u = uar_of[q]\n"
	"      if c == 1 then\n"
	"        if util < 0.8 and q_dl[q] > 5000 then m = bor(m, 4) end\n"
	"        if u_co[u] > 0.5 and u_act[u] >= 2 and q_wr[q] > 1000 then m = bor(m, 16) end\n"
	"        if q_st[q] == 6 then m = bor(m, 0x20000) end\n"
	"      elseif c == 2 then\n"
	"        if util < 0.8 and q_dl[q] > 10000 then m = bor(m, 8) end\n"
	"        if u_co[u] > 0.5 and u_wr[u] > 2e6 then m = bor(m, 32) end\n"
	"        if q_dl[q] > 50000 and u_own[u] > 1 then m = bor(m, 0x40000) end\n"
	"      elseif c == 3 then\n"
	"        if q_out[q] > 512 then m = bor(m, 0x800) end\n"
	"        if q_db[q] > 5e6 then m = bor(m, 0x10000) end\n"
	"      else\n"
	"        if q_out[q] > 256 then m = bor(m, 0x1000) end\n"
	"        if q_db[q] > 1e6 then m = bor(m, 0x8000) end\n"
	"      end\n"
	"    end\n"
	"    if c == 1 and util > 0.8 and rising then m = bor(m, 1) end\n"
	"    if c == 2 and util > 0.8 and rising then m = bor(m, 2) end\n"
	"    if c == 3 and miss >= 0.3 and dqps > 512 and j_qps[j] > 1 then m = bor(m, 64) end\n"
	"    if c == 4 and miss >= 0.3 and j_qps[j] > 1 then m = bor(m, 128) end\n"
	"    if c == 1 and miss <= 0.15 and p99 > j_slo[j] * 0.9 then m = bor(m, 256) end\n"
	"    if c >= 3 and create + modify > 1000 then m = bor(m, 512) end\n"
	"    if c == 4 and util > 0.95 then m = bor(m, 0x2000) end\n"
	"    if c == 3 and util > 0.98 then m = bor(m, 0x4000) end\n"
	"    if j_wr[j] > 50e6 then m = bor(m, 0x80000) end\n"
	"    acts[j] = m\n"
	"    if m ~= 0 then total = total + 1 end\n"
	"  end\n"
	"  return total\n"
	"end\n";

/* The signals that the rules read of QPs, UARs and jobs, in the order of the arguments. */
static const enum signal_id lua_signals[] = {
	SIG_QP_WR_RATE, SIG_QP_DOORBELL_RATE, SIG_QP_QUEUE_DELAY,
	SIG_QP_OUTSTANDING, SIG_QP_STATE, SIG_UAR_COACTIVE,
	SIG_UAR_ACTIVE_QPS, SIG_UAR_WR_RATE, SIG_UAR_OWNERS,
	SIG_JOB_P99, SIG_JOB_SLO_P99, SIG_JOB_WR_RATE, SIG_JOB_QPS,
};

#define LUA_SIGNALS (sizeof(lua_signals) / sizeof(lua_signals[0]))

static lua_State *lua_begin(const struct signals *s)
{
	lua_State *l = luaL_newstate();

	luaL_openlibs(l);
	if (luaL_loadstring(l, script)) {
		fprintf(stderr, "policy_tick: %s\n", lua_tostring(l, -1));
		exit(1);
	}
	lua_pushnumber(l, (double)s->snap->n_jobs);
	if (lua_pcall(l, 1, 1, 0)) {
		fprintf(stderr, "policy_tick: %s\n", lua_tostring(l, -1));
		exit(1);
	}
	lua_setglobal(l, "tick");
	return l;
}

static void lua_tick(lua_State *l, const struct signals *s, uint32_t *class)
{
	static const enum signal_id rest_signals[] = {
		SIG_PORT_UTIL, SIG_DEV_QPC_MISS, SIG_DEV_CREATE_RATE, SIG_DEV_MODIFY_RATE,
		SIG_DEV_QPS,
	};
	static double rest[5];
	void *args[] = { rest, s->job_first, s->uar_of, class };
	const size_t n = sizeof(args) / sizeof(args[0]);
	size_t i;

	for (i = 0; i < 5; i++)
		signal_get(s, rest_signals[i], 0, &rest[i]);
	lua_getglobal(l, "tick");
	for (i = 0; i < n; i++)
		lua_pushlightuserdata(l, args[i]);
	for (i = 0; i < LUA_SIGNALS; i++) {
		enum obj_kind kind = vocab_obj(lua_signals[i]);

		lua_pushlightuserdata(l,
			s->table[kind].column[lua_signals[i] - vocab_first(kind)].d);
	}
	if (lua_pcall(l, (int)(n + LUA_SIGNALS), 1, 0)) {
		fprintf(stderr, "policy_tick: %s\n", lua_tostring(l, -1));
		exit(1);
	}
	lua_pop(l, 1);
}
#endif

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quantile(double *v, size_t n, double q)
{
	size_t i = (size_t)ceil(q * (double)n);

	qsort(v, n, sizeof(*v), by_value);
	return v[i ? i - 1 : 0];
}

struct result {
	double p50, p99, raw_p99, lua_p99;
	size_t bytes, decisions;
};

/* What a tick may cost that is always the same: p99 / p50. */
static double noise(void)
{
	static double us[1000];
	size_t n = sizeof(us) / sizeof(us[0]), t;
	uint64_t a;
	int i;

	for (t = 0; t < n; t++) {
		a = now_ns();
		for (i = 0; i < 20000; i++)
			rnd();
		us[t] = (double)(now_ns() - a) / 1000;
	}
	return quantile(us, n, 0.99) / quantile(us, n, 0.5);
}

/* Memory of a QP in the signals, and in what the evaluator keeps, bytes. */
static size_t signals_qp_bytes(const struct signals *s)
{
	size_t bytes = sizeof(*s->table[OBJ_QP].key) + sizeof(*s->qps) + sizeof(*s->job_qps) +
		       sizeof(*s->uar_of) + sizeof(*s->uar_qps) + sizeof(*s->advanced) +
		       sizeof(*s->reported);
	unsigned int k;

	for (k = 0; k < vocab_width(OBJ_QP); k++)
		bytes += signal_is_float(vocab_first(OBJ_QP) + k) ? sizeof(float) : sizeof(double);
	return bytes;
}

static size_t truth_qp_bytes(const struct truth *t)
{
	const struct truth_rows *r = &t->rows[OBJ_QP];

	return (size_t)__builtin_popcountll(r->atoms) * sizeof(*r->truth) +
	       (t->n_mem[OBJ_QP] ? t->n_mem[OBJ_QP] * sizeof(*r->mem) + sizeof(*r->key) : 0) +
	       (t->n_aggs ? sizeof(*t->value) : 0);
}

static void least(double *to, double v, bool first)
{
	if (first || v < *to)
		*to = v;
}

/* Returns the number of decisions. */
static size_t run(const struct policy_set *set, uint32_t qps, double part,
		  size_t ticks, bool first, double *us, double *lua,
		  size_t *bytes)
{
	static struct policy_decision out[DECISIONS];
	const struct signal_opts opts = { 0 };
	size_t decisions = 0;
	struct policy_state st;
	struct snapshot snap;
	struct signals sig;
	uint32_t class[JOBS + 1], i;
	size_t t;
#ifdef HAVE_LUAJIT
	lua_State *l;
#endif

	rng = 12345;
	make_scene(&snap, qps, qps / 10);
	for (i = 0; i <= JOBS; i++)
		class[i] = snap.jobs[i].class;
	signals_init(&sig);
	policy_state_init(&st);
	if (signals_reserve(&sig, &snap))
		exit(1);
	signals_update(&sig, NULL, &snap, &opts);
	if (policy_state_reserve(&st, set, &sig))
		exit(1);
#ifdef HAVE_LUAJIT
	l = lua_begin(&sig);
#endif
	/* All once, so that every signal is known, and what warms up is warm. */
	for (t = 0; t < 20; t++) {
		next_reading(&sig, 1);
		policy_eval(set, &st, &sig, (1 + t) * 100 * MS, out, DECISIONS);
#ifdef HAVE_LUAJIT
		lua_tick(l, &sig, class);
#endif
	}
	for (t = 0; t < ticks; t++) {
		uint64_t a, b, c;

		next_reading(&sig, part);
		a = now_ns();
		decisions += policy_eval(set, &st, &sig,
					 (100 + t) * 100 * MS, out,
					 DECISIONS);
		b = now_ns();
#ifdef HAVE_LUAJIT
		lua_tick(l, &sig, class);
#endif
		c = now_ns();
		least(&us[t], (double)(b - a) / 1000, first);
		least(&lua[t], (double)(c - b) / 1000, first);
	}
	*bytes = signals_qp_bytes(&sig) + truth_qp_bytes(&st.truth);
#ifdef HAVE_LUAJIT
	lua_close(l);
#endif
	policy_state_free(&st);
	signals_free(&sig);
	free(snap.jobs[0].stats);
	free(snap.devs);
	free(snap.ports);
	free(snap.uars);
	free(snap.jobs);
	free(snap.qps);
	return decisions;
}

static struct result measure(const struct policy_set *set, uint32_t qps,
			     double part, size_t ticks, unsigned int runs)
{
	double *us = array(ticks, sizeof(*us)), *lua = array(ticks, sizeof(*lua));
	double *raw = array(ticks, sizeof(*raw));
	struct result r = { 0 };
	unsigned int i;
	size_t n;

	for (i = 0; i < runs; i++) {
		n = run(set, qps, part, ticks, !i, us, lua, &r.bytes);
		if (!i) {
			memcpy(raw, us, ticks * sizeof(*raw));
			r.decisions = n;
		} else if (n != r.decisions) {
			fprintf(stderr, "policy_tick: %zu decisions, then %zu\n",
				r.decisions, n);
			exit(1);
		}
	}
	r.p50 = quantile(us, ticks, 0.5);
	r.p99 = quantile(us, ticks, 0.99);
	r.raw_p99 = quantile(raw, ticks, 0.99);
	r.lua_p99 = quantile(lua, ticks, 0.99);
#ifndef HAVE_LUAJIT
	r.lua_p99 = NAN;
#endif
	free(us);
	free(lua);
	free(raw);
	return r;
}

/* Bytes of a QP, and how much faster than LuaJIT the ticks of 10,000 QPs are. */
#define QP_BYTES 128
#define RATIO 2

/* The bounds of a row; 0: none. */
struct goal {
	double us, ratio;
};

static void print_goal(const struct result *r, const struct goal *g)
{
	bool ok = r->p99 <= g->us && r->bytes <= QP_BYTES;

	printf(",\"goal\":\"value <= %g, qp_bytes <= %d", g->us, QP_BYTES);
	/* Without LuaJIT there is nothing to compare with. */
	if (g->ratio > 0 && r->lua_p99 == r->lua_p99) {
		printf(", ratio >= %g", g->ratio);
		ok &= r->lua_p99 >= g->ratio * r->p99;
	}
	printf("\",\"ok\":%s", ok ? "true" : "false");
}

static void row(const char *name, const struct result *r, const struct goal *g)
{
	printf("{\"bench\":\"%s\",\"value\":%.4g,\"unit\":\"us\"", name,
	       r->p99);
	if (r->lua_p99 == r->lua_p99)
		printf(",\"vs\":%.4g,\"ratio\":%.3g", r->lua_p99,
		       r->lua_p99 / r->p99);
	else
		printf(",\"vs\":null,\"ratio\":null");
	if (g->us > 0)
		print_goal(r, g);
	printf(",\"rival\":\"LuaJIT\",\"p50\":%.4g,\"raw_p99\":%.4g,\"noise\":%.3g,\"decisions\":%zu,\"qp_bytes\":%zu}\n",
	       r->p50, r->raw_p99, noise(), r->decisions, r->bytes);
	fflush(stdout);
}

/* Ten times the QPs take at most ten times as long; the fifth more is noise. */
static void growth_row(double p50_100k, double p50_1m)
{
	double growth = p50_1m / p50_100k;

	printf("{\"bench\":\"policy_tick_growth\",\"value\":%.3g,\"unit\":\"1M over 100k QPs\",\"vs\":null,\"ratio\":null,\"goal\":\"value <= 12\",\"ok\":%s}\n",
	       growth, growth <= 12 ? "true" : "false");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint32_t qps;
		double part;
		size_t ticks;
		unsigned int runs;
		struct goal goal;
	} rows[] = {
		{ "policy_tick_10k_1pct", 10000, 0.01, 2000, 25, { 60, RATIO } },
		{ "policy_tick_10k_all", 10000, 1, 500, 25, { 60, RATIO } },
		{ "policy_tick_1m", 1000000, 0.01, 200, 3, { 10000, 0 } },
		{ "policy_tick_1k_1pct", 1000, 0.01, 2000, 7, { 0, 0 } },
		{ "policy_tick_100k_1pct", 100000, 0.01, 500, 3, { 0, 0 } },
		{ "policy_tick_1k_all", 1000, 1, 1000, 7, { 0, 0 } },
		{ "policy_tick_100k_all", 100000, 1, 100, 3, { 0, 0 } },
		{ "policy_tick_1m_all", 1000000, 1, 20, 3, { 10000, 0 } },
	};
	double p50_100k = 0, p50_1m = 0;
	const struct caps caps = caps_all();
	struct config cfg;
	struct diag r;
	size_t i;

	diag_init(&r, "policies");
	if (!config_load_text_for(&cfg, &caps, twenty_policies, strlen(twenty_policies),
				  &r)) {
		diag_print(&r, stderr);
		return 1;
	}
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct result res;

		if (argc > 1 && strcmp(argv[1], rows[i].name))
			continue;
		res = measure(&cfg.policies, rows[i].qps, rows[i].part,
			      rows[i].ticks, rows[i].runs);
		row(rows[i].name, &res, &rows[i].goal);
		if (rows[i].qps == 100000 && rows[i].part == 1)
			p50_100k = res.p50;
		if (rows[i].qps == 1000000 && rows[i].part == 1)
			p50_1m = res.p50;
	}
	if (p50_100k && p50_1m)
		growth_row(p50_100k, p50_1m);
	config_free(&cfg);
	return 0;
}
