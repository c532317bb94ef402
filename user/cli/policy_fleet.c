// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy simulate ... hosts N: many hosts with a random load each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"
#include "sim/fleet.h"

#define VARIANTS 3		/* without, one file, the other */

struct variant {
	const char *name;	/* of its policy file; NULL: without policies */
	struct fleet_result res;
};

/* A job on all hosts, under one variant. */
struct fleet_row {
	bool simulated, promised;
	const char *scenario, *job, *policies;
	uint32_t hosts;
	double p99, p99_worst, wr_rate;
	double hosts_met, ticks_met;	/* if .promised */
	double decisions, signals_ns, policies_ns;
};

#define ROW(member)		MEMBER(struct fleet_row, member)
#define ROW_IF(member, by)	MEMBER_IF(struct fleet_row, member, by)

static const struct column columns[] = {
	{ "simulated", NULL, 0, COL_JSON, ROW(simulated) },
	{ "scenario", NULL, 0, COL_JSON, ROW(scenario) },
	{ "hosts", NULL, 0, COL_JSON, ROW(hosts) },
	{ "job", "JOB", 0, COL_LEFT, ROW(job) },
	{ "policies", "POLICIES", 0, COL_LEFT, ROW(policies) },
	{ "p99", "P99", SHOW_TIME, 0, ROW(p99) },
	{ "p99_worst", "WORST-1%", SHOW_TIME, 0, ROW(p99_worst) },
	{ "wr_rate", "WR/s", SHOW_RATE, 0, ROW(wr_rate) },
	{ "hosts_met", "HOSTS-MET", SHOW_RATIO, 0, ROW_IF(hosts_met, promised) },
	{ "ticks_met", "TICKS-MET", SHOW_RATIO, 0, ROW_IF(ticks_met, promised) },
	{ "decisions", NULL, 0, COL_JSON, ROW(decisions) },
	{ "signals_time", NULL, 0, COL_JSON, ROW(signals_ns) },
	{ "policies_time", NULL, 0, COL_JSON, ROW(policies_ns) },
};

const struct noun_table policy_hosts_table = NOUN_TABLE("policy.hosts", columns);

/* CPU time per tick on one host. */
static double tick_ns(const struct variant *v, uint64_t ns)
{
	return v->res.ticks ? (double)ns / (double)v->res.ticks : 0;
}

static struct fleet_row fill_fleet_row(const struct scenario *sc, const struct variant *v, size_t job,
				   uint32_t hosts)
{
	const struct fleet_job *res = &v->res.job[job];

	return (struct fleet_row){
		.simulated = true,
		.promised = sim_promised(&sc->jobs[job]),
		.scenario = sc->name, .job = sc->jobs[job].name, .policies = v->name,
		.hosts = hosts,
		.p99 = (double)sim_hist_quantile(&res->p99, 0.5),
		.p99_worst = (double)sim_hist_quantile(&res->p99, 0.99),
		.wr_rate = res->rate / hosts,
		.hosts_met = (double)res->met / hosts,
		.ticks_met = res->ticks_met / hosts,
		.decisions = (double)v->res.decisions / hosts,
		.signals_ns = tick_ns(v, v->res.cost.signals_ns),
		.policies_ns = tick_ns(v, v->res.cost.policies_ns),
	};
}

static int print_fleet(struct cli *cli, const struct scenario *sc, const struct variant *v,
		       size_t n, uint32_t hosts)
{
	struct fleet_row row[VARIANTS * SIM_JOBS];
	struct rows rows;
	size_t count = 0;
	int err;

	for (size_t i = 0; i < sc->n_jobs; i++)
		for (size_t k = 0; k < n; k++)
			row[count++] = fill_fleet_row(sc, &v[k], i, hosts);
	rows = ROWS(columns, row, count);
	if (cli->out.json)
		return cli_show(cli, &rows);
	printf("simulated: %s, %u hosts\n%s%s", sc->name, hosts, sc->claim,
	       sc->claim[0] ? "\n" : "");
	printf("NIC: %s\n", policy_basis(sc));
	err = cli_show(cli, &rows);
	printf("\n");
	for (size_t k = 0; k < n; k++)
		printf("%s: %.1f decisions per host; a tick takes one host %.2f us of CPU for signals, %.2f us for policies\n",
		       v[k].name ? v[k].name : "without", row[k].decisions,
		       row[k].signals_ns / 1000, row[k].policies_ns / 1000);
	return err;
}

/* The last part of a path. */
static const char *file_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

int policy_fleet(struct cli *cli, const struct scenario *sc,
		 const char *const *files, size_t n, uint32_t hosts, uint64_t hurry)
{
	struct variant *v = calloc(n + 1, sizeof(*v));
	FILE *progress = isatty(STDERR_FILENO) ? stderr : NULL;
	struct scenario *own = malloc(sizeof(*own));
	struct config cfg;
	int failed, err = v && own ? CLI_OK : cli_no_memory();

	/* The run without policies uses the targets of the first file's jobs. */
	for (size_t k = 0; !err && k <= n; k++) {
		double by = (double)hurry;

		*own = *sc;
		err = policy_load_for(&cfg, files[k ? k - 1 : 0], own, &by, k > 0);
		if (err)
			break;
		v[k].name = k ? file_name(files[k - 1]) : NULL;
		failed = fleet_run(own, k ? &cfg : NULL, hosts, progress, &v[k].res);
		if (failed)
			err = policy_sim_failed(failed);
		config_free(&cfg);
	}
	if (!err)
		err = print_fleet(cli, own, v, n + 1, hosts);
	free(own);
	free(v);
	return err;
}
