// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Event 0x1a, congestion of doorbells. A context without write-combining buffers has one
 * doorbell register for all its QPs; threads contend for it until the NIC raises the event.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "probe/probe.h"
#include "probe/writers.h"

#define EVENT		0x1a	/* DB_BF_CONGESTION */
#define QPS		64
#define DEPTH		16
#define BYTES		512
#define TRY_NS		3000000000ull
#define MODULE_TRIES	20
#define MODULE_US	100000

/* 0 or -errno. If *@channel is not NULL, the caller destroys it, which ends the subscription. */
static int subscribe_events(struct nic *nic, struct mlx5dv_devx_event_channel **channel)
{
	uint16_t type = EVENT;
	int flags;

	*channel = mlx5dv_devx_create_event_channel(nic->ctx, 0);
	if (!*channel)
		return -errno;
	flags = fcntl((*channel)->fd, F_GETFL);
	if (flags < 0 || fcntl((*channel)->fd, F_SETFL, flags | O_NONBLOCK) ||
	    mlx5dv_devx_subscribe_devx_event(*channel, NULL, sizeof(type), &type, 1))
		return -errno;
	return 0;
}

static bool take_event(void *channel)
{
	struct {
		struct mlx5dv_devx_async_event_hdr hdr;
		uint8_t eqe[64];
	} e;

	return mlx5dv_devx_get_event(channel, &e.hdr, sizeof(e)) > 0;
}

/* The module has an event queue of its own, which the same event must reach. */
static void compare_module(struct probe *p, struct probe_finding *f, uint64_t before)
{
	uint64_t after = before;

	for (int i = 0; i < MODULE_TRIES && after == before; i++) {
		if (i)
			nic_sleep_us(MODULE_US);
		if (probe_module_congestions(p, &after))
			return;
	}
	finding_compare(f, PROBE_AT_LEAST, "events", 1, (double)(after - before),
			"events that the module received");
}

static void provoke_congestion(struct probe *p, struct probe_finding *f, struct nic *bare,
			       struct mlx5dv_devx_event_channel *channel)
{
	struct writers_want want = {
		.from = bare, .to = probe_to(p), .qps = QPS, .depth = DEPTH, .bytes = BYTES,
		.threads = writers_threads(), .measure_ns = TRY_NS, .enough = take_event, .arg = channel,
	};
	struct writers_result r;
	uint64_t before;
	bool module = !probe_module_congestions(p, &before);

	/* Drop events that were raised before the writers start. */
	while (take_event(channel))
		;
	if (writers_run(&want, &r)) {
		finding_nic(f);
		return;
	}
	finding_compare(f, PROBE_SHOWN, "doorbells", 0, (double)r.posted,
			"doorbells on one register");
	finding_compare(f, PROBE_SHOWN, "threads", 0, want.threads, "threads");
	if (r.enough && module)
		compare_module(p, f, before);
	if (r.enough)
		finding_say(f, "subscribed to, and received while %u threads rang one register %llu times for %d QPs",
			    want.threads, (unsigned long long)r.posted, QPS);
	else
		finding_differs(f, "subscribed to, and not received although %u threads rang one register %llu times for %d QPs",
				want.threads, (unsigned long long)r.posted, QPS);
}

void check_congestion(struct probe *p, struct probe_finding *f)
{
	struct mlx5dv_devx_event_channel *channel;
	struct nic bare;
	int err;

	if (nic_open(&bare, p->nic.name, true)) {
		finding_nic(f);
		return;
	}
	err = subscribe_events(&bare, &channel);
	if (err)
		finding_differs(f, "the NIC or its driver does not let a process subscribe to it: %s",
				strerror(-err));
	else
		provoke_congestion(p, f, &bare, channel);
	if (channel)
		mlx5dv_devx_destroy_event_channel(channel);
	nic_close(&bare);
}
