// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma probe makes of measured rates: knees, and a scenario that the simulator loads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/diag.h"
#include "probe/fit.h"
#include "sim/scenario.h"
#include "smart.h"

/* Rates of a NIC with this knee; 0: none. Each @off by that fraction, up and down in turn. */
static struct fit_curve make_curve(double knee, double penalty, double off)
{
	struct fit_curve c = { .n = 0 };

	for (double x = 64; x <= 4096; x *= 2) {
		double over = knee > 0 && x > knee ? 1 - knee / x : 0;

		assert_true(fit_add(&c, x, 50e6 / (1 + penalty * over) *
				    (c.n % 2 ? 1 + off : 1 - off)));
	}
	return c;
}

static void test_knee(void **state)
{
	double penalty = fit_wqe_penalty(MODEL_CX6);

	(void)state;
	for (double knee = 100; knee < 2000; knee *= 1.5) {
		struct fit_curve c = make_curve(knee, penalty, 0);
		double found;

		assert_true(fit_knee(&c, penalty, &found));
		assert_true(fabs(found / knee - 1) < 0.02);
	}
}

static void test_noise(void **state)
{
	struct fit_curve c = make_curve(700, 2, 0.03);
	double found;

	(void)state;
	assert_true(fit_knee(&c, 2, &found));
	assert_true(fabs(found / 700 - 1) < 0.25);
}

static void test_no_knee(void **state)
{
	struct fit_curve c = make_curve(0, 1, 0.03), none = { .n = 0 };
	double found = 1;

	(void)state;
	assert_false(fit_knee(&c, 1, &found));
	assert_false(fit_knee(&none, 1, &found));
	/* Rates that still grow. */
	for (size_t i = 0; i < c.n; i++)
		c.rate[i] = c.x[i] * 1e5;
	assert_false(fit_knee(&c, 1, &found));
	assert_true(found == 1);
}

static void test_full(void **state)
{
	struct fit_curve c = { .n = 0 };

	(void)state;
	for (int i = 0; i < FIT_POINTS; i++)
		assert_true(fit_add(&c, i, 1));
	assert_false(fit_add(&c, 99, 1));
}

/* A curve of SMART's measurements, on which the presets were fitted. */
static struct fit_curve smart_curve(const char *mode)
{
	static struct smart_file file;
	struct fit_curve c = { .n = 0 };

	smart_read(&file, "read-depth");
	for (int i = 0; i < file.n_curves; i++) {
		if (strcmp(file.curve[i].mode, mode))
			continue;
		for (int k = 0; k < file.curve[i].n; k++) {
			const struct smart_point *p = &file.curve[i].point[k];

			fit_add(&c, p->threads * p->depth, p->mops * 1e6);
		}
	}
	assert_true(c.n > 5);
	return c;
}

static void test_smart(void **state)
{
	struct fit_curve c = smart_curve("per-doorbell");
	double found;

	(void)state;
	assert_true(fit_knee(&c, fit_wqe_penalty(MODEL_CX6), &found));
	assert_true(found > 400 && found < 1200);
	/* With a limit on outstanding requests there is nothing to find. */
	c = smart_curve("work-req-throt");
	assert_false(fit_knee(&c, fit_wqe_penalty(MODEL_CX6), &found));
}

static void test_model_rate(void **state)
{
	struct fit_load load = { .contenders = 1, .threads = 1, .bytes = 512, .host = true };
	double one, own, crowded;

	(void)state;
	one = fit_model_rate(MODEL_CX5, &load);
	load.threads = 4;
	own = fit_model_rate(MODEL_CX5, &load);
	assert_true(own > 3.9 * one && own < 4.1 * one);
	load.contenders = 4;
	crowded = fit_model_rate(MODEL_CX5, &load);
	assert_true(crowded < own / 2);
	/* 64 threads fill the port: 100 Gbit/s of packets of 538 bytes. */
	load.contenders = 1;
	load.threads = 1000;
	assert_true(fabs(fit_model_rate(MODEL_CX5, &load) / (100e9 / (538 * 8)) - 1) < 0.01);
}

static struct scenario *write_and_load(enum model_preset preset, const struct fit_measured *m)
{
	struct scenario *sc = calloc(1, sizeof(*sc));
	struct diag r;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(sc);
	fit_write(f, preset, m, "a test");
	fclose(f);
	diag_init(&r, "fit.yaml");
	if (!scenario_load_text(sc, text, len, &r))
		print_error("%s", text);
	assert_int_equal(r.total, 0);
	free(text);
	return sc;
}

static void test_write(void **state)
{
	struct fit_measured m = {
		.link_bps = 50000000000, .command_ns = 42000,
		.depth = make_curve(300, fit_wqe_penalty(MODEL_CX5), 0),
		.qps = make_curve(1000, fit_context_penalty(MODEL_CX5), 0),
	};
	struct scenario *sc = write_and_load(MODEL_CX5, &m);

	(void)state;
	assert_int_equal(sc->preset, MODEL_CX5);
	assert_true(sc->nic.link_bps == 50000000000);
	assert_int_equal(sc->nic.ctrl_ps, 42000000);
	assert_in_range(sc->nic.wqe_limit, 290, 310);
	assert_in_range(sc->nic.cache_bytes, 950 * 375, 1050 * 375);
	free(sc);
}

/* What was not measured is the preset's. */
static void test_write_nothing(void **state)
{
	const struct fit_measured m = { .link_bps = 0 };
	struct scenario *sc = write_and_load(MODEL_CX6, &m);
	struct model_params p;

	(void)state;
	model_preset(MODEL_CX6, &p);
	assert_true(sc->nic.link_bps == p.link_bps);
	assert_int_equal(sc->nic.wqe_limit, p.wqe_limit);
	assert_int_equal(sc->nic.cache_bytes, p.cache_bytes);
	assert_int_equal(sc->nic.ctrl_ps, p.ctrl_ps);
	free(sc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knee),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_no_knee),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_smart),
		cmocka_unit_test(test_model_rate),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_write_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
