/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A flow counter of the NIC counts the RoCE packets to one address that have one UDP source port.
 * The rule that counts the packets lets them pass. The rule belongs to the process, which needs
 * CAP_NET_RAW to make it.
 */
#ifndef SRDMA_PROBE_FLOW_H
#define SRDMA_PROBE_FLOW_H

#include "probe/prm.h"

struct flow_count {
	struct mlx5dv_devx_obj *counter;
	struct mlx5dv_flow_matcher *matcher;
	struct ibv_flow *flow;
	uint32_t id;
	const char *what;	/* the step that failed */
	struct prm_error error;
};

/* 0 or -errno, which flow_count_words() explains; flow_count_close() follows in both cases. */
int flow_count_open(struct flow_count *c, struct ibv_context *ctx, const union ibv_gid *to,
		    uint16_t sport);
const char *flow_count_words(const struct flow_count *c);
int flow_count_read(struct flow_count *c, uint64_t *packets, struct prm_error *e);
void flow_count_close(struct flow_count *c);

#endif /* SRDMA_PROBE_FLOW_H */
