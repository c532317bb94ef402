// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The table of all checks, in the order in which they are run. */
#include <string.h>

#include "probe/probe.h"

const struct probe_check probe_checks[] = {
	{
		"dbrec",
		"the doorbell record in a process's memory counts its WQEBBs exactly, modulo 65536, single or in lists",
		"kmod/mlx5/dbrec.c; libmlx5's post_send_db()",
		NEEDS_MLX5, check_dbrec,
	},
	{
		"module-count",
		"the module counts the same from the record, over a wrap",
		"kmod/mlx5/sampler.c",
		NEEDS_MLX5 | NEEDS_MODULE, check_module_count,
	},
	{
		"uar-page",
		"QUERY_QP's uar_page is the page that libmlx5 rings",
		"kmod/mlx5/qp.c, for QPs older than the module; PRM, QP context",
		NEEDS_MLX5 | NEEDS_DEVX, check_uar_page,
	},
	{
		"module-uar",
		"the module's UAR of a QP, from what libmlx5 tells the driver, is QUERY_QP's",
		"kmod/mlx5/qp.c",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_MODULE, check_module_uar,
	},
	{
		"wqe-counters",
		"QUERY_QP's sw_sq_wqebb_counter is what was posted, and hw_sq_wqebb_counter what is acknowledged",
		"kmod/mlx5/outstanding.c, for latencies; not in public documents",
		NEEDS_MLX5 | NEEDS_DEVX, check_wqe_counters,
	},
	{
		"dscp",
		"RTS2RTS_QP changes the DSCP of a connected QP, by bit 17 of opt_param_mask",
		"kmod/mlx5/class.c, for levels; not in the kernel's headers",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_ETH, check_dscp,
	},
	{
		"dscp-counted",
		"its packets then leave in another priority, which the port's counters (PPCNT) tell",
		"kmod/mlx5/class.c, kmod/mlx5/port.c",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_ETH | NEEDS_PEER | NEEDS_MODULE,
		check_dscp_counted,
	},
	{
		"udp-sport",
		"RTS2RTS_QP changes the UDP source port of a connected QP",
		"kmod/mlx5/path.c; libmlx5's mlx5dv_modify_qp_udp_sport()",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_ETH, check_udp_sport,
	},
	{
		"udp-sport-counted",
		"its packets then leave with that port, which a flow counter of the NIC tells",
		"kmod/mlx5/path.c; mlx5dv_create_flow() in the table of sent RoCE packets (RDMA_TX)",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_ETH | NEEDS_PEER, check_udp_sport_counted,
	},
	{
		"lag-port",
		"RTS2RTS_QP changes the LAG port of a connected QP",
		"kmod/mlx5/path.c; libmlx5's mlx5dv_modify_qp_lag_port()",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_ETH, check_lag_port,
	},
	{
		"lag-port-counted",
		"its packets then leave by that port, which the MAC counters of the ports' interfaces tell",
		"kmod/mlx5/path.c; ethtool's eth-mac FramesTransmittedOK, from PPCNT",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_ETH | NEEDS_PEER, check_lag_port_counted,
	},
	{
		"sched-bind",
		"scheduling elements can be created, and a connected QP bound to one",
		"kmod/mlx5/sched.c, for rates and weights; libmlx5's mlx5dv_sched_*()",
		NEEDS_MLX5 | NEEDS_DEVX, check_sched_bind,
	},
	{
		"sched-rate",
		"a QP keeps to the rate of its element",
		"kmod/mlx5/sched.c",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_SCALE, check_sched_rate,
	},
	{
		"sched-weight",
		"QPs of a full port get its bandwidth by the shares of their elements",
		"kmod/mlx5/sched.c, for weights of jobs",
		NEEDS_MLX5 | NEEDS_DEVX | NEEDS_SCALE, check_sched_weight,
	},
	{
		"congestion",
		"the NIC raises event 0x1a when a doorbell register is crowded",
		"kmod/mlx5/event.c; mlx5_ifc.h names the event, nothing public says when it is raised",
		NEEDS_MLX5 | NEEDS_DEVX, check_congestion,
	},
	{
		"diag-counters",
		"the NIC has the diagnostic counters of stalled PCI reads and of its translation cache",
		"kmod/mlx5/diag.c; FreeBSD's mlx5 diagnostics.h",
		NEEDS_MLX5 | NEEDS_DEVX, check_diag,
	},
	{
		"commands",
		"a query takes the firmware 1 ms at most (of a device in software 50 ms), so that the 1000 a second that readers may cause fit",
		"kmod/mlx5/cmd.c, max_commands",
		NEEDS_MLX5 | NEEDS_DEVX, check_commands,
	},
	{
		"registers",
		"64 QPs that share a doorbell register are slower than with a register each",
		"the paper, 3.1: 57 % lost by 64 QPs of 512 bytes on a ConnectX-5; model_preset()",
		NEEDS_MLX5 | NEEDS_SCALE, check_registers,
	},
	{
		"depth",
		"beyond some hundred work requests under way the NIC fetches WQEs again, and slows down",
		"SMART (ASPLOS'24), on a ConnectX-6; wqe_limit of model_preset()",
		NEEDS_MLX5 | NEEDS_SCALE, check_depth,
	},
	{
		"qps",
		"512 QPs in use are as fast as 64, as their contexts fit the NIC's cache",
		"the paper, 3.2: 2 MiB, 375 bytes a QP; cache_bytes of model_preset()",
		NEEDS_MLX5 | NEEDS_SCALE, check_qps,
	},
};

const size_t probe_n_checks = sizeof(probe_checks) / sizeof(probe_checks[0]);

/* True: something that the check needs is missing, and @f says what. */
static bool lacks_needs(struct probe *p, const struct probe_check *check, struct probe_finding *f)
{
	if (check->needs & NEEDS_MLX5 && !p->mlx5)
		finding_cannot(f, "driver %s: not a ConnectX, or libmlx5 does not know it", p->driver);
	else if (check->needs & NEEDS_ETH && !p->nic.eth)
		finding_cannot(f, "the port is InfiniBand: its packets have no DSCP and no UDP port, its ports form no LAG, and the SL of a connection cannot be changed");
	else if (check->needs & NEEDS_DEVX && !p->devx)
		finding_cannot(f, "the kernel or the firmware lets no process send commands (DEVX)");
	else if (check->needs & NEEDS_MODULE && !p->io)
		finding_cannot(f, "module not loaded: %s", p->io_why);
	else if (check->needs & NEEDS_PEER && !p->has_peer)
		finding_cannot(f, "packets of a loopback need not pass where packets are counted; name another port of this host: peer DEV");
	else if (check->needs & NEEDS_SCALE && p->simulated && p->scale == 1)
		finding_cannot(f, "rates of a simulated device are those of its host; if it models a NIC N times slower, say scale N");
	else
		return false;
	return true;
}

void probe_run(struct probe *p, const struct probe_check *check, struct probe_finding *f)
{
	memset(f, 0, sizeof(*f));
	f->check = check->name;
	f->assumed = check->assumed;
	f->source = check->source;
	if (!lacks_needs(p, check, f))
		check->run(p, f);
}
