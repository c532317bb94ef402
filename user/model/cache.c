// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cache of contexts, which evicts the least recently used context.
 *
 * A ring has the uses in their order, and each context stores the place of its last use. A use
 * therefore writes to its own context and to the end of the ring, and to no other context. An
 * entry that is not the last use of its context is stale; the first entry that is not stale
 * has the least recently used context.
 *
 * An evicted context keeps its slot, because it is likely to be used again. Its last use lies
 * before the ring's first entry; that of a context in the cache does not. There are twice as many
 * slots as contexts that the cache can hold. When all slots are taken, the contexts of at least
 * half of them are not in the cache, and all of these slots are freed.
 */
#include "model/internal.h"

/* How many entries ahead of the oldest one evict_entry() prefetches a context. */
#define AHEAD	8

/* What identifies a context; 0: none. */
static uint64_t name_of(enum model_kind kind, uint64_t key)
{
	return key << 2 | (kind + 1);
}

static enum model_kind kind_of(uint64_t name)
{
	return (name & 3) - 1;
}

static uint32_t *bucket_of(const struct model_cache *c, uint64_t name)
{
	/*
	 * Keys are small numbers, or small numbers within an object whose number is in the
	 * upper half. So neighbours get neighbouring buckets, one each, and objects are
	 * scattered by Knuth's multiplicative hash, 2^32 / golden ratio.
	 */
	uint32_t object = (uint32_t)(name >> 32);

	return &c->bucket[((uint32_t)name + object * 0x9e3779b1U) & c->mask];
}

static bool is_cached(const struct model_cache *c, uint32_t i)
{
	return c->ctx[i].last_use >= c->oldest;
}

static void chain_entry(struct model_cache *c, uint32_t i)
{
	uint32_t *bucket = bucket_of(c, c->ctx[i].name);

	c->next[i] = *bucket;
	*bucket = i;
}

/* Forgets contexts that are not in the cache. */
static MODEL_APART void forget_evicted(struct model_cache *c)
{
	uint32_t i;

	for (i = 0; i <= c->mask; i++)
		c->bucket[i] = MODEL_NONE;
	for (i = c->slots; i-- > 0;) {
		if (is_cached(c, i)) {
			chain_entry(c, i);
			continue;
		}
		c->ctx[i].name = 0;
		c->next[i] = c->free;
		c->free = i;
	}
}

static uint32_t find_entry(const struct model_cache *c, uint64_t name)
{
	uint32_t i = *bucket_of(c, name);

	while (i != MODEL_NONE && c->ctx[i].name != name)
		i = c->next[i];
	return i;
}

static uint32_t find_or_add(struct model_cache *c, uint64_t name)
{
	uint32_t i = find_entry(c, name);

	if (i != MODEL_NONE)
		return i;
	if (c->free == MODEL_NONE)
		forget_evicted(c);
	i = c->free;
	c->free = c->next[i];
	c->ctx[i] = (struct model_context){ .name = name };
	chain_entry(c, i);
	return i;
}

static struct model_context *used_at(const struct model_cache *c, uint64_t place)
{
	return &c->ctx[c->use[place & c->use_mask]];
}

/* Removes stale entries, which are at least three quarters of a full ring. */
static MODEL_APART void compact_uses(struct model_cache *c)
{
	uint64_t from, to = c->oldest;

	for (from = c->oldest; from != c->newest; from++) {
		uint32_t i = c->use[from & c->use_mask];
		bool stale = c->ctx[i].last_use != from;

		/* Without a branch: which entries are stale cannot be predicted. */
		c->use[to & c->use_mask] = i;
		c->ctx[i].last_use = stale ? c->ctx[i].last_use : to;
		to += !stale;
	}
	c->newest = to;
}

static inline void append_use(struct model_cache *c, uint32_t i)
{
	if (c->newest - c->oldest > c->use_mask)
		compact_uses(c);
	c->ctx[i].last_use = c->newest;
	c->use[c->newest++ & c->use_mask] = i;
}

static void count_out(struct model *m, const struct model_context *x)
{
	m->cache.bytes -= m->p.entry_bytes[kind_of(x->name)];
	m->cache.n--;
}

static void evict_entry(struct model *m)
{
	struct model_cache *c = &m->cache;
	struct model_context *x;

	do {
		model_prefetch(used_at(c, c->oldest + AHEAD));
		x = used_at(c, c->oldest);
	} while (x->last_use != c->oldest++);
	count_out(m, x);
	m->stats.evictions++;
}

/* Puts a context into the cache. False: it never fits, so each use is a fetch. */
static bool fetch_entry(struct model *m, enum model_kind kind)
{
	struct model_cache *c = &m->cache;
	uint32_t need = m->p.entry_bytes[kind];

	if (need > m->p.cache_bytes)
		return false;
	while (c->n == m->n.contexts || c->bytes + need > m->p.cache_bytes)
		evict_entry(m);
	c->bytes += need;
	c->n++;
	return true;
}

/* A use of the context in slot @i. False: a miss, now fetched. */
static inline bool use_entry(struct model *m, enum model_kind kind, uint32_t i)
{
	bool hit = is_cached(&m->cache, i);

	if (hit)
		m->stats.hits[kind]++;
	else
		m->stats.misses[kind]++;
	if (hit || fetch_entry(m, kind))
		append_use(&m->cache, i);
	return hit;
}

bool model_cache_use(struct model *m, enum model_kind kind, uint64_t key)
{
	return use_entry(m, kind, find_or_add(&m->cache, name_of(kind, key)));
}

/* The same, of a QP's own context. @at: the slot where it was last. */
static inline bool use_at(struct model *m, enum model_kind kind, uint64_t key, uint32_t *at)
{
	uint64_t name = name_of(kind, key);

	if (*at >= m->cache.slots || m->cache.ctx[*at].name != name)
		*at = find_or_add(&m->cache, name);
	return use_entry(m, kind, *at);
}

unsigned int model_cache_misses(struct model *m, struct model_qp *qp, uint64_t mtt)
{
	unsigned int misses = !use_at(m, MODEL_QPC, qp->qpn, &qp->at_qpc);

	if (mtt)
		misses += !model_cache_use(m, MODEL_MTT, mtt);
	return misses + !use_at(m, MODEL_CQC, qp->cq, &qp->at_cqc);
}

void model_cache_expect(const struct model *m, const struct model_qp *qp, uint64_t mtt)
{
	const struct model_cache *c = &m->cache;
	uint32_t i = mtt ? *bucket_of(c, name_of(MODEL_MTT, mtt)) : MODEL_NONE;

	if (qp->at_qpc < c->slots)
		model_prefetch(&c->ctx[qp->at_qpc]);
	if (qp->at_cqc < c->slots)
		model_prefetch(&c->ctx[qp->at_cqc]);
	if (i < c->slots)
		model_prefetch(&c->ctx[i]);
}

void model_cache_expect_mtt(const struct model *m, uint64_t mtt)
{
	if (mtt)
		model_prefetch(bucket_of(&m->cache, name_of(MODEL_MTT, mtt)));
}

void model_forget(struct model *m, enum model_kind kind, uint64_t key)
{
	struct model_cache *c = &m->cache;
	uint32_t i = find_entry(c, name_of(kind, key));

	if (i == MODEL_NONE || !is_cached(c, i))
		return;
	count_out(m, &c->ctx[i]);
	c->ctx[i].last_use = 0;
}

void model_cache_fit(struct model *m)
{
	while (m->cache.bytes > m->p.cache_bytes)
		evict_entry(m);
}

void model_cache_empty(struct model *m)
{
	struct model_cache *c = &m->cache;

	c->oldest = c->newest;
	c->n = 0;
	c->bytes = 0;
}

void model_cache_init(struct model *m)
{
	struct model_cache *c = &m->cache;

	/* Place 0 is that of contexts without a use. */
	c->oldest = 1;
	c->newest = 1;
	c->free = MODEL_NONE;
	forget_evicted(c);
}
