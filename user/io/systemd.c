// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads properties of systemd units from the output of systemctl show. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "io/io.h"
#include "io/systemd.h"

#define AGENT	"swiftrdma-agent.service"

extern char **environ;

/* Starts systemctl; *@f is its output. 0 or -errno. */
static int start_systemctl(const char *unit, const char *properties, pid_t *pid, FILE **f)
{
	char *argv[] = {
		"systemctl", "show", "--no-pager", "-p", (char *)properties,
		"--", (char *)unit, NULL,
	};
	posix_spawn_file_actions_t act;
	int fd[2], err;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&act);
	posix_spawn_file_actions_adddup2(&act, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&act, STDERR_FILENO, "/dev/null",
					 O_WRONLY, 0);
	err = posix_spawnp(pid, argv[0], &act, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&act);
	close(fd[1]);
	*f = err ? NULL : fdopen(fd[0], "re");
	if (!*f) {
		close(fd[0]);
		return err ? -err : -errno;
	}
	return 0;
}

static int read_properties(const char *unit, const char *properties,
			   void (*take)(const char *key, const char *value, void *arg),
			   void *arg)
{
	char line[512], *value;
	int status, err;
	pid_t pid;
	FILE *f;

	if (sd_booted() <= 0)
		return -ENOENT;
	err = start_systemctl(unit, properties, &pid, &f);
	if (err)
		return err;
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		value = strchr(line, '=');
		if (!value)
			continue;
		*value++ = '\0';
		take(line, value, arg);
	}
	fclose(f);
	if (waitpid(pid, &status, 0) != pid || status)
		return -EIO;
	return 0;
}

static void take_agent(const char *key, const char *value, void *arg)
{
	struct host_unit *u = arg;

	if (!strcmp(key, "LoadState"))
		snprintf(u->load, sizeof(u->load), "%s", value);
	else if (!strcmp(key, "ActiveState"))
		snprintf(u->active, sizeof(u->active), "%s", value);
	else if (!strcmp(key, "SubState"))
		snprintf(u->sub, sizeof(u->sub), "%s", value);
	else if (!strcmp(key, "UnitFileState"))
		snprintf(u->enabled, sizeof(u->enabled), "%s", value);
	else if (!strcmp(key, "MainPID"))
		u->pid = (uint32_t)strtoul(value, NULL, 10);
}

void srdma_unit(struct host_unit *u)
{
	u->error = read_properties(AGENT,
				   "LoadState,ActiveState,SubState,UnitFileState,MainPID",
				   take_agent, u);
}

struct memlock {
	bool loaded, found;
	uint64_t bytes;
};

static void take_memlock(const char *key, const char *value, void *arg)
{
	struct memlock *m = arg;
	char *end;

	if (!strcmp(key, "LoadState")) {
		m->loaded = !strcmp(value, "loaded");
	} else if (!strcmp(key, "LimitMEMLOCK")) {
		m->bytes = HOST_NO_LIMIT;
		m->found = !strcmp(value, "infinity");
		if (m->found)
			return;
		m->bytes = strtoull(value, &end, 10);
		m->found = end > value && !*end;
	}
}

int io_unit_memlock(const char *unit, uint64_t *bytes)
{
	struct memlock m = { 0 };
	int err = read_properties(unit, "LoadState,LimitMEMLOCK", take_memlock, &m);

	if (err)
		return err;
	*bytes = m.bytes;
	return m.loaded && m.found ? 0 : -ENOENT;
}
