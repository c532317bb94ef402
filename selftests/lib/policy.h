/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The attributes that a command of the family takes, as the kernel reports them
 * (CTRL_CMD_GETPOLICY): the module's own tables of types and bounds.
 */
#ifndef SELFTESTS_POLICY_H
#define SELFTESTS_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define POLICY_SETS	16
#define POLICY_TYPES	64

struct policy_attr {
	uint32_t type;		/* enum netlink_attribute_type; 0: not accepted */
	uint64_t min, max;	/* of a number */
	uint32_t max_len;	/* length of a string without its NUL */
	uint32_t nest;		/* its set */
	bool tried;		/* the caller's */
};

struct policy {
	uint32_t top;		/* the attribute set of the request itself */
	struct policy_attr set[POLICY_SETS][POLICY_TYPES];
};

/* 0 or -errno. */
int policy_get(uint16_t family, int cmd, struct policy *p);

#endif
