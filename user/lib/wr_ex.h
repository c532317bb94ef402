/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Internal to libswiftrdma: the functions of a struct ibv_qp_ex, for wr_ex.c and move_wr.c. */
#ifndef LIB_WR_EX_H
#define LIB_WR_EX_H

#include "lib/lib.h"

#pragma GCC visibility push(hidden)

#define WR_STARTERS(X) WR_WHOLE(X) WR_LARGE(X)
/* Requests that are never split. */
#define WR_WHOLE(X) \
	X(wr_atomic_cmp_swp, (QPX, uint32_t rkey, uint64_t addr, uint64_t cmp, uint64_t swap), \
	  (qpx, rkey, addr, cmp, swap)) \
	X(wr_atomic_fetch_add, (QPX, uint32_t rkey, uint64_t addr, uint64_t n), \
	  (qpx, rkey, addr, n)) \
	X(wr_bind_mw, \
	  (QPX, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info), \
	  (qpx, mw, rkey, info)) \
	X(wr_local_inv, (QPX, uint32_t rkey), (qpx, rkey)) \
	X(wr_rdma_write_imm, (QPX, uint32_t rkey, uint64_t addr, __be32 imm), \
	  (qpx, rkey, addr, imm)) \
	X(wr_send, (QPX), (qpx)) \
	X(wr_send_imm, (QPX, __be32 imm), (qpx, imm)) \
	X(wr_send_inv, (QPX, uint32_t rkey), (qpx, rkey)) \
	X(wr_send_tso, (QPX, void *hdr, uint16_t hdr_sz, uint16_t mss), (qpx, hdr, hdr_sz, mss))
/* Operations that may be split into pieces. */
#define WR_LARGE(X) \
	X(wr_rdma_read, (QPX, uint32_t rkey, uint64_t addr), (qpx, rkey, addr)) \
	X(wr_rdma_write, (QPX, uint32_t rkey, uint64_t addr), (qpx, rkey, addr))
#define QPX struct ibv_qp_ex *qpx

/* The data of a request. */
#define WR_SETTERS(X) \
	X(wr_set_inline_data, (QPX, void *addr, size_t length), (qpx, addr, length)) \
	X(wr_set_inline_data_list, (QPX, size_t n, const struct ibv_data_buf *buf), (qpx, n, buf)) \
	X(wr_set_sge, (QPX, uint32_t lkey, uint64_t addr, uint32_t length), \
	  (qpx, lkey, addr, length)) \
	X(wr_set_sge_list, (QPX, size_t n, const struct ibv_sge *sge), (qpx, n, sge))

/* What the library has replaced. */
struct wr_real {
#define X(name, params, args) void (*name) params;
	WR_STARTERS(X)
	WR_SETTERS(X)
#undef X
	void (*wr_start)(QPX);
	int (*wr_complete)(QPX);
	void (*wr_abort)(QPX);
};

/* A patched QP is in the table until the provider has destroyed it. */
static inline struct qp *find_patched_qp(const struct ibv_qp_ex *qpx)
{
	return table_find(&qps, qpx);
}

#pragma GCC visibility pop

#endif /* LIB_WR_EX_H */
