// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The listener for events follows a module that is loaded anew; requests find that out by themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netlink/genl/ctrl.h>
#include <sys/socket.h>

static int joined, family_now;

static int fake_family(const char *name)
{
	(void)name;
	return family_now;
}

static int fake_group(struct nl_sock *sk, const char *family, const char *group)
{
	(void)sk;
	(void)family;
	(void)group;
	return 77;
}

static int fake_setsockopt(int fd, int level, int option, const void *v, socklen_t size)
{
	(void)fd;
	(void)size;
	if (level == SOL_NETLINK && option == NETLINK_ADD_MEMBERSHIP)
		joined = *(const int *)v;
	return 0;
}

#define genl_ctrl_resolve_grp fake_group
#define setsockopt fake_setsockopt
#define srdma_query_family fake_family
#include "io/io.c"
#include "io/event.c"

static unsigned int losses;

static void count_loss(const struct snap_event *ev, void *arg)
{
	(void)arg;
	losses += ev->kind == SNAP_EVENT_LOST;
}

/*
 * A lease is one of the module that granted it. If the event changed the family of requests, the next request,
 * say of an agent that ends, would name the lease to the new module, where another process has one of that id.
 */
static void test_loaded_anew(void **state)
{
	struct delivery d = { .cb = count_loss };
	struct io io = { .family = 30, .epoch = 1 };

	(void)state;
	family_now = 30;
	assert_true(io_events_open(&io) >= 0);
	assert_int_equal(io.events_family, 30);
	assert_int_equal(joined, 77);
	family_now = 31;
	joined = 0;
	take_ctrl(&io, CTRL_CMD_NEWFAMILY, &d);
	assert_int_equal(losses, 1);
	assert_int_equal(joined, 77);
	assert_int_equal(io.events_family, 31);
	assert_int_equal(io.family, 30);
	assert_int_equal(io.epoch, 1);
	srdma_events_close(&io);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_loaded_anew) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
