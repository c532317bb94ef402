// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma.h declares. */
#include <string.h>

#include "lib/lib.h"

/* A program may have been built with a smaller structure, or a larger one. */
static void copy_sized(void *to, size_t size, const void *from, size_t have)
{
	memset(to, 0, size);
	memcpy(to, from, size < have ? size : have);
}

EXPORT const char *swiftrdma_version(void)
{
	return VERSION;
}

EXPORT int swiftrdma_attach(struct ibv_context *ctx)
{
	if (!life_begin())
		return -ENODEV;
	return context_watch(ctx) ? 0 : -ENOMEM;
}

EXPORT int swiftrdma_ask(const char *job, uint64_t slo_p99_ns)
{
	return life_begin() ? page_ask(job, slo_p99_ns) : -ENODEV;
}

static const struct device *device_of(const struct ibv_context *ctx)
{
	const struct context *c = context_find(ctx);

	return c && *c->alive ? c->dev : NULL;
}

EXPORT int swiftrdma_move_qp(struct ibv_qp *qp)
{
	struct qp *q = qp_find(qp);

	return q && *q->alive ? move_now(q) : -EOPNOTSUPP;
}

EXPORT const char *swiftrdma_move_reason(struct ibv_qp *qp)
{
	struct qp *q = qp_find(qp);
	struct move *m = move_of(q);
	const char *why;

	if (!q || !*q->alive || !settings.move)
		return "the library does not know it, or SWIFTRDMA_MOVE is not set";
	if (!m)
		return q->move_why ? q->move_why : "it was not created by this process";
	pthread_mutex_lock(&m->life);
	why = m->why;
	pthread_mutex_unlock(&m->life);
	return why;
}

EXPORT int swiftrdma_read_job(struct ibv_context *ctx, struct swiftrdma_job_info *info, size_t size)
{
	const struct device *dev = device_of(ctx);
	struct swiftrdma_job_info i = { 0 };
	struct swiftrdma_control_job job;

	if (!dev)
		return -ENOENT;
	if (!control_job(dev, &job))
		return -ENODEV;
	memcpy(i.name, job.name, sizeof(i.name));
	i.slo_p99_ns = job.slo_p99_ns;
	i.refused = job.refused;
	copy_sized(info, size, &i, sizeof(i));
	return 0;
}

EXPORT int swiftrdma_read_device(struct ibv_context *ctx, struct swiftrdma_figures *figures,
				 size_t size)
{
	const struct device *dev = device_of(ctx);
	struct swiftrdma_figures f;

	if (!dev || !lib_lock())
		return -ENOENT;
	figures_of_device(&f, dev);
	lib_unlock();
	copy_sized(figures, size, &f, sizeof(f));
	return 0;
}

EXPORT int swiftrdma_read_qp(struct ibv_qp *qp, struct swiftrdma_figures *figures, size_t size)
{
	struct qp *q = qp_find(qp);
	struct swiftrdma_figures f;

	if (!q || !*q->alive)
		return -ENOENT;
	figures_of_slot(&f, q->slot);
	copy_sized(figures, size, &f, sizeof(f));
	return 0;
}

EXPORT int swiftrdma_read_quantile(struct ibv_context *ctx, enum swiftrdma_time which, double q,
				   struct swiftrdma_quantile *result, size_t size)
{
	const struct device *dev = device_of(ctx);
	struct swiftrdma_quantile r;

	if (!dev)
		return -ENOENT;
	if (!(q > 0 && q < 1) || (which != SWIFTRDMA_TIME_LATENCY && which != SWIFTRDMA_TIME_HOL))
		return -EINVAL;
	quantile_of(which == SWIFTRDMA_TIME_HOL ? dev->hol : dev->latency, q, &r);
	copy_sized(result, size, &r, sizeof(r));
	return 0;
}
