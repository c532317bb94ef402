// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/exporter.h"

#define EXIT_USAGE	2
#define TOP_MAX		1000
#define OWNERS_MAX	100000
#define SERIES_MIN	1000
#define SERIES_MAX	10000000

enum {
	OPT_LISTEN = 256,
	OPT_WEB_CONFIG,
	OPT_INTERVAL,
	OPT_POLICY,
	OPT_REPLAY,
	OPT_SPEED,
	OPT_TOP_UARS,
	OPT_TOP_QPS,
	OPT_MAX_OWNERS,
	OPT_MAX_SERIES,
	OPT_LIST,
	OPT_VERSION,
};

static const char usage_text[] =
"Usage: swiftrdma-exporter [OPTIONS]\n"
"\n"
"Serves figures of swiftrdma.ko: a page for people at /, metrics for Prometheus at /metrics.\n"
"\n"
"      --web.listen-address ADDRESS  (" EXPORTER_LISTEN ")\n"
"      --web.config.file FILE  TLS and passwords, as Prometheus' exporters have it\n"
"      --interval TIME      time between two readings (1s)\n"
"      --policy FILE        targets and port speeds while no agent runs\n"
"                           (" CONFIG_DEFAULT ")\n"
"      --top-uars N         UARs with series of their own (20)\n"
"      --top-qps N          queue pairs with series of their own (20)\n"
"      --max-owners N       owners with series of their own (500)\n"
"      --max-series N       series of a scrape at most (20000)\n"
"      --replay FILE        serve a recording of 'swiftrdma record' instead\n"
"      --replay-speed N     as fast as recorded is 1 (default); 0: all at once\n"
"      --list-metrics       print name, type and meaning of all metrics, and exit\n"
"      --version\n"
"  -h, --help\n"
"\n"
"SIGHUP reads the web configuration again. See swiftrdma-exporter(8).\n";

static int bad_usage(const char *what, const char *arg, const char *right)
{
	fprintf(stderr, "swiftrdma-exporter: %s '%s'; %s\n", what, arg, right);
	return -1;
}

static int parse_count(const char *name, const char *arg, size_t min, size_t max, size_t *n)
{
	char *end, right[80];
	unsigned long long v = strtoull(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || v < min || v > max) {
		snprintf(right, sizeof(right), "it is a number from %zu to %zu", min, max);
		return bad_usage(name, arg, right);
	}
	*n = (size_t)v;
	return 0;
}

static int parse_interval(struct exporter_options *opt, const char *arg)
{
	struct quantity q;

	if (units_parse(arg, strlen(arg), &q, NULL) || q.unit != UNIT_TIME || q.v < 1e8 ||
	    q.v > 60e9)
		return bad_usage("--interval", arg, "it is a time from 100ms to 60s, as in 1s");
	opt->interval = (uint64_t)q.v;
	return 0;
}

static int parse_speed(struct exporter_options *opt, const char *arg)
{
	char *end;

	opt->speed = strtod(arg, &end);
	if (end == arg || *end || !(opt->speed >= 0 && opt->speed <= 1e6))
		return bad_usage("--replay-speed", arg, "it is a number from 0 to 1000000");
	return 0;
}

static int list_metrics(void)
{
	static const struct figures_options none;
	struct figures f;
	struct expo e = { 0 };
	int err = figures_init(&f, &none);

	if (!err && metrics_write(&f, &e, EXPO_LIST))
		fwrite(e.buf, 1, e.len, stdout);
	expo_free(&e);
	figures_free(&f);
	return err || fflush(stdout);
}

/* 0: continue; 1: done; -1: wrong usage. */
static int parse_options(struct exporter_options *opt, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "web.listen-address", required_argument, NULL, OPT_LISTEN },
		{ "web.config.file", required_argument, NULL, OPT_WEB_CONFIG },
		{ "interval", required_argument, NULL, OPT_INTERVAL },
		{ "policy", required_argument, NULL, OPT_POLICY },
		{ "replay", required_argument, NULL, OPT_REPLAY },
		{ "replay-speed", required_argument, NULL, OPT_SPEED },
		{ "top-uars", required_argument, NULL, OPT_TOP_UARS },
		{ "top-qps", required_argument, NULL, OPT_TOP_QPS },
		{ "max-owners", required_argument, NULL, OPT_MAX_OWNERS },
		{ "max-series", required_argument, NULL, OPT_MAX_SERIES },
		{ "list-metrics", no_argument, NULL, OPT_LIST },
		{ "version", no_argument, NULL, OPT_VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct figures_options *f = &opt->figures;
	int c, err = 0;

	while (!err && (c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case OPT_LISTEN:
			opt->listen = optarg;
			break;
		case OPT_WEB_CONFIG:
			opt->web_config = optarg;
			break;
		case OPT_INTERVAL:
			err = parse_interval(opt, optarg);
			break;
		case OPT_POLICY:
			f->policy_file = optarg;
			break;
		case OPT_REPLAY:
			opt->replay = optarg;
			break;
		case OPT_SPEED:
			err = parse_speed(opt, optarg);
			break;
		case OPT_TOP_UARS:
			err = parse_count("--top-uars", optarg, 0, TOP_MAX, &f->top_uars);
			break;
		case OPT_TOP_QPS:
			err = parse_count("--top-qps", optarg, 0, TOP_MAX, &f->top_qps);
			break;
		case OPT_MAX_OWNERS:
			err = parse_count("--max-owners", optarg, 0, OWNERS_MAX, &f->max_owners);
			break;
		case OPT_MAX_SERIES:
			err = parse_count("--max-series", optarg, SERIES_MIN, SERIES_MAX,
					  &f->max_series);
			break;
		case OPT_LIST:
			return list_metrics() ? -1 : 1;
		case OPT_VERSION:
			puts("swiftrdma-exporter " VERSION);
			return 1;
		case 'h':
			fputs(usage_text, stdout);
			return 1;
		default:
			fputs("Try 'swiftrdma-exporter --help'.\n", stderr);
			return -1;
		}
	}
	if (!err && optind < argc)
		return bad_usage("unexpected", argv[optind], "there are only options");
	return err;
}

int main(int argc, char **argv)
{
	struct exporter_options opt = {
		.listen = EXPORTER_LISTEN,
		.interval = EXPORTER_INTERVAL,
		.speed = 1,
		.figures = {
			.top_uars = EXPORTER_TOP,
			.top_qps = EXPORTER_TOP,
			.max_owners = TALLY_OWNERS_DEFAULT,
			.max_series = EXPORTER_SERIES,
			.run_file = RUNNING_FILE,
			.policy_file = CONFIG_DEFAULT,
		},
	};
	int err = parse_options(&opt, argc, argv);

	if (err)
		return err < 0 ? EXIT_USAGE : EXIT_SUCCESS;
	/* What runs on this host now has nothing to do with a recording. */
	if (opt.replay) {
		opt.figures.run_file = NULL;
		opt.figures.recording = strrchr(opt.replay, '/') ? strrchr(opt.replay, '/') + 1 :
								    opt.replay;
	}
	if (opt.replay && !strcmp(opt.figures.policy_file, CONFIG_DEFAULT))
		opt.figures.policy_file = NULL;
	return exporter_run(&opt);
}
