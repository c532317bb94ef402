/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Matches the rules of jobs with processes. */
#ifndef SRDMA_CORE_RULE_H
#define SRDMA_CORE_RULE_H

#include "core/snapshot.h"

/*
 * Does the rule apply to a QP of this owner? The kernel gives the same answer: it compares
 * the command name in the 15 bytes that it keeps, a star in a cgroup also matches slashes,
 * and a kernel user has a name and nothing else. A rule for processes that ask for its job
 * matches none here, because only the module knows which do.
 */
bool rule_matches(const struct snap_rule *rule, const struct snap_owner *owner);

#endif /* SRDMA_CORE_RULE_H */
