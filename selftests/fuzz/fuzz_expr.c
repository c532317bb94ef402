// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any text as a state and as an action: it is refused with a message and a place
 * within it, or it compiles to a sound program, and so does its contrary.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/expr.h"
#include "unit/verify.h"

static void refused(const struct expr_error *e, size_t len)
{
	if (!e->msg[0] || e->at > len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct expr x;
	struct action a[POLICY_STEPS];
	struct expr_error e = { 0 };
	struct criteria cr;
	struct policy pol;
	struct cond c;
	struct prog p = { 0 };
	const char *why;
	unsigned int n;
	char *s;
	int root;

	if (size > 4096)
		return 0;
	s = malloc(size + 1);
	if (!s)
		return 0;
	memcpy(s, data, size);
	s[size] = '\0';
	criteria_init(&cr);
	if (!expr_state(s, &cr, &x, &root, &e)) {
		refused(&e, strlen(s));
	} else {
		compile_state(&p, &x, root, COMPILE_STATE, &c, &e);
		compile_state(&p, &x, root, COMPILE_CONTRARY, &c, &e);
		if (!prog_verify(&p, &why))
			abort();
	}
	memset(&e, 0, sizeof(e));
	if (!expr_action(s, &cr, &x, a, &n, &e)) {
		refused(&e, strlen(s));
	} else {
		for (; n > 0; n--)
			if (a[n - 1].value >= 0)
				compile_number(&p, &x, a[n - 1].value,
					       &a[n - 1].step.expr, &e);
		if (!prog_verify(&p, &why))
			abort();
	}
	memset(&e, 0, sizeof(e));
	if (!expr_binding(s, &pol, &e))
		refused(&e, strlen(s));
	prog_free(&p);
	free(s);
	return 0;
}
