/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a system can measure and enforce: which policies can run on it. */
#ifndef SRDMA_POLICY_CAPS_H
#define SRDMA_POLICY_CAPS_H

#include "core/policy.h"

struct caps {
	uint64_t signals;	/* bit per enum signal_id */
	uint64_t library;	/* those of them that only libswiftrdma measures, in processes */
	uint32_t knobs;		/* bit per enum swiftrdma_knob */
	uint32_t library_knobs;	/* those of them that only libswiftrdma enforces, in processes */
	double speed;		/* bit/s, of all ports of a device; 0: not known */
};

/* Capabilities of this system's kernel and agent. */
struct caps caps_here(void);
/* Capabilities of this system on the device @dev, a subset of caps_here(). */
struct caps caps_dev(const struct snapshot *snap, const struct snap_dev *dev);
/* All capabilities, such as those of the simulator's device. */
struct caps caps_all(void);

/* Capabilities without those that only libswiftrdma provides. */
struct caps caps_without_library(const struct caps *caps);

/* A signal that @caps lacks and without which @c is always unknown. SIGNALS: there is none. */
enum signal_id caps_lacks(const struct caps *caps, const struct prog *p,
			  const struct cond *c);

/* Which component could measure this signal, or enforce this knob, in words. */
const char *caps_measured_by(enum signal_id sig);
const char *caps_enforced_by(unsigned int knob);

/* Bit per signal that the condition reads. */
uint64_t caps_reads(const struct prog *p, const struct cond *c);

#endif /* SRDMA_POLICY_CAPS_H */
