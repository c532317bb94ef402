// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads the state of this host from sysfs, procfs, systemd and netlink. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "io/dcb.h"
#include "io/file.h"
#include "io/host_read.h"
#include "io/io.h"
#include "io/sl2vl.h"
#include "io/systemd.h"

#define DEBUGFS "sys/kernel/debug"

/* "/lib/modules/6.1.0/updates/dkms/swiftrdma.ko.xz: ..." of modules.dep */
static bool is_module_file(const char *line, const char *name)
{
	const char *end = strchr(line, ':'), *at = line, *slash;
	size_t n = strlen(name);

	while ((slash = strchr(at, '/')) && (!end || slash < end))
		at = slash + 1;
	return !strncmp(at, name, n) && !strncmp(at + n, ".ko", 3);
}

/* modprobe accepts both - and _ */
static bool is_module_line(const char *line, const char *name)
{
	line += strspn(line, " \t");
	while (*name && (*line == *name || (*line == '-' && *name == '_'))) {
		line++;
		name++;
	}
	return !*name && !line[strspn(line, " \t\r")];
}

struct boot {
	const char *name;
	bool found;
};

static int look_into(int dir, const char *name, void *arg)
{
	struct boot *b = arg;
	size_t n = strlen(name);

	if (n > 5 && !strcmp(name + n - 5, ".conf") &&
	    srdma_file_has(dir, name, b->name, is_module_line) == HOST_YES)
		b->found = true;
	return 0;
}

static bool is_loaded_at_boot(int root, const char *name)
{
	static const char *const dirs[] = {
		"etc/modules-load.d", "run/modules-load.d",
		"usr/local/lib/modules-load.d", "usr/lib/modules-load.d",
		"lib/modules-load.d",
	};
	struct boot b = { .name = name };

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		srdma_file_each(root, dirs[i], look_into, &b);
	return b.found ||
	       srdma_file_has(root, "etc/modules", name, is_module_line) ==
		       HOST_YES;
}

static bool is_installed(int root, const char *release, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "lib/modules/%s/modules.dep", release);
	return srdma_file_has(root, path, name, is_module_file) == HOST_YES;
}

void srdma_host_module(int root, struct host_module *m, const char *release)
{
	memset(m, 0, sizeof(*m));
	m->loaded = !faccessat(root, "sys/module/swiftrdma", F_OK, 0);
	m->provider = !faccessat(root, "sys/module/swiftrdma_mlx5", F_OK, 0);
	m->installed = is_installed(root, release, "swiftrdma");
	m->provider_installed = is_installed(root, release, "swiftrdma_mlx5");
	m->provider_at_boot = is_loaded_at_boot(root, "swiftrdma_mlx5");
	m->at_boot = m->provider_at_boot || is_loaded_at_boot(root, "swiftrdma");
	srdma_file_text(root, "sys/module/swiftrdma_mlx5/version",
			m->provider_version, sizeof(m->provider_version));
	if (!m->loaded)
		return;
	srdma_file_text(root, "sys/module/swiftrdma/version", m->version,
			sizeof(m->version));
	srdma_file_text(root, "sys/module/swiftrdma/initstate", m->initstate,
			sizeof(m->initstate));
	srdma_file_text(root, "sys/module/swiftrdma/refcnt", m->refcnt,
			sizeof(m->refcnt));
	m->hooks_error = srdma_file_text(root, DEBUGFS "/swiftrdma/disarm",
					 m->hooks, sizeof(m->hooks));
}

static bool is_line(const char *line, const char *what)
{
	return !strcmp(line, what);
}

/* Looks up an option in the kernel's configuration, in any of its places. */
static enum host_answer is_configured(int root, const char *release,
				      const char *option)
{
	static const char *const files[] = {
		"proc/config.gz", "boot/config-%s", "lib/modules/%s/config",
	};
	enum host_answer answer = HOST_UNKNOWN;
	char path[160], line[64];

	snprintf(line, sizeof(line), "%s=y", option);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), files[i], release);
		answer = srdma_file_has(root, path, line, is_line);
		if (answer != HOST_UNKNOWN)
			break;
	}
	return answer;
}

void srdma_host_kernel(int root, struct host_kernel *k)
{
	k->kprobes = !faccessat(root, DEBUGFS "/kprobes", F_OK, 0) ?
		HOST_YES : is_configured(root, k->release, "CONFIG_KRETPROBES");
	k->rdma_cgroup = is_configured(root, k->release, "CONFIG_CGROUP_RDMA");
}

int io_host_module(struct host_module *m)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct utsname u;

	if (root < 0)
		return -errno;
	uname(&u);
	srdma_host_module(root, m, u.release);
	close(root);
	return 0;
}

static int read_all(int root, struct host *h)
{
	struct utsname u;
	int self, err;

	uname(&u);
	snprintf(h->kernel.release, sizeof(h->kernel.release), "%s", u.release);
	srdma_host_kernel(root, &h->kernel);
	srdma_host_module(root, &h->module, u.release);
	srdma_unit(&h->unit);
	self = openat(root, "proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self >= 0) {
		srdma_host_proc(self, &h->self);
		close(self);
	}
	err = srdma_host_devs(root, h);
	if (!err)
		err = srdma_host_procs(root, h);
	if (!err)
		err = srdma_host_maxima(root, h);
	if (err)
		return err;
	srdma_dcb(h);
	for (size_t i = 0; i < h->n_ports; i++)
		if (h->ports[i].link_layer == 1)
			srdma_sl2vl(&h->ports[i],
				    h->devs[h->ports[i].dev].name);
	return 0;
}

int io_host(struct host *h)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	memset(h, 0, sizeof(*h));
	if (root < 0)
		return -errno;
	h->root = !geteuid();
	err = read_all(root, h);
	close(root);
	return err;
}

void host_free(struct host *h)
{
	free(h->agents);
	free(h->devs);
	free(h->ports);
	free(h->nets);
	free(h->procs);
	free(h->maxima);
	memset(h, 0, sizeof(*h));
}
