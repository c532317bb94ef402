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
	const struct scenario *sc;
	const struct variant *variant;
	size_t job;
	uint32_t hosts;
};

#define OF_FLEET(name, fill)						\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		const struct fleet_row *r = row;			\
		const struct variant *v = r->variant;			\
		const struct sim_job *job = &r->sc->jobs[r->job];	\
		const struct fleet_job *res = &v->res.job[r->job];	\
									\
		(void)cli, (void)job, (void)res;			\
		fill;							\
	}

/* CPU time per tick on one host. */
static double tick_ns(const struct variant *v, uint64_t ns)
{
	return v->res.ticks ? (double)ns / (double)v->res.ticks : 0;
}

static double p99_quantile(const struct fleet_job *res, double q)
{
	return (double)sim_hist_quantile(&res->p99, q);
}

OF_FLEET(simulated, cell_flag(c, true))
OF_FLEET(scenario, cell_str(c, r->sc->name))
OF_FLEET(hosts, cell_u64(c, r->hosts))
OF_FLEET(job, cell_str(c, job->name))
OF_FLEET(policies, cell_str(c, v->name))
OF_FLEET(p99, cell_real(c, p99_quantile(res, 0.5)))
OF_FLEET(p99_worst, cell_real(c, p99_quantile(res, 0.99)))
OF_FLEET(wr_rate, cell_real(c, res->rate / r->hosts))
OF_FLEET(hosts_met, if (sim_promised(job)) cell_real(c, (double)res->met / r->hosts))
OF_FLEET(ticks_met, if (sim_promised(job)) cell_real(c, res->ticks_met / r->hosts))
OF_FLEET(decisions, cell_real(c, (double)v->res.decisions / r->hosts))
OF_FLEET(signals_time, cell_real(c, tick_ns(v, v->res.cost.signals_ns)))
OF_FLEET(policies_time, cell_real(c, tick_ns(v, v->res.cost.policies_ns)))

static const struct column columns[] = {
	{ "simulated", NULL, 0, COL_JSON, get_simulated },
	{ "scenario", NULL, 0, COL_JSON, get_scenario },
	{ "hosts", NULL, 0, COL_JSON, get_hosts },
	{ "job", "JOB", 0, COL_LEFT, get_job },
	{ "policies", "POLICIES", 0, COL_LEFT, get_policies },
	{ "p99", "P99", SHOW_TIME, 0, get_p99 },
	{ "p99_worst", "WORST-1%", SHOW_TIME, 0, get_p99_worst },
	{ "wr_rate", "WR/s", SHOW_RATE, 0, get_wr_rate },
	{ "hosts_met", "HOSTS-MET", SHOW_RATIO, 0, get_hosts_met },
	{ "ticks_met", "TICKS-MET", SHOW_RATIO, 0, get_ticks_met },
	{ "decisions", NULL, 0, COL_JSON, get_decisions },
	{ "signals_time", NULL, 0, COL_JSON, get_signals_time },
	{ "policies_time", NULL, 0, COL_JSON, get_policies_time },
};

static int print_fleet(struct cli *cli, const struct scenario *sc, const struct variant *v,
		       size_t n, uint32_t hosts)
{
	struct fleet_row row[VARIANTS * SIM_JOBS];
	struct rows rows;
	size_t i, k, count = 0;
	int err;

	for (i = 0; i < sc->n_jobs; i++)
		for (k = 0; k < n; k++)
			row[count++] = (struct fleet_row){ sc, &v[k], i, hosts };
	rows = ROWS(columns, row, count);
	if (cli->out.json)
		return cli_show(cli, &rows);
	printf("simulated: %s, %u hosts\n%s%s", sc->name, hosts, sc->claim,
	       sc->claim[0] ? "\n" : "");
	printf("NIC: %s\n", policy_basis(sc));
	err = cli_show(cli, &rows);
	printf("\n");
	for (k = 0; k < n; k++)
		printf("%s: %.1f decisions per host; a tick takes one host %.2f us of CPU for signals, %.2f us for policies\n",
		       v[k].name ? v[k].name : "without",
		       (double)v[k].res.decisions / hosts,
		       tick_ns(&v[k], v[k].res.cost.signals_ns) / 1000,
		       tick_ns(&v[k], v[k].res.cost.policies_ns) / 1000);
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
	int err = v && own ? CLI_OK : cli_no_memory();
	double by;
	size_t k;

	/* The run without policies uses the targets of the first file's jobs. */
	for (k = 0; !err && k <= n; k++) {
		*own = *sc;
		by = (double)hurry;
		err = policy_load_for(&cfg, files[k ? k - 1 : 0], own, &by, k > 0);
		if (err)
			break;
		v[k].name = k ? file_name(files[k - 1]) : NULL;
		if (fleet_run(own, k ? &cfg : NULL, hosts, progress, &v[k].res)) {
			args_bad("the simulation failed");
			err = CLI_ERROR;
		}
		config_free(&cfg);
	}
	if (!err)
		err = print_fleet(cli, own, v, n + 1, hosts);
	free(own);
	free(v);
	return err;
}
