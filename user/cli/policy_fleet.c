// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy simulate ... hosts N: the same on many hosts, each with its load. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/policy.h"
#include "sim/fleet.h"

struct variant {
	const char *name;	/* of its policy file, as it is shown */
	struct fleet_result res;
};

static double us(const struct fleet_job *f, double q)
{
	return (double)sim_hist_quantile(&f->p99, q) / 1000;
}

static void line(const struct sim_job *j, const struct fleet_job *f,
		 const char *name, uint32_t hosts)
{
	printf("%-12s %-16.16s %10.2f %10.2f %12.0f", j->name, name, us(f, 0.5),
	       us(f, 0.99), f->rate / hosts);
	if (j->slo_p99)
		printf(" %8.1f %% %8.1f %%\n", 100.0 * f->met / hosts,
		       100.0 * f->ticks_met / hosts);
	else
		printf(" %10s %10s\n", "-", "-");
}

static double tick_us(const struct fleet_result *r, uint64_t ns)
{
	return r->ticks ? (double)ns / 1000 / (double)r->ticks : 0;
}

static void table(const struct scenario *sc, const struct variant *v, size_t n,
		  uint32_t hosts)
{
	size_t i, k;

	printf("simulated: %s, %u hosts\n%s%s\n", sc->name, hosts, sc->claim,
	       sc->claim[0] ? "\n" : "");
	printf("%-12s %-16s %10s %10s %12s %10s %10s\n", "JOB", "POLICIES",
	       "P99 (us)", "WORST 1%", "RATE (1/s)", "HOSTS MET",
	       "TICKS MET");
	for (i = 0; i < sc->n_jobs; i++)
		for (k = 0; k < n; k++)
			line(&sc->jobs[i], &v[k].res.job[i], v[k].name, hosts);
	printf("\n");
	for (k = 0; k < n; k++)
		printf("%s: %.1f decisions a host; of a tick on one host %.2f us of CPU for signals, %.2f us for policies\n",
		       v[k].name, (double)v[k].res.decisions / hosts,
		       tick_us(&v[k].res, v[k].res.cost.signals_ns),
		       tick_us(&v[k].res, v[k].res.cost.policies_ns));
}

static void json(const struct scenario *sc, const struct variant *v, size_t n,
		 uint32_t hosts)
{
	size_t i, k;

	printf("[");
	for (k = 0; k < n; k++)
		for (i = 0; i < sc->n_jobs; i++) {
			const struct fleet_job *f = &v[k].res.job[i];

			printf("%s{\"simulated\":true,\"scenario\":\"%s\",\"hosts\":%u,\"job\":\"%s\",\"policies\":%s%s%s,\"p99\":%.0f,\"p99_worst\":%.0f,\"wr_rate\":%.1f",
			       i || k ? "," : "", sc->name, hosts,
			       sc->jobs[i].name, k ? "\"" : "",
			       k ? v[k].name : "null", k ? "\"" : "",
			       us(f, 0.5) * 1000, us(f, 0.99) * 1000,
			       f->rate / hosts);
			if (sc->jobs[i].slo_p99)
				printf(",\"hosts_met\":%.4f,\"ticks_met\":%.4f",
				       (double)f->met / hosts,
				       f->ticks_met / hosts);
			printf(",\"decisions\":%.2f,\"signals_time\":%.0f,\"policies_time\":%.0f}",
			       (double)v[k].res.decisions / hosts,
			       tick_us(&v[k].res, v[k].res.cost.signals_ns) * 1000,
			       tick_us(&v[k].res, v[k].res.cost.policies_ns) * 1000);
		}
	printf("]\n");
}

/* What follows the last slash may go into JSON: no quotes, nothing unprintable. */
static const char *shown(const char *file)
{
	const char *slash = strrchr(file, '/');

	file = slash ? slash + 1 : file;
	return strpbrk(file, "\"\\") ? "policies" : file;
}

int policy_fleet(struct cli *cli, const struct scenario *sc,
		 const char *const *files, size_t n, uint32_t hosts)
{
	struct variant *v = calloc(n + 1, sizeof(*v));
	FILE *progress = isatty(STDERR_FILENO) ? stderr : NULL;
	const struct caps all = caps_all();
	struct config cfg;
	int err = v ? CLI_OK : cli_no_memory();
	size_t k;

	for (k = 0; !err && k <= n; k++) {
		v[k].name = k ? shown(files[k - 1]) : "none";
		if (k)
			err = policy_load(&cfg, files[k - 1], &all, true);
		if (err)
			break;
		if (fleet_run(sc, k ? &cfg : NULL, hosts, progress, &v[k].res)) {
			args_bad("the simulation failed");
			err = CLI_ERROR;
		}
		if (k)
			config_free(&cfg);
	}
	if (!err && cli->out.json)
		json(sc, v, n + 1, hosts);
	else if (!err)
		table(sc, v, n + 1, hosts);
	free(v);
	return err;
}
