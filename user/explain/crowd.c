// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "explain/crowd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"

void crowd_init(struct crowd *c)
{
	memset(c, 0, sizeof(*c));
}

void crowd_free(struct crowd *c)
{
	free(c->uars);
	free(c->procs);
	free(c->found);
	free(c->uses);
	free(c->keys);
	crowd_init(c);
}

int crowd_reserve(struct crowd *c, const struct snapshot *snap)
{
	size_t procs = snap->n_owners * (snap->n_devs ? snap->n_devs : 1);

	/* Every ranked process has a QP. */
	if (procs > snap->n_qps)
		procs = snap->n_qps;
	return array_grow_columns(&c->cap_uars, snap->n_uars, ARRAY_COLUMN(c->uars)) &&
	       array_grow_columns(&c->cap_procs, procs, ARRAY_COLUMN(c->procs),
				  ARRAY_COLUMN(c->found)) &&
	       array_grow_columns(&c->cap_keys, snap->n_qps, ARRAY_COLUMN(c->keys),
				  ARRAY_COLUMN(c->uses)) ? 0 : -ENOMEM;
}

/* --- keys ------------------------------------------------------------------------ */

/* Restores the heap @v of @n elements after its element @at became smaller. */
static void sift_down(uint64_t *v, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && v[child + 1] > v[child])
			child++;
		if (v[at] >= v[child])
			return;
		array_swap(v[at], v[child]);
	}
}

/* Heapsort, because qsort() may allocate memory. */
static void sort_keys(uint64_t *v, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift_down(v, i, n);
	for (size_t i = n; i-- > 1;) {
		array_swap(v[0], v[i]);
		sift_down(v, 0, i);
	}
}

/* True: QP @i is on a UAR and belongs to a process, not to the kernel. */
static bool is_user_qp(const struct signals *s, size_t i)
{
	const struct snap_qp *qp = &s->snap->qps[i];

	return s->qps[i].uar >= 0 && s->qps[i].dev >= 0 &&
	       snap_has(qp, SNAP_OWNER) && qp->owner < s->snap->n_owners &&
	       !s->snap->owners[qp->owner].kernel[0];
}

/* A number for the process that owns QP @i on its device: the device's row, 24 bits of owner. */
static uint64_t proc_key(const struct signals *s, size_t i)
{
	return (uint64_t)s->qps[i].dev << 24 | (s->snap->qps[i].owner & 0xffffff);
}

/* Counts the distinct threads that created the QPs of each UAR, if the module has no count. */
static void count_uar_threads(struct crowd *c)
{
	const struct signals *s = c->sig;
	size_t n = 0;

	for (size_t i = 0; i < s->snap->n_uars; i++)
		c->uars[i].threads = 0;
	for (size_t i = 0; i < s->snap->n_qps; i++)
		if (is_user_qp(s, i) && snap_has(&s->snap->qps[i], SNAP_TID) &&
		    !snap_has(&s->snap->uars[s->qps[i].uar], SNAP_OWNERS))
			c->keys[n++] = (uint64_t)s->qps[i].uar << 32 | s->snap->qps[i].tid;
	sort_keys(c->keys, n);
	for (size_t i = 0; i < n; i++)
		if (!i || c->keys[i] != c->keys[i - 1])
			c->uars[c->keys[i] >> 32].threads++;
}

/* --- processes ------------------------------------------------------------------- */

/* Adds each process that has a QP on a UAR, with the numbers of its QPs and UARs. */
static void find_procs(struct crowd *c)
{
	const struct signals *s = c->sig;
	struct crowd_proc *p = NULL;
	uint64_t last = UINT64_MAX;
	size_t n = 0;

	c->n_procs = c->n_uses = 0;
	/* A key has 16 bits of the device, 24 of the owner and 24 of the UAR. */
	for (size_t i = 0; i < s->snap->n_qps; i++)
		if (is_user_qp(s, i))
			c->keys[n++] = proc_key(s, i) << 24 |
				       (uint32_t)(s->qps[i].uar & 0xffffff);
	sort_keys(c->keys, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = c->keys[i];

		if (!p || key >> 24 != last >> 24) {
			p = &c->found[c->n_procs++];
			memset(p, 0, sizeof(*p));
			p->dev = (uint32_t)(key >> 48);
			p->owner = key >> 24 & 0xffffff;
			p->worst = UINT32_MAX;
		}
		p->qps++;
		if (key == last)
			continue;
		p->uars++;
		c->uses[c->n_uses++] = (struct crowd_use){ (uint32_t)c->n_procs - 1,
							   (uint32_t)(key & 0xffffff) };
		last = key;
	}
}

static struct crowd_proc *find_proc(const struct crowd *c, uint32_t dev, uint32_t owner)
{
	const struct crowd_proc key = { .dev = dev, .owner = owner };

	return &c->found[array_find(c->n_procs, i,
				    ARRAY_CMP_2(&c->found[i], &key, dev, owner) < 0)];
}

static void count_proc_threads(struct crowd *c)
{
	const struct signals *s = c->sig;
	size_t n = 0;

	for (size_t i = 0; i < s->snap->n_qps; i++) {
		const struct snap_qp *qp = &s->snap->qps[i];
		struct crowd_proc *p;

		if (!is_user_qp(s, i) || !snap_has(qp, SNAP_TID))
			continue;
		p = find_proc(c, (uint32_t)s->qps[i].dev, qp->owner);
		c->keys[n++] = (uint64_t)(p - c->found) << 32 | qp->tid;
	}
	sort_keys(c->keys, n);
	for (size_t i = 0; i < n; i++)
		if (!i || c->keys[i] != c->keys[i - 1])
			c->found[c->keys[i] >> 32].threads++;
}

/* Finds the processes and their UARs, if QPs, UARs or owners changed since the last update. */
static void update_uses(struct crowd *c, const struct signals *s)
{
	if (c->sig == s && c->topology == s->topology && c->ownership == s->ownership)
		return;
	c->sig = s;
	c->topology = s->topology;
	c->ownership = s->ownership;
	count_uar_threads(c);
	find_procs(c);
	count_proc_threads(c);
}

struct load {
	uint32_t qps, active;
	bool has_active, has_coactive;
	double coactive;
};

static struct load read_load(const struct signals *s, size_t uar)
{
	struct load l = { .qps = s->snap->uars[uar].qps };
	double v;

	l.has_active = signal_get(s, SIG_UAR_ACTIVE_QPS, uar, &v);
	l.active = l.has_active ? (uint32_t)v : 0;
	l.has_coactive = signal_get(s, SIG_UAR_COACTIVE, uar, &l.coactive);
	return l;
}

/* Orders UARs by the mean number of contending QPs, and equal ones by their QPs. */
static double rate_contention(const struct load *l)
{
	double together = l->has_coactive ? l->coactive * l->active : 0;

	return together * 1e6 + l->qps;
}

/* Sets the most contended UAR of each process. */
static void find_worst(struct crowd *c)
{
	const struct signals *s = c->sig;
	double worst = 0, rate;
	size_t i;

	for (i = 0; i < c->n_uses; i++) {
		struct crowd_proc *p = &c->procs[c->uses[i].proc];
		struct load is = read_load(s, c->uses[i].uar);

		rate = rate_contention(&is);
		if (p->worst != UINT32_MAX && rate <= worst)
			continue;
		worst = rate;
		p->worst = c->uses[i].uar;
		p->worst_qps = is.qps;
		p->worst_active = is.active;
		p->has_active = is.has_active;
		p->has_coactive = is.has_coactive;
		p->worst_coactive = is.has_coactive ? is.coactive : 0;
	}
}

bool crowd_is_page(uint32_t kind)
{
	return kind != SWIFTRDMA_UAR_KIND_CONTEXT &&
	       kind != SWIFTRDMA_UAR_KIND_KERNEL;
}

/* Sets the state of a process by its most contended UAR, and the advice. */
static void classify_process(const struct crowd *c, struct crowd_proc *p)
{
	uint32_t kind = c->sig->snap->uars[p->worst].kind;

	/* QPs contend for the registers of a page. A user context has none. */
	if (p->worst_qps < 2 || !crowd_is_page(kind))
		p->state = CROWD_CALM;
	else if (!p->has_coactive)
		p->state = CROWD_UNTOLD;
	else if (p->worst_coactive <= c->calm)
		p->state = CROWD_CALM;
	else
		p->state = p->worst_qps > CROWD_PAGE_QPS ? CROWD_HARD
							 : CROWD_TWO;
	if (p->state == CROWD_CALM || p->state == CROWD_TWO ||
	    (p->state == CROWD_UNTOLD && p->worst_qps <= CROWD_PAGE_QPS))
		p->advice = CROWD_NOTHING;
	else if (p->qps <= CROWD_UUARS_MAX - CROWD_UUARS_SHARED)
		p->advice = CROWD_UUARS;
	else
		p->advice = CROWD_DOMAINS;
}

static bool is_worse_process(const struct crowd_proc *a, const struct crowd_proc *b)
{
	struct load la = { a->worst_qps, a->worst_active, a->has_active,
			   a->has_coactive, a->worst_coactive };
	struct load lb = { b->worst_qps, b->worst_active, b->has_active,
			   b->has_coactive, b->worst_coactive };

	if (a->state != b->state)
		return a->state > b->state;
	return rate_contention(&la) > rate_contention(&lb);
}

/* Insertion sort: processes are few, and equal ones keep the order of the snapshot. */
static void rank_processes(struct crowd *c)
{
	for (size_t i = 1; i < c->n_procs; i++) {
		struct crowd_proc p = c->procs[i];
		size_t k = i;

		for (; k && is_worse_process(&p, &c->procs[k - 1]); k--)
			c->procs[k] = c->procs[k - 1];
		c->procs[k] = p;
	}
}

/* --- shares of UARs -------------------------------------------------------------- */

/* The UAR's rate of WRs, or their total. False: unknown. */
static bool read_wrs(const struct signals *s, size_t uar, bool rates, double *v)
{
	const struct snap_uar *u = &s->snap->uars[uar];

	if (rates)
		return signal_get(s, SIG_UAR_WR_RATE, uar, v);
	*v = (double)u->wrs;
	return snap_has(u, SNAP_WRS);
}

/*
 * Sets the shares of the UARs in rows @from to @to - 1, which are all UARs of one device: shares
 * of the rates, or of the totals if no rate is known.
 */
static void share_device(struct crowd *c, size_t from, size_t to)
{
	bool rates = false;
	double sum = 0, v;

	for (size_t i = from; i < to; i++)
		rates |= read_wrs(c->sig, i, true, &v);
	for (size_t i = from; i < to; i++)
		if (read_wrs(c->sig, i, rates, &v))
			sum += v;
	for (size_t i = from; i < to; i++) {
		c->uars[i].has_share = sum > 0 && read_wrs(c->sig, i, rates, &v);
		if (c->uars[i].has_share)
			c->uars[i].share = v / sum;
	}
}

static void compute_shares(struct crowd *c)
{
	const struct snapshot *snap = c->sig->snap;
	size_t from = 0;

	for (size_t i = 1; i <= snap->n_uars; i++) {
		if (i < snap->n_uars && snap->uars[i].dev == snap->uars[from].dev)
			continue;
		share_device(c, from, i);
		from = i;
	}
}

void crowd_update(struct crowd *c, const struct signals *sig, double calm)
{
	c->calm = calm;
	update_uses(c, sig);
	for (size_t i = 0; i < sig->snap->n_uars; i++)
		if (snap_has(&sig->snap->uars[i], SNAP_OWNERS))
			c->uars[i].threads = sig->snap->uars[i].threads;
	compute_shares(c);
	if (c->n_procs)
		memcpy(c->procs, c->found, c->n_procs * sizeof(*c->procs));
	find_worst(c);
	for (size_t i = 0; i < c->n_procs; i++)
		classify_process(c, &c->procs[i]);
	rank_processes(c);
}

const struct crowd_proc *crowd_proc_of(const struct crowd *c, size_t qp)
{
	const struct signals *s = c->sig;

	if (!is_user_qp(s, qp))
		return NULL;
	for (size_t i = 0; i < c->n_procs; i++)
		if (c->procs[i].dev == (uint32_t)s->qps[qp].dev &&
		    c->procs[i].owner == s->snap->qps[qp].owner)
			return &c->procs[i];
	return NULL;
}

const char *crowd_advise(enum crowd_advice advice)
{
	switch (advice) {
	case CROWD_NOTHING:
		break;
	case CROWD_UUARS:
		return "start it with MLX5_TOTAL_UUARS=512 in its environment (swiftrdma run --uuars 512), which gives each QP a doorbell register of its own";
	case CROWD_DOMAINS:
		return "it has more QPs than its library has registers: create the QPs of each thread in a thread domain of their own (ibv_alloc_td(3))";
	}
	return NULL;
}
