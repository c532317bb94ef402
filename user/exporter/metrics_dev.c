// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Metrics of devices, ports, and priorities of ports. */
#include <stdlib.h>

#include "exporter/metrics.h"

#define DEV(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_device_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_dev, member_), __VA_ARGS__ }
#define PORT(type_, name_, unit_, help_, member_, ...)				\
	{ .family = { "swiftrdma_port_" name_, help_, EXPO_##type_, unit_ },	\
	  MEMBER_OF(struct snap_port, member_), __VA_ARGS__ }
#define PRIO(name_, unit_, help_, member_, ...)					\
	{ .family = { "swiftrdma_priority_" name_, help_, EXPO_COUNTER, unit_ }, \
	  MEMBER_OF(struct snap_prio, member_), __VA_ARGS__ }
#define SIGNAL_OF(prefix_, name_, unit_, help_, signal_)			\
	{ .family = { "swiftrdma_" prefix_ name_, help_, EXPO_GAUGE, unit_ },	\
	  .as = AS_SIGNAL, .signal = SIG_##signal_ }

static const struct metric devices[] = {
	DEV(GAUGE, "qps", NULL, "Queue pairs.", qps),
	DEV(GAUGE, "qps_limit", NULL, "Queue pairs that the device can have.", qp_limit,
	    .has = SNAP_LIMIT),
	SIGNAL_OF("device_", "active_qps", NULL,
		  "Queue pairs that posted work since the reading before.", DEV_ACTIVE_QPS),
	DEV(GAUGE, "uars", NULL, "UARs: pages of doorbell registers, or user contexts.", uars),
	DEV(GAUGE, "cqs", NULL, "Completion queues.", cqs),
	DEV(GAUGE, "mrs", NULL, "Memory regions.", mrs),
	DEV(GAUGE, "mr_bytes", "bytes", "Memory in the regions.", mr_bytes, .has = SNAP_MRS),
	DEV(GAUGE, "mtts", NULL, "Translation entries of the memory regions.", mtts,
	    .has = SNAP_MTTS),
	DEV(COUNTER, "qp_creations", NULL, "Queue pairs created.", created),
	DEV(COUNTER, "qp_destructions", NULL, "Queue pairs destroyed.", destroyed),
	DEV(COUNTER, "qp_modifications", NULL, "Modifications of queue pairs by applications.", modified),
	DEV(COUNTER, "qps_adopted", NULL, "Queue pairs older than the module.", adopted),
	DEV(COUNTER, "qp_creation_failures", NULL, "Queue pairs that the device did not create.",
	    create_failed),
	DEV(COUNTER, "qps_rejected", NULL, "Queue pairs that the limit of a job refused.",
	    rejected),
	DEV(COUNTER, "qps_untracked", NULL, "Queue pairs that the module could not track.",
	    untracked),
	DEV(COUNTER, "live_changes", NULL, "Classes changed on connected queue pairs.",
	    live_changed),
	DEV(COUNTER, "live_change_failures", NULL,
	    "Classes that could not be changed on connected queue pairs.", live_failed),
	DEV(COUNTER, "commands", NULL,
	    "Firmware commands that the module sent, or caused the driver to send.", commands, .has = SNAP_COMMANDS),
	DEV(COUNTER, "command_seconds", "seconds", "Time that these commands took.",
	    command_time, .as = AS_NS, .has = SNAP_COMMANDS),
	DEV(COUNTER, "doorbell_congestions", NULL,
	    "Times that the device reported congested doorbells.", congestions,
	    .has = SNAP_CONGESTION),
	DEV(COUNTER, "qp_cache_hits", NULL, "Contexts of queue pairs found in the NIC's cache.",
	    qpc_hits, .has = SNAP_QPC),
	DEV(COUNTER, "qp_cache_misses", NULL,
	    "Contexts of queue pairs not found in the NIC's cache.", qpc_misses,
	    .has = SNAP_QPC),
	DEV(COUNTER, "translation_cache_hits", NULL,
	    "Translations of memory found in the NIC's cache.", mtt_hits, .has = SNAP_MTT),
	DEV(COUNTER, "translation_cache_misses", NULL,
	    "Translations of memory not found in the NIC's cache.", mtt_misses,
	    .has = SNAP_MTT),
	DEV(COUNTER, "pcie_stalled_read_seconds", "seconds",
	    "Seconds in which reads stalled on PCIe.", pcie_stalled_read_seconds,
	    .has = SNAP_PCIE),
	DEV(COUNTER, "pcie_stalled_write_seconds", "seconds",
	    "Seconds in which writes stalled on PCIe.", pcie_stalled_write_seconds,
	    .has = SNAP_PCIE),
	DEV(COUNTER, "sampler_sweeps", NULL, "Rounds of the module's sampler of queue pairs.",
	    sweeps, .has = SNAP_SWEEPS),
	DEV(COUNTER, "sampler_seconds", "seconds", "CPU time of these rounds.", sweep_time,
	    .as = AS_NS, .has = SNAP_SWEEPS),
};

static const struct metric ports[] = {
	PORT(GAUGE, "speed_bytes", "bytes", "Speed of the link, bytes per second.", speed,
	     .as = AS_BITS, .has = SNAP_SPEED),
	SIGNAL_OF("port_", "utilization_ratio", "ratio",
		  "Use of the port's speed, of the busier direction, smoothed over 10 seconds.",
		  PORT_UTIL),
	PORT(COUNTER, "transmit_bytes", "bytes", "Bytes sent.", tx_bytes, .has = SNAP_BYTES),
	PORT(COUNTER, "receive_bytes", "bytes", "Bytes received.", rx_bytes, .has = SNAP_BYTES),
	PORT(COUNTER, "transmit_packets", NULL, "Packets sent.", tx_packets, .has = SNAP_BYTES),
	PORT(COUNTER, "receive_packets", NULL, "Packets received.", rx_packets,
	     .has = SNAP_BYTES),
	PORT(COUNTER, "ecn_marked_packets", NULL, "Packets received with a mark of congestion.",
	     ecn_marked, .has = SNAP_CNP),
	PORT(COUNTER, "congestion_notifications_sent", NULL, "Congestion notifications sent.",
	     cnp_sent, .has = SNAP_CNP),
	PORT(COUNTER, "congestion_notifications_handled", NULL,
	     "Congestion notifications received and handled.", cnp_handled, .has = SNAP_CNP),
};

static const struct metric prios[] = {
	PRIO("transmit_bytes", "bytes", "Bytes sent in the priority.", tx_bytes),
	PRIO("receive_bytes", "bytes", "Bytes received in the priority.", rx_bytes),
	PRIO("transmit_packets", NULL, "Packets sent in the priority.", tx_packets),
	PRIO("receive_packets", NULL, "Packets received in the priority.", rx_packets),
	PRIO("transmit_pauses", NULL, "Pause frames sent for the priority.", tx_pauses),
	PRIO("receive_pauses", NULL, "Pause frames received for the priority.", rx_pauses),
	PRIO("transmit_paused_seconds", "seconds",
	     "Time in which the priority could not send.", tx_pause_time, .as = AS_NS),
	PRIO("receive_paused_seconds", "seconds",
	     "Time in which the priority kept the other end from sending.", rx_pause_time,
	     .as = AS_NS),
};

static void write_infos(const struct figures *f, struct expo *e)
{
	static const char *const functions[] = { "", "pf", "vf", "sf", "representor" };
	const struct snapshot *snap = figures_snap(f);
	struct expo_labels l;

	METRIC(e, EXPO_INFO, "device", NULL, "What the device is.");
	for (size_t i = 0; i < snap->n_devs; i++) {
		const struct snap_dev *d = &snap->devs[i];

		labels_init(&l);
		labels_add(&l, "device", d->name);
		labels_add(&l, "provider", d->provider);
		if (d->function < sizeof(functions) / sizeof(functions[0]))
			labels_add(&l, "function", functions[d->function]);
		labels_add(&l, "work_unit", d->caps & SWIFTRDMA_DEV_CAP_WQEBBS ? "wqebb" : "wr");
		expo_u64(e, &l, 1, 0);
	}
}

static void label_port(struct expo_labels *l, const struct snapshot *snap, uint32_t dev,
		       uint32_t port)
{
	const struct snap_dev *d = reading_dev(snap, dev);

	labels_add(l, "device", d ? d->name : "");
	labels_add_u64(l, "port", port);
}

bool metrics_devices(struct figures *f, struct expo *e)
{
	const struct snapshot *snap = figures_snap(f);
	struct metric_rows rows = { 0 };
	struct metric_row *r;
	bool ok = true;

	write_infos(f, e);
	for (size_t i = 0; i < snap->n_devs && (r = metric_row_next(&rows)); i++) {
		r->object = &snap->devs[i];
		r->has = snap->devs[i].has;
		r->row = i;
		r->created = figures_clock(f, snap->devs[i].since);
		labels_add(&r->labels, "device", snap->devs[i].name);
	}
	ok = rows.n == snap->n_devs;
	METRICS_TABLE(f, e, devices, &rows);
	rows.n = 0;
	for (size_t i = 0; i < snap->n_ports && (r = metric_row_next(&rows)); i++) {
		r->object = &snap->ports[i];
		r->has = snap->ports[i].has;
		r->row = i;
		label_port(&r->labels, snap, snap->ports[i].dev, snap->ports[i].index);
	}
	ok = ok && rows.n == snap->n_ports;
	METRICS_TABLE(f, e, ports, &rows);
	rows.n = 0;
	for (size_t i = 0; i < snap->n_prios && (r = metric_row_next(&rows)); i++) {
		r->object = &snap->prios[i];
		label_port(&r->labels, snap, snap->prios[i].dev, snap->prios[i].port);
		labels_add_u64(&r->labels, "priority", snap->prios[i].index);
	}
	ok = ok && rows.n == snap->n_prios;
	METRICS_TABLE(f, e, prios, &rows);
	free(rows.v);
	return ok;
}
