// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbell congestion. The device raises event 0x1a when registers are rung faster than it
 * serves them. mlx5_core does not subscribe to the event, so this module has an event queue
 * of its own for it. A device that does not have the event refuses that queue, and the
 * figures of congestion are absent.
 *
 * The event has a level of congestion, and no register. Therefore the module's notification
 * lists the UARs whose QPs posted most at that time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/eq.h>
#include <linux/printk.h>

#include "mlx5.h"
#include "notify.h"
#include "uar.h"

#define EVENTS	64	/* The device raises two events for one congestion. */

/* Hard interrupt. */
static int congestion_irq(struct notifier_block *nb, unsigned long type, void *data)
{
	struct srdma_mlx5 *md = container_of(nb, struct srdma_mlx5, eq_nb);
	struct mlx5_eqe *eqe;
	bool any = false;
	u32 cc = 0;

	while ((eqe = mlx5_eq_get_eqe(md->eq, cc))) {
		if (eqe->type == MLX5_EVENT_TYPE_DB_BF_CONGESTION) {
			atomic64_inc(&md->congestions);
			WRITE_ONCE(md->congestion_level, eqe->data.cong.congestion_level);
			atomic64_set(&md->congested_at, ktime_get_ns());
			any = true;
		}
		cc = mlx5_eq_update_cc(md->eq, ++cc);
	}
	mlx5_eq_update_ci(md->eq, cc, true);
	if (any)
		schedule_work(&md->congestion_work);
	return NOTIFY_OK;
}

/* Insert @u into the list of the busiest UARs, if it is busy enough. */
static void insert_busiest(struct srdma_busy *top, int *n, struct srdma_uar *u, u64 recent)
{
	int i = *n;

	if (i == SRDMA_BUSY_MAX) {
		if (top[i - 1].recent >= recent)
			return;
		srdma_uar_put(top[--i].uar);
	} else {
		(*n)++;
	}
	for (; i && top[i - 1].recent < recent; i--)
		top[i] = top[i - 1];
	top[i].uar = u;
	top[i].recent = recent;
	kref_get(&u->ref);
}

static void congestion_work(struct work_struct *work)
{
	struct srdma_mlx5 *md = container_of(work, struct srdma_mlx5, congestion_work);
	struct srdma_busy top[SRDMA_BUSY_MAX];
	struct srdma_uar *u;
	unsigned long index;
	int n = 0, i;
	u64 recent;

	if (md->sampling)
		srdma_sampler_refresh(md);
	mutex_lock(&md->dev->page_lock);
	xa_for_each(&md->dev->pages, index, u) {
		recent = srdma_sampler_recent(u);
		if (recent)
			insert_busiest(top, &n, u, recent);
	}
	mutex_unlock(&md->dev->page_lock);
	srdma_notify(congested, md->dev, top, n);
	for (i = 0; i < n; i++)
		srdma_uar_put(top[i].uar);
}

void srdma_events_start(struct srdma_mlx5 *md)
{
	struct mlx5_eq_param param = {
		.nent = EVENTS,
		.mask[0] = 1ull << MLX5_EVENT_TYPE_DB_BF_CONGESTION,
	};
	struct mlx5_eq *eq;
	int ret;

	INIT_WORK(&md->congestion_work, congestion_work);
	eq = mlx5_eq_create_generic(md->core, &param);
	if (IS_ERR(eq)) {
		pr_info("%s: no event of doorbell congestion: %ld\n", md->dev->name, PTR_ERR(eq));
		return;
	}
	md->eq = eq;
	md->eq_nb.notifier_call = congestion_irq;
	ret = mlx5_eq_enable(md->core, eq, &md->eq_nb);
	if (ret) {
		pr_info("%s: no event of doorbell congestion: %d\n", md->dev->name, ret);
		mlx5_eq_destroy_generic(md->core, eq);
		md->eq = NULL;
	}
}

void srdma_events_stop(struct srdma_mlx5 *md)
{
	if (md->eq) {
		mlx5_eq_disable(md->core, md->eq, &md->eq_nb);
		mlx5_eq_destroy_generic(md->core, md->eq);
		md->eq = NULL;
	}
	cancel_work_sync(&md->congestion_work);
}
