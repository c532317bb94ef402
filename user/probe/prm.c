// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/prm.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Fields, by first bit and number of bits. */
#define OPCODE		0x00, 16
#define OP_MOD		0x30, 16
#define STATUS		0x00, 8
#define SYNDROME	0x20, 32
#define QPN		0x48, 24
#define OPT_PARAM_MASK	0x80, 32
#define QPC		0xc0
#define LAG_PORT	(QPC + 0x4), 4
#define UAR_PAGE	(QPC + 0x68), 24
#define PATH		(QPC + 0xc0)
#define DSCP		(PATH + 0x10a), 6
#define UDP_SPORT	(PATH + 0x110), 16
#define HW_COUNTER	(QPC + 0x5a0), 16
#define SW_COUNTER	(QPC + 0x5b0), 16
#define NEW_COUNTER	0x40, 32	/* of ALLOC_FLOW_COUNTER's answer */
#define ASKED_COUNTER	0xe0, 32	/* of QUERY_FLOW_COUNTER */
#define PACKETS_HIGH	0x80, 32
#define PACKETS_LOW	0xa0, 32
/* Of fte_match_set_lyr_2_4: */
#define MATCH_PROTOCOL	0x80, 8
#define MATCH_VERSION	0x93, 4
#define MATCH_SPORT	0xe0, 16
#define MATCH_DPORT	0xf0, 16
#define MATCH_DST	0x180	/* 16 bytes; of an IPv4 address, the last four */

#define OP_QUERY_HCA_CAP	0x100
#define OP_QUERY_QP		0x50b
#define OP_RTS2RTS_QP		0x505
#define OP_QUERY_VPORT_COUNTER	0x770
#define OP_ALLOC_FLOW_COUNTER	0x939
#define OP_QUERY_FLOW_COUNTER	0x93b

#define OPT_DSCP	(1u << 17)	/* not in the kernel's headers */
#define CAP_CURRENT	1		/* op_mod: in force, not the maximum */

#define HEAD_BYTES	16		/* before the capabilities in the answer */
#define QUERY_QP_OUT	0x110
#define RTS2RTS_IN	(0xc0 / 8 + 0x740 / 8 + 16)
#define VPORT_IN	0x20
#define VPORT_OUT	0x210
#define COUNTER_IN	0x20
#define COUNTER_OUT	0x20

static void put_field(void *cmd, uint32_t at, uint32_t bits, uint32_t value)
{
	uint32_t shift = 32 - at % 32 - bits, word;
	uint8_t *p = (uint8_t *)cmd + at / 32 * 4;

	memcpy(&word, p, 4);
	word = htobe32(be32toh(word) | value << shift);
	memcpy(p, &word, 4);
}

uint32_t prm_get(const void *cmd, uint32_t at, uint32_t bits)
{
	uint32_t word;

	memcpy(&word, (const uint8_t *)cmd + at / 32 * 4, 4);
	return be32toh(word) >> (32 - at % 32 - bits) & (uint32_t)((1ull << bits) - 1);
}

static int judge_answer(int error, const void *out, struct prm_error *e)
{
	/* libmlx5 returns errno, or -1 with errno set. */
	e->error = error < 0 ? -errno : -error;
	e->status = (uint8_t)prm_get(out, STATUS);
	e->syndrome = prm_get(out, SYNDROME);
	if (!e->error && e->status)
		e->error = -EREMOTEIO;
	return e->error;
}

const char *prm_words(const struct prm_error *e)
{
	static char words[96];

	if (e->status)
		snprintf(words, sizeof(words), "the NIC refuses it, status 0x%x, syndrome 0x%08x",
			 e->status, e->syndrome);
	else
		snprintf(words, sizeof(words), "%s", strerror(-e->error));
	return words;
}

int prm_query_qp(struct ibv_qp *qp, struct prm_qp *q, struct prm_error *e)
{
	uint8_t in[16] = { 0 }, out[QUERY_QP_OUT] = { 0 };

	put_field(in, OPCODE, OP_QUERY_QP);
	put_field(in, QPN, qp->qp_num);
	if (judge_answer(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), out, e))
		return e->error;
	q->uar_page = prm_get(out, UAR_PAGE);
	q->posted = (uint16_t)prm_get(out, SW_COUNTER);
	q->completed = (uint16_t)prm_get(out, HW_COUNTER);
	q->udp_sport = (uint16_t)prm_get(out, UDP_SPORT);
	q->dscp = (uint8_t)prm_get(out, DSCP);
	q->lag_port = (uint8_t)prm_get(out, LAG_PORT);
	return 0;
}

int prm_set_dscp(struct ibv_qp *qp, uint8_t dscp, struct prm_error *e)
{
	uint8_t in[RTS2RTS_IN] = { 0 }, out[16] = { 0 };

	put_field(in, OPCODE, OP_RTS2RTS_QP);
	put_field(in, QPN, qp->qp_num);
	put_field(in, OPT_PARAM_MASK, OPT_DSCP);
	put_field(in, DSCP, dscp);
	return judge_answer(mlx5dv_devx_qp_modify(qp, in, sizeof(in), out, sizeof(out)), out, e);
}

static int send_general(struct ibv_context *ctx, const void *in, size_t in_bytes, void *out,
			size_t out_bytes, struct prm_error *e)
{
	return judge_answer(mlx5dv_devx_general_cmd(ctx, in, in_bytes, out, out_bytes), out, e);
}

int prm_query_cap(struct ibv_context *ctx, enum prm_cap kind, uint8_t cap[PRM_CAP_BYTES],
		  struct prm_error *e)
{
	uint8_t in[16] = { 0 }, out[HEAD_BYTES + PRM_CAP_BYTES] = { 0 };

	put_field(in, OPCODE, OP_QUERY_HCA_CAP);
	put_field(in, OP_MOD, (uint32_t)kind << 1 | CAP_CURRENT);
	if (send_general(ctx, in, sizeof(in), out, sizeof(out), e))
		return e->error;
	memcpy(cap, out + HEAD_BYTES, PRM_CAP_BYTES);
	return 0;
}

int prm_query_vport(struct ibv_context *ctx, struct prm_error *e)
{
	uint8_t in[VPORT_IN] = { 0 }, out[VPORT_OUT] = { 0 };

	put_field(in, OPCODE, OP_QUERY_VPORT_COUNTER);
	return send_general(ctx, in, sizeof(in), out, sizeof(out), e);
}

struct mlx5dv_devx_obj *prm_alloc_counter(struct ibv_context *ctx, uint32_t *id,
					  struct prm_error *e)
{
	uint8_t in[16] = { 0 }, out[16] = { 0 };
	struct mlx5dv_devx_obj *counter;

	put_field(in, OPCODE, OP_ALLOC_FLOW_COUNTER);
	counter = mlx5dv_devx_obj_create(ctx, in, sizeof(in), out, sizeof(out));
	judge_answer(counter ? 0 : -1, out, e);
	*id = prm_get(out, NEW_COUNTER);
	return counter;
}

int prm_query_counter(struct mlx5dv_devx_obj *counter, uint32_t id, uint64_t *packets,
		      struct prm_error *e)
{
	uint8_t in[COUNTER_IN] = { 0 }, out[COUNTER_OUT] = { 0 };

	put_field(in, OPCODE, OP_QUERY_FLOW_COUNTER);
	put_field(in, ASKED_COUNTER, id);
	if (judge_answer(mlx5dv_devx_obj_query(counter, in, sizeof(in), out, sizeof(out)), out, e))
		return e->error;
	*packets = (uint64_t)prm_get(out, PACKETS_HIGH) << 32 | prm_get(out, PACKETS_LOW);
	return 0;
}

void prm_put_match(void *match, const struct prm_match *m)
{
	put_field(match, MATCH_VERSION, m->ip_version);
	put_field(match, MATCH_PROTOCOL, m->ip_protocol);
	put_field(match, MATCH_SPORT, m->udp_sport);
	put_field(match, MATCH_DPORT, m->udp_dport);
	memcpy((uint8_t *)match + MATCH_DST / 8, m->dst, sizeof(m->dst));
}
