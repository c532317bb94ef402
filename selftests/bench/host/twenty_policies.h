/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Twenty policies, of which most read QPs. Benchmarks of the evaluator and of the agent use them. */
#ifndef SELFTESTS_BENCH_HOST_TWENTY_POLICIES_H
#define SELFTESTS_BENCH_HOST_TWENTY_POLICIES_H

/* The five contentions for each class, with the thresholds of the criteria. */
static const char twenty_policies[] =
	"levels: [{level: 1, dscp: 10}, {level: 2, dscp: 18}, {level: 3, dscp: 26}]\n"
	"policies:\n"
	"- {name: p1, for: job of class latency, cause: port, when: port.util > port_busy and job.p99 rising, do: job.level += 1, ceiling: 3, undo: {when: port.util < port_calm, hold: 2s}}\n"
	"- {name: p2, for: job of class balanced, cause: port, when: port.util > port_busy and job.p99 rising, do: job.level += 1, ceiling: 2, undo: {when: port.util < port_calm, hold: 2s}}\n"
	"- {name: p3, for: job of class latency, cause: hol, when: port.util < port_busy and qp.queue_delay > queue_delay, do: job.weight += 1, ceiling: 64, undo: {when: qp.queue_delay < queue_calm, hold: 2s}}\n"
	"- {name: p4, for: job of class balanced, cause: hol, when: port.util < port_busy and qp.queue_delay > 10us, do: job.weight += 1, ceiling: 64, undo: {when: qp.queue_delay < queue_calm, hold: 2s}}\n"
	"- {name: p5, for: job of class latency, cause: uar, when: uar.coactive > uar_contended and uar.active_qps >= 2 and qp.wr_rate > 1k/s, do: job.credits = 32, undo: {when: uar.coactive < uar_calm, hold: 2s}}\n"
	"- {name: p6, for: job of class balanced, cause: uar, when: uar.coactive > uar_contended and uar.wr_rate > uar_wr_rate, do: job.credits = 16, undo: {when: uar.coactive < uar_calm, hold: 2s}}\n"
	"- {name: p7, for: job of class throughput, cause: cache, when: dev.qpc_miss >= miss_high and dev.qps > qps_warn and job.qps > 1, do: merge to job.qps / 2, undo: {when: dev.qpc_miss <= miss_low, hold: 10s}}\n"
	"- {name: p8, for: job of class best-effort, cause: cache, when: dev.qpc_miss >= miss_high and job.qps > 1, do: merge to job.qps / 4, undo: {when: dev.qpc_miss <= miss_low, hold: 10s}}\n"
	"- {name: p9, for: job of class latency, cause: cache, when: dev.qpc_miss <= miss_low and job.p99 > job.slo_p99 * slo_near, do: scale to job.qps * 2, ceiling: 64, undo: {when: job.p99 < job.slo_p99 * 50%, hold: 10s}}\n"
	"- {name: p10, for: job of class throughput, cause: pu, when: dev.create_rate + dev.modify_rate > control_storm, do: job.create_rate = 100/s, undo: {when: dev.create_rate + dev.modify_rate < control_calm, hold: 2s}}\n"
	"- {name: p11, for: job of class best-effort, cause: pu, when: dev.create_rate + dev.modify_rate > control_storm, do: job.create_rate = 10/s, undo: {when: dev.create_rate + dev.modify_rate < control_calm, hold: 2s}}\n"
	"- {name: p12, for: job of class throughput, when: qp.outstanding > 512, do: job.max_qps = 64, undo: {when: qp.outstanding < 128, hold: 2s}}\n"
	"- {name: p13, for: job of class best-effort, when: qp.outstanding > 256, do: job.max_qps = 32, undo: {when: qp.outstanding < 128, hold: 2s}}\n"
	"- {name: p14, for: job of class best-effort, when: port.util > 95%, do: job.bit_rate = 1Gbit/s, undo: {when: port.util < 70%, hold: 2s}}\n"
	"- {name: p15, for: job of class throughput, when: port.util > 98%, do: job.bit_rate = 10Gbit/s, undo: {when: port.util < 70%, hold: 2s}}\n"
	"- {name: p16, for: job of class best-effort, when: qp.doorbell_rate > 1M/s, do: job.wr_rate = 100k/s, undo: {when: qp.doorbell_rate < 500k/s, hold: 2s}}\n"
	"- {name: p17, for: job of class throughput, when: qp.doorbell_rate > 5M/s, do: job.wr_rate = 1M/s, undo: {when: qp.doorbell_rate < 2M/s, hold: 2s}}\n"
	"- {name: p18, for: job of class latency, when: qp.state == ERR, do: job.max_qps = 1000, undo: {when: qp.state == RTS, hold: 2s}}\n"
	"- {name: p19, for: job of class balanced, when: qp.queue_delay > 50us and uar.owners > 1, do: job.max_qps = 500, undo: {when: qp.queue_delay < 20us, hold: 2s}}\n"
	"- {name: p20, for: job, when: job.wr_rate > 50M/s, do: job.max_qps = 2000, undo: {when: job.wr_rate < 10M/s, hold: 2s}}\n";

#endif /* SELFTESTS_BENCH_HOST_TWENTY_POLICIES_H */
