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
	&noun_policy, &noun_record, &noun_doctor, &noun_probe,
};

#define N_NOUNS	(sizeof(nouns) / sizeof(nouns[0]))

static const char usage[] =
	"Usage: swiftrdma [ OPTIONS ] OBJECT { COMMAND | help }\n"
	"       swiftrdma help OBJECT [ columns ]\n"
	"\n"
	"OBJECT  := { dev | port | uar | qp | job | action | level | monitor | module |\n"
	"             top | run | policy | record | doctor | probe }\n"
	"OPTIONS := { -j[son] | -p[retty] | -d[etails] | -i[nterval] SEC |\n"
	"             -c[olor][={auto|always|never}] | -V[ersion] | -h[elp] }\n"
	"\n"
	"Objects, commands and options may be cut short. Options may stand anywhere before\n"
	"\"--\". See swiftrdma(8).\n";

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

/* The name of an option, without dashes and value. Returns the option's number, or -1. */
static int find_option(const char *word, char *name, size_t cap)
{
	const char *s = word + 1 + (word[1] == '-');
	size_t n = strcspn(s, "=");

	if (n >= cap)
		return -1;
	memcpy(name, s, n);
	name[n] = '\0';
	if (!strcmp(name, "version"))
		name[0] = 'V';
	return args_match(options, name);
}

/* -1: continue; else an exit status. */
static int parse_option(struct cli *cli, struct args *args, const char *word)
{
	char name[32];
	const char *value = strchr(word, '='), *s;
	int k;

	if (is_bundle(word))
		return parse_bundle(cli, args, word);
	k = find_option(word, name, sizeof(name));
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
	return args_no_option(word);
}

/*
 * Takes the options out of the words after the object. Words that are no option of the command
 * are left to the object, and those after "--" are another program's. -1: continue; else an
 * exit status.
 */
static int take_late_options(struct cli *cli, struct args *args, const struct noun *noun)
{
	char name[32];
	int i = 0, status = -1;

	while (i < args->n && strcmp(args->word[i], "--") && status < 0) {
		const char *word = args->word[i];
		struct args rest = { args->word + i + 1, args->n - i - 1 };

		if (!args_is_option(word) || (noun->own && !strcmp(word, noun->own)) ||
		    (!is_bundle(word) && find_option(word, name, sizeof(name)) < 0)) {
			i++;
			continue;
		}
		status = parse_option(cli, &rest, word);
		memmove(args->word + i, rest.word, (size_t)rest.n * sizeof(*rest.word));
		args->n = i + rest.n;
	}
	return status;
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

static const struct noun *need_noun(const char *word)
{
	const struct noun *noun = find_noun(word);

	if (!noun) {
		args_bad("no object '%s'", word);
		fputs(usage, stderr);
	}
	return noun;
}

/* help [OBJECT [columns]] */
static int run_help(struct cli *cli, struct args *args)
{
	const struct noun *noun;
	const char *word;
	int status;

	if (!args_left(args)) {
		fputs(usage, stdout);
		return CLI_OK;
	}
	noun = need_noun(args_next(args));
	if (!noun)
		return CLI_USAGE;
	status = take_late_options(cli, args, noun);
	if (status >= 0)
		return status;
	if (!args_left(args)) {
		fputs(noun->help, stdout);
		return CLI_OK;
	}
	word = args_next(args);
	if (!args_is(word, "columns"))
		return args_bad("help: '%s': expected columns, as in swiftrdma help qp columns", word);
	return args_end(args) ? CLI_USAGE : help_columns(cli, noun);
}

static int run_verb(struct cli *cli, struct args *args)
{
	const struct noun *noun = need_noun(args_next(args));
	const struct verb *verb;
	const char *word;
	int status;

	if (!noun)
		return CLI_USAGE;
	/* Words after -- belong to another program. */
	for (int i = 0; i < args->n && strcmp(args->word[i], "--"); i++) {
		if (is_help(args->word[i])) {
			fputs(noun->help, stdout);
			return CLI_OK;
		}
	}
	status = take_late_options(cli, args, noun);
	if (status >= 0)
		return status;
	verb = noun->verbs;
	/* The unnamed verb of a noun takes all words. */
	if (*verb->name && args_left(args)) {
		word = args_next(args);
		verb = find_verb(noun, word);
		if (!verb && args_is_option(word))
			return args_no_option(word);
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
		args_next(&args);
		status = run_help(&cli, &args);
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
