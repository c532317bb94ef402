// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Records whose checksum is right and whose content makes no sense. */
#include <stdlib.h>

#include <zlib.h>

#include "unit/notify.h"
#include "unit/record_rig.h"

static void refused(enum recording_kind kind, const void *content, size_t n)
{
	const char *problem;
	struct recorder *r;
	struct player *p;
	uint64_t offset;
	FILE *f;

	r = begin(&f);
	recorder_put(r, kind, 1, content, n);
	finish(f, r);
	p = play(&f);
	assert_int_equal(player_next(p), PLAYER_END);
	problem = player_problem(p, &offset);
	assert_non_null(problem);
	assert_string_equal(problem, "a record has invalid content");
	assert_int_equal(offset, 12);
	stop(f, p);
}

static struct nl_msg *message(int flags, int cmd)
{
	struct nl_msg *msg = nlmsg_alloc_size(65536);

	assert_non_null(msg);
	assert_non_null(genlmsg_put(msg, 0, 1, NLMSG_MIN_TYPE, 0, flags, cmd, 1));
	return msg;
}

static void refused_message(enum recording_kind kind, struct nl_msg *msg)
{
	refused(kind, nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len);
	nlmsg_free(msg);
}

/* Records of no kind, and events that are none. */
static void test_no_event(void **state)
{
	static struct snap_qp qp = { .qpn = 1, .serial = 1 };
	struct nl_msg *msg;

	(void)state;
	refused((enum recording_kind)0, "", 0);
	refused((enum recording_kind)(RECORDING_LOST + 1), "0123456789abcdef", 16);
	refused(RECORDING_EVENT, "", 0);
	refused(RECORDING_EVENT, "0123456789abcdef", 16);
	/* A command that is no event's, and an event without what it is about. */
	msg = message(0, SWIFTRDMA_CMD_DEV_GET);
	assert_int_equal(srdma_put_qp(msg, &qp, NULL), 0);
	refused_message(RECORDING_EVENT, msg);
	refused_message(RECORDING_EVENT, message(0, SWIFTRDMA_CMD_QP_CREATED_NTF));
	/* Not a message to its end. */
	msg = message(0, SWIFTRDMA_CMD_QP_CREATED_NTF);
	assert_int_equal(srdma_put_qp(msg, &qp, NULL), 0);
	nlmsg_hdr(msg)->nlmsg_len -= 4;
	refused_message(RECORDING_EVENT, msg);
	/* A flag with a value. */
	msg = message(0, SWIFTRDMA_CMD_QP_CREATED_NTF);
	assert_int_equal(srdma_put_qp(msg, &qp, NULL), 0);
	((struct nlattr *)nlmsg_attrdata(nlmsg_hdr(msg), GENL_HDRLEN))->nla_len += 8;
	assert_int_equal(nla_put_u32(msg, SWIFTRDMA_QP_A_ADOPTED, 5), 0);
	refused_message(RECORDING_EVENT, msg);
}

/* More readings in a decision than there is room for. */
static void test_too_many_readings(void **state)
{
	struct nl_msg *msg = message(0, SWIFTRDMA_CMD_ACT_NTF);
	struct nlattr *action, *decision, *reading;
	int i;

	(void)state;
	action = nla_nest_start(msg, SWIFTRDMA_A_ACTION);
	decision = nla_nest_start(msg, SWIFTRDMA_ACTION_A_DECISION);
	assert_int_equal(nla_put_string(msg, SWIFTRDMA_DECISION_A_POLICY, "p"), 0);
	assert_int_equal(nla_put_u64(msg, SWIFTRDMA_DECISION_A_TICK, 1), 0);
	for (i = 0; i <= SNAP_READINGS; i++) {
		reading = nla_nest_start(msg, SWIFTRDMA_DECISION_A_READING);
		assert_int_equal(nla_put_string(msg, SWIFTRDMA_READING_A_SIGNAL, "s"), 0);
		nla_nest_end(msg, reading);
	}
	nla_nest_end(msg, decision);
	nla_nest_end(msg, action);
	refused_message(RECORDING_EVENT, msg);
}

/* A reading whose answer has no end, and one with bytes behind its messages. */
static void test_no_reading(void **state)
{
	struct srdma_bytes b = { 0 };

	(void)state;
	make_readings();
	refused_message(RECORDING_READING, message(NLM_F_REQUEST, SWIFTRDMA_CMD_DEV_GET));
	assert_int_equal(srdma_encode(&b, &readings[0].s, NULL), 0);
	refused(RECORDING_READING, b.p, b.len - NLMSG_LENGTH(sizeof(int)));
	assert_int_equal(srdma_bytes_add(&b, "more", 4), 0);
	refused(RECORDING_READING, b.p, b.len);
	/* No netlink error is that number. */
	b.len -= 8;
	assert_int_equal(srdma_bytes_add(&b, &(int){ 1 }, sizeof(int)), 0);
	refused(RECORDING_READING, b.p, b.len);
	free(b.p);
}

/* The checksum is right, but what it is of cannot be inflated. */
static void test_not_deflated(void **state)
{
	unsigned char file[28] = { 'S', 'R', 'D', 'M', 'A', 'r', 'e', 'c', RECORDING_VERSION };
	struct recording_head head = { .len = 8 };
	const char *problem;
	struct player *p;
	uint64_t offset;
	FILE *f;

	(void)state;
	memset(file + 20, 0xff, 8);
	head.crc = (uint32_t)crc32(0, file + 20, 8);
	memcpy(file + 12, &head, sizeof(head));
	f = fmemopen(file, sizeof(file), "r");
	assert_non_null(f);
	assert_int_equal(player_open(&p, f, NULL), 0);
	assert_int_equal(player_next(p), PLAYER_END);
	problem = player_problem(p, &offset);
	assert_string_equal(problem, "a record is damaged");
	player_close(p);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_event),
		cmocka_unit_test(test_too_many_readings),
		cmocka_unit_test(test_no_reading),
		cmocka_unit_test(test_not_deflated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
