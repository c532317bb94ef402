// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads processes that use RDMA, processes of the agent, and their limits. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "io/file.h"
#include "io/host_read.h"

#define IPC_LOCK	14	/* bit of CapEff: CAP_IPC_LOCK */
#define AGENT		"swiftrdma-agent"
#define CGROUPS		"sys/fs/cgroup"

/* Bounds the depth of the walk through a hierarchy. */
#define DEPTH		16

/* The text after @key at the beginning of a line; NULL: no line begins with it. */
static const char *find_line(const char *text, const char *key)
{
	size_t n = strlen(key);

	while (text && strncmp(text, key, n)) {
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return text ? text + n + strspn(text + n, " \t") : NULL;
}

static uint64_t parse_limit(const char **s)
{
	char *end;
	uint64_t v;

	*s += strspn(*s, " \t");
	if (!strncmp(*s, "unlimited", 9)) {
		*s += 9;
		return HOST_NO_LIMIT;
	}
	v = strtoull(*s, &end, 10);
	*s = end;
	return v;
}

void srdma_host_proc(int dir, struct host_proc *p)
{
	char text[4096];
	const char *s;

	p->memlock = p->memlock_hard = HOST_NO_LIMIT;
	srdma_file_text(dir, "comm", p->comm, sizeof(p->comm));
	srdma_file_text(dir, "status", text, sizeof(text));
	s = find_line(text, "Pid:");
	p->pid = s ? (uint32_t)strtoul(s, NULL, 10) : 0;
	s = find_line(text, "VmPin:");
	p->pinned = s ? strtoull(s, NULL, 10) * 1024 : 0;
	s = find_line(text, "CapEff:");
	p->may_lock = s && strtoull(s, NULL, 16) >> IPC_LOCK & 1;
	srdma_file_text(dir, "limits", text, sizeof(text));
	s = find_line(text, "Max locked memory");
	if (s) {
		p->memlock = parse_limit(&s);
		p->memlock_hard = parse_limit(&s);
	}
	srdma_file_text(dir, "cgroup", text, sizeof(text));
	s = find_line(text, "0::");
	if (s)
		snprintf(p->cgroup, sizeof(p->cgroup), "%.*s",
			 (int)strcspn(s, "\n"), s);
}

static int is_device(int dir, const char *name, void *arg)
{
	static const char device[] = "/dev/infiniband/uverbs";
	char to[64];
	ssize_t n = readlinkat(dir, name, to, sizeof(to));

	(void)arg;
	return n >= (ssize_t)sizeof(device) - 1 &&
	       !strncmp(to, device, sizeof(device) - 1);
}

/* Is --dry-run among the words of its command line? */
static bool is_dry(int dir)
{
	char text[4096];
	int fd = openat(dir, "cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	const char *s;

	if (fd >= 0)
		close(fd);
	len = len < 0 ? 0 : len;
	text[len] = '\0';
	for (s = text; s < text + len; s += strlen(s) + 1)
		if (!strcmp(s, "--dry-run"))
			return true;
	return false;
}

static int take_agent(int dir, struct host *h, uint32_t pid)
{
	struct host_agent *a = array_next(&h->agents, h->n_agents,
					   &h->cap_agents, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->pid = pid;
	a->dry_run = is_dry(dir);
	h->n_agents++;
	return 0;
}

static int take_user(int dir, struct host *h)
{
	struct host_proc *p = array_next(&h->procs, h->n_procs,
					  &h->cap_procs, sizeof(*p));

	if (!p)
		return -ENOMEM;
	srdma_host_proc(dir, p);
	h->n_procs++;
	return 0;
}

static int take_proc(int proc, const char *name, void *arg)
{
	struct host *h = arg;
	char comm[SNAP_COMM];
	int dir, err = 0;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	dir = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	srdma_file_text(dir, "comm", comm, sizeof(comm));
	if (!strcmp(comm, AGENT))
		err = take_agent(dir, h, (uint32_t)strtoul(name, NULL, 10));
	if (faccessat(dir, "fd", R_OK | X_OK, AT_EACCESS) && errno == EACCES)
		h->procs_all = false;
	else if (!err && srdma_file_each(dir, "fd", is_device, NULL) == 1)
		err = take_user(dir, h);
	close(dir);
	return err;
}

int srdma_host_procs(int root, struct host *h)
{
	h->procs_all = true;
	return srdma_file_each(root, "proc", take_proc, h);
}

/* --- the rdma controller -------------------------------------------------------- */

struct walk {
	struct host *h;
	const char *base;	/* of the hierarchy */
	char path[SNAP_PATH];	/* below it, where we are */
	int depth;
};

/* The value of @what in a line such as "mlx5_0 hca_handle=max hca_object=2000". */
static bool find_value(const char *line, size_t n, const char *what,
		       uint64_t *v)
{
	const char *s = line;
	size_t len = strlen(what);

	while ((s = strchr(s, ' ')) && s < line + n) {
		s++;
		if (strncmp(s, what, len) || s[len] != '=')
			continue;
		*v = strncmp(s + len + 1, "max", 3) ?
			strtoull(s + len + 1, NULL, 10) : HOST_NO_LIMIT;
		return true;
	}
	return false;
}

static int take_maximum(struct walk *w, const char *line, size_t n,
			const char *now, const char *what)
{
	struct host *h = w->h;
	struct host_rdma_max *m;
	uint64_t max, current = 0;
	char dev[SNAP_DEVNAME], key[SNAP_DEVNAME + 1];
	const char *s;

	if (!find_value(line, n, what, &max) || max == HOST_NO_LIMIT)
		return 0;
	snprintf(dev, sizeof(dev), "%.*s", (int)strcspn(line, " "), line);
	snprintf(key, sizeof(key), "%s ", dev);
	s = find_line(now, key);
	if (s)
		find_value(s - 1, strcspn(s, "\n") + 1, what, &current);
	m = array_next(&h->maxima, h->n_maxima, &h->cap_maxima,
			sizeof(*m));
	if (!m)
		return -ENOMEM;
	snprintf(m->cgroup, sizeof(m->cgroup), "%s",
		 w->path[0] ? w->path : "/");
	snprintf(m->dir, sizeof(m->dir), "/%s%.200s", w->base, w->path);
	snprintf(m->dev, sizeof(m->dev), "%s", dev);
	snprintf(m->what, sizeof(m->what), "%s", what);
	m->max = max;
	m->current = current;
	h->n_maxima++;
	return 0;
}

static int take_maxima(int dir, struct walk *w)
{
	char max[4096], now[4096];
	const char *s;
	int err = 0;

	if (srdma_file_text(dir, "rdma.max", max, sizeof(max)))
		return 0;
	srdma_file_text(dir, "rdma.current", now, sizeof(now));
	for (s = max; *s && !err; s += strcspn(s, "\n"), s += *s == '\n') {
		size_t n = strcspn(s, "\n");

		err = take_maximum(w, s, n, now, "hca_handle");
		if (!err)
			err = take_maximum(w, s, n, now, "hca_object");
	}
	return err;
}

static int enter_cgroup(int dir, const char *name, void *arg)
{
	struct walk *w = arg;
	size_t len = strlen(w->path), n = strlen(name);
	int at, err;

	/* Cgroups that are too deep are skipped, and openat() fails for a file. */
	if (len + n + 2 > sizeof(w->path) || w->depth == DEPTH)
		return 0;
	at = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0)
		return 0;
	w->path[len] = '/';
	memcpy(w->path + len + 1, name, n + 1);
	w->depth++;
	err = take_maxima(at, w);
	if (!err)
		err = srdma_file_each(at, ".", enter_cgroup, w);
	w->depth--;
	w->path[len] = '\0';
	close(at);
	return err;
}

/* Reads the hierarchy of the rdma controller (version 1); if there is none, the unified one. */
int srdma_host_maxima(int root, struct host *h)
{
	static const char *const bases[] = { CGROUPS "/rdma", CGROUPS };
	struct walk w = { .h = h };
	char path[64];

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", bases[i]);
		if (faccessat(root, path, F_OK, 0))
			continue;
		w.base = bases[i];
		return srdma_file_each(root, bases[i], enter_cgroup, &w);
	}
	return 0;
}
