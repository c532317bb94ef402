/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel API differences from 6.1 on, all of them, and nothing else.
 */
#ifndef SOFTHCA_COMPAT_H
#define SOFTHCA_COMPAT_H

#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/mlx5/driver.h>
#include <linux/msi.h>
#include <linux/netdevice.h>
#include <linux/version.h>

#include "softhca.h"

/* The number of an interrupt in the domain of all HCAs. */
static inline irq_hw_number_t sh_hwirq(unsigned int slot, unsigned int vector)
{
	return 1 + slot * SH_MSIX_VECTORS + vector;
}

static inline irq_hw_number_t sh_hwirq_of(struct msi_desc *desc)
{
	return sh_hwirq(PCI_SLOT(msi_desc_to_pci_dev(desc)->devfn), desc->msi_index);
}

/*
 * sh_msi_domain(): the domain of MSI-X interrupts of which @chip is all there is.
 * Since 6.16 each PCI device can have a domain of its own below it, and must since
 * 6.18, which has no pci_msi_create_irq_domain() any more.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
static int sh_msi_alloc(struct irq_domain *domain, unsigned int virq, unsigned int n, void *arg)
{
	struct msi_desc *desc = ((msi_alloc_info_t *)arg)->desc;
	unsigned int i;

	for (i = 0; i < n; i++)
		irq_domain_set_info(domain, virq + i, sh_hwirq_of(desc) + i, domain->host_data,
				    NULL, handle_simple_irq, NULL, NULL);
	return 0;
}

static const struct irq_domain_ops sh_msi_ops = { .alloc = sh_msi_alloc };

#define SH_MSI_SUPPORTED (MSI_GENERIC_FLAGS_MASK | MSI_FLAG_PCI_MSIX)
#define SH_MSI_REQUIRED (MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS)

static bool sh_msi_init_dev(struct device *dev, struct irq_domain *domain,
			    struct irq_domain *real_parent, struct msi_domain_info *info)
{
	if (info->bus_token != DOMAIN_BUS_PCI_DEVICE_MSIX)
		return false;
	info->flags &= SH_MSI_SUPPORTED;
	info->flags |= SH_MSI_REQUIRED;
	return true;
}

static const struct msi_parent_ops sh_msi_parent = {
	.supported_flags = SH_MSI_SUPPORTED,
	.required_flags = SH_MSI_REQUIRED,
	.bus_select_token = DOMAIN_BUS_VMD_MSI,
	.prefix = "softhca-",
	.init_dev_msi_info = sh_msi_init_dev,
};

static inline struct irq_domain *sh_msi_domain(struct fwnode_handle *fwnode, struct irq_chip *chip)
{
	struct irq_domain_info info = {
		.fwnode = fwnode,
		.size = 1 + SH_MAX_HCAS * SH_MSIX_VECTORS,
		.ops = &sh_msi_ops,
		.host_data = chip,
	};

	return msi_create_parent_irq_domain(&info, &sh_msi_parent);
}
#else
static irq_hw_number_t sh_get_hwirq(struct msi_domain_info *info, msi_alloc_info_t *arg)
{
	return sh_hwirq_of(arg->desc);
}

static int sh_msi_init(struct irq_domain *domain, struct msi_domain_info *info,
		       unsigned int virq, irq_hw_number_t hwirq, msi_alloc_info_t *arg)
{
	irq_domain_set_info(domain, virq, hwirq, info->chip, NULL, handle_simple_irq, NULL,
			    NULL);
	return 0;
}

static int sh_msi_prepare(struct irq_domain *domain, struct device *dev, int nvec,
			  msi_alloc_info_t *arg)
{
	memset(arg, 0, sizeof(*arg));
	return 0;
}

static void sh_set_desc(msi_alloc_info_t *arg, struct msi_desc *desc)
{
	arg->desc = desc;
}

static struct msi_domain_ops sh_msi_ops = {
	.get_hwirq = sh_get_hwirq,
	.msi_init = sh_msi_init,
	.msi_prepare = sh_msi_prepare,
	.set_desc = sh_set_desc,
};

static struct msi_domain_info sh_msi_info = {
	.flags = MSI_FLAG_USE_DEF_DOM_OPS | MSI_FLAG_USE_DEF_CHIP_OPS | MSI_FLAG_PCI_MSIX,
	.ops = &sh_msi_ops,
};

static inline struct irq_domain *sh_msi_domain(struct fwnode_handle *fwnode, struct irq_chip *chip)
{
	struct irq_domain *domain;

	sh_msi_info.chip = chip;
	domain = pci_msi_create_irq_domain(fwnode, &sh_msi_info, NULL);
	if (domain)
		irq_domain_update_bus_token(domain, DOMAIN_BUS_VMD_MSI);
	return domain;
}
#endif

/*
 * Since 6.3 mlx5_ib does not look for a port's netdev, but takes the one of which mlx5_core
 * says that it is its own. This is called while mlx5_core initialises @dev's parent,
 * before mlx5_ib asks.
 */
static inline void sh_be_uplink(struct net_device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	struct mlx5_core_dev *core = dev_get_drvdata(dev->dev.parent);

	if (core)
		WRITE_ONCE(core->mlx5e_res.uplink_netdev, dev);
#endif
}

#endif /* SOFTHCA_COMPAT_H */
