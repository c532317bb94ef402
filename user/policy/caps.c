// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/caps.h"

struct caps caps_here(void)
{
	struct caps caps = { 0 };
	size_t i;

	for (i = 0; i < SIGNALS; i++)
		if (vocab_signals[i].measured)
			caps.signals |= 1ULL << i;
	for (i = 0; i < vocab_n_policy_knobs; i++)
		if (!vocab_knobs[i].enforcer)
			caps.knobs |= 1u << vocab_knobs[i].knob;
	return caps;
}

struct caps caps_all(void)
{
	return (struct caps){ ~0ULL, ~0u };
}

static enum signal_id code_lacks(const struct caps *caps, const struct prog *p,
				 struct prog_code code)
{
	enum signal_id sig;
	uint32_t i;

	for (i = 0; i < code.n; i++) {
		const struct prog_ins *in = &p->ins[code.first + i];

		if (in->op == PROG_SIGNAL && !(caps->signals & 1ULL << in->arg))
			return in->arg;
		if (in->op != PROG_AGG)
			continue;
		sig = code_lacks(caps, p, p->aggs[in->arg].value);
		if (sig == SIGNALS)
			sig = code_lacks(caps, p, p->aggs[in->arg].where);
		if (sig != SIGNALS)
			return sig;
	}
	return SIGNALS;
}

static enum signal_id term_lacks(const struct caps *caps, const struct prog *p,
				 const struct prog_term *t)
{
	enum signal_id sig;
	uint32_t i, o;

	for (o = 0; o < OBJ_KINDS; o++)
		for (i = 0; i < p->n_atoms[o]; i++) {
			if (!(t->need[o] & 1ULL << i))
				continue;
			sig = code_lacks(caps, p, p->atoms[o][i].code);
			if (sig != SIGNALS)
				return sig;
		}
	return SIGNALS;
}

/* One alternative that can be told is enough. */
enum signal_id caps_lacks(const struct caps *caps, const struct prog *p,
			  const struct cond *c)
{
	enum signal_id first = SIGNALS, sig;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++) {
		sig = term_lacks(caps, p, &p->terms[c->terms.first + i]);
		if (sig == SIGNALS)
			return sig;
		if (first == SIGNALS)
			first = sig;
	}
	return first;
}
