// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>

#include "cli/monitor_qps.h"

#define CAP_MIN 256

/* The end of a QP after its beginning. */
static int by_qp(const void *x, const void *y)
{
	const struct qp_key *a = x, *b = y;
	int c = SNAP_CMP_QP(a, b);

	return c ? c : a->gone - b->gone;
}

static struct qp_key key_of(const struct snap_qp *qp, bool gone)
{
	return (struct qp_key){ qp->dev, qp->qpn, qp->serial, gone, qp };
}

void qp_keys_free(struct qp_keys *k)
{
	free(k->v);
	*k = (struct qp_keys){ 0 };
}

/* A serial is never used again: a QP that went is done with. */
static void fold(struct qp_keys *k)
{
	size_t i, n = 0;

	if (k->n)
		qsort(k->v, k->n, sizeof(*k->v), by_qp);
	for (i = 0; i < k->n; i++)
		if ((i + 1 == k->n || SNAP_CMP_QP(&k->v[i], &k->v[i + 1])) &&
		    !k->v[i].gone)
			k->v[n++] = k->v[i];
	k->n = n;
}

static bool reserve(struct qp_keys *k, size_t n)
{
	size_t cap = k->cap ? k->cap : CAP_MIN;
	struct qp_key *v;

	while (cap < n)
		cap *= 2;
	if (cap == k->cap)
		return true;
	v = realloc(k->v, cap * sizeof(*v));
	if (!v)
		return false;
	k->v = v;
	k->cap = cap;
	return true;
}

bool qp_keys_add(struct qp_keys *k, const struct snap_qp *qp, bool gone)
{
	if (k->n == k->cap) {
		fold(k);
		/* Half of it free, or it would soon be sorted again. */
		if (!reserve(k, 2 * k->n + 1))
			return false;
	}
	k->v[k->n++] = key_of(qp, gone);
	return true;
}

bool qp_keys_take(struct qp_keys *k, const struct snapshot *snap)
{
	size_t i;

	if (!reserve(k, snap->n_qps))
		return false;
	for (i = 0; i < snap->n_qps; i++)
		k->v[i] = key_of(&snap->qps[i], false);
	k->n = i;
	return true;
}

bool qp_keys_compare(struct qp_keys *found, struct qp_keys *known,
		     const struct snapshot *snap)
{
	size_t i = 0, k = 0;

	fold(known);
	found->n = 0;
	if (!reserve(found, snap->n_qps + known->n))
		return false;
	while (i < snap->n_qps || k < known->n) {
		struct qp_key is = { 0 };
		int c = -1;

		if (i < snap->n_qps)
			is = key_of(&snap->qps[i], false);
		if (i == snap->n_qps)
			c = 1;
		else if (k < known->n)
			c = SNAP_CMP_QP(&is, &known->v[k]);
		if (c < 0) {
			found->v[found->n++] = is;
		} else if (c > 0) {
			found->v[found->n] = known->v[k];
			found->v[found->n].qp = NULL;
			found->v[found->n++].gone = true;
		}
		i += c <= 0;
		k += c >= 0;
	}
	return true;
}

bool qp_keys_has(const struct qp_keys *k, const struct snap_qp *qp, bool gone)
{
	struct qp_key key = key_of(qp, gone);

	return k->n && bsearch(&key, k->v, k->n, sizeof(key), by_qp);
}
