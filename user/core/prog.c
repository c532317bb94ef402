// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/prog.h"

#include <string.h>

static const char *const cmp_names[] = {
	[CMP_GT] = ">",	 [CMP_GE] = ">=", [CMP_LT] = "<",
	[CMP_LE] = "<=", [CMP_EQ] = "==", [CMP_NE] = "!=",
};

const char *cmp_name(enum cmp cmp)
{
	return cmp_names[cmp];
}

unsigned int prog_sees(enum obj_kind kind)
{
	switch (kind) {
	case OBJ_QP:
		return (1u << OBJ_KINDS) - 1;
	case OBJ_UAR:
	case OBJ_PORT:
		return 1u << kind | 1u << OBJ_DEV;
	default:
		return 1u << kind;
	}
}

bool prog_has_members(enum obj_kind on, enum obj_kind of)
{
	switch (of) {
	case OBJ_QP:
		return on != OBJ_QP;
	case OBJ_UAR:
		return on == OBJ_DEV;
	case OBJ_PORT:
		return on == OBJ_DEV || on == OBJ_JOB;
	case OBJ_JOB:
		return on == OBJ_PORT;
	default:
		return false;
	}
}

bool prog_reads(const struct prog *p, enum signal_id id)
{
	uint32_t i;
	int kind;

	for (i = 0; i < p->n_ins; i++)
		if (p->ins[i].op == PROG_SIGNAL && p->ins[i].arg == id)
			return true;
	for (kind = 0; kind < OBJ_KINDS; kind++)
		for (i = 0; i < p->n_atoms[kind]; i++)
			if (p->atoms[kind][i].simple &&
			    p->atoms[kind][i].sig == id)
				return true;
	return false;
}

bool prog_looks_at(const struct prog *p, enum obj_kind kind)
{
	enum signal_id id = vocab_first(kind), end = id + vocab_width(kind);
	uint32_t i;

	for (; id < end; id++)
		if (prog_reads(p, id))
			return true;
	for (i = 0; i < p->n_aggs; i++)
		if (p->aggs[i].of == kind || p->aggs[i].on == kind)
			return true;
	return p->n_atoms[kind] > 0;
}

void binding_of(const struct signals *s, enum obj_kind kind, uint32_t row,
		struct binding *b)
{
	const struct snapshot *snap = s->snap;

	memset(b, 0xff, sizeof(*b));
	b->at[kind] = (int32_t)row;
	switch (kind) {
	case OBJ_QP:
		b->at[OBJ_DEV] = s->qps[row].dev;
		b->at[OBJ_PORT] = s->qps[row].port;
		b->at[OBJ_UAR] = s->qps[row].uar;
		b->at[OBJ_JOB] = s->qps[row].job;
		break;
	case OBJ_PORT:
		b->at[OBJ_DEV] = signals_dev_row(snap, snap->ports[row].dev);
		break;
	case OBJ_UAR:
		b->at[OBJ_DEV] = signals_dev_row(snap, snap->uars[row].dev);
		break;
	default:
		break;
	}
}

/* Atoms of QPs are evaluated for each term anew, and each term looks at the QP's UAR. */
static uint32_t work_of_terms(const struct prog *p)
{
	uint32_t i, n = 0;
	uint64_t need;

	for (i = 0; i < p->n_terms; i++) {
		n += p->terms[i].need[OBJ_UAR] != 0;
		for (need = p->terms[i].need[OBJ_QP]; need; need &= need - 1)
			n += p->atoms[OBJ_QP][__builtin_ctzll(need)].code.n;
	}
	return n;
}

uint32_t prog_work(const struct prog *p, enum obj_kind kind)
{
	uint32_t i, n = kind == OBJ_QP ? work_of_terms(p) : 0;

	for (i = 0; kind != OBJ_QP && i < p->n_atoms[kind]; i++)
		n += p->atoms[kind][i].code.n;
	for (i = 0; i < p->n_aggs; i++)
		if (p->aggs[i].of == kind)
			n += p->aggs[i].value.n + p->aggs[i].where.n + 1;
	return n;
}
