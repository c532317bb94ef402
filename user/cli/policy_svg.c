// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy simulate ... svg FILE: latency and knobs over time, by gnuplot. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/policy.h"
#include "sim/sim.h"

/* The columns of the CSV from the seventh on. */
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

/* Which knobs are worth a curve: those that somebody turned. */
static void look(const struct scenario *sc, FILE *csv, struct seen *s)
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
			s->changed[job][k] |= s->any[job] &&
					      v[k] != s->v[job][k];
		s->any[job] = true;
		memcpy(s->v[job], v, sizeof(v));
	}
}

/* As gnuplot quotes. */
static void quoted(FILE *out, const char *s)
{
	putc('\'', out);
	for (; *s; s++)
		fprintf(out, *s == '\'' ? "''" : "%c", *s);
	putc('\'', out);
}

static void curve(FILE *out, const char *csv, const char *job, unsigned int column,
		  const char *how, const char *what, bool first)
{
	fputs(first ? "plot " : ", ", out);
	quoted(out, csv);
	/*
	 * Names of jobs are words: see get_name(). On a scale that has no nought, a
	 * knob's is drawn below 1, and a latency's, where nothing was done, not.
	 */
	fprintf(out, " using (strcol(2) eq '%s' ? $1 : NaN):($%u > 0 ? $%u : %s) with %s title '%s%s'",
		job, column, column, column < FIRST_KNOB ? "NaN" : "0.5", how,
		job, what);
}

static void script(FILE *out, const struct scenario *sc, const struct seen *s,
		   const char *csv, const char *svg)
{
	bool first = true;
	char what[24];
	size_t i, k;

	fputs("set terminal svg size 900,700 dynamic enhanced background 'white'\nset output ",
	      out);
	quoted(out, svg);
	fprintf(out, "\nset datafile separator ','\nset datafile missing NaN\n"
		"set multiplot layout 2,1 title '%s (simulated)' noenhanced\n"
		"set key outside noenhanced\nset xlabel 'ms'\n"
		"set ylabel 'p99 (us)'\nset logscale y\n", sc->name);
	for (i = 0; i < sc->n_jobs; i++)
		curve(out, csv, sc->jobs[i].name, 4, "lines", "",
		      !i);
	fputs("\nset yrange [0.4:*]\nset ytics add ('0' 0.5)\nset ylabel 'knobs'\n",
	      out);
	for (i = 0; i < sc->n_jobs; i++)
		for (k = 0; k < KNOBS; k++) {
			if (!s->changed[i][k])
				continue;
			snprintf(what, sizeof(what), " %s", knobs[k]);
			curve(out, csv, sc->jobs[i].name,
			      FIRST_KNOB + (unsigned int)k, "steps", what,
			      first);
			first = false;
		}
	if (first)
		fputs("set label 1 'no knob was turned' at graph 0.4,0.5\nplot [0:1][1:2] NaN notitle",
		      out);
	fputs("\nunset multiplot\n", out);
}

int policy_svg(const struct scenario *sc, const char *csv, const char *svg)
{
	struct seen *s = calloc(1, sizeof(*s));
	FILE *in, *out = fopen(svg, "we");
	int status;

	if (!out) {
		args_bad("%s: %s", svg, strerror(errno));
		free(s);
		return CLI_ERROR;
	}
	fclose(out);
	if (!s)
		return cli_no_memory();
	in = fopen(csv, "re");
	if (!in) {
		args_bad("%s: %s", csv, strerror(errno));
		free(s);
		return CLI_ERROR;
	}
	look(sc, in, s);
	fclose(in);
	out = popen("gnuplot", "we");
	if (out)
		script(out, sc, s, csv, svg);
	free(s);
	status = out ? pclose(out) : -1;
	if (!status)
		return CLI_OK;
	args_bad("%s: gnuplot could not draw it; is gnuplot-nox installed?", svg);
	return CLI_ERROR;
}
