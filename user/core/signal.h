/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two snapshots in, signals out: rates and ratios, one row per object of the
 * newer snapshot, plus an index that says which QPs and ports a job uses.
 *
 * What cannot be told is absent, never zero: a counter the device lacks, an
 * object that was not there before, a counter that stepped back because the
 * module was loaded anew.
 */
#ifndef SRDMA_CORE_SIGNAL_H
#define SRDMA_CORE_SIGNAL_H

#include "core/snapshot.h"
#include "core/vocab.h"

/*
 * Time constant of the smoothed ratios (port.util, uar.coactive), ns: a first
 * order low pass, so that after a step a ratio is 63 % of the way within this
 * time and 95 % within three times as long. Two of the default intervals keep
 * a burst shorter than a tick from tipping a threshold.
 */
#define SIGNAL_TAU_DEFAULT 200000000ULL

/* The speed a port really has, where the device cannot know (a shaper). */
struct signal_speed {
	char dev[SNAP_DEVNAME];
	uint32_t port;
	uint64_t speed;		/* bit/s */
};

/* What a job was promised. */
struct signal_slo {
	char job[SNAP_NAME];
	uint64_t p99;		/* ns; 0: nothing was said */
	double byte_rate;	/* bit/s; likewise */
};

struct signal_opts {
	const struct signal_speed *speeds;
	size_t n_speeds;
	const struct signal_slo *slos;
	size_t n_slos;
	uint64_t tau;		/* ns; 0: %SIGNAL_TAU_DEFAULT */
};

/* Which object a row is of. */
struct signal_key {
	uint32_t dev, index;	/* of a QP: its number; of a job: its id */
	uint64_t since;		/* of a QP: its serial */
};

/* Rows of one kind of object: row i is object i of the snapshot. */
struct signal_table {
	uint32_t *has;		/* bit n: signal n of this kind is known */
	double *v;
	size_t n, cap;
	unsigned int width;
	struct signal_key *key;
	uint32_t *fresh;	/* as .has, of what this reading said so far */
	/* Rows whose signals are others than at the reading before. */
	uint8_t *moved;
	uint32_t *list;
	size_t n_moved;
};

/* What a smoothed ratio was, by the object's own name. */
struct signal_smooth {
	uint32_t dev, index;
	bool has;
	double v;
};

/* Rows of other tables that a QP belongs to; -1: none known. */
struct signal_qp_ref {
	int32_t dev, port, uar, job;
	int32_t place;		/* of its job; -1: it has no job */
};

/* Where a job has QPs: on this port, or, of which port is not known, device. */
struct signal_place {
	int32_t dev, port;	/* rows; -1: not known */
	uint32_t qps;
};

struct signals {
	const struct snapshot *snap;	/* the newer one */
	uint64_t readings;		/* how often these were computed */
	uint64_t topology;		/* how often rows became other objects */
	struct signal_table table[OBJ_KINDS];

	struct signal_qp_ref *qps;	/* per QP */
	size_t cap_qps;
	/* Rows of the QPs of job j: job_qps[job_first[j] .. job_first[j+1]). */
	uint32_t *job_first, *job_qps;
	/* The same for UARs, and for the ports and places a job's QPs use. */
	uint32_t *uar_first, *uar_qps;
	uint32_t *port_first, *job_ports;
	uint32_t *place_first;
	struct signal_place *places;
	size_t cap_jobs, cap_uars, cap_places;
	uint32_t *mark;			/* scratch: who saw this row last */
	size_t cap_mark;
	uint8_t *advanced;		/* per QP: 0 no, 1 yes, 2 cannot tell */

	/* Smoothed state: [0] of this reading, [1] of the one before. */
	struct signal_smooth *smooth[2][2];	/* ports, UARs */
	size_t n_smooth[2][2], cap_smooth[2][2];
};

void signals_init(struct signals *s);
void signals_free(struct signals *s);

/* Room for a snapshot of @snap's size. 0 or -ENOMEM. Allocates only to grow. */
int signals_reserve(struct signals *s, const struct snapshot *snap);

/**
 * signals_update - compute the signals of @newer
 * @s: the signals
 * @older: the reading before; NULL: rates are absent
 * @newer: the reading
 * @opts: how
 *
 * signals_reserve() for @newer comes first; nothing is allocated here. @newer
 * must stay as it is while @s is read.
 */
void signals_update(struct signals *s, const struct snapshot *older,
		    const struct snapshot *newer,
		    const struct signal_opts *opts);

/* False: absent. @row is the object's place in the snapshot. */
static inline bool signal_get(const struct signals *s, enum signal_id id,
			      size_t row, double *v)
{
	const struct signal_table *t = &s->table[vocab_signals[id].obj];
	unsigned int n = id - vocab_first(vocab_signals[id].obj);

	if (row >= t->n || !(t->has[row] & (1u << n)))
		return false;
	*v = t->v[row * t->width + n];
	return true;
}

static inline void signal_moved(struct signal_table *t, size_t row)
{
	if (t->moved[row])
		return;
	t->moved[row] = 1;
	t->list[t->n_moved++] = (uint32_t)row;
}

static inline void signal_set(struct signals *s, enum signal_id id,
			      size_t row, double v)
{
	struct signal_table *t = &s->table[vocab_signals[id].obj];
	unsigned int n = id - vocab_first(vocab_signals[id].obj);
	double *p = &t->v[row * t->width + n];

	t->fresh[row] |= 1u << n;
	if ((t->has[row] & 1u << n) && *p == v)
		return;
	t->has[row] |= 1u << n;
	*p = v;
	signal_moved(t, row);
}

static inline void signal_forget(struct signals *s, enum signal_id id,
				 size_t row)
{
	struct signal_table *t = &s->table[vocab_signals[id].obj];
	uint32_t bit = 1u << (id - vocab_first(vocab_signals[id].obj));

	if (t->has[row] & bit)
		signal_moved(t, row);
	t->has[row] &= ~bit;
	t->fresh[row] &= ~bit;
}

/* Of a port of @dev: what @opts says, or else the device. False: neither. */
bool signals_port_speed(const struct snap_port *port, const char *dev,
			const struct signal_opts *opts, double *speed);

/* index.c: who belongs to whom in s->snap. */
void signals_index(struct signals *s);
/* Row of a device, by its index; -1: none. */
int32_t signals_dev_row(const struct snapshot *snap, uint32_t dev);

/*
 * The objects of one kind that belong to one object: the QPs of a UAR, the
 * ports of a job, the jobs on a port.
 */
struct members {
	const struct signals *s;
	const uint32_t *list;	/* NULL: rows themselves */
	uint32_t pos, end;
	enum obj_kind on, of;
	uint32_t row;
};

void members_init(struct members *m, const struct signals *s, enum obj_kind on,
		  uint32_t row, enum obj_kind of);
bool members_next(struct members *m, uint32_t *row);

#endif /* SRDMA_CORE_SIGNAL_H */
