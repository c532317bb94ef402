// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"

/* As env(1) and nohup(1) have them, so that CMD's own can be told from ours. */
#define EXIT_OWN	125
#define EXIT_CANNOT	126
#define EXIT_NOT_FOUND	127

/* With fewer libmlx5 opens no context: 4 are for one QP each. */
#define UUARS_MIN	8

struct run {
	const char *job, *policy, *cgroup;
	uint32_t uuars;		/* 0: the policy's */
	char **cmd;
};

static int failed(const char *why)
{
	fprintf(stderr, "swiftrdma: run: %s\n", why);
	return EXIT_OWN;
}

/*
 * Settings inherited from the shell that would undo it: one puts every QP on one
 * register, the other may ask for more registers than there are.
 */
static void spread(uint32_t uuars)
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
		fprintf(stderr, "swiftrdma: run: %s=%s is left out: it goes against MLX5_TOTAL_UUARS\n",
			*name, getenv(*name));
		unsetenv(*name);
	}
}

static int environment(const struct run *r)
{
	const char *uuars;
	uint64_t n;

	if (run_policy_environment(r->policy ? r->policy : CONFIG_DEFAULT,
				   r->policy, r->job) < 0)
		return EXIT_OWN;
	uuars = getenv("MLX5_TOTAL_UUARS");
	if (r->uuars)
		spread(r->uuars);
	else if (uuars && args_number(uuars, CROWD_UUARS_MAX, &n))
		spread((uint32_t)n);
	return 0;
}

static const struct snap_job *find_job(const struct cli *cli, const char *name)
{
	for (size_t i = 0; i < cli->snap.n_jobs; i++)
		if (!strcmp(cli->snap.jobs[i].name, name))
			return &cli->snap.jobs[i];
	return NULL;
}

/* Which cgroup is the job's only the module's rules say. */
static int find_cgroup(struct cli *cli, const struct run *r,
		       const struct run_cgroups *c, char *path, size_t cap)
{
	struct io_want want = { .jobs = true };
	const struct snap_job *job;
	char why[512];

	cli->interval_ms = 0;
	if (cli_read(cli, &want))
		return EXIT_OWN;
	if (!cli->snap.admin)
		return failed("reading the job's rules needs CAP_NET_ADMIN (root); or say --cgroup PATH");
	job = find_job(cli, r->job);
	if (!job) {
		snprintf(why, sizeof(why),
			 "no job '%s': make it, as in swiftrdma job set %s match cgroup=/%s",
			 r->job, r->job, r->job);
		return failed(why);
	}
	if (!run_cgroup_of(&cli->snap, job, geteuid(), c->own, path, cap, why,
			   sizeof(why))) {
		fprintf(stderr, "swiftrdma: run: job %s: %s\n", r->job, why);
		return EXIT_OWN;
	}
	return 0;
}

static int enter(struct cli *cli, const struct run *r, char *path, size_t cap)
{
	struct run_cgroups c;
	char why[512];
	int err;

	if (!run_cgroups_find(&c, "/proc/self/mountinfo", "/proc/self/cgroup",
			      why, sizeof(why)))
		return failed(why);
	if (r->cgroup) {
		snprintf(path, cap, "%s", r->cgroup);
	} else {
		err = find_cgroup(cli, r, &c, path, cap);
		if (err)
			return err;
	}
	return run_cgroup_enter(&c, path, why, sizeof(why)) ? 0 : failed(why);
}

static int replace(struct cli *cli, const struct run *r, const char *path)
{
	if (cli->out.details)
		fprintf(stderr, "swiftrdma: run: job %s, cgroup %s, MLX5_TOTAL_UUARS=%s\n",
			r->job, path, getenv("MLX5_TOTAL_UUARS") ?: "(not set)");
	io_close(cli->io);
	cli->io = NULL;
	fflush(NULL);
	execvp(r->cmd[0], r->cmd);
	fprintf(stderr, "swiftrdma: run: %s: %s\n", r->cmd[0], strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT;
}

static int parse(struct run *r, struct args *args)
{
	static const char *const keywords[] = {
		"job", "uuars", "policy", "cgroup", NULL,
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
			err = args_u32(args, "uuars", CROWD_UUARS_MAX,
				       &r->uuars);
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
				err = args_bad("cgroup: '%s' is no path below the root of the hierarchy, as in /kv",
					       s);
			break;
		default:
			err = args_bad("'%s': expected job, uuars, policy, cgroup, or -- and a command",
				       word);
		}
		if (err)
			return EXIT_OWN;
	}
	args_next(args);
	if (!r->job) {
		args_bad("run: for which job? As in run --job kv -- CMD");
		return EXIT_OWN;
	}
	if (!args_left(args)) {
		args_bad("run: which command? It comes after --");
		return EXIT_OWN;
	}
	/* main()'s argv, which ends with a NULL. */
	r->cmd = args->word;
	return 0;
}

static int run(struct cli *cli, struct args *args)
{
	struct run r = { 0 };
	char path[SNAP_PATH];
	int err = parse(&r, args);

	if (!err)
		err = environment(&r);
	if (!err)
		err = enter(cli, &r, path, sizeof(path));
	return err ? err : replace(cli, &r, path);
}

static const struct verb verbs[] = {
	{ "", run }, { 0 },
};

const struct noun noun_run = {
	"run", verbs,
	"Usage: swiftrdma run --job NAME [ --uuars N ] [ --policy FILE ]\n"
	"                     [ --cgroup PATH ] -- CMD [ ARG ... ]\n"
	"\n"
	"Become CMD, in a cgroup that the rules of the job match (the one we are in, if\n"
	"it is; PATH, if given), and with the environment that the policy file\n"
	"(/etc/swiftrdma/policy.yaml, if it is there) has for the job. --uuars N asks\n"
	"libmlx5 for N doorbell registers (MLX5_TOTAL_UUARS, at most 512), whatever the\n"
	"file says. The exit status is CMD's; 125: it was not started, 126, 127: it\n"
	"could not be executed, was not found.\n",
};
