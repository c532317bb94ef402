// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as a policy file: it is refused with at least one message, or what
 * comes of it can be evaluated and printed, and a printed state read again.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/config.h"
#include "policy/expr.h"
#include "unit/snap_build.h"

static void check_state(const struct cond *c)
{
	struct cond again;
	struct expr_error e;
	char buf[2048];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	cond_format(&t, c);
	/* Values finer than nine decimals do not survive being written. */
	if (!t.cut && expr_cond(buf, &again, &e) && again.n != c->n)
		abort();
}

static void evaluate(const struct config *cfg)
{
	static struct made was, is;
	static struct policy_decision out[8];
	struct signal_opts opts = config_signal_opts(cfg);
	struct policy_state st;
	struct signals sig;

	made_scene(&was, 1000, 0);
	made_scene(&is, 1100, 240000);
	signals_init(&sig);
	policy_state_init(&st);
	if (!signals_reserve(&sig, &is.s) &&
	    !policy_state_reserve(&st, &cfg->policies, is.s.n_jobs)) {
		signals_update(&sig, &was.s, &is.s, &opts);
		policy_eval(&cfg->policies, &st, &sig, 1100 * MS, out, 8);
		policy_eval(&cfg->policies, &st, &sig, 9100 * MS, out, 8);
	}
	policy_state_free(&st);
	signals_free(&sig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config cfg;
	struct report r;
	char line[1024];
	size_t i;

	report_init(&r, "fuzz");
	if (!config_load_text(&cfg, (const char *)data, size, &r)) {
		if (!r.n)
			abort();
		for (i = 0; i < r.n; i++)
			if (!*report_line(&r, i, line, sizeof(line)))
				abort();
		return 0;
	}
	for (i = 0; i < cfg.policies.n; i++) {
		check_state(&cfg.policies.v[i].when);
		check_state(&cfg.policies.v[i].undo_when);
	}
	evaluate(&cfg);
	config_free(&cfg);
	return 0;
}
