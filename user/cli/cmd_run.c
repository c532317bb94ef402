// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma run: a command in its job's cgroup, with the environment of its job. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "policy/config.h"

/* As of env(1) and nohup(1), so that they differ from the statuses of most programs. */
#define EXIT_OWN	125
#define EXIT_CANNOT	126
#define EXIT_NOT_FOUND	127

/* libmlx5 opens no context with fewer: it dedicates 4 registers to one QP each. */
#define UUARS_MIN	8

struct run {
	const char *job, *policy, *cgroup;
	uint32_t uuars;		/* 0: the policy's */
	bool check, no_library;
	char **cmd;
};

#define run_failed(fmt, ...) (cli_fail("run: " fmt, ##__VA_ARGS__), EXIT_OWN)

/*
 * Also removes inherited settings that defeat MLX5_TOTAL_UUARS: MLX5_SHUT_UP_BF puts
 * every QP on one register, MLX5_NUM_LOW_LAT_UUARS may exceed the number of registers.
 */
static void ask_for_uuars(uint32_t uuars)
{
	static const char *const against[] = {
		"MLX5_SHUT_UP_BF", "MLX5_NUM_LOW_LAT_UUARS", NULL,
	};
	char value[16];

	snprintf(value, sizeof(value), "%u", uuars);
	setenv("MLX5_TOTAL_UUARS", value, 1);
	for (const char *const *name = against; *name; name++) {
		if (!getenv(*name))
			continue;
		cli_fail("run: %s=%s is removed from the environment: it defeats MLX5_TOTAL_UUARS",
			 *name, getenv(*name));
		unsetenv(*name);
	}
}

/* A variable that the user has set keeps its value. */
static bool set_default(const char *name, const char *value)
{
	if (!setenv(name, value, 0))
		return true;
	cli_fail("%s: %s", name, strerror(errno));
	return false;
}

/*
 * The agent sets the properties chunk and huge_pages only once a process of the job has the
 * library. By then a program may have created its queues and registered its memory, and the library
 * cannot add room for pieces to a queue, or huge pages to registered memory. So both properties
 * also go into the environment.
 */
static bool set_variables(const struct config_job *job)
{
	if (job->chunk && !set_default("SWIFTRDMA_CHUNK", "yes"))
		return false;
	if (!set_default("SWIFTRDMA_HUGE_PAGES", job->huge_pages ? "yes" : "no"))
		return false;
	for (size_t i = 0; i < job->n_env; i++) {
		if (setenv(job->env[i].name, job->env[i].value, 1)) {
			cli_fail("%s: %s", job->env[i].name, strerror(errno));
			return false;
		}
	}
	return true;
}

/*
 * Adds to the environment what policy file @file has for @job. 1: done; 0: the file has
 * no such job, or it does not exist and @asked is false; -1: the file is wrong, and the
 * mistakes were printed.
 */
static int add_job_environment(const char *file, bool asked, const char *job)
{
	struct config cfg;
	struct diag r;
	int ret = 0;

	if (!asked && access(file, F_OK))
		return 0;
	diag_init(&r, file);
	if (!config_load_file(&cfg, file, &r)) {
		diag_print(&r, stderr);
		return -1;
	}
	for (size_t i = 0; i < cfg.n_jobs; i++)
		if (!strcmp(cfg.jobs[i].name, job))
			ret = set_variables(&cfg.jobs[i]) ? 1 : -1;
	config_free(&cfg);
	if (asked && !ret) {
		cli_fail("%s has no job '%s'", file, job);
		ret = -1;
	}
	return ret;
}

static int set_environment(const struct run *r)
{
	const char *uuars;
	uint64_t n;

	if (add_job_environment(r->policy ? r->policy : CONFIG_DEFAULT, r->policy, r->job) < 0)
		return EXIT_OWN;
	uuars = getenv("MLX5_TOTAL_UUARS");
	if (r->uuars)
		ask_for_uuars(r->uuars);
	else if (uuars && args_number(uuars, CROWD_UUARS_MAX, &n))
		ask_for_uuars((uint32_t)n);
	return 0;
}

/* The cgroup of a job follows from the module's rules. @path has SNAP_PATH bytes. */
static int find_cgroup(struct cli *cli, const struct run *r, const struct job_cgroups *c,
		       char *path)
{
	struct io_want want = { .jobs = true };
	const struct snap_job *job;
	char why[RUN_WHY];

	cli->interval_ms = 0;
	if (cli_read(cli, &want))
		return EXIT_OWN;
	if (!cli->snap.admin)
		return run_failed("reading the job's rules needs CAP_NET_ADMIN (root); --cgroup PATH works without it");
	job = reading_job_named(&cli->snap, r->job);
	if (!job)
		return run_failed("there is no job '%s': create it, as in swiftrdma job set %s match cgroup=/%s",
				  r->job, r->job, r->job);
	if (!job_cgroup_of(&cli->snap, job, geteuid(), c->own, path, why))
		return run_failed("job %s: %s", r->job, why);
	return 0;
}

static int enter_cgroup(struct cli *cli, const struct run *r, char *path)
{
	struct job_cgroups c;
	char why[RUN_WHY];
	int err;

	if (!job_cgroups_find(&c, "/proc/self/mountinfo", "/proc/self/cgroup", why))
		return run_failed("%s", why);
	if (r->cgroup) {
		snprintf(path, SNAP_PATH, "%s", r->cgroup);
	} else {
		err = find_cgroup(cli, r, &c, path);
		if (err)
			return err;
	}
	return job_cgroup_enter(&c, path, why) ? 0 : run_failed("%s", why);
}

/* Without an installed library the command runs without it. */
static void preload_library(const struct cli *cli, const struct run *r)
{
	char path[SNAP_PATH];
	bool found = !r->no_library && run_lib_find("/proc/self/exe", path, sizeof(path)) &&
		     run_lib_preload(path);

	if (cli->out.details)
		cli_fail("run: library %s", found ? path : "(not preloaded)");
}

/* Looks in the directories of PATH. Unlike execvp(), an empty one is not the current directory. */
static bool find_command(const char *name, char *path, size_t cap)
{
	const char *dirs = getenv("PATH") ?: "/usr/bin:/bin";

	if (strchr(name, '/'))
		return (size_t)snprintf(path, cap, "%s", name) < cap;
	while (*dirs) {
		size_t n = strcspn(dirs, ":");

		if ((size_t)snprintf(path, cap, "%.*s/%s", (int)n, dirs, name) < cap &&
		    !access(path, X_OK))
			return true;
		dirs += n + !!dirs[n];
	}
	errno = ENOENT;
	return false;
}

static int check_command(const struct run *r)
{
	char path[SNAP_PATH];
	struct run_seen seen;

	if (!find_command(r->cmd[0], path, sizeof(path)) || !run_check(&seen, path)) {
		cli_fail("run: %s: %s", r->cmd[0], strerror(errno));
		return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
	}
	run_check_print(&seen, path, stdout);
	return 0;
}

static int exec_command(struct cli *cli, const struct run *r, const char *path)
{
	if (cli->out.details)
		cli_fail("run: job %s, cgroup %s, MLX5_TOTAL_UUARS=%s",
			r->job, path, getenv("MLX5_TOTAL_UUARS") ?: "(not set)");
	io_close(cli->io);
	cli->io = NULL;
	fflush(NULL);
	execvp(r->cmd[0], r->cmd);
	cli_fail("run: %s: %s", r->cmd[0], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
}

static int parse_run(struct run *r, struct args *args)
{
	static const char *const keywords[] = {
		"job", "uuars", "policy", "cgroup", "check", "no-library", NULL,
	};
	const char *s;

	while (args_left(args) && strcmp(args_peek(args), "--")) {
		const char *word = args_next(args);
		int err = CLI_OK;

		switch (args_match(keywords, word + strspn(word, "-"))) {
		case 0:
			err = args_value(args, "job", &r->job);
			break;
		case 1:
			err = args_u32(args, "uuars", CROWD_UUARS_MAX, &r->uuars);
			if (!err && r->uuars < UUARS_MIN)
				err = args_bad("uuars: from %d to %d",
					       UUARS_MIN, CROWD_UUARS_MAX);
			break;
		case 2:
			err = args_value(args, "policy", &r->policy);
			break;
		case 3:
			err = args_value(args, "cgroup", &s);
			r->cgroup = s;
			if (!err && (*s != '/' || strlen(s) >= SNAP_PATH ||
				     strstr(s, "/../") || !strcmp(s, "/..")))
				err = args_bad("cgroup: '%s' is not a path below the root of the hierarchy, as in /kv",
					       s);
			break;
		case 4:
			r->check = true;
			break;
		case 5:
			r->no_library = true;
			break;
		default:
			err = args_bad("'%s': expected job, uuars, policy, cgroup, check, no-library, or -- and a command",
				       word);
		}
		if (err)
			return EXIT_OWN;
	}
	args_next(args);
	if (!r->job && !r->check) {
		args_bad("run: a job is missing, as in run --job kv -- CMD");
		return EXIT_OWN;
	}
	if (!args_left(args)) {
		args_bad("run: the command after -- is missing");
		return EXIT_OWN;
	}
	/* args->word is the argv of main(), so it ends with NULL. */
	r->cmd = args->word;
	return 0;
}

static int run_command(struct cli *cli, struct args *args)
{
	struct run r = { 0 };
	char path[SNAP_PATH];
	int err = parse_run(&r, args);

	if (!err && r.check)
		return check_command(&r);
	if (!err)
		err = set_environment(&r);
	if (!err)
		err = enter_cgroup(cli, &r, path);
	if (!err)
		preload_library(cli, &r);
	return err ? err : exec_command(cli, &r, path);
}

static const struct verb verbs[] = {
	{ "", run_command }, { 0 },
};

const struct noun noun_run = {
	.name = "run",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma run --job NAME [ --uuars N ] [ --policy FILE ]\n"
	"                     [ --cgroup PATH ] [ --no-library ] -- CMD [ ARG ... ]\n"
	"       swiftrdma run --check -- CMD\n"
	"\n"
	"Executes CMD as a program of the job: in cgroup PATH, else in the present cgroup\n"
	"if the rules of the job match it, else in the first cgroup that a rule names; and\n"
	"with the environment that the policy file (default /etc/swiftrdma/policy.yaml)\n"
	"has for the job, SWIFTRDMA_HUGE_PAGES by its property huge_pages (yes by default),\n"
	"and SWIFTRDMA_CHUNK=yes if it has the property chunk.\n"
	"--uuars N asks libmlx5 for N doorbell registers (MLX5_TOTAL_UUARS, at most 512),\n"
	"whatever the file says. libswiftrdma is preloaded where it is installed, except\n"
	"with --no-library. --check says what that library would see of CMD, and does not\n"
	"run CMD. The exit status is that of CMD; 125: CMD\n"
	"was not started; 126: it could not be executed; 127: it was not found.\n",
};
