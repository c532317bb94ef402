// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a recording asks the kernel for: everything, the looks into send queues included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/snapshot.c"

#include <netlink/attr.h>

static bool asked[SWIFTRDMA_CMD_MAX + 1], looks[SWIFTRDMA_CMD_MAX + 1];

struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_size(size);

	(void)io;
	assert_true(dump);
	genlmsg_put(msg, 0, 0, 29, 0, 0, (uint8_t)cmd, 1);
	return msg;
}

int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r))
{
	struct genlmsghdr *head = genlmsg_hdr(nlmsg_hdr(msg));

	(void)io;
	(void)again;
	asked[head->cmd] = true;
	looks[head->cmd] = nla_find(genlmsg_attrdata(head, 0), genlmsg_attrlen(head, 0),
				    SWIFTRDMA_A_OUTSTANDING);
	r->has_end = true;
	return 0;
}

int srdma_fail(struct io *io, int err, const char *fmt, ...)
{
	(void)io;
	(void)fmt;
	return err;
}

static void test_all(void **state)
{
	static const int cmds[] = {
		SWIFTRDMA_CMD_DEV_GET, SWIFTRDMA_CMD_PORT_GET, SWIFTRDMA_CMD_UAR_GET,
		SWIFTRDMA_CMD_QP_GET, SWIFTRDMA_CMD_JOB_GET, SWIFTRDMA_CMD_REPORT_GET,
	};
	const struct io_want none = { .qps = true };
	struct snapshot snap = { 0 };
	struct io io = { 0 };

	(void)state;
	assert_int_equal(io_snapshot(&io, &snap, NULL), 0);
	for (size_t i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++)
		assert_true(asked[cmds[i]]);
	assert_true(looks[SWIFTRDMA_CMD_QP_GET]);
	/* A reader of QPs alone has no command sent to the device. */
	assert_int_equal(io_snapshot(&io, &snap, &none), 0);
	assert_false(looks[SWIFTRDMA_CMD_QP_GET]);
	snapshot_free(&snap);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
