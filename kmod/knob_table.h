/* SPDX-License-Identifier: GPL-2.0 */
/* The knobs that something enforces, and what each of them may be. */
#ifndef SRDMA_KNOB_TABLE_H
#define SRDMA_KNOB_TABLE_H

#include <linux/types.h>

#include <rdma/swiftrdma.h>

/**
 * struct srdma_knob_info - what the module knows of a knob
 * @name: as user space spells it; NULL: nothing enforces the knob
 * @bounds: message for a value outside @min and @max
 * @min: least value
 * @max: greatest value
 * @of_job: a job can have it
 * @of_qp: a single QP can have it
 * @tallied: a QP has it or has it not, so results count QPs; a limit on new QPs is in force
 *	at once
 * @by_device: scheduling elements of the device enforce it, where the device has any
 * @by_library: where they do not, libraries in the job's processes enforce it
 * @power_of_two: no other value is possible
 * @is_path: a part of a QP's path
 * @share_knob: @by_library: enum swiftrdma_share_knob
 * @part: @is_path: enum srdma_path_part
 */
struct srdma_knob_info {
	const char *name, *bounds;
	u64 min, max;
	bool of_job, of_qp, tallied, by_device, by_library, power_of_two, is_path;
	u8 share_knob, part;
};

/* By enum swiftrdma_knob. */
extern const struct srdma_knob_info srdma_knob_table[SWIFTRDMA_KNOB_MAX + 1];
/* Message for a knob that nothing enforces. */
extern const char srdma_knob_unenforced[];

/* The enum swiftrdma_share_knob of @knob; -1: no library enforces it. */
static inline int srdma_share_knob_of(u32 knob)
{
	return srdma_knob_table[knob].by_library ? srdma_knob_table[knob].share_knob : -1;
}

/* The part of a QP's path that @knob sets, -1: none. */
static inline int srdma_path_part(u32 knob)
{
	return srdma_knob_table[knob].is_path ? srdma_knob_table[knob].part : -1;
}

#endif /* SRDMA_KNOB_TABLE_H */
