// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SWIFTRDMA_SHARE_KNOB_UAR: moves that the kernel asks for. The value is the number of the QP whose
 * register is to be left. A QP that has moved has another number, so each value moves it once.
 *
 * The thread of move_thread.c does all of it. A post that finds control changed only wakes the thread.
 */
#include "lib/lib.h"

#define TRIES 64
/*
 * A move is tried again, each time after a longer pause, if it failed because the peer moved, because too
 * many QPs moved or too many messages were sent, or because it took too long on a busy host.
 */
#define MOVE_TRIES 4
#define AGAIN_NS 250000000ull
/* All registers of such a page belong to one UAR of the kernel. */
#define UAR_BYTES 4096

uint32_t move_knob_state(const struct device *dev)
{
	if (!settings.move || !settings.control || settings.mode != MODE_LATENCY)
		return SWIFTRDMA_KNOB_STATE_NONE;
	return dev->knobs.place_able ? SWIFTRDMA_KNOB_STATE_IDLE : SWIFTRDMA_KNOB_STATE_UNABLE;
}

/* --- control --------------------------------------------------------------------------- */

static uint64_t qp_changes(const struct device *dev)
{
	return __atomic_load_n(&dev->control->qp_changes, __ATOMIC_ACQUIRE);
}

void move_control_changed(const struct device *dev)
{
	if (settings.move && dev->control && qp_changes(dev) != dev->knobs.qp_changes)
		move_kick();
}

/* The knob of the QP of a slot; false: there is no block of this QP, or the kernel writes too fast. */
static bool read_block(const struct device *dev, uint32_t i, struct swiftrdma_knob_value *v)
{
	const struct swiftrdma_control *c = dev->control;
	const struct swiftrdma_block *b = (const void *)((const char *)c + c->blocks_off +
							 (uint64_t)i * c->block_size);
	uint64_t generation = __atomic_load_n(&dev->slot[i].id.generation, __ATOMIC_RELAXED);

	if (!generation || __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) != generation ||
	    __atomic_load_n(&b->qpn, __ATOMIC_RELAXED) != dev->slot[i].id.qpn)
		return false;
	for (int t = 0; t < TRIES; t++) {
		uint64_t changes = __atomic_load_n(&b->changes, __ATOMIC_ACQUIRE);
		const struct swiftrdma_knob_value *k = &b->knob[changes & 1][SWIFTRDMA_SHARE_KNOB_UAR];

		v->value = __atomic_load_n(&k->value, __ATOMIC_RELAXED);
		v->until_ns = __atomic_load_n(&k->until_ns, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&b->changes, __ATOMIC_RELAXED) == changes)
			return true;
	}
	return false;
}

static void take_knob(struct move *m, const struct swiftrdma_knob_value *v)
{
	uint32_t from = v->until_ns ? (uint32_t)v->value : 0;

	pthread_mutex_lock(&m->life);
	if (!m->dead && m->knob_from != from) {
		m->knob_from = from;
		m->knob_tries = 0;
		m->knob_again_ns = 0;
		/* A knob that ended and is set again is a new wish. */
		if (!from)
			m->knob_answered = 0;
	}
	m->knob_until = v->until_ns;
	pthread_mutex_unlock(&m->life);
}

void move_read_control(struct device *dev)
{
	uint64_t changes;
	uint32_t used;

	if (!dev->control || !dev->knobs.job)
		return;
	changes = qp_changes(dev);
	if (changes == dev->knobs.qp_changes)
		return;
	used = __atomic_load_n(&dev->control->blocks_used, __ATOMIC_RELAXED);
	if (used > dev->slots)
		used = dev->slots;
	for (const struct qp *q = qp_all(); q; q = q->next_all) {
		struct swiftrdma_knob_value v;
		struct move *m;

		if (!__atomic_load_n(&q->key, __ATOMIC_ACQUIRE) || q->ctx->dev != dev || q->own_slot ||
		    q->slot - dev->slot >= (ptrdiff_t)used)
			continue;
		m = atomic_load_explicit(&q->move, memory_order_acquire);
		if (m && read_block(dev, (uint32_t)(q->slot - dev->slot), &v))
			take_knob(m, &v);
	}
	dev->knobs.qp_changes = changes;
}

/* --- answers --------------------------------------------------------------------------- */

void move_knob_unable(const struct qp *q)
{
	if (q->own_slot)
		return;
	q->slot->id.uar_state = SWIFTRDMA_KNOB_STATE_UNABLE;
	__atomic_fetch_or(&q->slot->id.flags, SWIFTRDMA_SLOT_FIXED, __ATOMIC_RELAXED);
}

static void answer_knob(struct move *m, uint32_t from, enum swiftrdma_knob_state state)
{
	struct swiftrdma_slot_id *id = &m->q->slot->id;

	m->knob_answered = from;
	__atomic_store_n(&id->uar_state, state, __ATOMIC_RELAXED);
	/* Pairs with the reader's load-acquire: the state answers this value. */
	__atomic_store_n(&id->uar_qpn, from, __ATOMIC_RELEASE);
}

void move_report(const struct move *m)
{
	struct swiftrdma_slot_id *id = &m->q->slot->id;
	uint32_t now = m->now == m->first ? 0 : m->now->qp_num;

	if (m->q->ctx->place.able)
		m->q->reg = move_register_of(m->now);
	if (now)
		__atomic_fetch_add(&id->moves, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&id->now_qpn, now, __ATOMIC_RELAXED);
}

/* --- moves ----------------------------------------------------------------------------- */

uint32_t move_sharing(const struct qp *q)
{
	uintptr_t page = q->reg / UAR_BYTES;
	uint32_t n = 0;

	if (!page)
		return 0;
	for (const struct qp *o = qp_all(); o; o = o->next_all)
		n += __atomic_load_n(&o->key, __ATOMIC_ACQUIRE) && o->ctx == q->ctx &&
		     o->reg / UAR_BYTES == page;
	return n;
}

static bool is_open(const struct move *m)
{
	return m->knob_from && m->knob_from != m->knob_answered && lib_clock() < m->knob_until;
}

bool move_knob_waits(const struct move *m)
{
	return is_open(m);
}

bool move_knob_wants(struct move *m)
{
	uint32_t from = m->knob_from;

	m->by_knob = 0;
	if (!is_open(m) || lib_clock() < m->knob_again_ns)
		return false;
	if (m->now->qp_num != from) {
		answer_knob(m, from, SWIFTRDMA_KNOB_STATE_IN_FORCE);
		return false;
	}
	if (!place_has_registers(m->q->ctx, m->first->pd)) {
		m->why = "the library has no registers on this device, or in this protection domain";
		answer_knob(m, from, SWIFTRDMA_KNOB_STATE_UNABLE);
		return false;
	}
	if (move_sharing(m->q) == 1) {
		m->why = "it has its register for itself";
		answer_knob(m, from, SWIFTRDMA_KNOB_STATE_IN_FORCE);
		return false;
	}
	m->by_knob = from;
	return true;
}

static bool may_pass(int result)
{
	return result == -EBUSY || result == -EAGAIN || result == -ETIMEDOUT;
}

void move_knob_end(struct move *m)
{
	uint32_t from = m->by_knob;

	m->by_knob = 0;
	if (m->now->qp_num != from) {
		answer_knob(m, from, SWIFTRDMA_KNOB_STATE_IN_FORCE);
	} else if (may_pass(m->result) && ++m->knob_tries < MOVE_TRIES) {
		m->knob_again_ns = lib_clock() + (AGAIN_NS << m->knob_tries);
	} else {
		answer_knob(m, from, SWIFTRDMA_KNOB_STATE_UNABLE);
	}
}
