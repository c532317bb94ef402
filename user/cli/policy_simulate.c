// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy simulate: runs a scenario with a file's policies, and without. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"
#include "io/recording.h"
#include "sim/claim.h"
#include "sim/fleet.h"

struct request {
	const char *file, *scenario, *replay, *csv, *record, *against, *svg;
	const char *device;	/* overrides the scenario's; NULL: does not */
	uint64_t hosts;
	uint64_t hurry;		/* 0: chosen by the scenario's tick */
	bool without, log, sweep;
};

static int parse_request(struct args *args, struct request *rq)
{
	static const char *const words[] = {
		"scenario", "without", "csv", "log", "replay", "record",
		"hosts", "against", "svg", "device", "hurry", "sweep", NULL
	};
	const char *word;

	memset(rq, 0, sizeof(*rq));
	rq->file = args_next(args);
	if (!rq->file)
		return args_bad("a policy file is missing, as in swiftrdma policy simulate FILE scenario SCENARIO");
	while ((word = args_next(args))) {
		/* Keywords may also be written as options: --scenario. */
		switch (args_match(words, word + strspn(word, "-"))) {
		case 0:
			if (args_value(args, word, &rq->scenario))
				return CLI_USAGE;
			break;
		case 1:
			rq->without = true;
			break;
		case 2:
			if (args_value(args, word, &rq->csv))
				return CLI_USAGE;
			break;
		case 3:
			rq->log = true;
			break;
		case 4:
			if (args_value(args, word, &rq->replay))
				return CLI_USAGE;
			break;
		case 5:
			if (args_value(args, word, &rq->record))
				return CLI_USAGE;
			break;
		case 6:
			if (args_u64(args, word, &rq->hosts))
				return CLI_USAGE;
			if (!rq->hosts || rq->hosts > FLEET_HOSTS)
				return args_bad("hosts must be 1 to %d", FLEET_HOSTS);
			break;
		case 7:
			if (args_value(args, word, &rq->against))
				return CLI_USAGE;
			break;
		case 8:
			if (args_value(args, word, &rq->svg))
				return CLI_USAGE;
			break;
		case 9:
			if (args_value(args, word, &rq->device))
				return CLI_USAGE;
			break;
		case 10:
			if (args_u64(args, word, &rq->hurry))
				return CLI_USAGE;
			if (!rq->hurry)
				return args_bad("hurry must be 1 or more; 1 leaves the file's times as they are");
			break;
		case 11:
			rq->sweep = true;
			break;
		default:
			return args_bad("'%s': expected scenario, replay, without, csv, svg, record, log, hosts, against, device, hurry or sweep",
					word);
		}
	}
	if (!rq->scenario && !rq->replay)
		return args_bad("simulate: a scenario is missing, as in scenario port.yaml");
	if (rq->against && !rq->hosts)
		return args_bad("against needs hosts: hosts 1000 against FILE");
	if (rq->svg && !rq->csv)
		return args_bad("svg needs csv, whose file it draws: csv FILE svg FILE");
	if (rq->device && rq->replay)
		return args_bad("device cannot be changed in a replay: it is for a scenario");
	if (rq->hosts && (rq->replay || rq->csv || rq->record || rq->log))
		return args_bad("hosts excludes csv, record, log and replay");
	if (rq->sweep && (rq->hosts || rq->replay || rq->csv || rq->record || rq->log))
		return args_bad("sweep can be combined only with a scenario, device and hurry");
	return CLI_OK;
}

/* Where the figures of the simulated NIC come from. */
const char *policy_basis(const struct scenario *sc)
{
	static const char *const of[] = {
		[MODEL_OFF] = "a NIC in which nothing takes time",
		[MODEL_CX5] = "a ConnectX-6, fitted on measurements, with the link of a ConnectX-5, for which none were published",
		[MODEL_CX6] = "a ConnectX-6, fitted on measurements",
	};

	return of[sc->preset];
}

int policy_sim_failed(int err)
{
	return cli_fail("the simulation failed: %s", strerror(-err));
}

/* A job of one run, with or without policies. */
struct result_row {
	bool simulated, policies, measured, judged;
	const char *scenario, *job, *nic, *device, *which;
	double p50, p99, p999, wr_rate;
	double byte_rate;	/* if .measured */
	double slo_met;		/* if .judged */
};

#define ROW(member)		MEMBER(struct result_row, member)
#define ROW_IF(member, by)	MEMBER_IF(struct result_row, member, by)

static const struct column columns[] = {
	{ "simulated", NULL, 0, COL_JSON, ROW(simulated) },
	{ "scenario", NULL, 0, COL_JSON, ROW(scenario) },
	{ "job", "JOB", 0, COL_LEFT, ROW(job) },
	{ "policies", NULL, 0, COL_JSON, ROW(policies) },
	{ "nic", NULL, 0, COL_JSON, ROW(nic) },
	{ "device", NULL, 0, COL_JSON, ROW(device) },
	{ "which", "POLICIES", 0, COL_LEFT | COL_TEXT, ROW(which) },
	{ "p50", "P50", SHOW_TIME, 0, ROW(p50) },
	{ "p99", "P99", SHOW_TIME, 0, ROW(p99) },
	{ "p999", "P99.9", SHOW_TIME, 0, ROW(p999) },
	{ "wr_rate", "WR/s", SHOW_RATE, 0, ROW(wr_rate) },
	{ "byte_rate", "DATA", SHOW_BITRATE, 0, ROW_IF(byte_rate, measured) },
	{ "slo_met", "SLO-MET", SHOW_RATIO, 0, ROW_IF(slo_met, judged) },
};

const struct noun_table policy_simulate_table = NOUN_TABLE("policy.simulate", columns);

static struct result_row fill_result_row(const struct scenario *sc, const struct sim_result *result,
				    size_t job, bool policies)
{
	const struct sim_job_result *res = &result->job[job];
	double ns = (double)result->measured;

	return (struct result_row){
		.simulated = true, .policies = policies,
		.measured = result->measured, .judged = res->ticks,
		.scenario = sc->name, .job = sc->jobs[job].name, .nic = policy_basis(sc),
		.device = sim_device_name(sc->device), .which = policies ? "with" : "without",
		.p50 = (double)sim_hist_quantile(&res->latency, 0.5),
		.p99 = (double)sim_hist_quantile(&res->latency, 0.99),
		.p999 = (double)sim_hist_quantile(&res->latency, 0.999),
		.wr_rate = ns > 0 ? (double)res->done * 1e9 / ns : 0,
		.byte_rate = ns > 0 ? (double)res->bytes * 8e9 / ns : 0,
		.slo_met = res->ticks ? (double)res->met / res->ticks : 0,
	};
}

/* Prints the assumptions behind the figures. */
static void say_how(const struct scenario *sc, double hurry)
{
	printf("NIC: %s\n", policy_basis(sc));
	if (sc->device == SIM_ALL)
		printf("device all: policies have signals and knobs that no live system has\n");
	else
		printf("device %s: policies have the signals and knobs that an agent has there\n",
		       sim_device_name(sc->device));
	if (hurry > 1)
		printf("the file's times are divided by %g, because a tick is %g us; replay a recording of this run with hurry %g\n",
		       hurry, (double)sc->interval / 1e3, hurry);
}

static int print_result(struct cli *cli, const struct scenario *sc, double hurry,
			const struct sim_result *with, const struct sim_result *without)
{
	struct result_row row[2 * SIM_JOBS];
	struct rows rows;
	size_t i, n = 0;
	char text[160];
	int err;

	for (i = 0; i < sc->n_jobs; i++) {
		if (without)
			row[n++] = fill_result_row(sc, without, i, false);
		row[n++] = fill_result_row(sc, with, i, true);
	}
	rows = ROWS(columns, row, n);
	if (cli->out.json)
		return cli_show(cli, &rows);
	printf("simulated: %s\n%s%s", sc->name, sc->claim, sc->claim[0] ? "\n" : "");
	say_how(sc, hurry);
	err = cli_show(cli, &rows);
	printf("\nport %.3g Gbit/s, QP context misses %.1f %%, %zu decisions, %.3g M requests, %.3g M events\n",
	       with->tx_bps / 1e9, with->qpc_miss * 100, with->decisions,
	       (double)with->wrs / 1e6, (double)with->events / 1e6);
	if (!without)
		return err;
	printf("without policies: port %.3g Gbit/s, QP context misses %.1f %%\n",
	       without->tx_bps / 1e9, without->qpc_miss * 100);
	for (i = 0; i < sc->n_bounds; i++)
		printf("%s: %s\n", sim_holds(&sc->bounds[i], without, with) ? "holds" : "FAILS",
		       sim_bound_text(sc, &sc->bounds[i], without, with, text, sizeof(text)));
	return err;
}

/* The recorder reports a failed write when the run is over. */
static int record_snapshot(void *recorder, const struct snapshot *s)
{
	recorder_snapshot(recorder, s);
	return 0;
}

static int run_once(const struct scenario *sc, const struct config *cfg,
		    const struct request *rq, struct sim_result *res)
{
	struct sim_options opt = { .cfg = cfg };
	struct recorder *rec = NULL;
	FILE *f = NULL;
	int err, written = 0;

	if (isatty(STDERR_FILENO))
		opt.progress = stderr;
	if (rq->log && cfg)
		opt.log = stdout;
	if (rq->csv && cfg) {
		opt.csv = fopen(rq->csv, "we");
		if (!opt.csv)
			return cli_fail("%s: %s", rq->csv, strerror(errno));
	}
	if (rq->record && cfg) {
		f = fopen(rq->record, "we");
		if (f)
			rec = recorder_open(f);
		if (!rec)
			return cli_fail("%s: %s", rq->record, strerror(errno));
		opt.on_snapshot = record_snapshot;
		opt.on_snapshot_arg = rec;
	}
	err = sim_run(sc, &opt, res);
	if (opt.csv && fclose(opt.csv))
		err = -errno;
	if (rec)
		written = recorder_close(rec);
	if (f && fclose(f) && !written)
		written = -errno;
	if (written)
		return cli_fail("%s: %s", rq->record, strerror(-written));
	return err ? policy_sim_failed(err) : CLI_OK;
}

/* Knobs in the CSV, from column FIRST_KNOB on. */
static const char *const knobs[] = { "level", "weight", "credits", "qps" };

#define KNOBS		(sizeof(knobs) / sizeof(knobs[0]))
#define FIRST_KNOB	7

struct seen {
	unsigned int v[SIM_JOBS][KNOBS];
	bool any[SIM_JOBS], changed[SIM_JOBS][KNOBS];
};

static size_t job_named(const struct scenario *sc, const char *name)
{
	size_t i;

	for (i = 0; i < sc->n_jobs; i++)
		if (!strcmp(sc->jobs[i].name, name))
			break;
	return i;
}

/* Finds the knobs that changed during the run: only these get a curve. */
static void find_turned_knobs(const struct scenario *sc, FILE *csv, struct seen *s)
{
	char line[256], name[SNAP_NAME];
	unsigned int v[KNOBS];
	size_t job, k;

	while (fgets(line, sizeof(line), csv)) {
		if (sscanf(line, "%*f,%31[^,],%*f,%*f,%*u,%*f,%u,%u,%u,%u",
			   name, &v[0], &v[1], &v[2], &v[3]) != 5)
			continue;
		job = job_named(sc, name);
		if (job == sc->n_jobs)
			continue;
		for (k = 0; k < KNOBS; k++)
			s->changed[job][k] |= s->any[job] && v[k] != s->v[job][k];
		s->any[job] = true;
		memcpy(s->v[job], v, sizeof(v));
	}
}

/* Writes a string quoted for gnuplot. */
static void write_quoted(FILE *out, const char *s)
{
	putc('\'', out);
	for (; *s; s++)
		fprintf(out, *s == '\'' ? "''" : "%c", *s);
	putc('\'', out);
}

static void write_curve(FILE *out, const char *csv, const char *job, unsigned int column,
			const char *how, const char *what, bool first)
{
	fputs(first ? "plot " : ", ", out);
	write_quoted(out, csv);
	/*
	 * Names of jobs need no quoting: see get_name(). A logarithmic scale has no 0:
	 * a knob of 0 is drawn below 1, a latency of 0 (no work was done) is left out.
	 */
	fprintf(out, " using (strcol(2) eq '%s' ? $1 : NaN):($%u > 0 ? $%u : %s) with %s title '%s%s'",
		job, column, column, column < FIRST_KNOB ? "NaN" : "0.5", how,
		job, what);
}

static void write_script(FILE *out, const struct scenario *sc, const struct seen *s,
			 const char *csv, const char *svg)
{
	bool first = true;
	char what[24];
	size_t i, k;

	fputs("set terminal svg size 900,700 dynamic enhanced background 'white'\nset output ",
	      out);
	write_quoted(out, svg);
	fprintf(out, "\nset datafile separator ','\nset datafile missing NaN\n"
		"set multiplot layout 2,1 title '%s (simulated)' noenhanced\n"
		"set key outside noenhanced\nset xlabel 'ms'\n"
		"set ylabel 'p99 (us)'\nset logscale y\n", sc->name);
	for (i = 0; i < sc->n_jobs; i++)
		write_curve(out, csv, sc->jobs[i].name, 4, "lines", "", !i);
	fputs("\nset yrange [0.4:*]\nset ytics add ('0' 0.5)\nset ylabel 'knobs'\n", out);
	for (i = 0; i < sc->n_jobs; i++)
		for (k = 0; k < KNOBS; k++) {
			if (!s->changed[i][k])
				continue;
			snprintf(what, sizeof(what), " %s", knobs[k]);
			write_curve(out, csv, sc->jobs[i].name,
				    FIRST_KNOB + (unsigned int)k, "steps", what,
				    first);
			first = false;
		}
	if (first)
		fputs("set label 1 'no knob was turned' at graph 0.4,0.5\nplot [0:1][1:2] NaN notitle",
		      out);
	fputs("\nunset multiplot\n", out);
}

/* Draws the CSV of a simulation: latency and knobs over time, by gnuplot. */
static int draw_svg(const struct scenario *sc, const char *csv, const char *svg)
{
	struct seen *s = calloc(1, sizeof(*s));
	FILE *in, *out = fopen(svg, "we");
	int status;

	if (!out) {
		free(s);
		return cli_fail("%s: %s", svg, strerror(errno));
	}
	fclose(out);
	if (!s)
		return cli_no_memory();
	in = fopen(csv, "re");
	if (!in) {
		free(s);
		return cli_fail("%s: %s", csv, strerror(errno));
	}
	find_turned_knobs(sc, in, s);
	fclose(in);
	out = popen("gnuplot", "we");
	if (out)
		write_script(out, sc, s, csv, svg);
	free(s);
	status = out ? pclose(out) : -1;
	return status ? cli_fail("%s: gnuplot could not draw it; is gnuplot-nox installed?", svg) :
			CLI_OK;
}

static int load_scenario(struct scenario *sc, const struct request *rq)
{
	struct diag r;
	int device;

	diag_init(&r, rq->scenario);
	if (!scenario_load(sc, rq->scenario, &r)) {
		diag_print(&r, stderr);
		return CLI_ERROR;
	}
	if (!rq->device)
		return CLI_OK;
	device = sim_device_named(rq->device);
	if (device < 0)
		return args_bad("device '%s' is not known; devices are mlx5, mlx5-library, rxe and all", rq->device);
	sc->device = (enum sim_device)device;
	return CLI_OK;
}

int policy_load_for(struct config *cfg, const char *file, struct scenario *sc, double *hurry,
		    bool say_warnings)
{
	const struct caps caps = sim_caps(sc->device);
	struct diag r;
	int err = policy_load(cfg, file, &caps, say_warnings);

	if (err)
		return err;
	if (!*hurry)
		*hurry = sim_hurry(sc, cfg);
	if (config_shorten_times(cfg, *hurry)) {
		config_free(cfg);
		return cli_no_memory();
	}
	diag_init(&r, file);
	scenario_take_jobs(sc, cfg, &r);
	if (say_warnings)
		diag_print(&r, stderr);
	return CLI_OK;
}

/* Runs the scenario with policies, and without on request, and prints the results. */
static int simulate_host(struct cli *cli, struct scenario *sc, const struct request *rq)
{
	struct sim_result *res = calloc(2, sizeof(*res));
	double hurry = (double)rq->hurry;
	struct config cfg = { 0 };
	int err;

	if (!res)
		return cli_no_memory();
	err = policy_load_for(&cfg, rq->file, sc, &hurry, true);
	if (!err && rq->sweep) {
		err = policy_sweep(cli, sc, &cfg);
		config_free(&cfg);
		free(res);
		return err;
	}
	if (!err)
		err = run_once(sc, &cfg, rq, &res[0]);
	if (!err && rq->svg)
		err = draw_svg(sc, rq->csv, rq->svg);
	if (!err && rq->without)
		err = run_once(sc, NULL, rq, &res[1]);
	if (!err)
		err = print_result(cli, sc, hurry, &res[0], rq->without ? &res[1] : NULL);
	config_free(&cfg);
	free(res);
	return err;
}

int policy_simulate(struct cli *cli, struct args *args)
{
	struct scenario *sc;
	struct request rq;
	int err = parse_request(args, &rq);

	if (err)
		return err;
	if (rq.replay)
		return policy_replay(cli, rq.file, rq.replay, rq.hurry);
	sc = calloc(1, sizeof(*sc));
	if (!sc)
		return cli_no_memory();
	err = load_scenario(sc, &rq);
	if (!err && rq.hosts) {
		const char *files[] = { rq.file, rq.against };

		err = policy_fleet(cli, sc, files, rq.against ? 2 : 1, (uint32_t)rq.hosts,
				   rq.hurry);
	} else if (!err) {
		err = simulate_host(cli, sc, &rq);
	}
	free(sc);
	return err;
}
