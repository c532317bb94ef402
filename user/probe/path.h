/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Changes of a connected QP's path, as the checks of the path and of the wire make them. */
#ifndef SRDMA_PROBE_PATH_H
#define SRDMA_PROBE_PATH_H

#include "probe/prm.h"
#include "probe/probe.h"

#define PATH_DEPTH	16
#define PATH_DSCP	24	/* priority 3 where nobody has changed the port's table */
#define PATH_SPORT	51234	/* drivers choose among 49152 to 65535 */
#define PATH_LAG_PORTS	2

/* False: failed, and @f says why. */
bool path_open_pair(struct probe *p, struct probe_finding *f, struct nic *to,
		    struct nic_pair *pair);
bool path_has_dscp(struct probe *p, struct probe_finding *f);
bool path_has_lag(struct probe *p, struct probe_finding *f);

/* 0 or -errno, with @e filled. A LAG's first port is 1. */
int path_set_sport(struct ibv_qp *qp, uint16_t sport, struct prm_error *e);
int path_set_lag_port(struct ibv_qp *qp, uint8_t port, struct prm_error *e);

#endif /* SRDMA_PROBE_PATH_H */
