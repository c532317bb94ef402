// SPDX-License-Identifier: GPL-2.0
/* The table of knobs. */
#include <rdma/swiftrdma_share.h>

#include "knob_table.h"
#include "provider.h"

#define MBIT	1000000ULL	/* unit of the devices' rates, which have 32 bits */

const struct srdma_knob_info srdma_knob_table[SWIFTRDMA_KNOB_MAX + 1] = {
	[SWIFTRDMA_KNOB_LEVEL] = {
		.name = "level", .of_job = true, .of_qp = true, .tallied = true,
		.max = SWIFTRDMA_LEVEL_MAX, .bounds = "a class level is 0 to 7",
	},
	[SWIFTRDMA_KNOB_FOLLOW] = {
		.name = "follow", .of_job = true,
		.max = SWIFTRDMA_LEVEL_MAX, .bounds = "follow is a class level, 0 to 7",
	},
	[SWIFTRDMA_KNOB_MAX_QPS] = {
		.name = "max_qps", .of_job = true,
		.max = U32_MAX, .bounds = "max_qps is 0 to 2^32-1",
	},
	/* The token bucket of a higher rate would overflow the arithmetic in job.c. */
	[SWIFTRDMA_KNOB_CREATE_RATE] = {
		.name = "create_rate", .of_job = true,
		.max = 1000000, .bounds = "create_rate is 0 to 1000000 per second",
	},
	[SWIFTRDMA_KNOB_BIT_RATE] = {
		.name = "bit_rate", .of_job = true, .tallied = true, .by_device = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_BIT_RATE,
		.min = MBIT, .max = MBIT * U32_MAX,
		.bounds = "bit_rate is 1000000 to 4294967295000000 bit/s",
	},
	[SWIFTRDMA_KNOB_WR_RATE] = {
		.name = "wr_rate", .of_job = true, .tallied = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_WR_RATE,
		.max = 10000000000ULL, .bounds = "wr_rate is 0 to 10000000000 per second",
	},
	[SWIFTRDMA_KNOB_CREDITS] = {
		.name = "credits", .of_job = true, .tallied = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_CREDITS,
		.min = 1, .max = 1000000, .bounds = "credits are 1 to 1000000",
	},
	[SWIFTRDMA_KNOB_WEIGHT] = {
		.name = "weight", .of_job = true, .tallied = true, .by_device = true,
		.min = 1, .max = 100, .bounds = "a weight is 1 to 100",
	},
	[SWIFTRDMA_KNOB_UDP_SPORT] = {
		.name = "udp_sport", .of_qp = true, .tallied = true,
		.is_path = true, .part = SRDMA_PATH_SPORT,
		.min = 1, .max = U16_MAX, .bounds = "a UDP source port is 1 to 65535",
	},
	[SWIFTRDMA_KNOB_LAG_PORT] = {
		.name = "lag_port", .of_qp = true, .tallied = true,
		.is_path = true, .part = SRDMA_PATH_LAG,
		.min = 1, .max = 15, .bounds = "a LAG port is 1 to 15",
	},
	[SWIFTRDMA_KNOB_PLACE] = {
		.name = "place", .of_job = true, .tallied = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_PLACE,
		.max = SWIFTRDMA_PLACE_BY_THREAD,
		.bounds = "place is 0 (default), 1 (lightest) or 2 (by-thread)",
	},
	[SWIFTRDMA_KNOB_UAR] = {
		.name = "uar", .of_qp = true, .tallied = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_UAR,
		.min = SWIFTRDMA_UAR_LIGHTEST, .max = SWIFTRDMA_UAR_LIGHTEST,
		.bounds = "a QP moves to the lightest UAR, 4294967295, and to none by its number",
	},
	[SWIFTRDMA_KNOB_CHUNK] = {
		.name = "chunk", .of_job = true, .tallied = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_CHUNK,
		.min = 4096, .max = 1 << 30, .power_of_two = true,
		.bounds = "chunk is a power of two, 4096 to 1073741824 bytes",
	},
	[SWIFTRDMA_KNOB_HUGE_PAGES] = {
		.name = "huge_pages", .of_job = true, .tallied = true,
		.by_library = true, .share_knob = SWIFTRDMA_SHARE_KNOB_HUGE_PAGES,
		.max = 1, .bounds = "huge_pages is 0 or 1",
	},
};

const char srdma_knob_unenforced[] = {
	"nothing enforces that yet: knobs are level, follow, max_qps, create_rate, bit_rate, wr_rate, credits, weight, place, chunk, huge_pages, uar, udp_sport and lag_port"
};
