/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a system can measure and enforce: which policies can run on it. */
#ifndef SRDMA_POLICY_CAPS_H
#define SRDMA_POLICY_CAPS_H

#include "core/policy.h"

struct caps {
	uint64_t signals;	/* bit per enum signal_id */
	uint32_t knobs;		/* bit per enum swiftrdma_knob */
	double speed;		/* bit/s, of all ports of a device; 0: not known */
};

/* This system's kernel and agent. */
struct caps caps_here(void);
/* The same of one of its devices, which may lack some of that. */
struct caps caps_dev(const struct snapshot *snap, const struct snap_dev *dev);
/* A device that has it all, as the simulator's. */
struct caps caps_all(void);

/* A signal without which this state is never known; SIGNALS: it can be told. */
enum signal_id caps_lacks(const struct caps *caps, const struct prog *p,
			  const struct cond *c);

/* Of what it lacks: who would measure this, or turn that, on which machine. */
const char *caps_teller(enum signal_id sig);
const char *caps_enforcer(unsigned int knob);

/* Bit per signal that it looks at. */
uint64_t caps_reads(const struct prog *p, const struct cond *c);

#endif /* SRDMA_POLICY_CAPS_H */
