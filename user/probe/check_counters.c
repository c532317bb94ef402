// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QUERY_QP's counters of a send queue. The check fills the queue with sends that cannot complete
 * yet: the other end has posted no receive, and the NIC repeats the first send until it has.
 */
#include "probe/prm.h"
#include "probe/probe.h"

#define SENDS	5	/* of one WQEBB each */
#define TRIES	100
#define TRY_US	10000

/* Repeats the query until the NIC has counted all posts: it fetches WQEs after the doorbell. */
static int query_settled(struct nic_pair *pair, uint16_t posted, uint16_t completed,
			 struct prm_qp *q, struct prm_error *e)
{
	int err = 0;

	for (int i = 0; i < TRIES && !err; i++) {
		err = prm_query_qp(pair->a, q, e);
		if (!err && q->posted == posted && q->completed == completed)
			break;
		nic_sleep_us(TRY_US);
	}
	return err;
}

static void compare_queue(struct probe_finding *f, struct nic_pair *pair)
{
	struct prm_error e;
	struct prm_qp held, done;

	if (nic_send(pair, SENDS)) {
		finding_nic(f);
		return;
	}
	if (query_settled(pair, SENDS, 0, &held, &e)) {
		finding_cannot(f, "QUERY_QP: %s", prm_words(&e));
		return;
	}
	if (nic_receive(pair, SENDS) || nic_wait(pair, 0)) {
		finding_nic(f);
		return;
	}
	if (query_settled(pair, SENDS, SENDS, &done, &e)) {
		finding_cannot(f, "QUERY_QP: %s", prm_words(&e));
		return;
	}
	finding_compare(f, PROBE_EXACT, "WQEBB", SENDS, held.posted, "sw counter, queue held");
	finding_compare(f, PROBE_EXACT, "WQEBB", 0, held.completed, "hw counter, queue held");
	finding_compare(f, PROBE_EXACT, "WQEBB", SENDS, done.posted, "sw counter, all complete");
	finding_compare(f, PROBE_EXACT, "WQEBB", SENDS, done.completed,
			"hw counter, all complete");
	finding_say(f, "of %d requests that cannot complete, sw_sq_wqebb_counter has %u and hw_sq_wqebb_counter %u; when they are complete %u and %u",
		    SENDS, held.posted, held.completed, done.posted, done.completed);
}

void check_wqe_counters(struct probe *p, struct probe_finding *f)
{
	const struct nic_want want = { .depth = 16 };
	struct nic_pair pair;

	if (nic_pair_open(&pair, &p->nic, probe_to(p), &want)) {
		finding_nic(f);
		return;
	}
	compare_queue(f, &pair);
	nic_pair_close(&pair);
}
