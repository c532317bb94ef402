// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI host bridge and the configuration space of the HCAs behind it.
 *
 * The bridge is a root bus of its own domain (compare drivers/pci/controller/
 * vmd.c). Each HCA is a root complex integrated endpoint in a slot of that bus,
 * its BAR preset to its part of the reserved memory.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <linux/platform_device.h>

#include "softhca.h"
#include "compat.h"

#define SH_PCI_DOMAIN	0x10000
#define SH_CAP_EXP	0x40
#define SH_CAP_MSIX	0x80

static struct {
	struct platform_device *parent;
	struct pci_sysdata sysdata;
	struct resource window;
	struct resource busn;
	struct fwnode_handle *fwnode;
	struct irq_domain *irqs;
	struct pci_bus *bus;
	raw_spinlock_t lock;	/* configuration space */
} sh_pci;

static struct sh_hca *sh_pci_slot(unsigned int devfn)
{
	if (PCI_FUNC(devfn) || PCI_SLOT(devfn) >= softhca.nhcas)
		return NULL;
	return softhca.hca[PCI_SLOT(devfn)];
}

static int sh_cfg_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val)
{
	struct sh_hca *h = sh_pci_slot(devfn);
	unsigned long flags;
	int i;

	*val = ~0;
	if (!h || where + size > PCI_CFG_SPACE_EXP_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	raw_spin_lock_irqsave(&sh_pci.lock, flags);
	for (*val = 0, i = 0; i < size; i++)
		*val |= (u32)h->cfg[where + i] << (8 * i);
	raw_spin_unlock_irqrestore(&sh_pci.lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

static int sh_cfg_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val)
{
	struct sh_hca *h = sh_pci_slot(devfn);
	unsigned long flags;
	int i;

	if (!h || where + size > PCI_CFG_SPACE_EXP_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	raw_spin_lock_irqsave(&sh_pci.lock, flags);
	for (i = 0; i < size; i++, val >>= 8) {
		u8 *at = &h->cfg[where + i], mask = h->wmask[where + i];

		*at = (*at & ~mask) | (val & mask);
	}
	raw_spin_unlock_irqrestore(&sh_pci.lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops sh_pci_ops = {
	.read = sh_cfg_read,
	.write = sh_cfg_write,
};

static void sh_cfg_set(u8 *space, int where, int size, u32 val)
{
	for (; size; size--, val >>= 8)
		space[where++] = val;
}

static void sh_cfg_init(struct sh_hca *h)
{
	u8 *c = h->cfg, *m = h->wmask;

	sh_cfg_set(c, PCI_VENDOR_ID, 2, PCI_VENDOR_ID_MELLANOX);
	sh_cfg_set(c, PCI_DEVICE_ID, 2, h->vf ? 0x1018 : 0x1017);
	sh_cfg_set(c, PCI_STATUS, 2, PCI_STATUS_CAP_LIST);
	sh_cfg_set(c, PCI_CLASS_DEVICE, 2, 0x0207);
	sh_cfg_set(c, PCI_BASE_ADDRESS_0, 4, lower_32_bits(h->bar_phys) |
		   PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	sh_cfg_set(c, PCI_BASE_ADDRESS_1, 4, upper_32_bits(h->bar_phys));
	sh_cfg_set(c, PCI_SUBSYSTEM_VENDOR_ID, 2, PCI_VENDOR_ID_MELLANOX);
	sh_cfg_set(c, PCI_SUBSYSTEM_ID, 2, 0x0008);
	c[PCI_CAPABILITY_LIST] = SH_CAP_EXP;

	c[SH_CAP_EXP] = PCI_CAP_ID_EXP;
	c[SH_CAP_EXP + 1] = SH_CAP_MSIX;
	sh_cfg_set(c, SH_CAP_EXP + PCI_EXP_FLAGS, 2, PCI_EXP_TYPE_RC_END << 4 | 2);
	sh_cfg_set(c, SH_CAP_EXP + PCI_EXP_DEVCAP, 4, 2);

	c[SH_CAP_MSIX] = PCI_CAP_ID_MSIX;
	sh_cfg_set(c, SH_CAP_MSIX + PCI_MSIX_FLAGS, 2, SH_MSIX_VECTORS - 1);
	sh_cfg_set(c, SH_CAP_MSIX + PCI_MSIX_TABLE, 4, SH_MSIX_TABLE);
	sh_cfg_set(c, SH_CAP_MSIX + PCI_MSIX_PBA, 4, SH_MSIX_PBA);

	sh_cfg_set(m, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
		   PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	sh_cfg_set(m, PCI_CACHE_LINE_SIZE, 2, 0xffff);
	sh_cfg_set(m, PCI_BASE_ADDRESS_0, 4, ~(u32)(SH_BAR_SIZE - 1));
	sh_cfg_set(m, PCI_BASE_ADDRESS_1, 4, ~0);
	m[PCI_INTERRUPT_LINE] = 0xff;
	sh_cfg_set(m, SH_CAP_EXP + PCI_EXP_DEVCTL, 2, PCI_EXP_DEVCTL_PAYLOAD |
		   PCI_EXP_DEVCTL_READRQ | PCI_EXP_DEVCTL_RELAX_EN);
	sh_cfg_set(m, SH_CAP_MSIX + PCI_MSIX_FLAGS, 2,
		   PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
}

/* The vectors lead nowhere: the poller calls their handlers itself. */
static void sh_compose_msi_msg(struct irq_data *data, struct msi_msg *msg)
{
	memset(msg, 0, sizeof(*msg));
	msg->data = data->hwirq & 0x7ff;
}

static int sh_set_affinity(struct irq_data *data, const struct cpumask *dest, bool force)
{
	irq_data_update_effective_affinity(data, dest);
	return IRQ_SET_MASK_OK;
}

static struct irq_chip sh_irq_chip = {
	.name = "softhca-MSI",
	.irq_compose_msi_msg = sh_compose_msi_msg,
	.irq_set_affinity = sh_set_affinity,
};

void sh_pci_irq(struct sh_hca *h, int vector)
{
	unsigned int virq = irq_find_mapping(sh_pci.irqs, sh_hwirq(h->index, vector));

	if (virq)
		generic_handle_irq_safe(virq);
}

static int sh_pci_netdevs(void)
{
	struct pci_dev *pdev;
	int err = 0;

	if (!softhca.eth)
		return 0;
	list_for_each_entry(pdev, &sh_pci.bus->devices, bus_list) {
		struct sh_hca *h = sh_pci_slot(pdev->devfn);

		err = h ? sh_eth_add(h, &pdev->dev) : 0;
		if (err)
			break;
	}
	return err;
}

int sh_pci_add(void)
{
	LIST_HEAD(resources);
	int err, i;

	raw_spin_lock_init(&sh_pci.lock);
	for (i = 0; i < softhca.nhcas; i++)
		sh_cfg_init(softhca.hca[i]);

	sh_pci.parent = platform_device_register_simple("softhca", -1, NULL, 0);
	if (IS_ERR(sh_pci.parent))
		return PTR_ERR(sh_pci.parent);

	/* Smaller than the reserved range: one of the same size would be put above
	 * it in the tree, and the BARs would conflict with it.
	 */
	BUILD_BUG_ON(SH_MAX_HCAS * SH_BAR_SIZE >= SH_WINDOW_SIZE);
	sh_pci.window = (struct resource)DEFINE_RES_MEM_NAMED(softhca.base,
							      SH_MAX_HCAS * SH_BAR_SIZE,
							      "softhca");
	sh_pci.window.flags |= IORESOURCE_PREFETCH | IORESOURCE_MEM_64;
	err = insert_resource(&iomem_resource, &sh_pci.window);
	if (err)
		goto err_parent;

	err = -ENOMEM;
	sh_pci.fwnode = irq_domain_alloc_named_fwnode("softhca");
	if (!sh_pci.fwnode)
		goto err_window;
	sh_pci.irqs = sh_msi_domain(sh_pci.fwnode, &sh_irq_chip);
	if (!sh_pci.irqs)
		goto err_fwnode;

	sh_pci.sysdata.domain = SH_PCI_DOMAIN;
	sh_pci.sysdata.node = NUMA_NO_NODE;
	sh_pci.busn = (struct resource){
		.name = "softhca bus", .start = 0, .end = 0, .flags = IORESOURCE_BUS,
	};
	pci_add_resource(&resources, &sh_pci.busn);
	pci_add_resource(&resources, &sh_pci.window);
	sh_pci.bus = pci_create_root_bus(&sh_pci.parent->dev, 0, &sh_pci_ops, &sh_pci.sysdata,
					 &resources);
	if (!sh_pci.bus) {
		pci_free_resource_list(&resources);
		goto err_domain;
	}
	dev_set_msi_domain(&sh_pci.bus->dev, sh_pci.irqs);

	pci_lock_rescan_remove();
	pci_scan_child_bus(sh_pci.bus);
	/* Not assigned: x86 would clip the reserved range out of the window. */
	pci_bus_claim_resources(sh_pci.bus);
	err = sh_pci_netdevs();
	if (!err)
		pci_bus_add_devices(sh_pci.bus);
	pci_unlock_rescan_remove();
	if (!err)
		return 0;
	sh_pci_remove();
	return err;

err_domain:
	irq_domain_remove(sh_pci.irqs);
err_fwnode:
	irq_domain_free_fwnode(sh_pci.fwnode);
err_window:
	remove_resource(&sh_pci.window);
err_parent:
	platform_device_unregister(sh_pci.parent);
	return err;
}

void sh_pci_uplink(struct sh_hca *h)
{
	if (h->netdev)
		sh_be_uplink(h->netdev);
}

void sh_pci_remove(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(sh_pci.bus);
	sh_eth_remove_all();
	pci_remove_root_bus(sh_pci.bus);
	pci_unlock_rescan_remove();
	irq_domain_remove(sh_pci.irqs);
	irq_domain_free_fwnode(sh_pci.fwnode);
	remove_resource(&sh_pci.window);
	platform_device_unregister(sh_pci.parent);
}
