// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The port. Each step sends a packet of the class, element and QP whose turn it is. After
 * its last packet a WR is in the pipe until it is done.
 */
#include "model/internal.h"

#define WEIGHT_BOUND	1000U

static struct model_group *group_of(struct model *m, uint32_t g)
{
	return &m->element[g / MODEL_CLASSES].group[g % MODEL_CLASSES];
}

/* The most that a packet takes on the wire, which is the unit of a turn. */
static uint32_t packet_bytes(const struct model *m)
{
	return m->p.mtu + m->p.header;
}

/* A class that sent nothing does not save up its share. */
static void class_wake(const struct model *m, struct model_class *cls)
{
	if (cls->turn - m->port.turn < 0)
		cls->turn = m->port.turn;
}

static void group_list(struct model *m, uint32_t g)
{
	struct model_class *cls = &m->port.cls[g % MODEL_CLASSES];
	struct model_group *group = group_of(m, g);

	group->next = MODEL_NONE;
	group->prev = cls->groups.tail;
	if (group->prev == MODEL_NONE) {
		cls->groups.head = g;
		m->port.listed |= 1 << g % MODEL_CLASSES;
		class_wake(m, cls);
	} else {
		group_of(m, group->prev)->next = g;
	}
	cls->groups.tail = g;
	group->listed = true;
}

static void group_unlist(struct model *m, uint32_t g)
{
	struct model_class *cls = &m->port.cls[g % MODEL_CLASSES];
	struct model_group *group = group_of(m, g);

	*(group->prev == MODEL_NONE ? &cls->groups.head : &group_of(m, group->prev)->next) =
		group->next;
	*(group->next == MODEL_NONE ? &cls->groups.tail : &group_of(m, group->next)->prev) =
		group->prev;
	if (cls->groups.head == MODEL_NONE)
		m->port.listed &= ~(1 << g % MODEL_CLASSES);
	group->listed = false;
}

static void ready_link(struct model *m, uint32_t g, uint32_t q)
{
	struct model_group *group = group_of(m, g);
	struct model_qp *qp = &m->qp[q];

	qp->ready_next = MODEL_NONE;
	qp->ready_prev = group->qps.tail;
	*(qp->ready_prev == MODEL_NONE ? &group->qps.head : &m->qp[qp->ready_prev].ready_next) = q;
	group->qps.tail = q;
}

static void ready_unlink(struct model *m, uint32_t g, uint32_t q)
{
	struct model_group *group = group_of(m, g);
	struct model_qp *qp = &m->qp[q];

	*(qp->ready_prev == MODEL_NONE ? &group->qps.head : &m->qp[qp->ready_prev].ready_next) =
		qp->ready_next;
	*(qp->ready_next == MODEL_NONE ? &group->qps.tail : &m->qp[qp->ready_next].ready_prev) =
		qp->ready_prev;
}

/* The QP has something to send, in its class and element. */
static void qp_list(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];
	uint32_t g = qp->element * MODEL_CLASSES + qp->cls;
	struct model_group *group = group_of(m, g);

	qp->listed = true;
	qp->deficit = (int32_t)packet_bytes(m);
	ready_link(m, g, q);
	if (!group->listed && !m->element[qp->element].blocked) {
		group->deficit = (int32_t)(packet_bytes(m) * m->element[qp->element].weight);
		group_list(m, g);
	}
}

static void qp_unlist(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];
	uint32_t g = qp->element * MODEL_CLASSES + qp->cls;
	struct model_group *group = group_of(m, g);

	qp->listed = false;
	ready_unlink(m, g, q);
	if (group->listed && group->qps.head == MODEL_NONE)
		group_unlist(m, g);
}

/* The highest strict class, else the class that has used least of its share. */
static int class_pick(const struct model *m)
{
	const struct model_class *cls = m->port.cls;
	unsigned int may = m->port.listed & ~m->port.paused;
	int c, best;

	if (may & m->p.strict)
		return 31 - __builtin_clz(may & m->p.strict);
	if (!may)
		return -1;
	/* Mostly it is the only one. */
	best = 31 - __builtin_clz(may);
	for (may &= ~(1U << best); may; may &= ~(1U << c)) {
		c = 31 - __builtin_clz(may);
		if (cls[c].turn - cls[best].turn < 0)
			best = c;
	}
	return best;
}

/* Time of @bytes at @bps; the remainder stays in @carry for the next call. */
static uint64_t wire_ps(uint64_t bytes, uint64_t bps, uint64_t *carry)
{
	/* Steps of 2^20 bytes keep the product within 64 bits. */
	uint64_t ps = 0, part;

	while (bytes) {
		part = bytes < 1 << 20 ? bytes : 1 << 20;
		ps += div64_u64_rem(part * 8 * MODEL_PS + *carry, bps, carry);
		bytes -= part;
	}
	return ps;
}

static void element_unblock(struct model *m, uint32_t e)
{
	struct model_element *el = &m->element[e];
	uint32_t c;

	if (!el->blocked)
		return;
	el->blocked = false;
	model_unschedule(m, SRC_ELEMENT(m) + e);
	for (c = 0; c < MODEL_CLASSES; c++)
		if (el->group[c].qps.head != MODEL_NONE) {
			el->group[c].deficit = (int32_t)(packet_bytes(m) * el->weight);
			group_list(m, e * MODEL_CLASSES + c);
		}
}

/* Charges @wire bytes to the element, which may now be too far ahead of its rate. */
static void element_charge(struct model *m, uint32_t e, uint64_t wire)
{
	struct model_element *el = &m->element[e];
	uint32_t c;

	el->sent_bytes += wire;
	if (!el->max_bps)
		return;
	if (el->tat < m->now) {
		el->tat = m->now;
		el->carry = 0;
	}
	el->tat += wire_ps(wire, el->max_bps, &el->carry);
	if (el->tat <= m->now + el->burst_ps)
		return;
	el->blocked = true;
	el->blocks++;
	for (c = 0; c < MODEL_CLASSES; c++)
		if (el->group[c].listed)
			group_unlist(m, e * MODEL_CLASSES + c);
	model_schedule(m, SRC_ELEMENT(m) + e, el->tat - el->burst_ps);
}

/* Time of @bytes on the link. Most packets are as long as the one before, so its time is kept. */
static uint64_t link_ps(struct model *m, uint64_t bytes)
{
	struct model_port *port = &m->port;
	uint64_t ps;

	if (!m->p.link_bps)
		return 0;
	if (bytes != port->wire_bytes) {
		port->wire_bytes = (uint32_t)bytes;
		port->wire_rest = 0;
		port->wire_ps = wire_ps(bytes, m->p.link_bps, &port->wire_rest);
	}
	ps = port->wire_ps;
	port->carry += port->wire_rest;
	if (port->carry >= m->p.link_bps) {
		port->carry -= m->p.link_bps;
		ps++;
	}
	return ps;
}

/* Charges a packet of @wire bytes to the class; @turn of them count for its share. */
static void class_charge(struct model *m, uint32_t c, uint64_t wire, uint32_t turn)
{
	struct model_class *cls = &m->port.cls[c];
	uint64_t share = (uint64_t)turn << 8;	/* in 1/256 bytes */

	cls->sent_bytes += wire;
	cls->packets++;
	if (m->p.strict & 1 << c)
		return;
	m->port.turn = cls->turn;
	/* The sum may wrap around, because only differences are used. */
	cls->turn += m->p.weight[c] > 1 ? div_u64(share, m->p.weight[c]) : share;
}

/* The QP sent @turn bytes of its turn. @last: the packet ended a message. */
static void qp_charge(struct model *m, uint32_t g, uint32_t q, int32_t turn, bool last)
{
	struct model_qp *qp = &m->qp[q];

	if (!m->p.whole_messages) {
		qp->deficit -= turn;
		last = qp->deficit <= 0;
		if (last)
			qp->deficit += packet_bytes(m);
	}
	if (last) {
		ready_unlink(m, g, q);
		ready_link(m, g, q);
	}
}

static void group_charge(struct model *m, uint32_t g, int32_t turn)
{
	struct model_group *group = group_of(m, g);

	group->deficit -= turn;
	if (group->deficit > 0)
		return;
	group->deficit += packet_bytes(m) * m->element[g / MODEL_CLASSES].weight;
	group_unlist(m, g);
	group_list(m, g);
}

/*
 * Byte-deficit round robin on both levels: a sender's deficit may go below zero by one
 * packet. The sender pays for that in its next turn, and moves to the end of the list. Among the
 * QPs of a group, one that may send whole messages moves there after each message instead. A
 * sender with nothing left to send has left its list: its next turn begins anew. @last: the
 * packet ended a message.
 */
static void charge_buckets(struct model *m, uint32_t q, uint64_t wire, bool last)
{
	/*
	 * A step sends more than one packet only if neither the link nor the element has a rate.
	 * Only one packet of them counts for the turn.
	 */
	int32_t turn = (int32_t)(wire < packet_bytes(m) ? wire : packet_bytes(m));
	struct model_qp *qp = &m->qp[q];
	uint32_t g = qp->element * MODEL_CLASSES + qp->cls;

	class_charge(m, qp->cls, wire, turn);
	if (qp->listed)
		qp_charge(m, g, q, turn, last);
	if (group_of(m, g)->listed)
		group_charge(m, g, turn);
	element_charge(m, qp->element, wire);
}

/* Counts the time in which the port has something to send and only pauses prevent it. */
static void port_stall(struct model *m, bool stalled)
{
	struct model_port *port = &m->port;

	if (port->stalled == stalled)
		return;
	if (stalled)
		port->stalled_at = m->now;
	else
		port->stalled_ps += m->now - port->stalled_at;
	port->stalled = stalled;
}

/* A packet of @wire bytes begins, with @bytes of @w's payload; @last: it is the last one. */
static void transmit_packets(struct model *m, uint32_t w, uint64_t wire, uint32_t bytes, bool last)
{
	uint64_t ps = link_ps(m, wire), due;

	if (m->ops && m->ops->sent)
		m->ops->sent(m->ctx, m->wr[w].cookie, bytes);
	m->port.busy_ps += ps;
	m->port.free_at = m->now + ps;
	/*
	 * A packet that takes no time also ends a step, so that others at the same time get
	 * their turn.
	 */
	m->port.due = !ps || m->port.listed ? m->port.free_at : MODEL_NEVER;
	if (!last)
		return;
	due = m->port.free_at + m->p.pipe_ps;
	/* pipe_ps may have become shorter since the WR before; WRs still end in order. */
	if (m->pipe.head == MODEL_NONE)
		m->pipe_due = due;
	else if (due < m->wr[m->pipe.tail].due)
		due = m->wr[m->pipe.tail].due;
	m->wr[w].due = due;
	wr_push(m, &m->pipe, w);
}

void model_pipe_event(struct model *m)
{
	uint32_t w = wr_pop(m, &m->pipe);
	struct model_wr *wr = &m->wr[w];
	struct model_qp *qp = &m->qp[wr->qp];
	struct model_done done = {
		.cookie = wr->cookie, .at = m->now, .posted = wr->posted,
		.qp = wr->qp, .bytes = wr->bytes,
	};
	bool dead = wr_dead(m, wr);

	m->pipe_due = m->pipe.head != MODEL_NONE ? m->wr[m->pipe.head].due : MODEL_NEVER;
	m->inflight--;
	if (dead) {
		wr_free(m, w);
		return;
	}
	model_wqe_done(m, w);
	wr_put(m, w);
	qp->done++;
	qp->bytes -= done.bytes;
	m->stats.done++;
	m->stats.done_bytes += done.bytes;
	if (m->until - m->now > m->p.late_ps)
		m->stats.late++;
	if (m->until - m->now > m->stats.late_max_ps)
		m->stats.late_max_ps = m->until - m->now;
	if (m->ops && m->ops->done)
		m->ops->done(m->ctx, &done);
}

/* Bytes on the wire of @bytes of payload. */
static uint64_t wire_bytes(const struct model *m, uint32_t bytes)
{
	uint64_t wire = (uint64_t)bytes + m->p.header;

	return wire ? wire : 1;	/* else a QP that sends nothing would keep its turn for ever */
}

/* Puts the next packet on the wire and charges its sender at once. */
static void port_send(struct model *m)
{
	struct model_port *port = &m->port;
	struct model_class *cls;
	struct model_qp *qp;
	struct model_wr *wr;
	uint32_t q, w, bytes;
	uint64_t wire;
	int c;

	c = class_pick(m);
	port_stall(m, c < 0 && port->listed);
	if (c < 0)
		return;
	cls = &port->cls[c];
	q = group_of(m, cls->groups.head)->qps.head;
	qp = &m->qp[q];
	w = qp->ready.head;
	wr = &m->wr[w];
	bytes = wr->left;
	if (bytes > m->p.mtu && (m->p.link_bps || m->element[qp->element].max_bps))
		bytes = m->p.mtu;
	wire = wire_bytes(m, bytes);

	wr->left -= bytes;
	cls->backlog -= bytes;
	qp->ready_bytes -= bytes;
	if (!wr->left) {
		wr_pop(m, &qp->ready);
		cls->waiting--;
		qp->n_ready--;
		if (qp->ready.head == MODEL_NONE)
			qp_unlist(m, q);
	}
	charge_buckets(m, q, wire, !wr->left);
	transmit_packets(m, w, wire, bytes, !wr->left);
}

/* Schedules the next send: now, or when the packet on the wire has ended. */
void model_port_start(struct model *m)
{
	if (m->port.due != MODEL_NEVER)
		return;
	if (m->now >= m->port.free_at)
		port_send(m);
	else if (m->port.listed)
		m->port.due = m->port.free_at;
}

void model_element_event(struct model *m, uint32_t e)
{
	element_unblock(m, e);
	model_port_start(m);
}

void model_port_event(struct model *m)
{
	m->port.due = MODEL_NEVER;
	port_send(m);
}

/* Short cut for a WR of one packet at an idle port, with the same result as by the lists. */
static bool send_alone(struct model *m, uint32_t w)
{
	struct model_wr *wr = &m->wr[w];
	struct model_qp *qp = &m->qp[wr->qp];
	struct model_element *el = &m->element[qp->element];
	uint64_t wire;

	if (m->port.listed || m->port.due != MODEL_NEVER || m->now < m->port.free_at ||
	    wr->bytes > m->p.mtu || el->max_bps || qp->listed || m->port.paused)
		return false;
	wire = wire_bytes(m, wr->bytes);
	wr->left = 0;
	port_stall(m, false);
	class_wake(m, &m->port.cls[qp->cls]);
	class_charge(m, qp->cls, wire, (uint32_t)wire);
	el->sent_bytes += wire;
	transmit_packets(m, w, wire, wr->bytes, true);
	return true;
}

void model_port_add(struct model *m, uint32_t w)
{
	struct model_wr *wr = &m->wr[w];
	struct model_qp *qp = &m->qp[wr->qp];

	if (send_alone(m, w))
		return;
	wr_push(m, &qp->ready, w);
	qp->n_ready++;
	qp->ready_bytes += wr->bytes;
	m->port.cls[qp->cls].backlog += wr->bytes;
	m->port.cls[qp->cls].waiting++;
	if (!qp->listed)
		qp_list(m, wr->qp);
	model_port_start(m);
}

void model_port_move(struct model *m, uint32_t q, uint32_t element, uint8_t cls)
{
	struct model_qp *qp = &m->qp[q];
	bool listed = qp->listed;

	if (listed)
		qp_unlist(m, q);
	m->port.cls[qp->cls].backlog -= qp->ready_bytes;
	m->port.cls[qp->cls].waiting -= qp->n_ready;
	qp->element = element;
	qp->cls = cls;
	m->port.cls[qp->cls].backlog += qp->ready_bytes;
	m->port.cls[qp->cls].waiting += qp->n_ready;
	if (listed)
		qp_list(m, q);
	model_port_start(m);
}

void model_port_forget(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];

	if (qp->listed)
		qp_unlist(m, q);
	m->port.cls[qp->cls].backlog -= qp->ready_bytes;
	m->port.cls[qp->cls].waiting -= qp->n_ready;
	while (qp->ready.head != MODEL_NONE) {
		wr_free(m, wr_pop(m, &qp->ready));
		m->inflight--;
	}
	qp->ready_bytes = 0;
	qp->n_ready = 0;
}

int model_pause(struct model *m, uint8_t classes, uint64_t now)
{
	int err = model_advance(m, now);

	if (err)
		return err;
	m->port.paused = classes;
	model_port_start(m);
	return 0;
}

int model_element_set(struct model *m, uint32_t e, uint64_t max_bps, uint32_t burst,
		      uint32_t weight)
{
	struct model_element *el;
	uint64_t carry = 0;

	if (e >= m->n.elements || max_bps > BPS_BOUND || weight > WEIGHT_BOUND)
		return -EINVAL;
	el = &m->element[e];
	el->weight = weight ? weight : 1;
	el->max_bps = max_bps;
	el->burst_ps = max_bps ? wire_ps(burst, max_bps, &carry) : 0;
	el->tat = m->now;
	el->carry = 0;
	model_element_event(m, e);
	return 0;
}
