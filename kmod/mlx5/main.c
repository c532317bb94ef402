// SPDX-License-Identifier: GPL-2.0
/*
 * swiftrdma_mlx5: the provider of ConnectX devices for swiftrdma.ko. It is a module of its
 * own, so that swiftrdma.ko neither needs nor pins mlx5_core. It may be loaded and unloaded
 * while swiftrdma.ko and mlx5_core work; without it the devices have the generic provider.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mlx5/eswitch.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "debug.h"
#include "mlx5.h"

static const struct srdma_mlx5_part *const parts[] = {
#ifdef SWIFTRDMA_DEVX
	&srdma_mlx5_devx,
#endif
	NULL
};

#define for_each_part(p) for (p = parts; *p; p++)

/* NULL: the device is not mlx5_core's, or is not a PCI function. */
static struct mlx5_core_dev *core_of(struct ib_device *ibdev)
{
	struct device *parent = ibdev->dev.parent;

	if (ibdev->ops.driver_id != RDMA_DRIVER_MLX5 || !parent || !dev_is_pci(parent) ||
	    !parent->driver || strcmp(parent->driver->name, "mlx5_core"))
		return NULL;
	return pci_get_drvdata(to_pci_dev(parent));
}

static bool mlx5_match(struct ib_device *ibdev)
{
	return core_of(ibdev);
}

/* The BAR consists of UARs; its size in MB is 2^uar_sz. */
static u32 uar_limit(struct mlx5_core_dev *core)
{
	return 1u << (MLX5_CAP_GEN(core, uar_sz) + 20 - MLX5_ADAPTER_PAGE_SHIFT);
}

static bool has_ethernet(struct ib_device *ibdev)
{
	u32 port;

	rdma_for_each_port(ibdev, port)
		if (rdma_port_get_link_layer(ibdev, port) == IB_LINK_LAYER_ETHERNET)
			return true;
	return false;
}

/* A scalable function is not on the PCI bus, and stays with the generic provider. */
static u8 function_of(const struct mlx5_core_dev *core)
{
	if (mlx5_core_is_vf(core))
		return SWIFTRDMA_FUNCTION_VF;
	if (mlx5_eswitch_mode(core) == MLX5_ESWITCH_OFFLOADS || srdma_as_representor())
		return SWIFTRDMA_FUNCTION_REPRESENTOR;
	return SWIFTRDMA_FUNCTION_PF;
}

static int mlx5_dev_add(struct srdma_dev *dev)
{
	struct srdma_mlx5 *md = kzalloc(sizeof(*md), GFP_KERNEL);
	const struct srdma_mlx5_part *const *p;
	int ret;

	if (!md)
		return -ENOMEM;
	md->dev = dev;
	md->core = core_of(dev->ibdev);
	dev->function = function_of(md->core);
	md->uar_limit = uar_limit(md->core);
	md->sampling = srdma_sampler_wanted();
	INIT_LIST_HEAD(&md->shapes);
	md->shaping = srdma_sched_can(md);
	md->live_class = srdma_class_can(md) && has_ethernet(dev->ibdev);
	mutex_init(&md->query_lock);
	spin_lock_init(&md->told_lock);
	srdma_port_init(md);
	srdma_pcie_init(md);
	srdma_cmd_init(md);
	srdma_records_init(md);
	if (md->sampling) {
		ret = srdma_sampler_start(md);
		if (ret)
			goto err_records;
		ret = srdma_outstanding_start(md);
		if (ret)
			goto err_sampler;
		dev->caps |= SWIFTRDMA_DEV_CAP_WRS | SWIFTRDMA_DEV_CAP_WQEBBS;
	}
	if (md->live_class)
		dev->caps |= SWIFTRDMA_DEV_CAP_LIVE_CLASS;
	if (md->shaping)
		dev->caps |= SWIFTRDMA_DEV_CAP_RATES;
	dev->priv = md;
	srdma_diag_init(md);
	for_each_part(p)
		(*p)->dev_add(md);
	srdma_cmd_count_begin(md);
	srdma_events_start(md);
	srdma_cmd_count_end(md);
	if (md->eq)
		dev->caps |= SWIFTRDMA_DEV_CAP_CONGESTION;
	return 0;

err_sampler:
	srdma_sampler_stop(md);
err_records:
	srdma_records_exit(md);
	kfree(md);
	return ret;
}

static void mlx5_dev_remove(struct srdma_dev *dev)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	const struct srdma_mlx5_part *const *p;

	srdma_cmd_count_begin(md);
	srdma_events_stop(md);
	srdma_cmd_count_end(md);
	for_each_part(p)
		(*p)->dev_remove(md);
	srdma_diag_exit(md);
	srdma_sched_exit(md);
	dev->priv = NULL;
	if (md->sampling) {
		srdma_outstanding_stop(md);
		srdma_sampler_stop(md);
	}
	srdma_records_exit(md);
	pr_info("%s: let go, %d pages held, %d records\n", dev->name, atomic_read(&md->held),
		atomic_read(&md->n_records));
	kfree(md);
}

static void mlx5_refresh(struct srdma_dev *dev)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	const struct srdma_mlx5_part *const *p;

	srdma_diag_refresh(md);
	srdma_pcie_refresh(md);
	for_each_part(p)
		(*p)->refresh(md);
}

static void mlx5_sample(struct srdma_dev *dev)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);

	if (md->sampling)
		srdma_sampler_ask(md);
}

static void mlx5_watch(struct srdma_dev *dev)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);

	if (md->sampling)
		srdma_outstanding_watch(md);
}

static void mlx5_dev_stat(struct srdma_dev *dev, struct srdma_dev_stat *st)
{
	struct srdma_mlx5 *md = srdma_mlx5_of(dev);
	const struct srdma_mlx5_part *const *p;

	st->uar_limit = md->uar_limit;
	st->commands = atomic64_read(&md->commands);
	st->command_ns = atomic64_read(&md->command_ns);
	st->sampled = md->sampling;
	st->sweeps = atomic64_read(&dev->sweeps);
	st->sweep_ns = READ_ONCE(md->sweep_ns);
	st->gap_ns = READ_ONCE(md->gap_ns);
	st->records = atomic_read(&md->n_records);
	st->pages = atomic_read(&md->held);
	st->congestion = md->eq;
	st->congestions = atomic64_read(&md->congestions);
	st->congestion_level = READ_ONCE(md->congestion_level);
	st->congested_at = atomic64_read(&md->congested_at);
	srdma_diag_stat(md, st);
	srdma_pcie_stat(md, st);
	for_each_part(p)
		(*p)->dev_stat(md, st);
}

static const struct srdma_provider_ops mlx5_ops = {
	.name = "mlx5",
	.caps = SWIFTRDMA_DEV_CAP_CONTEXTS | SWIFTRDMA_DEV_CAP_UARS,
	.roce_tclass_only = true,
	.match = mlx5_match,
	.class_begin = srdma_mlx5_class_begin,
	.class_commit = srdma_mlx5_class_commit,
	.detach = srdma_mlx5_detach,
	.dev_add = mlx5_dev_add,
	.dev_remove = mlx5_dev_remove,
	.context_pages = srdma_mlx5_context_pages,
	.qp_created = srdma_mlx5_qp_created,
	.qp_modify = srdma_mlx5_qp_modify,
	.qp_modified = srdma_mlx5_qp_modified,
	.shape = srdma_mlx5_shape,
	.query_qps = srdma_mlx5_query_qps,
	.refresh = mlx5_refresh,
	.query_port = srdma_mlx5_query_port,
	.port_bytes = srdma_mlx5_port_bytes,
	.port_detail = srdma_mlx5_port_detail,
	.mr_shift = srdma_mlx5_mr_shift,
	.sample = mlx5_sample,
	.watch = mlx5_watch,
	.path_check = srdma_mlx5_path_check,
	.dev_stat = mlx5_dev_stat,
};

static void exit_parts(void)
{
	const struct srdma_mlx5_part *const *p;

	for_each_part(p)
		(*p)->exit();
}

static int __init srdma_mlx5_init(void)
{
	const struct srdma_mlx5_part *const *p;
	int ret;

	for_each_part(p)
		(*p)->init();
	ret = srdma_provider_register(&mlx5_ops);
	if (ret)
		exit_parts();
	return ret;
}

static void __exit srdma_mlx5_exit(void)
{
	srdma_provider_unregister(&mlx5_ops);
	exit_parts();
}

module_init(srdma_mlx5_init);
module_exit(srdma_mlx5_exit);

MODULE_DESCRIPTION("SwiftRDMA: UARs and queue pairs of mlx5 devices");
MODULE_AUTHOR("SwiftRDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
