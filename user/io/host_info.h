/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of this machine outside of the module: plain data, which io reads and the
 * command judges. Nothing in here depends on netlink, sysfs or systemd. A figure that could
 * not be read comes with an error (-errno) or HOST_UNKNOWN.
 */
#ifndef SRDMA_IO_HOST_INFO_H
#define SRDMA_IO_HOST_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/snapshot.h"

#define HOST_PRIOS	8	/* priorities, and traffic classes (IEEE 802.1Q) */
#define HOST_DSCPS	64
#define HOST_SLS	16
#define HOST_VL_NONE	15	/* packets in this VL are dropped */
#define HOST_NO_LIMIT	UINT64_MAX

enum host_answer {
	HOST_UNKNOWN,
	HOST_NO,
	HOST_YES,
};

struct host_module {
	bool loaded;		/* swiftrdma.ko */
	bool provider;		/* swiftrdma_mlx5.ko is loaded */
	bool installed, provider_installed;	/* modprobe finds it */
	bool at_boot, provider_at_boot;		/* modules-load.d names it */
	char version[64], initstate[32], refcnt[16];
	char provider_version[64];
	char hooks[1024];	/* the module's own words: "armed", ... */
	int hooks_error;	/* why there are none */
};

struct host_kernel {
	char release[65];
	enum host_answer kprobes, rdma_cgroup;
};

/* A process that is a swiftrdma-agent. */
struct host_agent {
	uint32_t pid;
	bool dry_run;
};

/* The unit of the agent, as systemd says. */
struct host_unit {
	int error;		/* systemd could not be asked */
	char load[32], active[32], sub[32], enabled[32];
	uint32_t pid;
};

enum host_function {
	HOST_SOFTWARE,		/* on no bus */
	HOST_PF,
	HOST_VF,
	HOST_SF,
	HOST_REPRESENTOR,	/* a PF in switchdev mode; only the module tells */
};

struct host_dev {
	char name[SNAP_DEVNAME];
	char driver[SNAP_NAME];	/* empty: on no bus */
	char firmware[SNAP_NAME];
	char bus[SNAP_NAME];	/* its address on the bus; for an SF that of its parent */
	enum host_function function;
};

struct host_port {
	uint32_t dev;		/* place in host.devs */
	uint32_t index;
	uint32_t link_layer;	/* 1: InfiniBand, 2: Ethernet, 0: unknown */
	uint32_t state;		/* as enum ib_port_state */
	int tclass;		/* default of connections; -1: not set */
	int sl2vl_error;
	uint8_t sl2vl[HOST_SLS];
};

/* How a traffic class of Ethernet is served (IEEE 802.1Qaz). */
enum host_tsa {
	HOST_TSA_STRICT = 0,
	HOST_TSA_SHAPER = 1,
	HOST_TSA_ETS = 2,
	HOST_TSA_VENDOR = 255,
};

/* DCB of a network interface. */
struct host_dcb {
	int error;		/* -EOPNOTSUPP: its driver has no DCB */
	bool has_ets, has_pfc, has_dcbx;
	uint8_t prio_tc[HOST_PRIOS];
	uint8_t tsa[HOST_PRIOS], share[HOST_PRIOS];	/* share of each traffic class, % */
	uint8_t pfc;		/* bit per priority */
	bool trusts_dscp;
	uint64_t dscps;		/* bit per DSCP that has a priority: */
	uint8_t dscp_prio[HOST_DSCPS];
	bool by_host;		/* has_dcbx: the host sets it, not the firmware */
};

/* A network interface of an RDMA port; for a bond or VLAN, the interfaces below it. */
struct host_net {
	uint32_t port;		/* place in host.ports */
	char name[SNAP_NAME];
	char driver[SNAP_NAME];
	char represents[SNAP_NAME];	/* "pf0vf1"; empty: not a representor */
	bool up;
	int cnp_dscp;		/* DSCP of congestion notifications; -1: not known */
	struct host_dcb dcb;
};

/* A process that has an RDMA device open. */
struct host_proc {
	uint32_t pid;
	char comm[SNAP_COMM];
	char cgroup[SNAP_PATH];
	bool may_lock;		/* CAP_IPC_LOCK: no limit holds */
	uint64_t memlock, memlock_hard;	/* bytes, or HOST_NO_LIMIT */
	uint64_t pinned;
};

/* A limit of the rdma controller, on one device. */
struct host_rdma_max {
	char cgroup[SNAP_PATH];
	char dir[SNAP_PATH];	/* its directory */
	char dev[SNAP_DEVNAME];
	char what[SNAP_NAME];	/* "hca_handle", "hca_object" */
	uint64_t max, current;
};

struct host {
	bool root;
	struct host_module module;
	struct host_kernel kernel;
	struct host_unit unit;
	struct host_proc self;	/* the process that asks, with the privileges that it started with */
	bool procs_all;		/* processes of other users could be examined */
	struct host_agent *agents;	size_t n_agents, cap_agents;
	struct host_dev *devs;		size_t n_devs, cap_devs;
	struct host_port *ports;	size_t n_ports, cap_ports;
	struct host_net *nets;		size_t n_nets, cap_nets;
	struct host_proc *procs;	size_t n_procs, cap_procs;
	struct host_rdma_max *maxima;	size_t n_maxima, cap_maxima;
};

#endif /* SRDMA_IO_HOST_INFO_H */
