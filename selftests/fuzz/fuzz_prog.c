// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as a compiled program: the verifier refuses it, or it can be run
 * without touching what is not its own.
 *
 * A byte for each member in turn. The seeds are programs of states as they are
 * compiled, "port.util > 80% and qp.outstanding > 5000" among them: of random
 * bytes the verifier lets through only what does next to nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "core/policy.h"
#include "unit/snap_build.h"
#include "unit/verify.h"

struct input {
	const uint8_t *p;
	size_t n;
};

static unsigned int byte(struct input *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

static struct prog_code code(struct input *in)
{
	struct prog_code c = { (uint16_t)(byte(in) % 80), (uint16_t)(byte(in) % 24) };

	return c;
}

static void make(struct input *in, struct prog *p)
{
	static const double k[] = { 0, 1, -1, 0.8, 1e300, 5000 };
	unsigned int i, o;

	memset(p, 0, sizeof(*p));
	p->n_k = sizeof(k) / sizeof(k[0]);
	p->k = malloc(sizeof(k));
	p->n_ins = byte(in) % 65;
	p->ins = calloc(p->n_ins + 1, sizeof(*p->ins));
	p->n_aggs = byte(in) % 3;
	p->aggs = calloc(p->n_aggs + 1, sizeof(*p->aggs));
	p->n_terms = byte(in) % 4;
	p->terms = calloc(p->n_terms + 1, sizeof(*p->terms));
	if (!p->k || !p->ins || !p->aggs || !p->terms)
		abort();
	memcpy(p->k, k, sizeof(k));
	for (i = 0; i < p->n_ins; i++)
		p->ins[i] = (struct prog_ins){
			.op = (uint8_t)(byte(in) % (PROG_OPS + 1)),
			.mem = (uint8_t)(byte(in) % 4),
			.arg = (uint16_t)(byte(in) % 56),
		};
	for (o = 0; o < OBJ_KINDS; o++) {
		p->n_mem[o] = byte(in) % 4;
		p->n_atoms[o] = byte(in) % 3;
		p->atoms[o] = calloc(p->n_atoms[o] + 1, sizeof(*p->atoms[o]));
		if (!p->atoms[o])
			abort();
		for (i = 0; i < p->n_atoms[o]; i++) {
			unsigned int b = byte(in);

			p->atoms[o][i] = (struct prog_atom){
				.code = code(in),
				.kind = (uint8_t)(b & 0x80 ? b : o),
				.others = (uint8_t)byte(in),
				.simple = b & 1, .cmp = b >> 1 & 7,
				.sig = (uint16_t)(byte(in) % 56),
				.value = p->k[byte(in) % p->n_k],
			};
		}
	}
	for (i = 0; i < p->n_aggs; i++)
		p->aggs[i] = (struct prog_agg){
			.op = (uint8_t)(byte(in) % 6),
			.of = (uint8_t)(byte(in) % 6),
			.on = (uint8_t)(byte(in) % 6),
			.value = code(in), .where = code(in),
		};
	for (i = 0; i < p->n_terms; i++)
		for (o = 0; o < OBJ_KINDS; o++)
			p->terms[i].need[o] = byte(in) & 3;
}

static void drop(struct prog *p)
{
	unsigned int o;

	free(p->k);
	free(p->ins);
	free(p->aggs);
	free(p->terms);
	for (o = 0; o < OBJ_KINDS; o++)
		free(p->atoms[o]);
}

static void move(struct signals *s, uint32_t i)
{
	signal_set(s, SIG_QP_WR_RATE, i % 3, 100 * i);
	signal_set(s, SIG_QP_OUTSTANDING, i % 3, i & 1 ? 2 : 6000);
	signal_set(s, SIG_QP_QUEUE_DELAY, (i + 1) % 3, i & 2 ? 1 : 9000);
	signal_set(s, SIG_UAR_WR_RATE, i & 1, 50 * i);
	signal_set(s, SIG_PORT_UTIL, 0, i & 2 ? 0.9 : 0.1);
	signal_set(s, SIG_JOB_P99, 1, 1000 * (i % 4));
	if (i == 4) {
		signal_set(s, SIG_PORT_UTIL, 0, __builtin_nan(""));
		signal_set(s, SIG_QP_OUTSTANDING, 1, __builtin_nan(""));
	}
}

static void run(const struct prog *p)
{
	static struct made was, is;
	const struct signal_opts opts = { 0 };
	struct cond c = { .terms = { 0, (uint16_t)p->n_terms } };
	struct signals sig;
	struct binding b;
	struct truth t;
	const struct truth_view v = { .t = &t, .p = p, .s = &sig };
	const char *why;
	uint32_t job, i, o;

	made_scene(&was, 1000, 0);
	made_scene(&is, 1100, 240000);
	signals_init(&sig);
	truth_init(&t);
	if (signals_reserve(&sig, &is.s))
		abort();
	signals_update(&sig, &was.s, &is.s, &opts);
	if (truth_reserve(&t, p, &sig))
		abort();
	for (i = 0; i < p->n_terms; i++)
		for (o = 0; o < OBJ_KINDS; o++)
			if (p->terms[i].need[o])
				c.kinds |= (uint8_t)(1u << o);
	for (i = 0; i < 6; i++) {
		move(&sig, i);
		truth_update(&t, p, &sig, (1100 + i) * MS);
		if (!prog_verify_cond(p, &c, &why))
			continue;
		for (job = 0; job < is.s.n_jobs; job++) {
			bool some = truth_some(&v, &c, job) == TRI_TRUE;

			/* What is true of some is true of one, and only then. */
			if (truth_first(&v, &c, job, &b) != some)
				abort();
		}
	}
	truth_free(&t);
	signals_free(&sig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const char *why = NULL;
	struct prog p;

	make(&in, &p);
	if (prog_verify(&p, &why))
		run(&p);
	else if (!why)
		abort();
	drop(&p);
	return 0;
}
