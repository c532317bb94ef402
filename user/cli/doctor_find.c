// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doctor: findings and look-ups shared by all doctor_*.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor.h"
#include "core/array.h"

const char *const doctor_areas[DOCTOR_AREAS + 1] = {
	"module", "kernel", "agent", "device", "limits", "policy", "qos", NULL,
};

void doctor_say(struct doctor *d, enum doctor_area area,
		enum doctor_verdict verdict, const char *rule,
		const char *object, const char *fmt, ...)
{
	struct finding *f;
	va_list ap;

	f = array_next(&d->found, d->n, &d->cap, sizeof(*f));
	if (!f) {
		d->no_memory = true;
		return;
	}
	d->n++;
	f->area = area;
	f->verdict = verdict;
	f->rule = rule;
	snprintf(f->object, sizeof(f->object), "%s", object);
	va_start(ap, fmt);
	vsnprintf(f->says, sizeof(f->says), fmt, ap);
	va_end(ap);
}

void doctor_mend(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	if (!d->n || d->no_memory)
		return;
	va_start(ap, fmt);
	vsnprintf(d->found[d->n - 1].mend, DOCTOR_MEND, fmt, ap);
	va_end(ap);
}

void doctor_detail(struct doctor *d)
{
	if (d->n && !d->no_memory)
		d->found[d->n - 1].detail = true;
}

bool doctor_ails(const struct doctor *d, enum doctor_area area,
		 const char *object)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->found[i].area == area &&
		    d->found[i].verdict >= DOCTOR_WARNING &&
		    !strcmp(d->found[i].object, object))
			return true;
	return false;
}

const struct snap_dev *doctor_snap_dev(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->snap->n_devs; i++)
		if (!strcmp(d->snap->devs[i].name, name))
			return &d->snap->devs[i];
	return NULL;
}

/* "mlx5_core", and "mlx5_core.sf" for a subfunction */
bool doctor_is_mlx5(const struct host_dev *dev)
{
	return !strncmp(dev->driver, "mlx5_core", 9);
}

const char *doctor_service(const char *cgroup)
{
	const char *last = strrchr(cgroup, '/');
	size_t n;

	last = last ? last + 1 : cgroup;
	n = strlen(last);
	return n > 8 && !strcmp(last + n - 8, ".service") &&
	       !strpbrk(last, "*?[]\\'\"$ ") ? last : NULL;
}

const char *doctor_level_note(const struct doctor *d)
{
	return d->cfg && d->cfg->n_levels ? "  # and in the policy file" : "";
}
