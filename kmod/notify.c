// SPDX-License-Identifier: GPL-2.0
/*
 * The module's notifier: lower layers call the functions that upper layers have registered, and so
 * do not depend on them.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/string.h>

#include "notify.h"

srdma_notifier_fn srdma_notifiers[SRDMA_NOTIFIER_EVENTS][SRDMA_NOTIFIERS + 1];
EXPORT_SYMBOL_GPL(srdma_notifiers);

static void add_to_row(srdma_notifier_fn *row, srdma_notifier_fn fn)
{
	int i;

	for (i = 0; i < SRDMA_NOTIFIERS; i++) {
		if (!row[i]) {
			row[i] = fn;
			return;
		}
	}
	WARN_ON(true);
}

void srdma_notify_register(const struct srdma_notifier *n)
{
	srdma_notifier_fn fns[SRDMA_NOTIFIER_EVENTS];
	int i;

	static_assert(sizeof(fns) == sizeof(*n));
	memcpy(fns, n, sizeof(fns));
	for (i = 0; i < SRDMA_NOTIFIER_EVENTS; i++)
		if (fns[i])
			add_to_row(srdma_notifiers[i], fns[i]);
}
