// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/metrics.h"

#include <string.h>

#include "base/array.h"

struct metric_row *metric_row_next(struct metric_rows *rows)
{
	struct metric_row *row = array_next(&rows->v, rows->n, &rows->cap, sizeof(*rows->v));

	if (row)
		rows->n++;
	return row;
}

static uint64_t read_member(const struct metric *m, const void *object)
{
	const char *p = (const char *)object + m->offset;
	uint64_t v8;
	uint32_t v4;

	if (m->size == 1)
		return *(const uint8_t *)p;
	if (m->size == sizeof(v4)) {
		memcpy(&v4, p, sizeof(v4));
		return v4;
	}
	memcpy(&v8, p, sizeof(v8));
	return v8;
}

static void write_signal(const struct figures *f, struct expo *e, const struct metric *m,
			 const struct metric_row *r)
{
	double v;

	if (!signal_get(&f->sig, m->signal, r->row, &v))
		return;
	switch (vocab_signals[m->signal].unit) {
	case UNIT_TIME:
		v /= 1e9;
		break;
	case UNIT_BITRATE:
		v /= 8;
		break;
	default:
		break;
	}
	expo_real(e, &r->labels, v, 0);
}

static void write_metric(const struct figures *f, struct expo *e, const struct metric *m,
			 const struct metric_row *r)
{
	int64_t created = m->family.type == EXPO_COUNTER ? r->created : 0;
	uint64_t v;

	if (m->of != OF_ALL && (m->of == OF_WQEBBS) != r->wqebbs)
		return;
	if (m->as == AS_SIGNAL) {
		write_signal(f, e, m, r);
		return;
	}
	if (!r->object || (m->has && !(r->has & m->has)))
		return;
	v = read_member(m, r->object);
	switch (m->as) {
	case AS_NS:
		expo_ns(e, &r->labels, v, created);
		break;
	case AS_BITS:
		expo_u64(e, &r->labels, v / 8, created);
		break;
	case AS_PERCENT:
		expo_real(e, &r->labels, (double)v / 100, created);
		break;
	default:
		expo_u64(e, &r->labels, v, created);
	}
}

void metrics_table(const struct figures *f, struct expo *e, const struct metric *metrics,
		   size_t n, const struct metric_rows *rows)
{
	for (size_t m = 0; m < n; m++) {
		expo_family(e, &metrics[m].family);
		for (size_t i = 0; i < rows->n; i++)
			write_metric(f, e, &metrics[m], &rows->v[i]);
	}
}

/* What matters most comes first, because the bound on series cuts off the end. */
bool metrics_write(struct figures *f, struct expo *e, enum expo_format format)
{
	bool ok = true, up = f->up || format == EXPO_LIST;

	expo_begin(e, format, f->opt.max_series);
	if (up)
		ok = metrics_devices(f, e);
	metrics_actions(f, e);
	if (up)
		ok = ok && metrics_jobs(f, e) && metrics_top(f, e) && metrics_owners(f, e);
	expo_release(e);
	metrics_self(f, e);
	f->dropped_total += e->all_dropped;
	return expo_end(e) && ok;
}
