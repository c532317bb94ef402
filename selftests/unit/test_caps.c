// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which signals a device has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "policy/caps.h"

#define SIG(id)	(1ULL << SIG_##id)

/* What the module counts of every device, or a library in the process of any. */
static const uint64_t everywhere =
	SIG(DEV_QPS) | SIG(DEV_MRS) | SIG(DEV_CQS) | SIG(DEV_CREATE_RATE) | SIG(DEV_MODIFY_RATE) |
	SIG(PORT_SPEED) | SIG(UAR_QPS) | SIG(UAR_OWNERS) | SIG(QP_LEVEL) | SIG(QP_TCLASS) |
	SIG(QP_STATE) | SIG(QP_TYPE) | SIG(QP_PID) | SIG(QP_UAR) | SIG(QP_PORT) | SIG(QP_JOB) |
	SIG(QP_QUEUE_DELAY) | SIG(QP_OUTSTANDING) | SIG(JOB_CLASS) | SIG(JOB_QPS) | SIG(JOB_LEVEL) |
	SIG(JOB_WR_RATE) | SIG(JOB_CREATES) | SIG(JOB_MODIFIES) | SIG(JOB_COMMAND_TIME) |
	SIG(JOB_SLO_P99) | SIG(JOB_SLO_BYTE_RATE) | SIG(JOB_BYTE_RATE) | SIG(JOB_P50) |
	SIG(JOB_P99) | SIG(JOB_P99_PREV);

static void assert_signals(uint64_t have, uint64_t wanted)
{
	enum signal_id sig;

	for (sig = 0; sig < SIGNALS; sig++)
		if ((have ^ wanted) & 1ULL << sig)
			fail_msg("%s: %s", vocab_signals[sig].name,
				 have & 1ULL << sig ? "has no figure" : "is missing");
}

static void test_device_without_figures(void **state)
{
	struct snapshot snap = { 0 };
	struct snap_dev dev = { 0 };

	(void)state;
	assert_signals(caps_dev(&snap, &dev).signals, everywhere);
}

static void test_device_with_all(void **state)
{
	struct snap_port port = { .has = ~0ULL };
	struct snapshot snap = { .ports = &port, .n_ports = 1 };
	struct snap_dev dev = { .has = ~0ULL, .caps = ~0U };
	enum signal_id sig;
	uint64_t all = 0;

	(void)state;
	for (sig = 0; sig < SIGNALS; sig++)
		all |= 1ULL << sig;
	assert_signals(caps_dev(&snap, &dev).signals, all);
}

/* Only where the kernel looks into send queues is a mean known, and its trend. */
static void test_looks(void **state)
{
	const uint64_t looks = SIG(QP_LATENCY) | SIG(JOB_LATENCY) | SIG(JOB_LATENCY_PREV);
	struct snapshot snap = { 0 };
	struct snap_dev dev = { .has = ~0ULL, .caps = ~0U };

	(void)state;
	assert_true((caps_dev(&snap, &dev).signals & looks) == looks);
	dev.caps &= ~SWIFTRDMA_DEV_CAP_WQEBBS;
	assert_true((caps_dev(&snap, &dev).signals & looks) == 0);
	assert_string_equal(caps_measured_by(SIG_JOB_LATENCY_PREV), "swiftrdma_mlx5.ko does, for a ConnectX");
}

/* A figure that is missing takes its signals, and nothing else. */
static void test_one_figure(void **state)
{
	struct snap_port port = { .has = ~SNAP_CNP };
	struct snapshot snap = { .ports = &port, .n_ports = 1 };
	struct snap_dev dev = { .has = ~SNAP_PCIE, .caps = ~0U };
	struct caps caps = caps_dev(&snap, &dev);

	(void)state;
	assert_signals(caps.signals, caps_here().signals &
		       ~(SIG(DEV_PCIE_STALL) | SIG(PORT_CNP_RATE)));
}

/* Where a UAR is a user context, a library has no choice of UARs. */
static void test_place(void **state)
{
	const uint32_t place = 1u << SWIFTRDMA_KNOB_PLACE;
	struct snapshot snap = { 0 };
	struct snap_dev dev = { .has = ~0ULL, .caps = ~0U };
	struct caps caps = caps_dev(&snap, &dev);

	(void)state;
	assert_true(caps.knobs & caps.library_knobs & place);
	assert_false(caps_without_library(&caps).knobs & place);
	dev.caps &= ~SWIFTRDMA_DEV_CAP_UARS;
	caps = caps_dev(&snap, &dev);
	assert_false((caps.knobs | caps.library_knobs) & place);
	assert_string_equal(caps_enforced_by(SWIFTRDMA_KNOB_PLACE), "libswiftrdma, on a ConnectX,");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device_without_figures),
		cmocka_unit_test(test_device_with_all),
		cmocka_unit_test(test_one_figure),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
