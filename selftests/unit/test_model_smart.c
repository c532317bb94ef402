// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The simulator against measurements of a ConnectX-6 (selftests/data/). The mean
 * absolute error of each curve that the parameters were fitted on stays within a bound.
 * The simulated rates are steady: a run that is ten times as long has the same rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/smart.h"

static struct smart_file f;

static void hold(const char *name, double goal)
{
	struct model_params nic;
	struct model_host host;
	double sum = 0;
	int i, n = 0;

	model_preset(MODEL_CX6, &nic);
	model_preset_host(MODEL_CX6, &host);
	smart_read(&f, name);
	smart_error(&f, NULL, &nic, &host);
	for (i = 0; i < f.n_curves; i++) {
		printf("# %s %s: mean absolute error %.1f %%\n", name, f.curve[i].mode,
		       f.curve[i].error);
		assert_true(f.curve[i].error <= 10);
		/* Nothing was fitted on the throttle. */
		if (!strcmp(f.curve[i].mode, "work-req-throt"))
			continue;
		sum += f.curve[i].error;
		n++;
	}
	printf("# %s: %.1f %%, <= %.1f\n", name, sum / n, goal);
	assert_true(sum / n <= goal);
}

static void by_threads(void **state)
{
	(void)state;
	hold("read-threads", 7.0);
}

static void by_depth(void **state)
{
	(void)state;
	hold("read-depth", 6.0);
}

/* A rate that was found steady is still the same after ten times as long. */
static bool much_later(void *ctx, uint64_t ns, uint64_t wrs)
{
	struct smart_steady *s = ctx;

	if (!s->is) {
		if (!smart_steady(s, ns, wrs))
			return false;
		assert_true(s->is);
		s->before = s->rate;
		s->until = 10 * wrs;
		return false;
	}
	s->rate = (double)(wrs - s->wrs) / (double)(ns - s->ns);
	return wrs >= s->until;
}

static void steady_is_steady(void **state)
{
	/* Where it takes longest to get there: queues of all threads build up. */
	static const struct smart_point points[] = {
		{ .threads = 96, .depth = 32 }, { .threads = 96, .depth = 16 },
		{ .threads = 48, .depth = 32 },
	};
	struct smart_steady s;
	struct model_params nic;
	struct model_host host;
	size_t i;

	(void)state;
	model_preset(MODEL_CX6, &nic);
	model_preset_host(MODEL_CX6, &host);
	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		s = smart_run("per-doorbell", MODEL_READ, &points[i], &nic, &host, much_later);
		printf("# %d x %d: %.3f M/s, after ten times as long %.3f\n",
		       points[i].threads, points[i].depth, s.before * 1e3, s.rate * 1e3);
		assert_true(fabs(s.rate / s.before - 1) < 0.01);
	}
}

/* What the NIC holds is no cliff: eight threads more never cost a sixth of the rate. */
static void the_knee_is_a_slope(void **state)
{
	struct smart_point p = { .depth = 32 };
	struct model_params nic;
	struct model_host host;
	double is, was = 0;

	(void)state;
	model_preset(MODEL_CX6, &nic);
	model_preset_host(MODEL_CX6, &host);
	for (p.threads = 40; p.threads <= 96; p.threads += 4) {
		is = smart_run("per-doorbell", MODEL_READ, &p, &nic, &host, smart_steady).rate;
		printf("# %d x 32: %.1f M/s\n", p.threads, is * 1e3);
		assert_true(is > was * 11 / 12);
		was = is;
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_threads),
		cmocka_unit_test(by_depth),
		cmocka_unit_test(steady_is_steady),
		cmocka_unit_test(the_knee_is_a_slope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
