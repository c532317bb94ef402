/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow tables choose the receive queues of the frames that a port receives, and count the RoCE
 * packets that a port sends (flow_match.c). The driver creates them by commands (flow.c).
 *
 * The entries of a table have numbers, and the first entry that matches decides. A group of
 * entries says which fields of a packet its entries compare: fields of layers 2 to 4 of the
 * outer headers, laid out as fte_match_set_lyr_2_4.
 */
#ifndef SOFTHCA_FLOW_H
#define SOFTHCA_FLOW_H

#include "softhca.h"

#define SH_MAX_HOPS	64	/* tables that a packet passes at most */
#define SH_FIELDS	MLX5_ST_SZ_BYTES(fte_match_set_lyr_2_4)

/* Types of a table; mlx5_core's FS_FT_NIC_RX and FS_FT_RDMA_TX. */
#define SH_NIC_RX	0
#define SH_RDMA_TX	8

struct sh_ft {
	struct sh_obj obj;
	u8 type;
	u8 miss_action;
	u32 miss_id;
	u32 size;
	struct xarray entries;
};

struct sh_fg {
	struct sh_obj obj;
	u32 table, first, last;
	bool compares;		/* else every frame matches */
	u8 mask[SH_FIELDS];
};

struct sh_dest {
	u8 type;
	u32 id;
};

struct sh_fte {
	u32 group;
	u32 tag;
	u32 counter;		/* id of a flow counter; 0: none */
	bool drop;
	u8 value[SH_FIELDS];
	u32 n;
	struct sh_dest dest[];
};

/* A flow counter counts the packets that match the entries that name it. */
struct sh_fc {
	struct sh_obj obj;
	u64 packets, octets;
};

#endif
