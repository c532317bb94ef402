/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The agent's ticks against a made-up kernel, and what it logs. */
#ifndef SELFTESTS_UNIT_AGENT_RIG_H
#define SELFTESTS_UNIT_AGENT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <unistd.h>

#include "unit/fake_io.c"
#include "unit/levels.h"

#include "agent/agent.c"
#include "agent/dry_run.c"
#include "agent/unmatched.c"
#include "agent/passed_over.c"
#include "agent/handover.c"
#include "agent/imbalance.c"
#include "agent/log.c"
#include "agent/loop.c"
#include "agent/publish.c"
#include "agent/result.c"
#include "agent/settings.c"
#include "agent/sync.c"

static const char policy[] =
	"agent: {interval: 100ms, lease: 2s, rank: 42, smoothing: 1ns}\n"
	"levels:\n- {level: 3, dscp: 26}\n- {level: 1, dscp: 8, sl: 1}\n- {level: 2, sl: 4}\n"
	"jobs:\n"
	"- {name: kv, class: latency, match: [{comm: kv}]}\n"
	"- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
	"policies:\n"
	"- {name: port, for: job of class latency, when: port.util > 80% and job.qps > 0,\n"
	"   do: job.level += 1, ceiling: 3, cooldown: 100ms,\n"
	"   undo: {when: port.util < 60%, hold: 300ms}}\n";

static struct agent agent;
static struct agent_options opt;

static inline void load_config(struct config *cfg, const char *text)
{
	struct diag r;

	diag_init(&r, "f");
	text = with_levels(text);
	if (!config_load_text(cfg, text, strlen(text), &r)) {
		diag_print(&r, stderr);
		fail();
	}
}

static inline void start_agent(void)
{
	struct config cfg;

	load_config(&cfg, policy);
	agent_init(&agent, &opt, &cfg);
}

static inline int setup(void **state)
{
	(void)state;
	fake_reset();
	memset(&opt, 0, sizeof(opt));
	/* The agent's log would drown the tests' output. */
	log_open(-1, false);
	start_agent();
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	agent_free(&agent);
	assert_int_equal(fake.handles, 0);
	fake_reset();
	return 0;
}

static inline void tick(uint64_t ms, double share)
{
	fake_pass(ms, share);
	assert_int_equal(agent_tick(&agent), 0);
}

/* Output that is captured: where it goes, of which file, and that file's own descriptor. */
static FILE *caught, *capture_of;
static int capture_was;

/* Redirects @of, and logs to it, until end_capture(). */
static inline void begin_capture(FILE *of, int level, bool json)
{
	caught = tmpfile();
	capture_of = of;
	capture_was = dup(fileno(of));
	assert_true(caught && capture_was >= 0);
	fflush(of);
	assert_true(dup2(fileno(caught), fileno(of)) == fileno(of));
	log_open(level, json);
}

/* What was written since begin_capture(); valid until the next call. */
static inline const char *end_capture(void)
{
	static char text[4096];
	ssize_t n;

	fflush(capture_of);
	dup2(capture_was, fileno(capture_of));
	close(capture_was);
	log_open(-1, false);
	n = pread(fileno(caught), text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	fclose(caught);
	return text;
}

static inline void assert_says(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in\n%s", what, text);
}

#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

#endif /* SELFTESTS_UNIT_AGENT_RIG_H */
