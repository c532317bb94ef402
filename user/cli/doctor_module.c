// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doctor: the module and its kernel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/doctor.h"

#define MODULE	"swiftrdma.ko"
#define MLX5	"swiftrdma_mlx5.ko"

/* Kernels that the module is built and tested for. */
#define FIRST_MAJOR	6
#define FIRST_MINOR	1
#define LAST_MAJOR	7
#define LAST_MINOR	3

static const struct host_dev *mlx5_dev(const struct host *h)
{
	for (size_t i = 0; i < h->n_devs; i++)
		if (doctor_is_mlx5(&h->devs[i]))
			return &h->devs[i];
	return NULL;
}

/* Adds the command that unloads and loads all modules. */
static void mend_by_module_reload(struct doctor *d, bool armed)
{
	const struct host_module *m = &d->host->module;
	const char *name = m->provider ? "swiftrdma_mlx5" : "swiftrdma";

	doctor_mend(d, "%s%srmmod swiftrdma && modprobe %s",
		    armed ? "swiftrdma module disarm && " : "",
		    m->provider ? "rmmod swiftrdma_mlx5 && " : "", name);
}

static void judge_load(struct doctor *d)
{
	const struct host_module *m = &d->host->module;
	bool mlx5 = mlx5_dev(d->host);

	doctor_say(d, DOCTOR_MODULE, DOCTOR_ERROR, "loaded", MODULE,
		   "the module is not loaded%s: nothing is counted and nothing is enforced",
		   m->installed ? "" : " and not installed for this kernel");
	doctor_mend(d, "%smodprobe %s",
		    m->installed ? "" : "make install && ",
		    mlx5 && (m->provider_installed || !m->installed) ?
			    "swiftrdma_mlx5" : "swiftrdma");
}

/* Checks each module by itself: one may have been reloaded without the other. */
static void judge_version(struct doctor *d, const char *name, const char *version)
{
	if (!version[0] || !strcmp(version, d->version))
		return;
	doctor_say(d, DOCTOR_MODULE, DOCTOR_WARNING, "version", name,
		   "version %s is loaded, but this command has version %s",
		   version, d->version);
	mend_by_module_reload(d, true);
}

/* Uses the state of the hooks, else the error that a change would get. */
static void judge_hooks(struct doctor *d)
{
	const struct host_module *m = &d->host->module;
	const char *why = strchr(m->hooks, ':');

	if (!strncmp(m->hooks, "disarmed", 8) || d->armed == -ESHUTDOWN) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_ERROR, "armed", MODULE,
			   "the module is disarmed%s: it sees no QPs and changes none",
			   why ? why : "");
		mend_by_module_reload(d, false);
	} else if (why) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_WARNING, "armed", MODULE,
			   "the module is armed and could not be disarmed%s", why);
		doctor_mend(d, "swiftrdma module disarm");
	} else if (m->hooks[0] || !d->armed) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_FINE, "armed", MODULE,
			   "version %s is loaded and armed",
			   m->version[0] ? m->version : "unknown");
	} else {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_UNSEEN, "armed", MODULE,
			   "version %s is loaded; whether it is armed could not be read: %s",
			   m->version[0] ? m->version : "unknown", strerror(-d->armed));
	}
}

static void judge_provider(struct doctor *d, const struct host_dev *dev)
{
	const struct host_module *m = &d->host->module;
	const struct snap_dev *s = doctor_snap_dev(d, dev->name);

	if (!m->provider) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_ERROR, "provider", dev->name,
			   "the device is a ConnectX, but %s is not loaded: UARs and work requests are not seen, and classes of connected QPs cannot be changed",
			   MLX5);
		doctor_mend(d, "%smodprobe swiftrdma_mlx5",
			    m->provider_installed ? "" : "make install && ");
	} else if (s && strcmp(s->provider, "mlx5")) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_ERROR, "provider", dev->name,
			   "%s is loaded but does not have this device (provider %s); the kernel log says why",
			   MLX5, s->provider);
		doctor_mend(d, "rmmod swiftrdma_mlx5 && modprobe swiftrdma_mlx5");
	} else if (s) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_FINE, "provider", dev->name,
			   "%s has it", MLX5);
		doctor_detail(d);
	}
}

/* An agent enabled in systemd needs the module loaded at boot. */
static void judge_boot(struct doctor *d)
{
	const struct host_module *m = &d->host->module;
	const char *name = mlx5_dev(d->host) ? "swiftrdma_mlx5" : "swiftrdma";

	if (d->host->unit.error || strncmp(d->host->unit.enabled, "enabled", 7))
		return;
	if (mlx5_dev(d->host) ? m->provider_at_boot : m->at_boot) {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_FINE, "boot", MODULE,
			   "the module is loaded at boot, when the agent is started");
		doctor_detail(d);
		return;
	}
	doctor_say(d, DOCTOR_MODULE, DOCTOR_WARNING, "boot", MODULE,
		   "the agent is started at boot, but nothing loads %s at boot", name);
	doctor_mend(d, "echo %s >/etc/modules-load.d/swiftrdma.conf", name);
}

void doctor_module(struct doctor *d)
{
	const struct host_module *m = &d->host->module;

	if (!m->loaded) {
		judge_load(d);
		judge_boot(d);
		return;
	}
	judge_version(d, MODULE, m->version);
	judge_version(d, MLX5, m->provider_version);
	if (d->answers) {
		judge_hooks(d);
	} else {
		doctor_say(d, DOCTOR_MODULE, DOCTOR_ERROR, "answers", MODULE,
			   "the module is loaded but does not answer: %s",
			   d->io_words);
		mend_by_module_reload(d, true);
	}
	for (size_t i = 0; i < d->host->n_devs; i++)
		if (doctor_is_mlx5(&d->host->devs[i]))
			judge_provider(d, &d->host->devs[i]);
	judge_boot(d);
}

/* --- kernel --------------------------------------------------------------------- */

static void judge_release(struct doctor *d)
{
	const char *release = d->host->kernel.release;
	int major = 0, minor = 0;

	if (sscanf(release, "%d.%d", &major, &minor) != 2) {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_UNSEEN, "release", release,
			   "the version of this kernel does not have the form of a Linux version");
	} else if (major * 1000 + minor < FIRST_MAJOR * 1000 + FIRST_MINOR) {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_ERROR, "release", release,
			   "the module needs a kernel of %d.%d or later",
			   FIRST_MAJOR, FIRST_MINOR);
	} else if (major * 1000 + minor > LAST_MAJOR * 1000 + LAST_MINOR) {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_WARNING, "release", release,
			   "the module is tested up to %d.%d; whether it works with this one is not known",
			   LAST_MAJOR, LAST_MINOR);
	} else {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_FINE, "release", release,
			   "this kernel is supported (%d.%d to %d.%d)",
			   FIRST_MAJOR, FIRST_MINOR, LAST_MAJOR, LAST_MINOR);
	}
}

static void judge_events(struct doctor *d)
{
	const char *release = d->host->kernel.release;

	if (!d->answers)
		return;
	if (!d->events) {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_FINE, "events", release,
			   "events are delivered");
		doctor_detail(d);
	} else if (d->events == -EPERM) {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_UNSEEN, "events", release,
			   "only CAP_NET_ADMIN can see whether events are delivered");
	} else {
		doctor_say(d, DOCTOR_KERNEL, DOCTOR_WARNING, "events", release,
			   "no events: %s. The module sends events only on kernels that can restrict them to privileged readers, from 6.1.67 and 6.7 on",
			   d->event_words);
	}
}

/* Return probes show QPs that libraries make past RDMA core. */
static void judge_probes(struct doctor *d)
{
	const struct snap_dev *s;

	for (size_t i = 0; i < d->host->n_devs; i++) {
		const struct host_dev *dev = &d->host->devs[i];

		s = doctor_is_mlx5(dev) ? doctor_snap_dev(d, dev->name) : NULL;
		if (!s || strcmp(s->provider, "mlx5"))
			continue;
		if (snap_has(s, SNAP_DEVX)) {
			doctor_say(d, DOCTOR_KERNEL, DOCTOR_FINE, "kprobes",
				   dev->name,
				   "kernel probes see QPs that are created without RDMA core (DEVX)");
			doctor_detail(d);
		} else if (d->host->kernel.kprobes == HOST_NO) {
			doctor_say(d, DOCTOR_KERNEL, DOCTOR_WARNING, "kprobes",
				   dev->name,
				   "QPs that are created without RDMA core (DEVX) are not seen, because this kernel has no return probes: boot one with CONFIG_KRETPROBES=y");
		} else {
			doctor_say(d, DOCTOR_KERNEL, DOCTOR_WARNING, "kprobes",
				   dev->name,
				   "QPs that are created without RDMA core (DEVX) are not seen: the provider's probes are off");
			doctor_mend(d, "rmmod swiftrdma_mlx5 && modprobe swiftrdma_mlx5 devx=1");
		}
	}
}

void doctor_kernel(struct doctor *d)
{
	judge_release(d);
	judge_events(d);
	judge_probes(d);
}
