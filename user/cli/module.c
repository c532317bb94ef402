// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define SYSFS	"/sys/module/swiftrdma/"
#define DEBUGFS	"/sys/kernel/debug/swiftrdma/disarm"

/* The start of a small file, without its last newline. 0 or -errno. */
static int read_file(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, buf, cap - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return n;
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return 0;
}

struct state {
	bool loaded;
	char version[64], initstate[32], refcnt[16];
	char armed[1024];	/* the module's own words, or why there are none */
};

static void read_state(struct state *s)
{
	int err;

	memset(s, 0, sizeof(*s));
	s->loaded = !access(SYSFS, F_OK);
	if (!s->loaded)
		return;
	read_file(SYSFS "version", s->version, sizeof(s->version));
	read_file(SYSFS "initstate", s->initstate, sizeof(s->initstate));
	read_file(SYSFS "refcnt", s->refcnt, sizeof(s->refcnt));
	err = read_file(DEBUGFS, s->armed, sizeof(s->armed));
	if (err)
		snprintf(s->armed, sizeof(s->armed), "unknown: %s: %s", DEBUGFS,
			 strerror(-err));
	/* One cell, whatever the number of lines. */
	for (char *p = s->armed; *p; p++)
		if (*p == '\n')
			*p = ';';
}

#define STR(name)							\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		(void)cli;						\
		cell_str(c, ((const struct state *)row)->name);		\
	}

STR(version)
STR(armed)

static void get_module(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	(void)row;
	cell_str(c, "swiftrdma");
}

static void get_state(const struct cli *cli, const void *row, struct cell *c)
{
	const struct state *s = row;

	(void)cli;
	c->tone = s->loaded ? TONE_GOOD : TONE_WARN;
	cell_str(c, !s->loaded ? "unloaded" :
		 s->initstate[0] ? s->initstate : "loaded");
}

static void get_refcnt(const struct cli *cli, const void *row, struct cell *c)
{
	uint64_t n;

	(void)cli;
	if (args_number(((const struct state *)row)->refcnt, UINT64_MAX, &n))
		cell_u64(c, n);
}

static const struct column columns[] = {
	{ "module", "MODULE", 0, COL_LEFT, get_module },
	{ "state", "STATE", 0, COL_LEFT, get_state },
	{ "version", "VERSION", 0, COL_LEFT, get_version },
	{ "refcnt", "REFS", 0, 0, get_refcnt },
	{ "hooks", "HOOKS", 0, COL_LEFT, get_armed },
};

static int show(struct cli *cli, struct args *args)
{
	struct state state;
	struct rows rows;
	int err = args_end(args);

	if (err)
		return err;
	read_state(&state);
	rows = ROWS(columns, &state, 1);
	return cli_show(cli, &rows);
}

static int explain(int err)
{
	char why[1024];

	switch (err) {
	case -ENOENT:
		fprintf(stderr, "swiftrdma: %s is not there: %s\n", DEBUGFS,
			access(SYSFS, F_OK) ? "swiftrdma.ko is not loaded" :
			"mount debugfs: mount -t debugfs none /sys/kernel/debug");
		break;
	case -EACCES:
	case -EPERM:
		fputs("swiftrdma: disarming the module is root's\n", stderr);
		break;
	case -EBUSY:
		fputs("swiftrdma: the module cannot let go yet:\n", stderr);
		if (!read_file(DEBUGFS, why, sizeof(why)) && why[0])
			fprintf(stderr, "%s\n", why);
		fputs("'module disarm force' leaves QPs that cannot be restored as they are; another module's wrapper has to go first\n",
		      stderr);
		break;
	default:
		fprintf(stderr, "swiftrdma: %s: %s\n", DEBUGFS, strerror(-err));
	}
	return CLI_ERROR;
}

static int disarm(struct cli *cli, struct args *args)
{
	const char *word = args_next(args), *text = "1\n";
	int fd, err;

	(void)cli;
	if (word && !args_is(word, "force"))
		return args_bad("'%s': only force may follow disarm", word);
	if (word)
		text = "force\n";
	if (args_end(args))
		return CLI_USAGE;
	fd = open(DEBUGFS, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return explain(-errno);
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	if (err)
		return explain(err);
	puts("disarmed; rmmod swiftrdma now unloads it");
	return CLI_OK;
}

static const struct verb verbs[] = {
	{ "show", show }, { "list", show }, { "disarm", disarm }, { 0 },
};

const struct noun noun_module = {
	"module", verbs,
	"Usage: swiftrdma module [ show ]\n"
	"       swiftrdma module disarm [ force ]\n"
	"\n"
	"The kernel module. While its hooks are in place it holds a reference to\n"
	"itself; disarm gives every QP its application's class back, takes the hooks\n"
	"out and lets rmmod go on. force does so even where a QP cannot be restored.\n",
};
