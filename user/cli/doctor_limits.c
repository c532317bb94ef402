// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doctor: resource limits of RDMA programs. Registered memory counts against
 * RLIMIT_MEMLOCK, QPs and other objects against the rdma cgroup controller.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/doctor.h"
#include "cli/table.h"

/* A lower limit is a default that was not chosen for RDMA. */
#define MEMLOCK_SMALL	(1024ull * 1024 * 1024)

/* Usage of a limit, in percent, from which on the doctor warns. */
#define NEARLY	90

struct size {
	char s[24];
};

static struct size format_size(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes;
	struct size out;
	size_t i = 0;

	while (v >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1024;
		i++;
	}
	snprintf(out.s, sizeof(out.s), "%.4g %s", v, units[i]);
	return out;
}

static bool is_unlimited(const struct host_proc *p)
{
	return p->may_lock || p->memlock == HOST_NO_LIMIT;
}

static void mend_unit(struct doctor *d, const char *unit)
{
	doctor_mend(d, "mkdir -p /etc/systemd/system/%s.d && printf '[Service]\\nLimitMEMLOCK=infinity\\n' >/etc/systemd/system/%s.d/memlock.conf && systemctl daemon-reload && systemctl restart %s",
		    unit, unit, unit);
}

static void judge_self(struct doctor *d)
{
	const struct host_proc *p = &d->host->self;

	if (p->may_lock) {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock", "shell",
			   "memory that programs of this shell register is not limited (CAP_IPC_LOCK)");
	} else if (p->memlock == HOST_NO_LIMIT) {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock", "shell",
			   "memory that programs of this shell register is not limited");
	} else if (p->memlock >= MEMLOCK_SMALL) {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock", "shell",
			   "a program of this shell may register %s of memory",
			   format_size(p->memlock).s);
	} else {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_WARNING, "memlock", "shell",
			   "a program of this shell may register no more than %s of memory (ulimit -l)",
			   format_size(p->memlock).s);
		if (p->memlock_hard > p->memlock)
			doctor_mend(d, "ulimit -l hard");
		else
			doctor_mend(d, "printf '* - memlock unlimited\\n' >/etc/security/limits.d/rdma.conf  # as root; then log in anew");
	}
}

static void judge_proc(struct doctor *d, const struct host_proc *p)
{
	const char *unit = doctor_service(p->cgroup);
	char object[DOCTOR_OBJECT], name[2 * SNAP_COMM];
	struct text t;

	text_init(&t, name, sizeof(name));
	text_tame(&t, p->comm);
	snprintf(object, sizeof(object), "%s, pid %u", name, p->pid);
	if (is_unlimited(p)) {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock", object,
			   "has registered %s of memory, without a limit",
			   format_size(p->pinned).s);
		doctor_detail(d);
	} else if (p->pinned >= p->memlock / 100 * NEARLY) {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_ERROR, "memlock", object,
			   "has registered %s of memory, and its limit is %s: the next registration will fail%s%s",
			   format_size(p->pinned).s, format_size(p->memlock).s,
			   unit ? "; its unit's limit is LimitMEMLOCK of " : "",
			   unit ? unit : "");
		doctor_mend(d, "prlimit --pid %u --memlock=unlimited:unlimited", p->pid);
	} else {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock", object,
			   "has registered %s of memory, and its limit is %s",
			   format_size(p->pinned).s, format_size(p->memlock).s);
	}
}

static void judge_procs(struct doctor *d)
{
	const struct host *h = d->host;
	size_t free = 0;

	for (size_t i = 0; i < h->n_procs; i++) {
		judge_proc(d, &h->procs[i]);
		free += is_unlimited(&h->procs[i]);
	}
	if (free)
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock", "processes",
			   "%zu of %zu processes that use RDMA may register any amount of memory",
			   free, h->n_procs);
	if (!h->procs_all)
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_UNSEEN, "memlock",
			   "processes",
			   "only root can see which processes of other users use RDMA");
}

/* Judges the systemd units that jobs of the policy file name, running or not. */
static void judge_units(struct doctor *d)
{
	for (size_t i = 0; i < d->n_units; i++) {
		const struct doctor_unit *u = &d->units[i];

		if (u->memlock >= MEMLOCK_SMALL) {
			doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "memlock_unit",
				   u->unit, "job %s: LimitMEMLOCK is %s", u->job,
				   u->memlock == HOST_NO_LIMIT ? "infinity" :
				   format_size(u->memlock).s);
			continue;
		}
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_WARNING, "memlock_unit",
			   u->unit,
			   "job %s: the service may register no more than %s of memory (LimitMEMLOCK)",
			   u->job, format_size(u->memlock).s);
		mend_unit(d, u->unit);
	}
}

/* m->dir ends in m->cgroup, unless it was cut. */
static bool is_cut(const struct host_rdma_max *m)
{
	size_t len = strlen(m->dir), n = strlen(m->cgroup);

	return strcmp(m->cgroup, "/") && (len < n || strcmp(m->dir + len - n, m->cgroup));
}

/* Offers no command if the path has a quote, because any user may have named the cgroup. */
static void mend_maximum(struct doctor *d, const struct host_rdma_max *m)
{
	if (is_cut(m))
		doctor_no_mend(d, "the path is too long");
	else if (strchr(m->dir, '\''))
		doctor_no_mend(d, "the path has a quote");
	else
		doctor_mend(d, "echo '%s %s=max' >'%s/rdma.max'", m->dev, m->what, m->dir);
}

static void judge_maximum(struct doctor *d, const struct host_rdma_max *m)
{
	const char *words = !strcmp(m->what, "hca_handle") ?
		"contexts (hca_handle)" : "objects (hca_object: QPs, CQs, MRs, PDs)";
	enum doctor_verdict verdict = DOCTOR_FINE;
	const char *then = "";
	char object[DOCTOR_OBJECT];

	/* Two cgroups may have limits for one device, so name both. */
	snprintf(object, sizeof(object), "%s %s", m->cgroup, m->dev);
	if (m->current >= m->max) {
		verdict = DOCTOR_ERROR;
		then = ": creating another will fail";
	} else if (m->current * 100 >= m->max * NEARLY) {
		verdict = DOCTOR_WARNING;
		then = ": the limit is nearly reached";
	}
	doctor_say(d, DOCTOR_LIMITS, verdict, "rdma_max", object,
		   "%llu of %llu %s%s", (unsigned long long)m->current,
		   (unsigned long long)m->max, words, then);
	if (verdict == DOCTOR_FINE)
		doctor_detail(d);
	else
		mend_maximum(d, m);
}

void doctor_limits(struct doctor *d)
{
	const struct host *h = d->host;

	judge_self(d);
	judge_procs(d);
	judge_units(d);
	for (size_t i = 0; i < h->n_maxima; i++)
		judge_maximum(d, &h->maxima[i]);
	if (!h->n_maxima) {
		doctor_say(d, DOCTOR_LIMITS, DOCTOR_FINE, "rdma_max", "cgroups",
			   "%s", h->kernel.rdma_cgroup == HOST_NO ?
			   "this kernel has no limits of RDMA objects" :
			   "no cgroup limits RDMA objects (rdma.max)");
		doctor_detail(d);
	}
}
