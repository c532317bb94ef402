// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads scenario files: the NIC, the jobs and their behaviour, the times. */
#include "sim/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "policy/doc.h"
#include "policy/schema.h"

#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC 1000000000ULL
#define CONTROL_MAX (4 * NSEC_PER_MSEC)	/* so that in ps it fits in 32 bits */

static bool get_u32(struct diag *r, const struct node *map, const char *key,
		    uint32_t min, uint32_t max, uint32_t *v)
{
	const struct node *n = node_get(map, key);

	return !n || get_uint(r, n, key, min, max, v);
}

static bool get_ns(struct diag *r, const struct node *map, const char *key,
		   uint64_t min, uint64_t *v)
{
	const struct node *n = node_get(map, key);

	return !n || get_time(r, n, key, min, 3600 * NSEC_PER_SEC, v);
}

static bool get_rate(struct diag *r, const struct node *map, const char *key,
		     enum unit unit, double min, double *v)
{
	const struct node *n = node_get(map, key);

	return !n || get_value(r, n, key, unit, min, 1e13, v);
}

bool scenario_word(struct diag *r, const struct node *n, const char *key,
		     const char *const *words, unsigned int *place)
{
	char all[128];
	struct text t;
	const char *s;
	unsigned int i;

	if (!get_text(r, n, key, &s))
		return false;
	text_init(&t, all, sizeof(all));
	for (i = 0; words[i]; i++) {
		if (!strcmp(words[i], s)) {
			*place = i;
			return true;
		}
		text_str(&t, i ? words[i + 1] ? ", " : " and " : "");
		text_str(&t, words[i]);
	}
	diag_node(r, n, 0, "'%.20s' is not a value of '%s'; values are %s", s, key, all);
	return false;
}

static const char *const class_words[] = { "weighted", "strict", NULL };
static const char *const device_words[] = {
	[SIM_MLX5] = "mlx5", [SIM_MLX5_LIBRARY] = "mlx5-library", [SIM_RXE] = "rxe", [SIM_ALL] = "all", NULL
};
static const char *const arrival_words[] = {
	[SIM_CLOSED] = "closed", [SIM_BATCH] = "batch", [SIM_OPEN] = "open", NULL
};
static const char *const op_words[] = { "read", "write", NULL };

/* False: the preset is not known. */
static bool load_nic(struct scenario *sc, const struct node *n,
		     struct diag *r)
{
	static const char *const keys[] = {
		"preset", "link", "cache_bytes", "wqe_limit", "control_time",
		"classes", NULL
	};
	const struct node *v;
	unsigned int word;
	double bps = 0;
	uint64_t ns = 0;
	const char *s;
	int preset;

	if (!check_map(r, n, "nic", keys))
		return false;
	v = need(r, n, "preset", "nic", "preset: cx6");
	if (!v || !get_text(r, v, "preset", &s))
		return false;
	preset = model_preset_named(s);
	if (preset < 0) {
		diag_node(r, v, 0,
			  "'%.20s' is not a preset; presets are off, cx5 and cx6",
			  s);
		return false;
	}
	sc->preset = (enum model_preset)preset;
	model_preset((enum model_preset)preset, &sc->nic);
	model_preset_host((enum model_preset)preset, &sc->host);
	scenario_note_nic(sc, n);
	if (get_rate(r, n, "link", UNIT_BITRATE, 1e6, &bps) && bps > 0)
		sc->nic.link_bps = (uint64_t)bps;
	get_u32(r, n, "cache_bytes", 1024, 1u << 30, &sc->nic.cache_bytes);
	get_u32(r, n, "wqe_limit", 1, 1u << 20, &sc->nic.wqe_limit);
	/* Equal shares, as with ETS on most fabrics. */
	sc->nic.strict = 0;
	v = node_get(n, "classes");
	if (v && scenario_word(r, v, "classes", class_words, &word))
		sc->nic.strict = word ? 0xff : 0;
	v = node_get(n, "control_time");
	if (v && get_time(r, v, "control_time", 1, CONTROL_MAX, &ns))
		sc->nic.ctrl_ps = (uint32_t)(ns * 1000);
	return true;
}

/* Checks that the simulator has room for the threads and QPs of all jobs. */
static void check_room(const struct scenario *sc, const struct node *n,
		       struct diag *r)
{
	const struct sim_job *last = &sc->jobs[sc->n_jobs - 1];
	uint32_t threads = 0, qps = 0, i;

	for (i = 0; i < sc->n_jobs; i++) {
		threads += sc->jobs[i].threads;
		qps += sc->jobs[i].shares[0] ? 0 : sc->jobs[i].qps;
	}
	/* Reported for the job that exceeds the limit, not for each job after it. */
	if (threads > SIM_THREADS && threads - last->threads <= SIM_THREADS)
		diag_node(r, n, -1,
			  "%u threads up to here; all jobs together have at most %u: give some of them fewer 'threads:'",
			  threads, SIM_THREADS);
	if (last->shares[0])
		return;
	if (qps > SIM_QPS && qps - last->qps <= SIM_QPS)
		diag_node(r, n, -1,
			  "%u queue pairs up to here; all jobs together have at most %u: give some of them fewer 'qps:', or 'shares:'",
			  qps, SIM_QPS);
}

uint32_t scenario_job(const struct scenario *sc, const char *name)
{
	uint32_t i;

	for (i = 0; i < sc->n_jobs; i++)
		if (!strcmp(sc->jobs[i].name, name))
			return i;
	return SIM_NO_JOB;
}

static void load_job(struct scenario *sc, const struct node *n, bool has_nic,
		     struct diag *r)
{
	static const char *const keys[] = {
		"name", "class", "slo", "byte_rate", "arrival", "op", "threads", "qps", "depth",
		"size", "rate", "uars", "spare_uars", "mrs", "control_rate", "start", "stop",
		"shares", "used", NULL
	};
	struct sim_job *j = &sc->jobs[sc->n_jobs];
	const struct node *v;
	unsigned int word;
	double class;
	uint32_t i;

	if (!check_map(r, n, "a job", keys))
		return;
	j->threads = 1;
	j->depth = 1;
	v = need(r, n, "name", "a job", "name: kv");
	if (!v || !get_name(r, v, "a job's name", j->name))
		return;
	if (scenario_job(sc, j->name) != SIM_NO_JOB)
		diag_node(r, v, 0, "job '%s' is already defined", j->name);
	v = need(r, n, "class", "a job", "class: latency");
	if (v && get_value(r, v, "class", UNIT_CLASS, 0, 100, &class))
		j->class = (uint32_t)class;
	v = need(r, n, "size", "a job", "size: 512");
	if (v)
		get_uint(r, v, "size", 1, 1u << 26, &j->bytes);
	get_u32(r, n, "threads", 1, SIM_THREADS, &j->threads);
	j->qps = j->threads;
	get_u32(r, n, "qps", 1, SIM_QPS, &j->qps);
	j->used = j->qps;
	get_u32(r, n, "used", 1, j->qps, &j->used);
	get_u32(r, n, "depth", 1, 1024, &j->depth);
	get_u32(r, n, "uars", 1, 4096, &j->uars);
	get_u32(r, n, "spare_uars", 0, 4096, &j->spare_uars);
	get_u32(r, n, "mrs", 0, 1u << 20, &j->mrs);
	get_ns(r, n, "slo", 1, &j->slo_p99);
	get_rate(r, n, "byte_rate", UNIT_BITRATE, 1, &j->slo_byte_rate);
	get_ns(r, n, "start", 0, &j->start);
	get_ns(r, n, "stop", 1, &j->stop);
	get_rate(r, n, "rate", UNIT_RATE, 1, &j->rate);
	get_rate(r, n, "control_rate", UNIT_RATE, 1, &j->control_rate);
	v = node_get(n, "arrival");
	if (v && scenario_word(r, v, "arrival", arrival_words, &word))
		j->arrival = word;
	j->op = MODEL_READ;
	v = node_get(n, "op");
	if (v && scenario_word(r, v, "op", op_words, &word))
		j->op = word ? MODEL_WRITE : MODEL_READ;
	if (has_nic && j->arrival != SIM_OPEN && !sc->nic.link_bps && !sc->nic.pipe_ps &&
	    !sc->host.post_ps)
		diag_node(r, n, -1,
			  "requests take no time on this NIC, so a job that posts as soon as it can would never end; use 'arrival: open'");
	if (j->arrival == SIM_OPEN && j->rate <= 0)
		diag_node(r, n, -1,
			  "open arrivals need a rate, as in 'rate: 100k/s'");
	v = node_get(n, "shares");
	if (v && get_name(r, v, "shares", j->shares)) {
		i = scenario_job(sc, j->shares);
		if (i == SIM_NO_JOB)
			diag_node(r, v, 0,
				  "no job '%s' before this one to share QPs with",
				  j->shares);
		else if (sc->jobs[i].shares[0])
			diag_node(r, v, 0,
				  "job '%s' has no QPs of its own; share those of '%s', which it shares",
				  j->shares, sc->jobs[i].shares);
	}
	sc->n_jobs++;
	check_room(sc, n, r);
}

static void load_root(struct scenario *sc, const struct node *root,
		      struct diag *r)
{
	static const char *const keys[] = {
		"name", "claim", "shows", "published", "sweep", "device", "nic", "seed", "time", "warmup", "interval",
		"window", "jobs", NULL
	};
	const struct node *v, *e;
	unsigned int word;
	bool has_nic;

	if (!check_map(r, root, "a scenario", keys))
		return;
	v = need(r, root, "name", "a scenario", "name: uar");
	if (v)
		get_name(r, v, "a scenario's name", sc->name);
	v = node_get(root, "claim");
	if (v)
		get_string(r, v, "claim", sc->claim, sizeof(sc->claim));
	v = node_get(root, "device");
	if (v && scenario_word(r, v, "device", device_words, &word))
		sc->device = word;
	v = need(r, root, "nic", "a scenario", "nic: {preset: cx5}");
	has_nic = v && load_nic(sc, v, r);
	get_u32(r, root, "seed", 1, UINT32_MAX - 1, &sc->seed);
	get_u32(r, root, "window", 1, 4096, &sc->window);
	get_ns(r, root, "time", 1000, &sc->time);
	get_ns(r, root, "interval", 1000, &sc->interval);
	sc->warmup = sc->time / 5;
	get_ns(r, root, "warmup", 0, &sc->warmup);
	if (sc->warmup >= sc->time)
		diag_node(r, root, -1,
			  "nothing is measured: 'warmup' takes all of 'time'");
	if (sc->interval > sc->time)
		diag_node(r, root, -1,
			  "policies would never be evaluated: 'interval' is longer than 'time'");
	if (sc->time / sc->interval > 1000000)
		diag_node(r, root, -1,
			  "more than a million ticks; make 'interval' longer");
	v = need(r, root, "jobs", "a scenario", "jobs: [...]");
	if (!v || !check_list(r, v, "jobs"))
		return;
	if (!v->n || v->n > SIM_JOBS) {
		diag_node(r, v, -1, "a scenario has 1 to %d jobs", SIM_JOBS);
		return;
	}
	for (e = v->first; e; e = e->next)
		load_job(sc, e, has_nic, r);
	scenario_load_claim(sc, root, r);
}

bool scenario_load_text(struct scenario *sc, const char *text, size_t len,
			struct diag *r)
{
	struct doc doc;

	memset(sc, 0, sizeof(*sc));
	sc->seed = 1;
	sc->window = 16;
	sc->time = 100 * NSEC_PER_MSEC;
	sc->interval = NSEC_PER_MSEC;
	r->text = text;
	r->text_len = len;
	if (doc_parse(&doc, text, len, r)) {
		if (doc.root)
			load_root(sc, doc.root, r);
		else
			diag_at(r, 0, 0,
				"the file is empty; a scenario has 'name:', 'nic:' and 'jobs:'");
		doc_free(&doc);
	}
	r->text = NULL;
	diag_sort(r);
	return !r->total;
}

bool scenario_load(struct scenario *sc, const char *path, struct diag *r)
{
	FILE *f = fopen(path, "re");
	char *text = malloc(DOC_BYTES_MAX + 1);
	size_t len = 0;
	bool ok = f && text;

	if (!f)
		diag_at(r, 0, 0, "%s", strerror(errno));
	else if (!text)
		diag_at(r, 0, 0, "out of memory");
	else
		len = fread(text, 1, DOC_BYTES_MAX + 1, f);
	if (f)
		fclose(f);
	ok = ok && scenario_load_text(sc, text, len, r);
	free(text);
	return ok;
}

int sim_device_named(const char *name)
{
	int i;

	for (i = 0; device_words[i]; i++)
		if (!strcmp(device_words[i], name))
			return i;
	return -1;
}

const char *sim_device_name(enum sim_device device)
{
	return device_words[device];
}

struct caps sim_caps(enum sim_device device)
{
	/*
	 * Simulated QPs are there from the beginning, so none is placed; requests stay whole; and a
	 * memory region has one translation.
	 */
	const uint32_t lacks = 1u << SWIFTRDMA_KNOB_PLACE | 1u << SWIFTRDMA_KNOB_CHUNK |
			       1u << SWIFTRDMA_KNOB_HUGE_PAGES;
	struct caps caps = device == SIM_ALL ? caps_all() : caps_here();

	if (device != SIM_ALL && !sim_has_library(device))
		return caps_without_library(&caps);
	caps.knobs &= ~lacks;
	caps.library_knobs &= ~lacks;
	return caps;
}

double sim_hurry(const struct scenario *sc, const struct config *cfg)
{
	double by = (double)cfg->interval / (double)sc->interval;

	return by > 1 ? by : 1;
}

static const struct config_job *job_of(const struct config *cfg, const char *name)
{
	size_t i;

	for (i = 0; i < cfg->n_jobs; i++)
		if (!strcmp(cfg->jobs[i].name, name))
			return &cfg->jobs[i];
	return NULL;
}

void scenario_take_jobs(struct scenario *sc, const struct config *cfg, struct diag *r)
{
	size_t i;

	for (i = 0; i < sc->n_jobs; i++) {
		struct sim_job *j = &sc->jobs[i];
		const struct config_job *c = job_of(cfg, j->name);

		if (!c) {
			diag_warn(r, 0, 0,
				  "the policy file does not have job '%s' of the scenario, so no policy is for it",
				  j->name);
			continue;
		}
		j->class = c->class;
		if (c->slo_p99)
			j->slo_p99 = c->slo_p99;
		if (c->slo_byte_rate > 0)
			j->slo_byte_rate = c->slo_byte_rate;
	}
}
