// SPDX-License-Identifier: GPL-2.0
/*
 * The initialization segment at the start of the BAR: command doorbell, health,
 * clock. The BAR is memory, so the device sees writes only by looking.
 */
#include <linux/io.h>

#include "softhca.h"

#define SH_FW_MAJOR	16
#define SH_FW_MINOR	35
#define SH_FW_SUB	2000
#define SH_CMDIF_REV	5
/* Two command slots: with many, doorbells written in a row overwrite one
 * another before they are seen.
 */
#define SH_LOG_CMDS	1
#define SH_LOG_STRIDE	6
#define SH_CMDQ_LOW	(SH_LOG_CMDS << 4 | SH_LOG_STRIDE)
#define SH_HEALTH_NS	(100 * NSEC_PER_MSEC)

static struct mlx5_init_seg __iomem *sh_iseg(struct sh_hca *h)
{
	return h->bar;
}

void sh_bar_init(struct sh_hca *h)
{
	struct mlx5_init_seg __iomem *s = sh_iseg(h);
	int i;

	/* What the last module left there would be read as doorbells. */
	for (i = 0; i < SH_FIRST_UAR * PAGE_SIZE; i += 8)
		writeq(0, h->bar + i);
	iowrite32be(SH_FW_MINOR << 16 | SH_FW_MAJOR, &s->fw_rev);
	iowrite32be(SH_CMDIF_REV << 16 | SH_FW_SUB, &s->cmdif_rev_fw_sub);
	iowrite32be(SH_CMDQ_LOW, &s->cmdq_addr_l_sz);
	iowrite32be(SH_FW_SUB, &s->health.fw_ver);
}

void sh_bar_health(struct sh_hca *h, u8 syndrome)
{
	iowrite8(syndrome, &sh_iseg(h)->health.synd);
}

bool sh_bar_poll(struct sh_hca *h, u64 now)
{
	struct mlx5_init_seg __iomem *s = sh_iseg(h);
	u32 bells = 0;
	u32 low;

	if (now - h->health_ns >= SH_HEALTH_NS) {
		h->health_ns = now;
		iowrite32be(++h->health, &s->health_counter);
	}
	iowrite32be(upper_32_bits(now), &s->internal_timer_h);
	iowrite32be(lower_32_bits(now), &s->internal_timer_l);

	if (readl((__force void __iomem *)&s->cmd_dbell))
		bells = be32_to_cpu(xchg((__force __be32 *)&s->cmd_dbell, 0));
	if (!bells)
		return false;

	/* The driver writes its queue's address over the sizes that the next
	 * driver has to find there.
	 */
	low = ioread32be(&s->cmdq_addr_l_sz);
	if (low & ~0xfff) {
		h->cmdq = (u64)ioread32be(&s->cmdq_addr_h) << 32 | (low & ~0xfff);
		iowrite32be((low & 0xf00) | SH_CMDQ_LOW, &s->cmdq_addr_l_sz);
	}
	/* The low bits are restored, the address is latched: leave it readable. */
	if (h->cmdq)
		sh_cmd_run(h, bells);
	return true;
}
