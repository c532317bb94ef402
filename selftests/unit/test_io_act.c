// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is asked of a module that was loaded anew in between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/change.c"

static struct io the_io = { .family = 30 };
static unsigned int sent;
static size_t longest;

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

void srdma_reading_scratch(struct io *io, struct srdma_reading *r)
{
	(void)io;
	*r = (struct srdma_reading){ 0 };
}

/* The first request finds the module gone, the next another one. */
int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r))
{
	(void)io;
	(void)again;
	if (nlmsg_hdr(msg)->nlmsg_len > longest)
		longest = nlmsg_hdr(msg)->nlmsg_len;
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

static void fill(char *s, size_t cap)
{
	memset(s, 'x', cap - 1);
}

/* As many items as there may be, with all that each may have. */
static void full_batch(void **state)
{
	static struct snap_action a[SWIFTRDMA_BATCH_MAX];
	uint64_t lease = 0;

	(void)state;
	fill(a[0].reason, sizeof(a[0].reason));
	fill(a[0].decision.policy, sizeof(a[0].decision.policy));
	a[0].decision.has = ~0ull;
	a[0].decision.n_readings = SNAP_READINGS;
	for (size_t i = 0; i < SNAP_READINGS; i++) {
		fill(a[0].decision.readings[i].signal, SNAP_NAME);
		a[0].decision.readings[i].known = true;
	}
	a[0].serial = 1;
	for (size_t i = 1; i < SWIFTRDMA_BATCH_MAX; i++)
		a[i] = a[0];
	fill(a[1].job, sizeof(a[1].job));
	a[1].has_dev = true;
	sent = 1;
	assert_int_equal(io_act(&the_io, &lease, 1000, 9, "cli", a, SWIFTRDMA_BATCH_MAX,
				NULL), 0);
	assert_true(longest > SWIFTRDMA_BATCH_MAX * 1000 && longest < SRDMA_SEND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lease_of_the_old_module),
		cmocka_unit_test(new_lease),
		cmocka_unit_test(full_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
