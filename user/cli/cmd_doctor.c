// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma doctor: checks this host's setup and reports what is wrong. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/table.h"

/* Exit status by the worst finding, as monitoring plug-ins expect it. */
enum {
	STATUS_FINE = 0,
	STATUS_WARNING = 1,
	STATUS_ERROR = 2,
	STATUS_FAILED = 3,
};

/* Everything that was read. struct doctor points into it. */
struct gathered {
	struct host host;
	struct snapshot none;
	struct snap_action *actions;
	struct config cfg;
	bool has_cfg;
	struct diag diag;
	struct doctor_policy *policies;
	struct doctor d;
};

/* --- what the judges share --------------------------------------------------- */

const char *const doctor_areas[DOCTOR_AREAS + 1] = {
	"module", "kernel", "agent", "device", "limits", "policy", "qos", NULL,
};

void doctor_say(struct doctor *d, enum doctor_area area,
		enum doctor_verdict verdict, const char *rule,
		const char *object, const char *fmt, ...)
{
	struct finding *f;
	va_list ap;

	f = array_next(&d->found, d->n, &d->cap, sizeof(*f));
	if (!f) {
		d->no_memory = true;
		return;
	}
	d->n++;
	f->area = area;
	f->verdict = verdict;
	f->rule = rule;
	snprintf(f->object, sizeof(f->object), "%s", object);
	va_start(ap, fmt);
	vsnprintf(f->says, sizeof(f->says), fmt, ap);
	va_end(ap);
}

static bool has_control_characters(const char *command)
{
	char tame[DOCTOR_MEND];
	struct text t;

	text_init(&t, tame, sizeof(tame));
	text_tame(&t, command);
	return strcmp(tame, command) != 0;
}

void doctor_mend(struct doctor *d, const char *fmt, ...)
{
	struct finding *f;
	va_list ap;
	int n;

	if (!d->n || d->no_memory)
		return;
	f = &d->found[d->n - 1];
	va_start(ap, fmt);
	n = vsnprintf(f->mend, sizeof(f->mend), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(f->mend))
		doctor_no_mend(d, "it is too long");
	else if (has_control_characters(f->mend))
		doctor_no_mend(d, "it has control characters");
}

void doctor_no_mend(struct doctor *d, const char *why)
{
	struct finding *f;
	size_t len;

	if (!d->n || d->no_memory)
		return;
	f = &d->found[d->n - 1];
	f->mend[0] = '\0';
	len = strlen(f->says);
	snprintf(f->says + len, sizeof(f->says) - len, "; no command is shown: %s", why);
}

void doctor_detail(struct doctor *d)
{
	if (d->n && !d->no_memory)
		d->found[d->n - 1].detail = true;
}

bool doctor_ails(const struct doctor *d, enum doctor_area area, const char *object)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->found[i].area == area &&
		    d->found[i].verdict >= DOCTOR_WARNING &&
		    !strcmp(d->found[i].object, object))
			return true;
	return false;
}

const struct snap_dev *doctor_snap_dev(const struct doctor *d, const char *name)
{
	return reading_dev_named(d->snap, name);
}

/* "mlx5_core", and "mlx5_core.sf" for a subfunction */
bool doctor_is_mlx5(const struct host_dev *dev)
{
	return !strncmp(dev->driver, "mlx5_core", 9);
}

/* In a guest a virtual function looks like a physical one to sysfs. */
enum host_function doctor_function(const struct doctor *d, const struct host_dev *dev)
{
	const struct snap_dev *s = doctor_snap_dev(d, dev->name);

	switch (s ? s->function : SWIFTRDMA_FUNCTION_UNSPEC) {
	case SWIFTRDMA_FUNCTION_PF:
		return HOST_PF;
	case SWIFTRDMA_FUNCTION_VF:
		return HOST_VF;
	case SWIFTRDMA_FUNCTION_SF:
		return HOST_SF;
	case SWIFTRDMA_FUNCTION_REPRESENTOR:
		return HOST_REPRESENTOR;
	default:
		return dev->function;
	}
}

const char *doctor_service(const char *cgroup)
{
	const char *last = strrchr(cgroup, '/');
	size_t n;

	last = last ? last + 1 : cgroup;
	n = strlen(last);
	return n > 8 && !strcmp(last + n - 8, ".service") &&
	       !strpbrk(last, "*?[]\\'\"$ ") ? last : NULL;
}

const char *doctor_level_note(const struct doctor *d)
{
	return d->cfg && d->cfg->n_levels ? "  # and in the policy file" : "";
}

/* --- reading ------------------------------------------------------------------ */

/* Does the module answer this user? -EPERM is reported before any other error. */
static void read_module(struct cli *cli, struct gathered *g)
{
	const struct io_want want = {
		.devs = true, .ports = true, .qps = true, .jobs = true,
	};
	struct doctor *d = &g->d;
	int err = io_open(&cli->io);

	d->snap = &g->none;
	d->n_levels = d->actions_error = d->armed = d->events = -ENODEV;
	if (!err)
		err = io_snapshot(cli->io, &cli->snap, &want);
	d->answers = err >= 0;
	if (err < 0) {
		snprintf(d->io_words, sizeof(d->io_words), "%s", io_error(cli->io));
		return;
	}
	d->snap = &cli->snap;
	d->armed = io_armed(cli->io);
	d->n_levels = io_levels(cli->io, d->levels, DOCTOR_LEVELS);
	d->actions_error = io_actions(cli->io, &g->actions, &d->n_actions);
	d->actions = g->actions;
	d->events = io_events_open(cli->io);
	if (d->events < 0)
		snprintf(d->event_words, sizeof(d->event_words), "%s", io_error(cli->io));
	else
		d->events = 0;
}

/* The policy file of the running agent, or the one it would use. */
static void find_file(struct cli *cli, struct gathered *g, const char *file)
{
	const struct running *r = cli_running(cli);
	bool named = r->pid && strcmp(r->file, "-");

	g->d.file = file ? file : named ? r->file : CONFIG_DEFAULT;
	g->d.file_there = !access(g->d.file, F_OK);
}

static void read_file(struct gathered *g)
{
	if (!g->d.file_there)
		return;
	diag_init(&g->diag, g->d.file);
	g->has_cfg = config_load_file(&g->cfg, g->d.file, &g->diag);
	g->d.diag = &g->diag;
	if (g->has_cfg)
		g->d.cfg = &g->cfg;
}

/* Loads the policies once for each device. */
static bool read_policies(struct gathered *g)
{
	const struct snapshot *snap = g->d.snap;
	size_t n = g->has_cfg ? g->cfg.policies.n * snap->n_devs : 0, at = 0;

	g->policies = calloc(n + 1, sizeof(*g->policies));
	if (!g->policies)
		return false;
	for (size_t i = 0; i < snap->n_devs && n; i++) {
		const struct caps caps = caps_dev(snap, &snap->devs[i]);
		struct config cfg;
		struct diag r;

		diag_init(&r, g->d.file);
		/* The file may have changed since; the first reading is the one judged. */
		if (!config_load_file_for(&cfg, &caps, g->d.file, &r))
			continue;
		for (size_t k = 0; k < cfg.policies.n && at < n; k++) {
			struct doctor_policy *p = &g->policies[at];

			if (k >= g->cfg.policies.n ||
			    strcmp(cfg.policies.v[k].name, g->cfg.policies.v[k].name))
				continue;
			p->name = g->cfg.policies.v[k].name;
			p->dev = snap->devs[i].name;
			snprintf(p->off, sizeof(p->off), "%s", cfg.texts[k].off);
			at++;
		}
		config_free(&cfg);
	}
	g->d.policies = g->policies;
	g->d.n_policies = at;
	return true;
}

static bool read_units(struct gathered *g)
{
	struct doctor *d = &g->d;
	size_t n = 0;

	for (size_t i = 0; g->has_cfg && i < g->cfg.n_jobs; i++)
		n += g->cfg.jobs[i].n_rules;
	d->units = calloc(n + 1, sizeof(*d->units));
	if (!d->units)
		return false;
	for (size_t i = 0; n && i < g->cfg.n_jobs; i++) {
		const struct config_job *j = &g->cfg.jobs[i];

		for (size_t k = 0; k < j->n_rules; k++) {
			struct doctor_unit *u = &d->units[d->n_units];
			const char *unit = doctor_service(j->rules[k].cgroup);

			if (!unit || io_unit_memlock(unit, &u->memlock))
				continue;
			u->job = j->name;
			snprintf(u->unit, sizeof(u->unit), "%s", unit);
			d->n_units++;
		}
	}
	return true;
}

/* --- printing ------------------------------------------------------------------ */

static const struct {
	const char *word;
	enum tone tone;
} verdicts[DOCTOR_VERDICTS] = {
	[DOCTOR_FINE] = { "ok", TONE_GOOD },
	[DOCTOR_UNSEEN] = { "unknown", TONE_PLAIN },
	[DOCTOR_WARNING] = { "warning", TONE_WARN },
	[DOCTOR_ERROR] = { "error", TONE_BAD },
};

GETTER(check)
{
	cell_str(c, doctor_areas[((const struct finding *)row)->area]);
}

GETTER(verdict)
{
	cell_str(c, verdicts[((const struct finding *)row)->verdict].word);
}

#define FINDING(member)		MEMBER(struct finding, member)

/* For JSON only. */
static const struct column columns[] = {
	{ "check", NULL, 0, 0, .get = get_check },
	{ "verdict", NULL, 0, 0, .get = get_verdict },
	{ "rule", NULL, 0, 0, FINDING(rule) },
	{ "object", NULL, 0, 0, FINDING(object) },
	{ "says", NULL, 0, 0, FINDING(says) },
	{ "mend", NULL, 0, 0, FINDING(mend) },
};

#define WORD	9	/* columns of a verdict */

static void print_finding(const struct out *o, const struct finding *f, bool first)
{
	const char *tone = o->color ? out_tones[verdicts[f->verdict].tone] : NULL;
	char line[sizeof(f->object) + sizeof(f->says) + 4];
	struct text t;

	fprintf(o->f, "%s%-*s%s", o->color && first ? "\033[1m" : "", WORD,
		first ? doctor_areas[f->area] : "",
		o->color && first ? "\033[0m" : "");
	fprintf(o->f, "%s%-*s%s", tone ? tone : "", WORD,
		verdicts[f->verdict].word, tone ? "\033[0m" : "");
	/* Other users choose the names of processes and cgroups. */
	text_init(&t, line, sizeof(line));
	text_tame(&t, f->object);
	text_str(&t, ": ");
	text_tame(&t, f->says);
	out_folded(o->f, 2 * WORD, line);
	/* On one line of any length, so that it can be copied. */
	if (f->mend[0])
		fprintf(o->f, "%*s# %s\n", 2 * WORD, "", f->mend);
}

static void print_findings(const struct out *o, const struct doctor *d)
{
	size_t count[DOCTOR_VERDICTS] = { 0 };
	int last = -1;

	for (size_t i = 0; i < d->n; i++) {
		const struct finding *f = &d->found[i];

		count[f->verdict]++;
		if (f->detail && !o->details)
			continue;
		print_finding(o, f, (int)f->area != last);
		last = (int)f->area;
	}
	fprintf(o->f, "\n%zu error%s, %zu warning%s, %zu fine, %zu unknown%s\n",
		count[DOCTOR_ERROR], count[DOCTOR_ERROR] == 1 ? "" : "s",
		count[DOCTOR_WARNING], count[DOCTOR_WARNING] == 1 ? "" : "s",
		count[DOCTOR_FINE], count[DOCTOR_UNSEEN],
		count[DOCTOR_UNSEEN] && !d->host->root ? " (root sees more)" : "");
}

static int exit_status(const struct doctor *d)
{
	enum doctor_verdict worst = DOCTOR_FINE;

	for (size_t i = 0; i < d->n; i++)
		if (d->found[i].verdict > worst)
			worst = d->found[i].verdict;
	return worst == DOCTOR_ERROR ? STATUS_ERROR :
	       worst == DOCTOR_WARNING ? STATUS_WARNING : STATUS_FINE;
}

/* --- the command ------------------------------------------------------------------ */

struct asked {
	bool areas[DOCTOR_AREAS];
	const char *file;
};

static int parse_areas(struct args *args, struct asked *a)
{
	bool any = false;

	while (args_left(args)) {
		const char *word = args_next(args);
		int area;

		if (!strcmp(word, "file")) {
			if (args_value(args, "file", &a->file))
				return STATUS_FAILED;
			continue;
		}
		area = args_match(doctor_areas, word);
		if (area < 0) {
			if (args_is_option(word))
				args_no_option(word);
			else
				args_bad("doctor: '%s' is neither a check nor 'file'; see swiftrdma doctor help",
					 word);
			return STATUS_FAILED;
		}
		a->areas[area] = any = true;
	}
	for (int i = 0; !any && i < DOCTOR_AREAS; i++)
		a->areas[i] = true;
	return STATUS_FINE;
}

static void judge_areas(struct doctor *d, const bool *areas)
{
	static void (*const judges[DOCTOR_AREAS])(struct doctor *d) = {
		[DOCTOR_MODULE] = doctor_module,
		[DOCTOR_KERNEL] = doctor_kernel,
		[DOCTOR_AGENT] = doctor_agent,
		[DOCTOR_DEVICE] = doctor_devices,
		[DOCTOR_LIMITS] = doctor_limits,
		[DOCTOR_POLICY] = doctor_policies,
		[DOCTOR_QOS] = doctor_qos,
	};

	for (int i = 0; i < DOCTOR_AREAS; i++)
		if (areas[i])
			judges[i](d);
}

static int examine_host(struct cli *cli, struct gathered *g, const struct asked *a)
{
	struct doctor *d = &g->d;
	struct rows rows;

	if (io_host(&g->host))
		return STATUS_FAILED;
	d->host = &g->host;
	d->version = cli->version;
	read_module(cli, g);
	find_file(cli, g, a->file);
	read_file(g);
	if (!read_policies(g) || !read_units(g))
		return STATUS_FAILED;
	judge_areas(d, a->areas);
	if (d->no_memory)
		return STATUS_FAILED;
	if (cli->out.json) {
		rows = ROWS(columns, d->found, d->n);
		out_rows(cli, &cli->out, &rows);
	} else {
		print_findings(&cli->out, d);
	}
	return exit_status(d);
}

static int run_checks(struct cli *cli, struct args *args)
{
	struct gathered *g = calloc(1, sizeof(*g));
	struct asked asked = { .file = NULL };
	int ret = parse_areas(args, &asked);

	if (!g) {
		cli_no_memory();
		return STATUS_FAILED;
	}
	if (!ret) {
		ret = examine_host(cli, g, &asked);
		if (ret == STATUS_FAILED)
			cli_no_memory();
	}
	free(g->d.found);
	free(g->d.units);
	free(g->policies);
	free(g->actions);
	if (g->has_cfg)
		config_free(&g->cfg);
	host_free(&g->host);
	free(g);
	return ret;
}

static const struct verb verbs[] = {
	{ "", run_checks }, { 0 },
};

static const struct noun_table doctor_table = NOUN_TABLE("doctor", columns);
static const struct noun_table *const tables[] = { &doctor_table, NULL };

const struct noun noun_doctor = {
	.name = "doctor",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma doctor [ CHECK ... ] [ file FILE ]\n"
	"\n"
	"CHECK := { module | kernel | agent | device | limits | policy | qos }\n"
	"\n"
	"Checks everything that policies need to have an effect on this host. Prints each\n"
	"fault, and after # the command that mends it. Changes nothing. -d also lists what\n"
	"is right. FILE is the agent's policy file, by default the file of the running\n"
	"agent or /etc/swiftrdma/policy.yaml. Exit status: 0 no fault, 1 warnings, 2\n"
	"errors, 3 the checks could not run. What only root can see is unknown to other\n"
	"users, which is not a fault.\n",
	.tables = tables,
};
