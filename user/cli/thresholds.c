// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Port speeds and criteria: those that the running agent uses. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/cli.h"

#define FILE_MAX (64 * 1024)

/* Bytes read. -1: no file, or no lock on it: its agent is gone. */
static ssize_t read_locked(const char *path, char *buf, size_t cap)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_SH | LOCK_NB))
		n = read(fd, buf, cap);
	close(fd);
	return n;
}

static bool read_running(struct running *r, const char *path)
{
	char *text = malloc(FILE_MAX);
	ssize_t n = text ? read_locked(path, text, FILE_MAX) : -1;
	bool ok = n > 0 && running_read(r, text, (size_t)n);

	free(text);
	return ok;
}

/* The settings of the default policy file, if it can be read. */
static bool read_default(struct running *r, const char *path)
{
	struct report rep;

	memset(r, 0, sizeof(*r));
	report_init(&rep, path);
	if (!path || access(path, R_OK) || !config_load_file(&r->cfg, path, &rep))
		return false;
	snprintf(r->file, sizeof(r->file), "%s", path);
	return true;
}

const struct running *cli_running(struct cli *cli)
{
	if (cli->looked)
		return &cli->running;
	cli->looked = true;
	running_free(&cli->running);
	if (!read_running(&cli->running, cli->run_file) &&
	    !read_default(&cli->running, cli->policy_file))
		criteria_init(&cli->running.cfg.criteria);
	return &cli->running;
}

struct signal_opts cli_signal_opts(struct cli *cli)
{
	return config_signal_opts(&cli_running(cli)->cfg);
}

double cli_criterion(const struct cli *cli, const char *name)
{
	return criteria_value(&cli->running.cfg.criteria, name);
}
