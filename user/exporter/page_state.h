/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the page shows, as JSON. Units are those of snapshots: ns, bit/s, 1/s, ratios; "t" is
 * figures_ms(). What is unknown is absent.
 */
#ifndef SRDMA_EXPORTER_PAGE_STATE_H
#define SRDMA_EXPORTER_PAGE_STATE_H

#include <rdma/swiftrdma.h>

#include "base/json.h"
#include "exporter/figures.h"

#define PAGE_UARS	400	/* of the heat map; the others are counted */
#define PAGE_JOBS	200
#define PAGE_OVERRIDES	200

/*
 * The last reading: devices, ports, UARs, jobs, what is in force, and the last point of each
 * series. The function chooses the UARs to show, and leaves them in @uars.
 */
void page_state(const struct figures *f, struct rank *uars, struct json *j);
/* All points that are still there, and the events among them. */
void page_trend(const struct figures *f, struct json *j);
/* The events from number @from on. */
void page_events(const struct figures *f, uint64_t from, struct json *j);

/* page_detail.c: */

/*
 * The QPs of a job, of a UAR of a device, or of a device; the busiest PAGE_QPS of them. A NULL
 * name and a negative number are no condition. False: there is no such job, device or UAR.
 */
#define PAGE_QPS	200
struct page_filter {
	const char *job, *dev;
	int64_t uar;
};
bool page_qps(const struct figures *f, const struct page_filter *which, struct json *j);
/* What qp explain says. False: there is no such QP. */
bool page_explain(const struct figures *f, const char *dev, uint32_t qpn, struct json *j);

/* Members of objects. */
static inline void page_str(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_str(j, s);
}

static inline void page_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

static inline void page_ms(struct json *j, const char *key, int64_t ms)
{
	json_key(j, key);
	json_s64(j, ms);
}

static inline void page_real(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_real(j, v);
}

static inline void page_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_boolean(j, v);
}

static inline void page_open(struct json *j, const char *key, char open)
{
	json_key(j, key);
	json_begin(j, open);
}

/* What the device counts; a WQEBB is a block of 64 bytes of a send queue. */
static inline const char *page_unit(const struct snap_dev *dev)
{
	return dev && dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS ? "WQEBB" : "WR";
}

/* A member if the signal is known. */
static inline void page_signal(struct json *j, const char *key, const struct figures *f,
			       enum signal_id id, size_t row)
{
	double v;

	if (signal_get(&f->sig, id, row, &v))
		page_real(j, key, v);
}

#endif /* SRDMA_EXPORTER_PAGE_STATE_H */
