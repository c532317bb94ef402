// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma: nouns and verbs, in iproute2's grammar. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* An ambiguous abbreviation means the first match. */
static const struct noun *const nouns[] = {
	&noun_dev, &noun_port, &noun_uar, &noun_qp, &noun_job, &noun_action,
	&noun_level, &noun_monitor, &noun_module, &noun_top, &noun_run,
	&noun_policy, &noun_record, &noun_doctor,
};

#define N_NOUNS	(sizeof(nouns) / sizeof(nouns[0]))

static const char usage[] =
	"Usage: swiftrdma [ OPTIONS ] OBJECT { COMMAND | help }\n"
	"\n"
	"OBJECT  := { dev | port | uar | qp | job | action | level | monitor | module |\n"
	"             top | run | policy | record | doctor }\n"
	"OPTIONS := { -j[son] | -p[retty] | -d[etails] | -i[nterval] SEC |\n"
	"             -c[olor][={auto|always|never}] | -V[ersion] | -h[elp] }\n"
	"\n"
	"Objects, commands and options may be cut short. See swiftrdma(8).\n";

enum { JSON, PRETTY, DETAILS, INTERVAL, COLOR, VERSION_OPT, HELP };

static const char *const options[] = {
	"json", "pretty", "details", "interval", "color", "Version", "help",
	NULL,
};

static int set_color(struct cli *cli, const char *when)
{
	static const char *const whens[] = { "auto", "always", "never", NULL };

	switch (args_match(whens, when)) {
	case 0:
		return CLI_OK;
	case 1:
		cli->out.color = true;
		return CLI_OK;
	case 2:
		cli->out.color = false;
		return CLI_OK;
	}
	return args_bad("--color: '%s' is not auto, always or never", when);
}

static int parse_option(struct cli *cli, struct args *args, const char *word);

/* "-jp": options of one letter that take no value. */
static bool is_bundle(const char *word)
{
	return word[1] != '-' && strlen(word) > 2 && strspn(word + 1, "jpd") == strlen(word + 1);
}

static int parse_bundle(struct cli *cli, struct args *args, const char *word)
{
	int status = -1;

	while (*++word && status < 0) {
		const char one[] = { '-', *word, '\0' };

		status = parse_option(cli, args, one);
	}
	return status;
}

/* -1: continue; else an exit status. */
static int parse_option(struct cli *cli, struct args *args, const char *word)
{
	char name[32];
	const char *value, *s;
	size_t n;
	int k;

	if (is_bundle(word))
		return parse_bundle(cli, args, word);
	s = word + 1 + (word[1] == '-');
	value = strchr(s, '=');
	n = value ? (size_t)(value - s) : strlen(s);
	if (n >= sizeof(name))
		return args_bad("'%s' is no option; see swiftrdma --help", word);
	memcpy(name, s, n);
	name[n] = '\0';
	if (!strcmp(name, "version"))
		name[0] = 'V';
	k = args_match(options, name);
	if (value && k != COLOR && k != INTERVAL && k >= 0)
		return args_bad("'%s' takes no value", word);
	switch (k) {
	case JSON:
		cli->out.json = true;
		return -1;
	case PRETTY:
		cli->out.pretty = true;
		return -1;
	case DETAILS:
		cli->out.details = true;
		return -1;
	case INTERVAL:
		if (value)
			s = value + 1;
		else if (args_value(args, word, &s))
			return CLI_USAGE;
		cli->out.rates = true;
		return args_time_ms(s, "interval", &cli->interval_ms) ? CLI_USAGE : -1;
	case COLOR:
		return set_color(cli, value ? value + 1 : "auto") ? CLI_USAGE : -1;
	case VERSION_OPT:
		puts("swiftrdma " VERSION);
		return CLI_OK;
	case HELP:
		fputs(usage, stdout);
		return CLI_OK;
	}
	return args_bad("'%s' is no option; see swiftrdma --help", word);
}

static const struct noun *find_noun(const char *word)
{
	for (size_t i = 0; i < N_NOUNS; i++)
		if (!strcmp(nouns[i]->name, word))
			return nouns[i];
	for (size_t i = 0; i < N_NOUNS; i++)
		if (args_is(word, nouns[i]->name))
			return nouns[i];
	return NULL;
}

static const struct verb *find_verb(const struct noun *noun, const char *word)
{
	for (const struct verb *v = noun->verbs; v->name; v++)
		if (!strcmp(v->name, word))
			return v;
	for (const struct verb *v = noun->verbs; v->name; v++)
		if (args_is(word, v->name))
			return v;
	return NULL;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") ||
	       !strcmp(word, "-h") || !strcmp(word, "-help");
}

static int unknown_verb(const struct noun *noun, const char *word)
{
	args_bad("%s: no command '%s'", noun->name, word);
	fputs(noun->help, stderr);
	return CLI_USAGE;
}

static int run_verb(struct cli *cli, struct args *args)
{
	const char *word = args_next(args);
	const struct noun *noun = find_noun(word);
	const struct verb *verb;

	if (!noun) {
		args_bad("no object '%s'", word);
		fputs(usage, stderr);
		return CLI_USAGE;
	}
	/* Words after -- belong to another program. */
	for (int i = 0; i < args->n && strcmp(args->word[i], "--"); i++) {
		if (is_help(args->word[i])) {
			fputs(noun->help, stdout);
			return CLI_OK;
		}
	}
	verb = noun->verbs;
	/* The unnamed verb of a noun takes all words. */
	if (*verb->name && args_left(args)) {
		word = args_next(args);
		verb = find_verb(noun, word);
		if (!verb && args_is_option(word))
			return args_late_option(word);
		if (!verb)
			return unknown_verb(noun, word);
	}
	return verb->run(cli, args);
}

int main(int argc, char **argv)
{
	struct args args = { argv + 1, argc - 1 };
	struct cli cli = {
		.out = { .f = stdout },
		.run_file = RUNNING_FILE, .policy_file = CONFIG_DEFAULT,
		.version = VERSION,
	};
	const char *no_color = getenv("NO_COLOR");
	int status = -1;

	/* The default buffer of a file is one block, too small for long lists. */
	if (!isatty(STDOUT_FILENO))
		setvbuf(stdout, NULL, _IOFBF, 64 * 1024);
	cli.out.color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
	while (status < 0 && args_left(&args) && *args_peek(&args) == '-')
		status = parse_option(&cli, &args, args_next(&args));
	if (status < 0 && !args_left(&args)) {
		fputs(usage, stderr);
		status = CLI_USAGE;
	}
	if (status < 0 && is_help(args_peek(&args))) {
		fputs(usage, stdout);
		status = CLI_OK;
	}
	if (status < 0) {
		signals_init(&cli.sig);
		status = run_verb(&cli, &args);
		signals_free(&cli.sig);
		crowd_free(&cli.crowd);
	}
	io_close(cli.io);
	snapshot_free(&cli.snap);
	snapshot_free(&cli.older);
	snapshot_free(&cli.spare);
	running_free(&cli.running);
	if (fflush(stdout) || ferror(stdout)) {
		perror("swiftrdma: writing the output");
		status = CLI_ERROR;
	}
	return status;
}
