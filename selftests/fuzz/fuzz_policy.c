// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as a policy file: it is refused with at least one message, or what
 * comes of it is a sound program that can be evaluated.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/config.h"
#include "unit/snap_build.h"
#include "unit/verify.h"

static void evaluate(const struct config *cfg)
{
	static struct made was, is;
	static struct policy_decision out[8];
	struct signal_opts opts = config_signal_opts(cfg);
	struct policy_state st;
	struct signals sig;
	size_t n;

	made_scene(&was, 1000, 0);
	made_scene(&is, 1100, 240000);
	signals_init(&sig);
	policy_state_init(&st);
	if (signals_reserve(&sig, &is.s))
		abort();
	signals_update(&sig, &was.s, &is.s, &opts);
	if (!policy_state_reserve(&st, &cfg->policies, &sig)) {
		n = policy_eval(&cfg->policies, &st, &sig, 1100 * MS, out, 8);
		policy_explain(&cfg->policies, &st, &sig, out, n);
		n = policy_eval(&cfg->policies, &st, &sig, 9100 * MS, out, 8);
		policy_explain(&cfg->policies, &st, &sig, out, n);
	}
	policy_state_free(&st);
	signals_free(&sig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config cfg;
	struct diag r;
	char line[1024];
	const char *why;
	size_t i;

	diag_init(&r, "fuzz");
	if (!config_load_text(&cfg, (const char *)data, size, &r)) {
		if (!r.n)
			abort();
		for (i = 0; i < r.n; i++)
			if (!*diag_line(&r, i, line, sizeof(line)))
				abort();
		return 0;
	}
	if (!prog_verify(&cfg.policies.prog, &why))
		abort();
	evaluate(&cfg);
	config_free(&cfg);
	return 0;
}
