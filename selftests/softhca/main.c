// SPDX-License-Identifier: GPL-2.0
/*
 * softhca: module and the thread that is the device.
 *
 * A real HCA is told of a doorbell; this one has to look. While there is work it
 * looks every few ten microseconds, then ever more seldom, so that a machine
 * that does nothing spends nothing on it.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/ioport.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "softhca.h"

#define SH_SPIN_NS	(50 * NSEC_PER_USEC)
#define SH_RUN_NS	(2 * NSEC_PER_MSEC)
#define SH_BUSY_NS	(3 * NSEC_PER_MSEC)
#define SH_WARM_NS	(100 * NSEC_PER_MSEC)
#define SH_COOL_NS	NSEC_PER_SEC

static char *link = "ib";
module_param(link, charp, 0444);
MODULE_PARM_DESC(link, "link layer: ib or eth");

static int hcas = 2;
module_param(hcas, int, 0444);
MODULE_PARM_DESC(hcas, "number of HCAs, 1 to 4");

static uint vfs;
module_param(vfs, uint, 0444);
MODULE_PARM_DESC(vfs, "bits of HCAs that are virtual functions, passed on alone as to a guest (0)");

static ulong base = 0x60000000;
module_param(base, ulong, 0444);
MODULE_PARM_DESC(base, "physical address of 64 MiB reserved by memmap=64M$ADDRESS");

static uint nap_us = 10;
module_param(nap_us, uint, 0644);
MODULE_PARM_DESC(nap_us, "us between two looks of the device while it has work, up to three times as many (10)");

struct sh_device softhca;

/* True if there was work; *soon: the contention model has some before long. */
static bool sh_poll(u64 now, bool *soon)
{
	bool busy = false;
	int i;

	*soon = false;
	mutex_lock(&softhca.lock);
	softhca.look_ns = now;
	for (i = 0; i < softhca.nhcas; i++)
		*soon |= sh_contention_run(softhca.hca[i]);
	for (i = 0; i < softhca.nhcas; i++) {
		struct sh_hca *h = softhca.hca[i];

		*soon |= sh_wire_run(h);
		busy |= sh_bar_poll(h, now);
		busy |= sh_uar_poll(h);
	}
	for (i = 0; i < softhca.nhcas; i++) {
		busy |= sh_move(softhca.hca[i], now);
		busy |= sh_frame_run(softhca.hca[i]);
	}
	for (i = 0; i < softhca.nhcas; i++)
		sh_eq_flush(softhca.hca[i]);
	mutex_unlock(&softhca.lock);
	return busy;
}

static int sh_poller(void *unused)
{
	u64 last = ktime_get_ns(), woke = last;
	bool soon;

	/* A normal thread would wait for the very programs that wait for it. */
	sched_set_fifo_low(current);
	while (!kthread_should_stop()) {
		u64 now = ktime_get_ns();

		if (sh_poll(now, &soon))
			last = now;
		/* What was just completed brings the next request. But even a busy
		 * device must let its users run, and one that waits for modelled time
		 * to pass all the more.
		 */
		if (!soon && now - last < SH_SPIN_NS && now - woke < SH_RUN_NS) {
			cpu_relax();
			continue;
		}
		if (soon || now - last < SH_BUSY_NS)
			usleep_range(nap_us, 3 * nap_us);
		else if (now - last < SH_WARM_NS)
			usleep_range(100, 200);
		else if (now - last < SH_COOL_NS)
			usleep_range(2000, 3000);
		else
			usleep_range(10000, 14000);
		woke = ktime_get_ns();
	}
	return 0;
}

/* Ordinary memory must never get a device's registers on top, and stores to
 * where there is no memory would be lost.
 */
static int sh_check_window(void)
{
	if (!IS_ALIGNED(base, SH_BAR_SIZE))
		return -EINVAL;
	if (region_intersects(base, SH_WINDOW_SIZE, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT ||
	    region_intersects(base, SH_WINDOW_SIZE, IORESOURCE_MEM,
			      IORES_DESC_RESERVED) != REGION_INTERSECTS) {
		pr_err("softhca: %#lx is not reserved memory: boot with memmap=64M$%#lx\n",
		       base, base);
		return -ENXIO;
	}
	return 0;
}

static void sh_hca_destroy(struct sh_hca *h)
{
	h->left += sh_tables_destroy(h, true);
	pr_info("softhca: hca %d: %llu commands, %llu CQEs, %llu EQEs, %u objects left\n",
		h->index, h->cmds, h->cqes, h->eqes, h->left);
	skb_queue_purge(&h->frames);
	sh_contention_exit(h);
	iounmap(h->bar);
	kvfree(h);
}

static struct sh_hca *sh_hca_create(int index)
{
	struct sh_hca *h = kvzalloc(sizeof(*h), GFP_KERNEL);
	int err;

	if (!h)
		return ERR_PTR(-ENOMEM);
	h->index = index;
	h->vf = vfs & BIT(index);
	h->born_ns = ktime_get_ns();
	sh_qos_init(&h->qos);
	h->bar_phys = base + index * SH_BAR_SIZE;
	h->bar = ioremap(h->bar_phys, SH_BAR_SIZE);
	if (!h->bar) {
		kvfree(h);
		return ERR_PTR(-ENOMEM);
	}
	err = sh_contention_init(h);
	if (err) {
		iounmap(h->bar);
		kvfree(h);
		return ERR_PTR(err);
	}
	skb_queue_head_init(&h->frames);
	INIT_LIST_HEAD(&h->eqs);
	INIT_LIST_HEAD(&h->run);
	INIT_LIST_HEAD(&h->err);
	INIT_LIST_HEAD(&h->mcgs);
	h->port.up = true;
	h->port.lid = index + 1;
	h->port.cap_mask = 0x02514868;
	h->port.sl2vl = 0x0123456701234567ULL;
	h->port.guid = 0x0002c90300500f00ULL + index;
	/* The GUID without its middle, as a ConnectX's are. */
	u64_to_ether_addr((h->port.guid >> 40) << 24 | (h->port.guid & SH_MASK24), h->mac);
	snprintf(h->node_desc, sizeof(h->node_desc), "softhca%d", index);
	sh_tables_init(h);
	sh_caps_init(h);
	sh_bar_init(h);
	return h;
}

static int __init sh_init(void)
{
	int err, i;

	if (hcas < 1 || hcas > SH_MAX_HCAS)
		return -EINVAL;
	if (strcmp(link, "ib") && strcmp(link, "eth")) {
		pr_err("softhca: link is ib or eth\n");
		return -EINVAL;
	}
	err = sh_check_window();
	if (err)
		return err;

	softhca.eth = !strcmp(link, "eth");
	mutex_init(&softhca.lock);
	softhca.base = base;
	softhca.dir = debugfs_create_dir("softhca", NULL);
	for (i = 0; i < hcas; i++) {
		softhca.hca[i] = sh_hca_create(i);
		if (IS_ERR(softhca.hca[i])) {
			err = PTR_ERR(softhca.hca[i]);
			goto err_hcas;
		}
		softhca.nhcas++;
		sh_knob_add(softhca.hca[i]);
	}

	/* First the device, then what finds it: drivers probe at once. */
	softhca.poller = kthread_run(sh_poller, NULL, "softhca");
	if (IS_ERR(softhca.poller)) {
		err = PTR_ERR(softhca.poller);
		goto err_hcas;
	}
	err = sh_pci_add();
	if (err)
		goto err_poller;
	return 0;

err_poller:
	kthread_stop(softhca.poller);
err_hcas:
	debugfs_remove(softhca.dir);
	while (i--)
		sh_hca_destroy(softhca.hca[i]);
	return err;
}

static void __exit sh_exit(void)
{
	int i;

	/* Drivers take leave with commands: the device goes last. */
	sh_pci_remove();
	kthread_stop(softhca.poller);
	debugfs_remove(softhca.dir);
	for (i = 0; i < softhca.nhcas; i++)
		sh_hca_destroy(softhca.hca[i]);
}

module_init(sh_init);
module_exit(sh_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Software ConnectX for tests");
