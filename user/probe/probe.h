/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma-probe: tries on this host's NIC what SwiftRDMA assumes of it. A check is a row of
 * a table (checks.c) and a function in a check_*.c; it uses QPs and memory of its own, changes
 * nothing that another process has, and ends within some seconds.
 */
#ifndef SRDMA_PROBE_PROBE_H
#define SRDMA_PROBE_PROBE_H

#include "io/io.h"
#include "probe/fit.h"
#include "probe/nic.h"
#include "probe/verdict.h"

/* What a check needs; checks.c says what is missing. */
enum probe_need {
	NEEDS_MLX5	= 0x1,
	NEEDS_DEVX	= 0x2,	/* commands of a process */
	NEEDS_ETH	= 0x4,
	NEEDS_PEER	= 0x8,	/* another port: packets of a loopback do not reach the wire */
	NEEDS_MODULE	= 0x10,
	NEEDS_SCALE	= 0x20,	/* a NIC's time */
};

struct probe {
	struct nic nic;		/* sends */
	struct nic other;	/* receives, if .has_peer */
	bool has_peer, mlx5, devx;
	bool simulated;		/* a device in software: what it shows is no NIC's */
	uint32_t scale;		/* a simulated device is so many times slower than modelled */
	char firmware[64], board[64], driver[32];
	/* The module; NULL: not loaded, or the device is not known to it. */
	struct io *io;
	char io_why[256];
	struct snapshot snap;
	enum model_preset preset;	/* of the contention model, for this NIC */
	struct fit_measured measured;
	const char *lag_netdev[2];	/* interfaces of a LAG's ports as the user names them, or NULL */
};

/* The end that receives. */
static inline struct nic *probe_to(struct probe *p)
{
	return p->has_peer ? &p->other : &p->nic;
}

struct probe_check {
	const char *name;
	const char *assumed, *source;
	unsigned int needs;
	void (*run)(struct probe *p, struct probe_finding *f);
};

extern const struct probe_check probe_checks[];
extern const size_t probe_n_checks;

/* Runs a check, or says what it lacks. */
void probe_run(struct probe *p, const struct probe_check *check, struct probe_finding *f);

/* module.c: what the module knows of a QP of this process, or of the port. NULL: nothing. */
const struct snap_qp *probe_module_qp(struct probe *p, uint32_t qpn);
/*
 * Frames sent from the port by priority, as they were after this call began. -ENODATA: the
 * module has no such figures.
 */
int probe_module_prios(struct probe *p, uint64_t frames[8]);
/* Congestion events that the module received of the device. -ENODATA: it does not listen. */
int probe_module_congestions(struct probe *p, uint64_t *events);

/* Says that a function of nic.h failed. */
static inline void finding_nic(struct probe_finding *f)
{
	finding_cannot(f, "%s", nic_words());
}

void check_dbrec(struct probe *p, struct probe_finding *f);
void check_module_count(struct probe *p, struct probe_finding *f);
void check_uar_page(struct probe *p, struct probe_finding *f);
void check_module_uar(struct probe *p, struct probe_finding *f);
void check_wqe_counters(struct probe *p, struct probe_finding *f);
void check_dscp(struct probe *p, struct probe_finding *f);
void check_dscp_counted(struct probe *p, struct probe_finding *f);
void check_udp_sport(struct probe *p, struct probe_finding *f);
void check_udp_sport_counted(struct probe *p, struct probe_finding *f);
void check_lag_port(struct probe *p, struct probe_finding *f);
void check_lag_port_counted(struct probe *p, struct probe_finding *f);
void check_sched_bind(struct probe *p, struct probe_finding *f);
void check_sched_rate(struct probe *p, struct probe_finding *f);
void check_sched_weight(struct probe *p, struct probe_finding *f);
void check_congestion(struct probe *p, struct probe_finding *f);
void check_diag(struct probe *p, struct probe_finding *f);
void check_commands(struct probe *p, struct probe_finding *f);
void check_registers(struct probe *p, struct probe_finding *f);
void check_depth(struct probe *p, struct probe_finding *f);
void check_qps(struct probe *p, struct probe_finding *f);

#endif /* SRDMA_PROBE_PROBE_H */
