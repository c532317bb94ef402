/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What a recording has of each object: see record.h for the format. */
#ifndef SRDMA_SIM_RECORD_FIELDS_H
#define SRDMA_SIM_RECORD_FIELDS_H

#include "core/snapshot.h"

/* A mask has a bit for each field of an object. */
#define RECORD_FIELDS_MAX	64
#define RECORD_OBJECT_MAX	2048	/* bytes */

enum record_kind {
	RECORD_NUMBER,
	RECORD_BOOL,
	RECORD_TEXT,
	RECORD_BYTES,
};

struct record_field {
	uint16_t at, size;
	uint8_t kind;		/* enum record_kind */
};

struct record_object {
	const struct record_field *fields;
	unsigned int n;
	size_t size;
};

struct record_table {
	struct record_object of;
	size_t array, count;	/* offsets in struct snapshot */
};

/* Jobs come last: their devices' figures follow each. */
enum {
	RECORD_DEVS,
	RECORD_PORTS,
	RECORD_PRIOS,
	RECORD_UARS,
	RECORD_QPS,
	RECORD_OWNERS,
	RECORD_JOBS,
	RECORD_TABLES,
};

/* What every event has; of most kinds only a part means something. */
struct record_event_head {
	uint64_t time;		/* when it was read */
	uint32_t kind;		/* enum snap_event_kind */
	uint32_t index;
	uint64_t batch, lease;
	bool expired, has_owner;
	uint32_t uars;
	char why[SNAP_REASON];
	bool decided;		/* a decision follows the action */
};

extern const struct record_table record_tables[RECORD_TABLES];
extern const struct record_object record_snapshot, record_stat, record_action,
				  record_decision, record_reading, record_head;

#endif /* SRDMA_SIM_RECORD_FIELDS_H */
