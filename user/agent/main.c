// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "policy/running.h"

#define EXIT_USAGE 2

enum {
	OPT_ONCE = 256,
	OPT_DRY_RUN,
	OPT_CHECK,
	OPT_INTERVAL,
	OPT_LOG_LEVEL,
	OPT_LOG_JSON,
	OPT_VERSION,
};

static const char usage_text[] =
"Usage: swiftrdma-agent [OPTIONS]\n"
"\n"
"Evaluates the policies of a file on figures of swiftrdma.ko, and changes the\n"
"settings of jobs accordingly.\n"
"\n"
"  -c, --config FILE    policy file (" CONFIG_DEFAULT "; - is standard input)\n"
"      --check          report mistakes in the file, and exit\n"
"      --dry-run        log what would be done, and change nothing\n"
"      --once           decide once, and exit; changes last one lease\n"
"      --interval TIME  time between two readings, instead of the file's\n"
"      --log-level LVL  err, warning, info (default) or debug\n"
"      --log-json       decisions and results on stdout, one JSON object a line\n"
"      --version\n"
"  -h, --help\n"
"\n"
"A host has one agent, which holds the lock " AGENT_LOCK ".\n"
"SIGHUP reads the file again; SIGTERM and SIGINT stop and release everything;\n"
"SIGUSR1 stops and leaves everything to the next agent, for one lease.\n"
"See swiftrdma-agent(8) and swiftrdma-policy(5).\n";

static int bad_usage(const char *what, const char *arg, const char *right)
{
	fprintf(stderr, "swiftrdma-agent: %s '%s'; %s\n", what, arg, right);
	return -1;
}

static int parse_interval(struct agent_options *opt, const char *arg)
{
	struct quantity q;

	if (units_parse(arg, strlen(arg), &q, NULL) || q.unit != UNIT_TIME ||
	    q.v < 1e6 || q.v > 60e9)
		return bad_usage("--interval", arg,
				 "it is a time from 1ms to 60s, as in 100ms");
	opt->interval = (uint64_t)q.v;
	return 0;
}

/* 0: continue; 1: done; -1: wrong usage. */
static int parse_options(struct agent_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
		{ "once", no_argument, NULL, OPT_ONCE },
		{ "interval", required_argument, NULL, OPT_INTERVAL },
		{ "log-level", required_argument, NULL, OPT_LOG_LEVEL },
		{ "log-json", no_argument, NULL, OPT_LOG_JSON },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			opt->config = optarg;
			break;
		case OPT_CHECK:
			opt->check = true;
			break;
		case OPT_DRY_RUN:
			opt->dry_run = true;
			break;
		case OPT_ONCE:
			opt->once = true;
			break;
		case OPT_INTERVAL:
			if (parse_interval(opt, optarg))
				return -1;
			break;
		case OPT_LOG_LEVEL:
			opt->log_level = log_level(optarg);
			if (opt->log_level < 0)
				return bad_usage("--log-level", optarg,
						 "it is err, warning, info or debug");
			break;
		case OPT_LOG_JSON:
			opt->json = true;
			break;
		case OPT_VERSION:
			puts("swiftrdma-agent " VERSION);
			return 1;
		case 'h':
			fputs(usage_text, stdout);
			return 1;
		default:
			fputs("Try 'swiftrdma-agent --help'.\n", stderr);
			return -1;
		}
	}
	if (optind < argc)
		return bad_usage("unexpected", argv[optind],
				 "the policy file is given with --config");
	return 0;
}

static int run_agent(const struct agent_options *opt, struct config *cfg)
{
	/* Too large for the stack: it holds whole batches. */
	struct agent *a = malloc(sizeof(*a));
	char why[512];
	int err, status, lock = -1;

	/* A dry run sends nothing, so it needs no lock. */
	if (!opt->dry_run) {
		lock = agent_lock(AGENT_LOCK, why, sizeof(why));
		if (lock < 0) {
			log_msg(LOG_ERR, "%s", why);
			config_free(cfg);
			free(a);
			return EXIT_FAILURE;
		}
	}
	if (!a) {
		log_msg(LOG_ERR, "out of memory");
		config_free(cfg);
		return EXIT_FAILURE;
	}
	agent_init(a, opt, cfg);
	err = io_drop_privileges(true);
	if (err == -EPERM)
		log_msg(LOG_WARNING,
			"no CAP_NET_ADMIN: the kernel will refuse most requests");
	else if (err)
		log_msg(LOG_WARNING, "privileges are not dropped: %s",
			strerror(-err));
	log_msg(LOG_INFO, "%zu jobs, %zu policies, a reading every %.3g ms%s",
		a->cfg.n_jobs, a->cfg.policies.n,
		(double)agent_interval(a) / 1e6,
		opt->dry_run ? ", dry run" : "");
	status = opt->once ? agent_once(a) : agent_loop(a);
	agent_free(a);
	free(a);
	if (lock >= 0)
		close(lock);
	return status;
}

int main(int argc, char **argv)
{
	struct agent_options opt = {
		.config = CONFIG_DEFAULT,
		.run_dir = RUNNING_DIR,
		.log_level = LOG_INFO,
	};
	struct config cfg;
	struct diag r;
	int err = parse_options(&opt, argc, argv);

	if (err)
		return err < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	log_open(opt.log_level, opt.json);
	diag_init(&r, strcmp(opt.config, "-") ? opt.config : "<stdin>");
	if (!config_load_file(&cfg, opt.config, &r)) {
		diag_print(&r, stderr);
		return EXIT_FAILURE;
	}
	diag_print(&r, stderr);
	if (opt.check) {
		printf("%s: %zu jobs, %zu policies%s, nothing wrong\n", r.name,
		       cfg.n_jobs, cfg.policies.n,
		       cfg.derived ? " derived from the order" : "");
		config_free(&cfg);
		return EXIT_SUCCESS;
	}
	return run_agent(&opt, &cfg);
}
