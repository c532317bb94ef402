// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/prog.h"

#include <string.h>

#define UNKNOWN __builtin_nan("")

static const char *const cmp_names[] = {
	[CMP_GT] = ">",	 [CMP_GE] = ">=", [CMP_LT] = "<",
	[CMP_LE] = "<=", [CMP_EQ] = "==", [CMP_NE] = "!=",
};

const char *cmp_name(enum cmp cmp)
{
	return cmp_names[cmp];
}

static bool compare_numbers(enum cmp cmp, double a, double b)
{
	switch (cmp) {
	case CMP_GT:
		return a > b;
	case CMP_GE:
		return a >= b;
	case CMP_LT:
		return a < b;
	case CMP_LE:
		return a <= b;
	case CMP_EQ:
		return a == b;
	case CMP_NE:
		return a != b;
	}
	return false;
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

static double eval_signal(const struct prog_env *env, uint16_t sig,
			  const struct binding *b)
{
	int32_t row = b->at[vocab_signals[sig].obj];
	double v;

	return row >= 0 && signal_get(env->s, sig, (size_t)row, &v) ? v : UNKNOWN;
}

static double eval_agg(const struct prog_env *env, uint16_t n, const struct binding *b)
{
	int32_t row = b->at[env->p->aggs[n].on];

	return env->agg && row >= 0 ? env->agg[n][row] : UNKNOWN;
}

static double eval_and(double a, double b)
{
	if (a == 0 || b == 0)
		return 0;
	return a != a || b != b ? UNKNOWN : 1;
}

static double eval_or(double a, double b)
{
	if (a == 1 || b == 1)
		return 1;
	return a != a || b != b ? UNKNOWN : 0;
}

/*
 * True: the value rose or fell since the last tick. Without a change the answer is different at
 * the next tick, so the object must then be evaluated again.
 */
static double eval_moved(struct prog_env *env, const struct prog_ins *in, double v)
{
	double was, answer = UNKNOWN;

	if (!env->mem)
		return UNKNOWN;
	was = env->mem[in->mem];
	env->mem[in->mem] = v;
	if (v == v && was == was)
		answer = in->op == PROG_RISING ? v > was : v < was;
	if (v == v && answer != 0)
		env->again = true;
	return answer;
}

/* True: the truth @v has been 1 for the time that the instruction has. */
static double eval_held(struct prog_env *env, const struct prog_ins *in, double v)
{
	double *since;

	if (!env->mem)
		return UNKNOWN;
	since = &env->mem[in->mem];
	if (v != 1) {
		*since = UNKNOWN;
		return v;
	}
	if (*since != *since)
		*since = (double)env->now;
	if ((double)env->now - *since >= env->p->k[in->arg])
		return 1;
	env->again = true;
	return 0;
}

/* *@top is the top of the stack; stack[0] stands for the empty stack and stays unused. */
double prog_run(struct prog_env *env, struct prog_code code,
		const struct binding *b)
{
	const struct prog_ins *in = env->p->ins + code.first;
	const struct prog_ins *end = in + code.n;
	double stack[PROG_STACK + 1], *top = stack;

	for (; in < end; in++) {
		switch ((enum prog_op)in->op) {
		case PROG_CONST:
			*++top = env->p->k[in->arg];
			break;
		case PROG_SIGNAL:
			*++top = eval_signal(env, in->arg, b);
			break;
		case PROG_AGG:
			*++top = eval_agg(env, in->arg, b);
			break;
		case PROG_ADD:
			top--;
			*top += top[1];
			break;
		case PROG_SUB:
			top--;
			*top -= top[1];
			break;
		case PROG_MUL:
			top--;
			*top *= top[1];
			break;
		case PROG_DIV:
			top--;
			*top = top[1] != 0 ? *top / top[1] : UNKNOWN;
			break;
		case PROG_NEG:
			*top = -*top;
			break;
		case PROG_CMP:
			top--;
			*top = *top != *top || top[1] != top[1] ? UNKNOWN :
			       compare_numbers(in->arg, *top, top[1]);
			break;
		case PROG_AND:
			top--;
			*top = eval_and(*top, top[1]);
			break;
		case PROG_OR:
			top--;
			*top = eval_or(*top, top[1]);
			break;
		case PROG_NOT:
			*top = 1 - *top;
			break;
		case PROG_RISING:
		case PROG_FALLING:
			*top = eval_moved(env, in, *top);
			break;
		case PROG_HELD:
			*top = eval_held(env, in, *top);
			break;
		case PROG_OPS:
			break;
		}
	}
	return *top;
}

enum tri prog_terms(const struct prog *p, struct prog_code terms,
		    const uint64_t *t, const uint64_t *k)
{
	const struct prog_term *term = p->terms + terms.first;
	enum tri any = TRI_FALSE;
	unsigned int i, o;

	for (i = 0; i < terms.n; i++, term++) {
		uint64_t lack = 0, wrong = 0;

		for (o = 0; o < OBJ_KINDS; o++) {
			lack |= term->need[o] & ~t[o];
			wrong |= term->need[o] & ~t[o] & k[o];
		}
		if (!lack)
			return TRI_TRUE;
		if (!wrong)
			any = TRI_UNKNOWN;
	}
	return any;
}

uint32_t prog_work(const struct prog *p, enum obj_kind kind)
{
	uint32_t i, n = 0;

	for (i = 0; i < p->n_atoms[kind]; i++)
		n += p->atoms[kind][i].code.n;
	for (i = 0; i < p->n_aggs; i++)
		if (p->aggs[i].of == kind)
			n += p->aggs[i].value.n + p->aggs[i].where.n + 1;
	return n;
}
