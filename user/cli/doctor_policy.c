// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doctor: which policies of this host's file run on its devices. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"

/* Reports on which devices a policy runs, and why not on the others. */
static void judge_policy(struct doctor *d, const char *name)
{
	const struct doctor_policy *off = NULL;
	size_t runs = 0, idle = 0;
	char object[DOCTOR_OBJECT];

	snprintf(object, sizeof(object), "%.90s", name);
	for (size_t i = 0; i < d->n_policies; i++) {
		if (strcmp(d->policies[i].name, name))
			continue;
		if (!d->policies[i].off[0]) {
			runs++;
			continue;
		}
		off = &d->policies[i];
		idle++;
	}
	if (!idle)
		doctor_say(d, DOCTOR_POLICY, DOCTOR_FINE, "capable", object,
			   "it can run on %s",
			   runs == 1 ? "this host's device" : "all devices");
	else if (runs)
		doctor_say(d, DOCTOR_POLICY, DOCTOR_FINE, "capable", object,
			   "it can run on %zu of %zu devices; it cannot run on %s, for example: %s",
			   runs, runs + idle, off->dev, off->off);
	else
		doctor_say(d, DOCTOR_POLICY, DOCTOR_WARNING, "capable", object,
			   "it can run on no device of this host: %s", off->off);
	if (!runs)
		doctor_mend(d, "swiftrdma policy check %s on %s", d->file,
			    off ? off->dev : "here");
	else
		doctor_detail(d);
}

void doctor_policies(struct doctor *d)
{
	const struct policy_set *set = d->cfg ? &d->cfg->policies : NULL;
	size_t fine;

	if (!set || !set->n)
		return;
	if (!d->n_policies) {
		doctor_say(d, DOCTOR_POLICY, DOCTOR_UNSEEN, "capable", d->file,
			   "without the module it is unknown which policies can run on the devices");
		return;
	}
	for (size_t i = 0; i < set->n; i++)
		judge_policy(d, set->v[i].name);
	fine = 0;
	for (size_t i = 0; i < d->n; i++)
		fine += d->found[i].area == DOCTOR_POLICY && d->found[i].verdict == DOCTOR_FINE;
	if (fine)
		doctor_say(d, DOCTOR_POLICY, DOCTOR_FINE, "capable", d->file,
			   "%zu of %zu policies can run here", fine, set->n);
}
