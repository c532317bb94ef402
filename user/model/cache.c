// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The cache of contexts, which evicts the least recently used context. */
#include "model/internal.h"

static uint32_t cache_bucket(const struct model_cache *c, enum model_kind kind, uint64_t key)
{
	/* Knuth's multiplicative hash, 2^64 / golden ratio */
	return ((key * MODEL_KINDS + kind) * 0x9e3779b97f4a7c15ULL >> 32) & c->mask;
}

static uint32_t *cache_slot(struct model_cache *c, enum model_kind kind, uint64_t key)
{
	uint32_t *slot = &c->bucket[cache_bucket(c, kind, key)];

	while (*slot != MODEL_NONE && (c->ctx[*slot].key != key || c->ctx[*slot].kind != kind))
		slot = &c->ctx[*slot].hash_next;
	return slot;
}

static void age_unlink(struct model_cache *c, uint32_t i)
{
	struct model_context *x = &c->ctx[i];

	*(x->prev == MODEL_NONE ? &c->age.head : &c->ctx[x->prev].next) = x->next;
	*(x->next == MODEL_NONE ? &c->age.tail : &c->ctx[x->next].prev) = x->prev;
}

static void age_append(struct model_cache *c, uint32_t i)
{
	struct model_context *x = &c->ctx[i];

	x->next = MODEL_NONE;
	x->prev = c->age.tail;
	*(x->prev == MODEL_NONE ? &c->age.head : &c->ctx[x->prev].next) = i;
	c->age.tail = i;
}

static void cache_drop(struct model *m, uint32_t *slot)
{
	struct model_cache *c = &m->cache;
	uint32_t i = *slot;

	*slot = c->ctx[i].hash_next;
	age_unlink(c, i);
	c->bytes -= m->p.entry_bytes[c->ctx[i].kind];
	c->ctx[i].kind = MODEL_KINDS;
	c->n--;
	c->ctx[i].next = c->free;
	c->free = i;
}

static void cache_evict(struct model *m)
{
	struct model_context *x = &m->cache.ctx[m->cache.age.head];

	cache_drop(m, cache_slot(&m->cache, x->kind, x->key));
	m->stats.evictions++;
}

/* False: a miss, now fetched. */
bool model_cache_use(struct model *m, enum model_kind kind, uint64_t key, uint32_t *at)
{
	struct model_cache *c = &m->cache;
	uint32_t need = m->p.entry_bytes[kind];
	uint32_t *slot, i = *at;

	if (i >= m->n.contexts || c->ctx[i].key != key || c->ctx[i].kind != kind)
		i = *cache_slot(c, kind, key);
	*at = i;
	if (i != MODEL_NONE) {
		m->stats.hits[kind]++;
		if (i != c->age.tail) {
			age_unlink(c, i);
			age_append(c, i);
		}
		return true;
	}
	m->stats.misses[kind]++;
	if (need > m->p.cache_bytes)
		return false;	/* never fits: each use is a fetch */
	while (c->free == MODEL_NONE || c->bytes + need > m->p.cache_bytes)
		cache_evict(m);
	i = c->free;
	*at = i;
	c->free = c->ctx[i].next;
	c->ctx[i].key = key;
	c->ctx[i].kind = kind;
	slot = &c->bucket[cache_bucket(c, kind, key)];
	c->ctx[i].hash_next = *slot;
	*slot = i;
	age_append(c, i);
	c->bytes += need;
	c->n++;
	return false;
}

/* Prefetches the contexts that @qp used last: its next WR is likely to need them. */
void model_cache_expect(const struct model *m, const struct model_qp *qp)
{
	int kind;

	for (kind = 0; kind < MODEL_KINDS; kind++)
		if (qp->at[kind] < m->n.contexts)
			__builtin_prefetch(&m->cache.ctx[qp->at[kind]], 1);
}

void model_forget(struct model *m, enum model_kind kind, uint64_t key)
{
	uint32_t *slot = cache_slot(&m->cache, kind, key);

	if (*slot != MODEL_NONE)
		cache_drop(m, slot);
}

void model_cache_fit(struct model *m)
{
	while (m->cache.bytes > m->p.cache_bytes)
		cache_evict(m);
}

void model_cache_init(struct model *m)
{
	struct model_cache *c = &m->cache;
	uint32_t i;

	for (i = 0; i <= c->mask; i++)
		c->bucket[i] = MODEL_NONE;
	for (i = 0; i < m->n.contexts; i++) {
		c->ctx[i].kind = MODEL_KINDS;
		c->ctx[i].next = i + 1 < m->n.contexts ? i + 1 : MODEL_NONE;
	}
	c->free = 0;
	c->age.head = MODEL_NONE;
	c->age.tail = MODEL_NONE;
	c->n = 0;
	c->bytes = 0;
}
