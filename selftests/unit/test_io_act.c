// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is asked of a module that was loaded anew in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/act.c"

static struct io the_io = { .family = 30 };
static unsigned int sent;

int srdma_fail(struct io *io, int err, const char *fmt, ...)
{
	(void)io;
	(void)fmt;
	return err;
}

struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + size);

	(void)dump;
	genlmsg_put(msg, 0, 0, io->family, 0, 0, cmd, 1);
	return msg;
}

int srdma_reading_scratch(struct io *io, struct srdma_reading *r)
{
	(void)io;
	*r = (struct srdma_reading){ 0 };
	return 0;
}

/* The first request finds the module gone, the next another one. */
int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r))
{
	(void)io;
	(void)msg;
	(void)again;
	if (!sent++)
		return 1;
	r->has_lease = true;
	r->lease.id = 1;
	return 0;
}

int srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
	       void (*again)(struct srdma_reading *r))
{
	int err = srdma_exchange(io, msg, r, again);

	if (err == 1)
		err = srdma_exchange(io, msg, r, again);
	nlmsg_free(msg);
	return err;
}

/* Its number is not given to a module that may have given it to another. */
static void lease_of_the_old_module(void **state)
{
	uint64_t lease = 7;

	(void)state;
	sent = 0;
	assert_int_equal(io_act(&the_io, &lease, 0, 0, "cli", NULL, 0, NULL),
			 -ENODEV);
	assert_int_equal(sent, 1);
}

static void new_lease(void **state)
{
	uint64_t lease = 0;

	(void)state;
	sent = 0;
	assert_int_equal(io_act(&the_io, &lease, 1000, 9, "cli", NULL, 0, NULL),
			 0);
	assert_int_equal(sent, 2);
	assert_int_equal(lease, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lease_of_the_old_module),
		cmocka_unit_test(new_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
