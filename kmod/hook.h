/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_HOOK_H
#define SRDMA_HOOK_H

#include "tracker.h"

int srdma_hook_init(void);
void srdma_hook_exit(void);

/*
 * Take the wrappers out of all devices, wait until no thread is in them, and drop
 * the module's reference to itself, so that it can be unloaded. QPs whose class cannot be
 * given back, or a wrapper of another module above one of this module, are reasons to refuse
 * with -EBUSY and stay armed; @force overrides the former.
 */
int srdma_hook_disarm(bool force);
/* Copy the reason of the last refusal, or "", into @buf of @len bytes. */
void srdma_hook_why(char *buf, size_t len);

#endif /* SRDMA_HOOK_H */
