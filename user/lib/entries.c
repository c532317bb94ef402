// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Extended CQs on which QPs may move.
 *
 * The library must be able to poll such a CQ between the program's start_poll and end_poll, because the
 * program may post there, and a post waits while the QP moves. The provider's start_poll and next_poll
 * put an entry into struct ibv_cq_ex, and would overwrite the entry that the program reads. So the
 * library never calls these two functions. It polls by the provider's poll_cq, with .lock of the CQ held,
 * and gives the program copies of the completions in the order of the queue.
 *
 * .session takes the place of the lock that the provider holds from start_poll to end_poll: one thread of
 * the program reads entries at a time. .session is taken before .lock.
 */
#include <pthread.h>
#include <stdlib.h>

#include "lib/lib.h"

/* The functions by which the program reads an entry. Each has a field in struct ibv_wc. */
#define READERS(X) \
	X(enum ibv_wc_opcode, read_opcode, opcode) \
	X(uint32_t, read_vendor_err, vendor_err) \
	X(uint32_t, read_byte_len, byte_len) \
	X(__be32, read_imm_data, imm_data) \
	X(uint32_t, read_qp_num, qp_num) \
	X(uint32_t, read_src_qp, src_qp) \
	X(unsigned int, read_wc_flags, wc_flags) \
	X(uint32_t, read_slid, slid) \
	X(uint8_t, read_sl, sl) \
	X(uint8_t, read_dlid_path_bits, dlid_path_bits)

struct entries {
	pthread_mutex_t session;
	struct ibv_wc current;		/* the program's; under .session */
	/* The provider's, for forked children. */
	void (*end_poll)(struct ibv_cq_ex *cqx);
#define X(type, name, field) type (*name)(struct ibv_cq_ex *cqx);
	READERS(X)
#undef X
};

/* The next completion, with .session held. ENOENT: there is none. */
static int next_entry(struct cq *c, struct ibv_wc *wc)
{
	enum bias_token token = bias_lock(&c->lock);
	int got = c->stash ? stash_give(c, 1, wc) : 0;

	if (!got)
		got = cq_take(c, 1, wc, token);
	bias_unlock(&c->lock, token);
	return got > 0 ? 0 : got ? EINVAL : ENOENT;
}

static int show_next(struct cq *c, struct ibv_cq_ex *cqx)
{
	struct ibv_wc *wc = &c->entries->current;
	int err = next_entry(c, wc);

	if (!err) {
		cqx->wr_id = wc->wr_id;
		cqx->status = wc->status;
	}
	return err;
}

static int entries_start_poll(struct ibv_cq_ex *cqx, struct ibv_poll_cq_attr *attr)
{
	struct cq *c = table_find(&cqs, cqx);
	int err;

	if (!*c->alive)
		return c->start_poll(cqx, attr);
	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&c->entries->session);
	err = show_next(c, cqx);
	if (err)
		pthread_mutex_unlock(&c->entries->session);
	return err;
}

static int entries_next_poll(struct ibv_cq_ex *cqx)
{
	struct cq *c = table_find(&cqs, cqx);

	return *c->alive ? show_next(c, cqx) : c->next_poll(cqx);
}

static void entries_end_poll(struct ibv_cq_ex *cqx)
{
	struct cq *c = table_find(&cqs, cqx);

	if (*c->alive)
		pthread_mutex_unlock(&c->entries->session);
	else
		c->entries->end_poll(cqx);
}

#define X(type, name, field) \
static type entries_##name(struct ibv_cq_ex *cqx) \
{ \
	const struct cq *c = table_find(&cqs, cqx); \
\
	return *c->alive ? c->entries->current.field : c->entries->name(cqx); \
}
READERS(X)
#undef X

/* ibv_poll_cq() on such a queue. */
static int entries_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c)
{
	int got = 0, err = 0;

	(void)cq;
	pthread_mutex_lock(&c->entries->session);
	while (got < n && !err) {
		err = next_entry(c, &wc[got]);
		got += !err;
	}
	pthread_mutex_unlock(&c->entries->session);
	/* The next poll returns the error again; it would not return these completions again. */
	return got || !err || err == ENOENT ? got : -1;
}

/* --- creation ---------------------------------------------------------------------------- */

bool entries_ask(struct ibv_cq_init_attr_ex *attr)
{
	if (!settings.move || settings.mode != MODE_LATENCY || attr->wc_flags & ~IBV_WC_STANDARD_FLAGS ||
	    attr->cqe > INT32_MAX - MOVE_CQ_ROOM)
		return false;
	attr->cqe += MOVE_CQ_ROOM;
	return true;
}

static struct entries *entries_of(struct cq *c)
{
	struct entries *s = c->entries_spare;

	if (!s) {
		s = calloc(1, sizeof(*s));
		if (s)
			pthread_mutex_init(&s->session, NULL);
		c->entries_spare = s;
	}
	return s;
}

bool entries_patch(struct cq *c, struct ibv_cq_ex *cqx)
{
	struct entries *s;

	if (!c->poll_cq || !cqx->start_poll || !cqx->next_poll || !cqx->end_poll)
		return false;
	s = entries_of(c);
	if (!s)
		return false;
	c->start_poll = cqx->start_poll;
	c->next_poll = cqx->next_poll;
	s->end_poll = cqx->end_poll;
	cqx->start_poll = entries_start_poll;
	cqx->next_poll = entries_next_poll;
	cqx->end_poll = entries_end_poll;
	/* Pointers that the provider left empty stay so. */
#define X(type, name, field) \
	s->name = cqx->name; \
	if (s->name) \
		cqx->name = entries_##name;
	READERS(X)
#undef X
	c->poll = entries_poll;
	c->move_room = true;
	c->entries = s;
	return true;
}
