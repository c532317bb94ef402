// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/rule.h"

#include <fnmatch.h>
#include <string.h>

bool rule_matches(const struct snap_rule *rule, const struct snap_owner *owner)
{
	bool kernel = owner->kernel[0];
	const char *comm = kernel ? owner->kernel : owner->comm;

	/* Only the module knows what a process asked for. */
	if (rule->asked)
		return false;
	if (rule->comm[0] && strncmp(rule->comm, comm, SNAP_COMM - 1))
		return false;
	if (rule->exe[0] && strcmp(rule->exe, owner->exe))
		return false;
	if (kernel)
		return !rule->has_uid && !rule->has_pid && !rule->cgroup[0];
	return (!rule->has_uid || rule->uid == owner->uid) &&
	       (!rule->has_pid || rule->pid == owner->pid) &&
	       (!rule->cgroup[0] || !fnmatch(rule->cgroup, owner->cgroup, 0));
}
