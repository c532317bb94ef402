/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Commands of the NIC that a process may send through DEVX, by the layouts of NVIDIA's
 * "Programming Reference Manual" (PRM), which the kernel has in linux/mlx5/mlx5_ifc.h. The
 * kernel gives each command the process's own uid, so a command reaches only what is its own.
 */
#ifndef SRDMA_PROBE_PRM_H
#define SRDMA_PROBE_PRM_H

#include <infiniband/mlx5dv.h>
#include <stdint.h>

/* Why a command failed: -errno, and the NIC's own answer if it refused (-EREMOTEIO). */
struct prm_error {
	int error;
	uint8_t status;
	uint32_t syndrome;
};

/* Words for it, in a buffer that the next call uses again. */
const char *prm_words(const struct prm_error *e);

/* Fields of the answer to QUERY_QP. */
struct prm_qp {
	uint32_t uar_page;
	uint16_t posted;	/* sw_sq_wqebb_counter */
	uint16_t completed;	/* hw_sq_wqebb_counter */
	uint16_t udp_sport;
	uint8_t dscp, lag_port;
};

/* 0 or -errno, with @e filled. */
int prm_query_qp(struct ibv_qp *qp, struct prm_qp *out, struct prm_error *e);
/* RTS2RTS_QP: another DSCP for a connected QP. */
int prm_set_dscp(struct ibv_qp *qp, uint8_t dscp, struct prm_error *e);

/* Kinds of capabilities (op_mod of QUERY_HCA_CAP). */
enum prm_cap {
	PRM_CAP_GENERAL = 0x0,
	PRM_CAP_DEBUG = 0xd,
};

#define PRM_CAP_BYTES 4096

/* The capabilities of that kind that are in force. */
int prm_query_cap(struct ibv_context *ctx, enum prm_cap kind, uint8_t cap[PRM_CAP_BYTES],
		  struct prm_error *e);
/* A field of a command or capability by its first bit; a field crosses no dword. */
uint32_t prm_get(const void *cmd, uint32_t at, uint32_t bits);

/* Sends QUERY_VPORT_COUNTER and drops the answer. For measuring its time. */
int prm_query_vport(struct ibv_context *ctx, struct prm_error *e);

/* A flow counter, with its id; NULL: failed, with @e filled. */
struct mlx5dv_devx_obj *prm_alloc_counter(struct ibv_context *ctx, uint32_t *id,
					  struct prm_error *e);
int prm_query_counter(struct mlx5dv_devx_obj *counter, uint32_t id, uint64_t *packets,
		      struct prm_error *e);

/* Fields of the outer headers that a flow rule compares, as a value or as a mask. */
struct prm_match {
	uint8_t ip_version, ip_protocol;
	uint8_t dst[16];	/* an IPv4 address: in the last four bytes */
	uint16_t udp_sport, udp_dport;
};

/* Puts them into @match, PRM_MATCH_BYTES of zeros, as fte_match_set_lyr_2_4 has them. */
#define PRM_MATCH_BYTES	64
void prm_put_match(void *match, const struct prm_match *m);

/* Bits of cmd_hca_cap, some of which the kernel's headers do not name. */
#define PRM_HAS_DEBUG		0x183, 1
#define PRM_HAS_QOS		0x21b, 1
#define PRM_NUM_DIAGNOSTIC	0x280, 16
#define PRM_RTS2RTS_DSCP	0x16a, 1

/* Of the capabilities of debugging: from here on a dword for each diagnostic counter. */
#define PRM_DIAGNOSTIC_IDS	0x200

#endif /* SRDMA_PROBE_PRM_H */
