// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MATCH_OUTER	1	/* match_criteria_enable: the outer headers */
#define UDP		17
#define ROCE_PORT	4791

static int flow_failed(struct flow_count *c, const char *what, int error)
{
	c->what = what;
	if (!c->error.error)
		c->error.error = error < 0 ? error : -EIO;
	return c->error.error;
}

/* Makes @value and @mask match the RoCE packets to @to that have the UDP source port @sport. */
static void fill_match(void *value, void *mask, const union ibv_gid *to, uint16_t sport)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct prm_match v = {
		.ip_version = 6, .ip_protocol = UDP, .udp_sport = sport, .udp_dport = ROCE_PORT,
	}, m = {
		.ip_version = 0xf, .ip_protocol = 0xff, .udp_sport = 0xffff, .udp_dport = 0xffff,
	};
	size_t from = 0;

	if (!memcmp(to->raw, mapped, sizeof(mapped))) {
		v.ip_version = 4;
		from = sizeof(mapped);
	}
	memcpy(v.dst + from, to->raw + from, sizeof(v.dst) - from);
	memset(m.dst + from, 0xff, sizeof(m.dst) - from);
	prm_put_match(value, &v);
	prm_put_match(mask, &m);
}

int flow_count_open(struct flow_count *c, struct ibv_context *ctx, const union ibv_gid *to,
		    uint16_t sport)
{
	union {
		struct mlx5dv_flow_match_parameters head;
		uint8_t room[sizeof(size_t) + PRM_MATCH_BYTES];
	} mask = { .room = { 0 } }, value = mask;
	struct mlx5dv_flow_matcher_attr attr = {
		.match_criteria_enable = MATCH_OUTER, .match_mask = &mask.head,
		.comp_mask = MLX5DV_FLOW_MATCHER_MASK_FT_TYPE,
		.ft_type = MLX5DV_FLOW_TABLE_TYPE_RDMA_TX,
	};
	struct mlx5dv_flow_action_attr count = { .type = MLX5DV_FLOW_ACTION_COUNTERS_DEVX };

	memset(c, 0, sizeof(*c));
	c->counter = prm_alloc_counter(ctx, &c->id, &c->error);
	if (!c->counter)
		return flow_failed(c, "a flow counter", -errno);
	mask.head.match_sz = value.head.match_sz = PRM_MATCH_BYTES;
	fill_match(value.head.match_buf, mask.head.match_buf, to, sport);
	c->matcher = mlx5dv_create_flow_matcher(ctx, &attr);
	if (!c->matcher)
		return flow_failed(c, "a matcher of sent RoCE packets", -errno);
	count.obj = c->counter;
	c->flow = mlx5dv_create_flow(c->matcher, &value.head, 1, &count);
	return c->flow ? 0 : flow_failed(c, "a rule that counts sent RoCE packets", -errno);
}

const char *flow_count_words(const struct flow_count *c)
{
	static char words[160];

	snprintf(words, sizeof(words), "%s: %s%s", c->what, prm_words(&c->error),
		 c->error.error == -EPERM ? "; it takes CAP_NET_RAW" : "");
	return words;
}

int flow_count_read(struct flow_count *c, uint64_t *packets, struct prm_error *e)
{
	return prm_query_counter(c->counter, c->id, packets, e);
}

void flow_count_close(struct flow_count *c)
{
	if (c->flow)
		ibv_destroy_flow(c->flow);
	if (c->matcher)
		mlx5dv_destroy_flow_matcher(c->matcher);
	if (c->counter)
		mlx5dv_devx_obj_destroy(c->counter);
}
