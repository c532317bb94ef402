/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_MR_H
#define SRDMA_MR_H

#include "tracker.h"

struct ib_mr;
struct srdma_mr;

/* Page sizes that are counted apart: 4 KiB to 4 GiB. */
#define SRDMA_MR_SHIFT_MIN	12
#define SRDMA_MR_SHIFTS		21

/**
 * struct srdma_mr_sum - users' memory regions, of a process, a job or a device
 * @n: regions that are alive and were registered through the wrappers
 * @unasked: of @n, those whose translations are not known (yet)
 * @bytes: of @n, without those that are paged in on demand
 * @mtts: translations of those of @n whose translations are known
 * @shifts: how many of these are mapped in pages of each size
 */
struct srdma_mr_sum {
	u32 n, unasked;
	u64 bytes, mtts;
	u32 shifts[SRDMA_MR_SHIFTS];
};

void srdma_mr_init(struct srdma_dev *dev);
/* Free all regions of a device. No thread is in a wrapper of it any more. */
void srdma_mr_drop_all(struct srdma_dev *dev);

/*
 * In the wrappers. added(): the driver has made the region, with the @iova and @length that
 * the application asked for; without memory the region stays unknown. leave() before the
 * driver's dereg_mr, NULL: not known; then gone(), or stay() if the driver refused.
 * changed(): the region has been registered anew in place.
 */
void srdma_mr_added(struct srdma_dev *dev, struct ib_mr *ibmr, u64 iova, u64 length, bool paged);
struct srdma_mr *srdma_mr_leave(struct srdma_dev *dev, struct ib_mr *ibmr);
void srdma_mr_gone(struct srdma_dev *dev, struct srdma_mr *mr);
void srdma_mr_stay(struct srdma_dev *dev, struct srdma_mr *mr);
void srdma_mr_changed(struct srdma_dev *dev, struct ib_mr *ibmr, u64 iova, u64 length,
		      bool paged);
/* Address and length of a region; false: not known. */
bool srdma_mr_where(struct srdma_dev *dev, const struct ib_mr *ibmr, u64 *iova, u64 *length);

/*
 * Have the provider query the mapping of regions whose mapping is unknown. May sleep and
 * send commands: refresh.c's work only.
 */
void srdma_mr_ask(struct srdma_dev *dev, const struct srdma_provider_ops *ops);
/* Can the device's provider query mappings? */
bool srdma_mr_askable(const struct srdma_dev *dev);

/* Should the sum include this owner? RCU section. */
typedef bool srdma_owner_match(struct srdma_owner *owner, const void *arg);
/* Sum over the owners that @match accepts; NULL: over all. May sleep. */
void srdma_mr_sum(struct srdma_dev *dev, srdma_owner_match *match, const void *arg,
		  struct srdma_mr_sum *sum);
/* Smallest and largest page size, bytes; false: none is known. */
bool srdma_mr_pages(const struct srdma_mr_sum *sum, u64 *smallest, u64 *largest);

#endif /* SRDMA_MR_H */
