// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the compiler makes of the shipped policies is sound. And the rules for that:
 * each way in which a program can be unsound is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/config.h"
#include "sim/sim.h"
#include "unit/verify.h"

/* `port.util > 0.8`, of ports; a test spoils it in one place. */
static struct prog_ins ins[24];
static struct prog_atom atom[2];
static struct prog_term term[2];
static struct prog_agg agg[2];
static double k[2];
static struct prog p;

static int setup(void **state)
{
	(void)state;
	memset(&p, 0, sizeof(p));
	memset(ins, 0, sizeof(ins));
	memset(atom, 0, sizeof(atom));
	memset(term, 0, sizeof(term));
	memset(agg, 0, sizeof(agg));
	ins[0] = (struct prog_ins){ PROG_SIGNAL, 0, SIG_PORT_UTIL };
	ins[1] = (struct prog_ins){ PROG_CONST, 0, 0 };
	ins[2] = (struct prog_ins){ PROG_CMP, 0, CMP_GT };
	k[0] = 0.8;
	atom[0] = (struct prog_atom){ .code = { 0, 3 }, .kind = OBJ_PORT };
	term[0].need[OBJ_PORT] = 1;
	p = (struct prog){
		.ins = ins, .n_ins = 3, .k = k, .n_k = 1, .terms = term,
		.n_terms = 1, .aggs = agg,
	};
	p.atoms[OBJ_PORT] = atom;
	p.n_atoms[OBJ_PORT] = 1;
	return 0;
}

static void refused(const char *want)
{
	const char *why = "";

	if (prog_verify(&p, &why))
		fail_msg("accepted, ought: %s", want);
	assert_string_equal(why, want);
}

static void test_sound(void **state)
{
	const char *why;

	(void)state;
	assert_true(prog_verify(&p, &why));
}

static void test_stack(void **state)
{
	unsigned int i;

	(void)state;
	ins[1].op = PROG_NEG;
	refused("the stack underflows");
	ins[1].op = PROG_CONST;
	atom[0].code.n = 2;
	refused("not one value is left");
	for (i = 0; i < 20; i++)
		ins[i] = ins[0];
	p.n_ins = 20;
	atom[0].code.n = 20;
	refused("the stack overflows");
}

static void test_types(void **state)
{
	(void)state;
	ins[2].op = PROG_ADD;
	refused("a number is taken for a truth, or a truth for a number");
	ins[2].op = PROG_AND;
	refused("a number is taken for a truth, or a truth for a number");
}

static void test_indexes(void **state)
{
	(void)state;
	ins[2].op = PROG_OPS;
	refused("no such instruction");
	ins[2].op = PROG_CMP;
	ins[2].arg = CMP_NE + 1;
	refused("no such comparison");
	ins[2].arg = CMP_GT;
	ins[1].arg = 1;
	refused("no such constant");
	ins[1].arg = 0;
	ins[0].arg = SIGNALS;
	refused("no such signal");
	ins[0].arg = SIG_JOB_P99;
	refused("a signal of an object that is not bound");
	ins[0] = (struct prog_ins){ PROG_AGG, 0, 0 };
	refused("no such aggregate");
	atom[0].code.first = 1;
	refused("code that is not there");
	atom[0].code = (struct prog_code){ 0, 0 };
	refused("code that is not there");
}

static void test_memory(void **state)
{
	(void)state;
	ins[3] = (struct prog_ins){ PROG_HELD, 0, 0 };
	p.n_ins = 4;
	atom[0].code.n = 4;
	refused("no such place in memory");
	p.n_mem[OBJ_PORT] = 1;
	assert_true(prog_verify(&p, &(const char *){ NULL }));
	ins[4] = (struct prog_ins){ PROG_HELD, 0, 0 };
	p.n_ins = 5;
	atom[0].code.n = 5;
	refused("two instructions use one place in memory");
}

static void test_atoms_and_terms(void **state)
{
	(void)state;
	atom[0].kind = OBJ_QP;
	refused("an atom among those of another kind");
	atom[0].kind = OBJ_PORT;
	atom[0].others = 1u << OBJ_JOB;
	refused("an atom that reads too much");
	atom[0].others = 0;
	atom[0].simple = true;
	atom[0].sig = SIG_QP_WR_RATE;
	refused("a comparison of something else");
	atom[0].simple = false;
	atom[0].text_len = 1;
	refused("text that is not there");
	atom[0].text_len = 0;
	term[0].need[OBJ_QP] = 1;
	refused("a term needs an atom that is not there");
	term[0].need[OBJ_QP] = 0;
}

static void test_aggregates(void **state)
{
	(void)state;
	p.n_aggs = 1;
	agg[0] = (struct prog_agg){ .op = AGG_MAX, .of = OBJ_UAR, .on = OBJ_JOB };
	refused("an aggregate over what does not belong together");
	agg[0] = (struct prog_agg){ .op = AGG_COUNT, .of = OBJ_QP,
				    .on = OBJ_UAR };
	assert_true(prog_verify(&p, &(const char *){ NULL }));
	agg[0].value = (struct prog_code){ 0, 99 };
	refused("a count of a value, where objects are counted");
	agg[0].value = (struct prog_code){ 0, 0 };
	agg[0].op = AGG_MAX;
	refused("code that is not there");
	ins[3] = (struct prog_ins){ PROG_AGG, 0, 0 };
	p.n_ins = 4;
	agg[0].value = (struct prog_code){ 3, 1 };
	refused("an aggregate within an aggregate");
}

/* As each device would have them: what it lacks leaves policies out. */
static void verify_file(const char *file, const struct caps *caps)
{
	struct config cfg;
	struct diag r;
	char path[256];
	const char *why;

	snprintf(path, sizeof(path), TOP "/user/%s", file);
	diag_init(&r, path);
	if (!config_load_file_for(&cfg, caps, path, &r)) {
		diag_print(&r, stderr);
		fail();
	}
	assert_true(cfg.policies.prog.n_ins > 0);
	if (!prog_verify(&cfg.policies.prog, &why))
		fail_msg("%s: %s", file, why);
	config_free(&cfg);
}

static void test_shipped(void **state)
{
	static const char *const files[] = {
		"policies/cache.yaml", "policies/control.yaml", "policies/order.yaml",
		"policies/paper-hol.yaml", "policies/paper-port.yaml", "policies/port.yaml",
		"policies/uar.yaml", "sim/fleet-web.yaml", "sim/fleet.yaml",
		"sim/policy.yaml",
	};
	struct caps caps;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		caps = caps_all();
		verify_file(files[i], &caps);
		caps = sim_caps(SIM_MLX5);
		verify_file(files[i], &caps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped),
		cmocka_unit_test_setup(test_sound, setup),
		cmocka_unit_test_setup(test_stack, setup),
		cmocka_unit_test_setup(test_types, setup),
		cmocka_unit_test_setup(test_indexes, setup),
		cmocka_unit_test_setup(test_memory, setup),
		cmocka_unit_test_setup(test_atoms_and_terms, setup),
		cmocka_unit_test_setup(test_aggregates, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
