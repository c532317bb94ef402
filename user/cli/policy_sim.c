// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy simulate: with a file's policies, and without, side by side. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/policy.h"
#include "sim/sim.h"

struct request {
	const char *file, *scenario, *csv;
	bool without, log;
};

static int parse(struct args *args, struct request *rq)
{
	static const char *const words[] = {
		"scenario", "without", "csv", "log", NULL
	};
	const char *word;

	memset(rq, 0, sizeof(*rq));
	rq->file = args_next(args);
	if (!rq->file)
		return args_bad("which file? As in swiftrdma policy simulate FILE scenario SCENARIO");
	while ((word = args_next(args))) {
		/* Also --scenario, as one would write it elsewhere. */
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
		default:
			return args_bad("'%s': expected scenario, without, csv or log",
					word);
		}
	}
	if (!rq->scenario)
		return args_bad("simulate: which scenario? As in scenario port.yaml");
	return CLI_OK;
}

static double us(const struct sim_job_result *r, double q)
{
	return (double)sim_hist_quantile(&r->latency, q) / 1000;
}

static double rate(const struct sim_result *res, size_t i)
{
	return res->measured ? (double)res->job[i].done * 1e9 /
			       (double)res->measured : 0;
}

static double met(const struct sim_job_result *r)
{
	return r->ticks ? 100.0 * r->met / r->ticks : 0;
}

static void line(const struct scenario *sc, const struct sim_result *res,
		 size_t i, const char *which)
{
	const struct sim_job_result *r = &res->job[i];

	printf("%-12s %-9s %10.2f %10.2f %10.2f %12.0f %10.3f",
	       sc->jobs[i].name, which, us(r, 0.5), us(r, 0.99), us(r, 0.999),
	       rate(res, i), rate(res, i) * sc->jobs[i].bytes * 8 / 1e9);
	if (sc->jobs[i].slo_p99)
		printf(" %7.1f %%\n", met(r));
	else
		printf(" %9s\n", "-");
}

static void table(const struct scenario *sc, const struct sim_result *with,
		  const struct sim_result *without)
{
	size_t i;

	printf("simulated: %s\n%s%s\n", sc->name, sc->claim,
	       sc->claim[0] ? "\n" : "");
	printf("%-12s %-9s %10s %10s %10s %12s %10s %9s\n", "JOB", "POLICIES",
	       "P50 (us)", "P99 (us)", "P99.9", "RATE (1/s)", "(Gbit/s)",
	       "SLO MET");
	for (i = 0; i < sc->n_jobs; i++) {
		if (without)
			line(sc, without, i, "without");
		line(sc, with, i, "with");
	}
	printf("\nport %.3g Gbit/s, QP context misses %.1f %%, %zu decisions, %.3g M requests, %.3g M events\n",
	       with->tx_bps / 1e9, with->qpc_miss * 100, with->decisions,
	       (double)with->wrs / 1e6, (double)with->events / 1e6);
	if (without)
		printf("without policies: port %.3g Gbit/s, QP context misses %.1f %%\n",
		       without->tx_bps / 1e9, without->qpc_miss * 100);
}

static void json_run(const struct scenario *sc, const struct sim_result *res,
		     bool policies, bool *first)
{
	size_t i;

	for (i = 0; i < sc->n_jobs; i++) {
		const struct sim_job_result *r = &res->job[i];

		printf("%s{\"simulated\":true,\"scenario\":\"%s\",\"job\":\"%s\",\"policies\":%s,\"p50\":%.0f,\"p99\":%.0f,\"p999\":%.0f,\"wr_rate\":%.1f,\"byte_rate\":%.0f",
		       *first ? "" : ",", sc->name, sc->jobs[i].name,
		       policies ? "true" : "false", us(r, 0.5) * 1000,
		       us(r, 0.99) * 1000, us(r, 0.999) * 1000, rate(res, i),
		       rate(res, i) * sc->jobs[i].bytes * 8);
		if (sc->jobs[i].slo_p99)
			printf(",\"slo_met\":%.4f", met(r) / 100);
		printf("}");
		*first = false;
	}
}

static int one(const struct scenario *sc, const struct config *cfg,
	       const struct request *rq, struct sim_result *res)
{
	struct sim_options opt = { .cfg = cfg };
	int err;

	if (isatty(STDERR_FILENO))
		opt.progress = stderr;
	if (rq->log && cfg)
		opt.log = stdout;
	if (rq->csv && cfg) {
		opt.csv = fopen(rq->csv, "we");
		if (!opt.csv) {
			args_bad("%s: %s", rq->csv, strerror(errno));
			return CLI_ERROR;
		}
	}
	err = sim_run(sc, &opt, res);
	if (opt.csv && fclose(opt.csv))
		err = -errno;
	if (!err)
		return CLI_OK;
	args_bad("the simulation failed: %s", strerror(-err));
	return CLI_ERROR;
}

int policy_simulate(struct cli *cli, struct args *args)
{
	struct sim_result *res = calloc(2, sizeof(*res));
	struct scenario *sc = calloc(1, sizeof(*sc));
	const struct caps all = caps_all();
	struct config cfg = { 0 };
	struct request rq;
	struct report r;
	bool first = true;
	int err = parse(args, &rq);

	if (!err && (!res || !sc))
		err = cli_no_memory();
	if (!err) {
		report_init(&r, rq.scenario);
		if (!scenario_load(sc, rq.scenario, &r)) {
			report_print(&r, stderr);
			err = CLI_ERROR;
		}
	}
	if (!err)
		err = policy_load(&cfg, rq.file, &all, true);
	if (!err)
		err = one(sc, &cfg, &rq, &res[0]);
	if (!err && rq.without)
		err = one(sc, NULL, &rq, &res[1]);
	if (!err && cli->out.json) {
		printf("[");
		if (rq.without)
			json_run(sc, &res[1], false, &first);
		json_run(sc, &res[0], true, &first);
		printf("]\n");
	} else if (!err) {
		table(sc, &res[0], rq.without ? &res[1] : NULL);
	}
	config_free(&cfg);
	free(res);
	free(sc);
	return err;
}
