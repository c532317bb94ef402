/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The library over a provider without a device, with a control file that the test writes, and
 * a clock that only waiting moves.
 */
#ifndef UNIT_CONTROL_RIG_H
#define UNIT_CONTROL_RIG_H

#include <sys/mman.h>
#include <unistd.h>

#include "lib_rig.h"

#define MS 1000000ull
#define S (1000 * MS)
#define FOREVER (1ull << 62)

/* In place of place_is_mlx5(). */
static inline bool every_device(struct ibv_device *device)
{
	(void)device;
	return true;
}

static inline bool no_device(struct ibv_device *device)
{
	(void)device;
	return false;
}

static struct {
	struct swiftrdma_report *report;
	struct swiftrdma_control *control;
	struct swiftrdma_block *job;
	uint64_t waits, longest;
	void (*meanwhile)(void);	/* what happens while a post waits */
} ctl;

static int memory_file(uint64_t bytes, void *mapped)
{
	int fd = memfd_create("share", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -1;
	*(void **)mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

/* Stands in for the module. */
static int ctl_share(unsigned long cmd, void *arg)
{
	struct swiftrdma_attach *a = arg;

	if (cmd != SWIFTRDMA_IOC_ATTACH)
		return -ENOENT;
	a->slots = 8;
	a->report_size = (swiftrdma_report_bytes(a->slots) + 4095) & ~4095ull;
	a->control_size = (swiftrdma_control_bytes(a->slots) + 4095) & ~4095ull;
	a->report_fd = memory_file(a->report_size, &ctl.report);
	a->control_fd = memory_file(a->control_size, &ctl.control);
	*ctl.control = (struct swiftrdma_control){
		.magic = SWIFTRDMA_CONTROL_MAGIC, .version = SWIFTRDMA_SHARE_VERSION,
		.header_size = sizeof(*ctl.control), .job_off = sizeof(*ctl.control),
		.blocks_off = sizeof(*ctl.control) + sizeof(*ctl.job),
		.block_size = sizeof(*ctl.job), .blocks = a->slots,
		.state = SWIFTRDMA_CONTROL_LIVE,
	};
	ctl.job = (void *)(ctl.control + 1);
	return 0;
}

/* As the kernel does it. */
static inline void ctl_set_until(enum swiftrdma_share_knob k, uint64_t value, uint64_t until)
{
	uint64_t now = ctl.job->changes, next = now + 1;

	memcpy(ctl.job->knob[next & 1], ctl.job->knob[now & 1], sizeof(ctl.job->knob[0]));
	ctl.job->knob[next & 1][k] = (struct swiftrdma_knob_value){ value, until };
	__atomic_store_n(&ctl.job->changes, next, __ATOMIC_RELEASE);
}

static inline void ctl_set(enum swiftrdma_share_knob k, uint64_t value)
{
	ctl_set_until(k, value, FOREVER);
}

static inline void ctl_clear(enum swiftrdma_share_knob k)
{
	ctl_set_until(k, 0, 0);
}

static inline void ctl_state(uint32_t state)
{
	__atomic_store_n(&ctl.control->state, state, __ATOMIC_RELAXED);
}

static inline const struct swiftrdma_held *held(enum swiftrdma_share_knob k)
{
	return &ctl.report->held[k];
}

static inline uint32_t knob_state(enum swiftrdma_share_knob k)
{
	return ctl.report->knob[k].state;
}

/* Exactly as long as asked for. */
static void ctl_wait(uint64_t ns)
{
	ctl.waits++;
	if (ns > ctl.longest)
		ctl.longest = ns;
	rig.now += ns;
	if (ctl.meanwhile)
		ctl.meanwhile();
}

static inline int ctl_setup(void **state)
{
	memset(&ctl, 0, sizeof(ctl));
	lib_share = ctl_share;
	lib_wait = ctl_wait;
	settings.control = true;
	return rig_setup(state);
}

#define CTL_TEST(f) cmocka_unit_test_setup_teardown(f, ctl_setup, rig_teardown)

/* Posts for so long, as fast as the library lets it; the requests that went through. */
static inline uint64_t post_for(struct ibv_qp *qp, int list, uint64_t ns)
{
	uint64_t end = rig.now + ns, n = 0;

	while (rig.now < end) {
		assert_int_equal(rig_post(qp, list, 1), 0);
		n += (uint64_t)list;
		rig_poll();
	}
	return n;
}

#endif /* UNIT_CONTROL_RIG_H */
