// SPDX-License-Identifier: GPL-2.0
/*
 * Tables of receive queues (RQT). A TIR with such a table picks a queue by a hash of the
 * frame's addresses and ports.
 */
#include "softhca.h"

#define SH_MAX_RQT	128
#define SH_L3_IPV4	0
#define SH_L4_TCP	0
#define SH_HASH_FIELDS	0xf	/* addresses and ports, not the SPI of IPsec */

struct sh_rqt {
	struct sh_obj obj;
	u32 n;		/* a power of two */
	u32 rqn[];
};

static int sh_create_rqt(struct sh_cmd *c)
{
	void *rqtc = MLX5_ADDR_OF(create_rqt_in, c->in, rqt_context);
	u32 n = MLX5_GET(rqtc, rqtc, rqt_actual_size), i;
	struct sh_rqt *rqt;
	struct sh_qp *rq;
	int status;

	if (!softhca.eth || !n || n > SH_MAX_RQT || n & (n - 1) ||
	    MLX5_GET(rqtc, rqtc, list_q_type) ||
	    MLX5_ADDR_OF(rqtc, rqtc, rq_num[n]) > c->in + c->inlen)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	rqt = sh_new(c, SH_RQT, struct_size(rqt, rqn, n), &status);
	if (!rqt)
		return status;
	rqt->n = n;
	for (i = 0; i < n; i++) {
		rqt->rqn[i] = MLX5_GET(rqtc, rqtc, rq_num[i]) & SH_MASK24;
		rq = sh_find_own(c, SH_QP, rqt->rqn[i]);
		if (!rq || rq->st != SH_ST_RQ) {
			sh_del(c->hca, SH_RQT, rqt);
			return MLX5_CMD_STAT_BAD_RES_ERR;
		}
	}
	MLX5_SET(create_rqt_out, c->out, rqtn, rqt->obj.id);
	return MLX5_CMD_STAT_OK;
}

static int sh_destroy_rqt(struct sh_cmd *c)
{
	struct sh_rqt *rqt = sh_find_own(c, SH_RQT, MLX5_GET(destroy_rqt_in, c->in, rqtn));
	struct sh_tir *tir;
	unsigned long i;

	if (!rqt)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	xa_for_each(&c->hca->tab[SH_TIR].xa, i, tir)
		if (tir->rqtn == rqt->obj.id)
			return MLX5_CMD_STAT_RES_BUSY;
	sh_del(c->hca, SH_RQT, rqt);
	return MLX5_CMD_STAT_OK;
}

bool sh_rqt_has(struct sh_hca *h, u32 rqn)
{
	struct sh_rqt *rqt;
	unsigned long i;
	u32 k;

	xa_for_each(&h->tab[SH_RQT].xa, i, rqt)
		for (k = 0; k < rqt->n; k++)
			if (rqt->rqn[k] == rqn)
				return true;
	return false;
}

/* Reads what a TIR with a table hashes. False: it asks for something that is not offered. */
bool sh_rss_load(struct sh_tir *tir, const void *tirc)
{
	void *f = MLX5_ADDR_OF(tirc, (void *)tirc, rx_hash_field_selector_outer);
	void *inner = MLX5_ADDR_OF(tirc, (void *)tirc, rx_hash_field_selector_inner);

	tir->rqtn = MLX5_GET(tirc, tirc, indirect_table);
	tir->l3 = MLX5_GET(rx_hash_field_select, f, l3_prot_type);
	tir->l4 = MLX5_GET(rx_hash_field_select, f, l4_prot_type);
	tir->fields = MLX5_GET(rx_hash_field_select, f, selected_fields);
	memcpy(tir->hash_key, MLX5_ADDR_OF(tirc, (void *)tirc, rx_hash_toeplitz_key),
	       sizeof(tir->hash_key));
	return MLX5_GET(tirc, tirc, rx_hash_fn) == MLX5_RX_HASH_FN_TOEPLITZ &&
	       !(tir->fields & ~SH_HASH_FIELDS) &&
	       !MLX5_GET(rx_hash_field_select, inner, selected_fields);
}

/* The Toeplitz hash of RSS: for each bit of the data that is 1, the 32 bits of the key that
 * begin at that bit's position are XORed into the hash.
 */
static u32 sh_toeplitz(const u8 *key, const u8 *data, u32 len)
{
	u32 window = be32_to_cpup((const __be32 *)key), hash = 0, i, bit;

	for (i = 0; i < len; i++)
		for (bit = 0; bit < 8; bit++) {
			if (data[i] & 0x80 >> bit)
				hash ^= window;
			window = window << 1 | (key[i + 4] >> (7 - bit) & 1);
		}
	return hash;
}

/* The bytes that are hashed, in the order of RSS: addresses, then ports. */
static u32 sh_hash_input(const struct sh_tir *tir, const u8 *fields, u8 *to)
{
	u8 version = MLX5_GET(fte_match_set_lyr_2_4, fields, ip_version);
	u8 protocol = MLX5_GET(fte_match_set_lyr_2_4, fields, ip_protocol);
	u32 size = tir->l3 == SH_L3_IPV4 ? 4 : 16, len = 0;
	const u8 *src = MLX5_ADDR_OF(fte_match_set_lyr_2_4, (void *)fields, src_ipv4_src_ipv6);
	const u8 *dst = MLX5_ADDR_OF(fte_match_set_lyr_2_4, (void *)fields, dst_ipv4_dst_ipv6);
	const u8 *ports = tir->l4 == SH_L4_TCP ?
		MLX5_ADDR_OF(fte_match_set_lyr_2_4, (void *)fields, tcp_sport) :
		MLX5_ADDR_OF(fte_match_set_lyr_2_4, (void *)fields, udp_sport);

#define SH_ADD(field, at, n)						\
	do {								\
		if (tir->fields & 1U << MLX5_RX_HASH_FIELD_SELECT_SELECTED_FIELDS_##field) { \
			memcpy(to + len, at, n);			\
			len += n;					\
		}							\
	} while (0)
	/* A frame of another protocol has hash 0. */
	if (version != (tir->l3 == SH_L3_IPV4 ? 4 : 6))
		return 0;
	/* An IPv4 address is the last dword of its field. */
	SH_ADD(SRC_IP, src + 16 - size, size);
	SH_ADD(DST_IP, dst + 16 - size, size);
	if (protocol != (tir->l4 == SH_L4_TCP ? IPPROTO_TCP : IPPROTO_UDP))
		return len;
	SH_ADD(L4_SPORT, ports, 2);
	SH_ADD(L4_DPORT, ports + 2, 2);
	return len;
}

/* The receive queue for a frame with such fields; NULL: its table is gone. */
struct sh_qp *sh_rss_pick(struct sh_hca *h, const struct sh_tir *tir, const u8 *fields)
{
	const struct sh_rqt *rqt;
	u8 input[36];
	u32 len;

	if (!tir->rqtn)
		return sh_find(h, SH_QP, tir->rqn);
	rqt = sh_find(h, SH_RQT, tir->rqtn);
	if (!rqt)
		return NULL;
	len = sh_hash_input(tir, fields, input);
	return sh_find(h, SH_QP, rqt->rqn[sh_toeplitz(tir->hash_key, input, len) & (rqt->n - 1)]);
}

static const struct sh_cmd_entry sh_table[] = {
	{ MLX5_CMD_OP_CREATE_RQT, sh_create_rqt },
	{ MLX5_CMD_OP_DESTROY_RQT, sh_destroy_rqt },
};

sh_cmd_fn sh_cmd_rss(u16 op)
{
	return sh_cmd_lookup(sh_table, ARRAY_SIZE(sh_table), op);
}
