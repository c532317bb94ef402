// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define DEBUGFS	"/sys/kernel/debug/swiftrdma/disarm"

GETTER(module)
{
	cell_str(c, "swiftrdma");
}

GETTER(state)
{
	const struct host_module *m = row;

	c->tone = m->loaded ? TONE_GOOD : TONE_WARN;
	cell_str(c, !m->loaded ? "unloaded" : m->initstate[0] ? m->initstate : "loaded");
}

GETTER(hooks)
{
	const struct host_module *m = row;

	if (m->hooks_error) {
		snprintf(c->buf, sizeof(c->buf), "unknown: %s: %s", DEBUGFS,
			 strerror(-m->hooks_error));
		cell_str(c, c->buf);
	} else {
		cell_str(c, m->hooks);
	}
}

GETTER(refcnt)
{
	uint64_t n;

	if (args_number(((const struct host_module *)row)->refcnt, UINT64_MAX, &n))
		cell_u64(c, n);
}

static const struct column columns[] = {
	{ "module", "MODULE", 0, COL_LEFT, .get = get_module },
	{ "state", "STATE", 0, COL_LEFT, .get = get_state },
	{ "version", "VERSION", 0, COL_LEFT, MEMBER(struct host_module, version) },
	{ "refcnt", "REFS", 0, 0, .get = get_refcnt },
	{ "hooks", "HOOKS", 0, COL_LEFT, .get = get_hooks },
};

static int show_module(struct cli *cli, struct args *args)
{
	struct host_module m = { .loaded = false };
	struct rows rows;
	int err = args_end(args);

	if (err)
		return err;
	io_host_module(&m);
	/* Join the lines into one cell. */
	for (char *p = m.hooks; *p; p++)
		if (*p == '\n')
			*p = ';';
	rows = ROWS(columns, &m, 1);
	return cli_show(cli, &rows);
}

static int explain_disarm_error(int err)
{
	struct host_module m = { .loaded = false };

	io_host_module(&m);
	switch (err) {
	case -ENOENT:
		return cli_fail("%s is not there: %s", DEBUGFS, !m.loaded ?
				"swiftrdma.ko is not loaded" :
				"mount debugfs: mount -t debugfs none /sys/kernel/debug");
	case -EACCES:
	case -EPERM:
		return cli_fail("only root can disarm the module");
	case -EBUSY:
		return cli_fail("the module cannot be disarmed yet:\n%s%s'module disarm force' disarms although QPs cannot be restored; a module that has wrapped this module's operations must be unloaded first",
				m.hooks, m.hooks[0] ? "\n" : "");
	}
	return cli_fail("%s: %s", DEBUGFS, strerror(-err));
}

static int disarm_module(struct cli *cli, struct args *args)
{
	const char *word = args_next(args), *text = "1\n";
	int fd, err;

	(void)cli;
	if (word && !args_is(word, "force"))
		return args_bad("'%s': only 'force' may follow 'disarm'", word);
	if (word)
		text = "force\n";
	if (args_end(args))
		return CLI_USAGE;
	fd = open(DEBUGFS, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return explain_disarm_error(-errno);
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	if (err)
		return explain_disarm_error(err);
	puts("disarmed; rmmod swiftrdma now unloads it");
	return CLI_OK;
}

static const struct verb verbs[] = {
	{ "show", show_module }, { "list", show_module }, { "disarm", disarm_module }, { 0 },
};

static const struct noun_table module_table = NOUN_TABLE("module", columns);
static const struct noun_table *const tables[] = { &module_table, NULL };

const struct noun noun_module = {
	.name = "module",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma module [ show ]\n"
	"       swiftrdma module disarm [ force ]\n"
	"\n"
	"Shows the state of the kernel module. While its hooks are in place, the module\n"
	"holds a reference to itself. disarm gives every QP back the class that its\n"
	"application asked for and removes the hooks, so that rmmod works. force does so\n"
	"although QPs cannot be restored.\n",
	.tables = tables,
};
