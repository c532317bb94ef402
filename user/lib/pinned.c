// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls that give a QP a property that libibverbs cannot read back: a rate limit, and properties that
 * only libmlx5 has. The library makes them for the QP that carries the requests. A shadow would lack the
 * property, so the QP does not move any more afterwards.
 */
#include <infiniband/mlx5dv.h>

#include "lib/lib.h"

struct next_mlx5 next_mlx5;

/* With .life held: the QP that carries the requests. No move begins or ends until unpin_move(). */
static struct ibv_qp *pin_move(struct move *m)
{
	int cancel = life_lock(m);

	move_settle(m);
	m->pin_cancel = cancel;
	return m->now;
}

/* @why: what the call that returned @ret has set; NULL: nothing. */
static int unpin_move(struct move *m, int ret, const char *why)
{
	if (!ret && why)
		m->q->stays = why;
	life_unlock(m, m->pin_cancel);
	return ret;
}

struct ibv_qp *move_pin_shown(struct move *m)
{
	struct ibv_qp *now = pin_move(m);

	unpin_move(m, 0, "the program has had its queues shown by mlx5dv_init_obj()");
	return now;
}

int lib_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	struct context *c = context_find(qp->context);
	struct move *m = move_of(qp_find(qp));

	if (!m)
		return c->modify_qp_rate_limit(qp, attr);
	return unpin_move(m, c->modify_qp_rate_limit(pin_move(m), attr),
			  "the program has limited its rate by ibv_modify_qp_rate_limit()");
}

/* --- libmlx5 -------------------------------------------------------------------------- */

EXPORT int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port)
{
	struct move *m = move_of(qp_find(qp));

	if (!FIND_MLX5(modify_qp_lag_port, "1.14"))
		return ENOSYS;
	if (!m)
		return next_mlx5.modify_qp_lag_port(qp, port);
	return unpin_move(m, next_mlx5.modify_qp_lag_port(pin_move(m), port),
			  "the program has set its port by mlx5dv_modify_qp_lag_port()");
}

EXPORT int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port, uint8_t *active)
{
	struct move *m = move_of(qp_find(qp));

	if (!FIND_MLX5(query_qp_lag_port, "1.14"))
		return ENOSYS;
	if (!m)
		return next_mlx5.query_qp_lag_port(qp, port, active);
	return unpin_move(m, next_mlx5.query_qp_lag_port(pin_move(m), port, active), NULL);
}

EXPORT int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port)
{
	struct move *m = move_of(qp_find(qp));

	if (!FIND_MLX5(modify_qp_udp_sport, "1.17"))
		return ENOSYS;
	if (!m)
		return next_mlx5.modify_qp_udp_sport(qp, port);
	return unpin_move(m, next_mlx5.modify_qp_udp_sport(pin_move(m), port),
			  "the program has set its UDP port by mlx5dv_modify_qp_udp_sport()");
}

EXPORT int mlx5dv_modify_qp_sched_elem(struct ibv_qp *qp, const struct mlx5dv_sched_leaf *requestor,
				       const struct mlx5dv_sched_leaf *responder)
{
	struct move *m = move_of(qp_find(qp));

	if (!FIND_MLX5(modify_qp_sched_elem, "1.17"))
		return ENOSYS;
	if (!m)
		return next_mlx5.modify_qp_sched_elem(qp, requestor, responder);
	return unpin_move(m, next_mlx5.modify_qp_sched_elem(pin_move(m), requestor, responder),
			  "the program has scheduled it by mlx5dv_modify_qp_sched_elem()");
}
