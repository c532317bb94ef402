// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the other end of a connection says, and how it is asked for. */
#include <stdbool.h>

#include "io/peer.c"
#include "unit/io_rig.h"

static struct fixture *kernel;	/* has the answer */
static int call_error;

int srdma_fail(struct io *io, int err, const char *fmt, ...)
{
	(void)io;
	(void)fmt;
	return err;
}

struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size)
{
	struct nl_msg *msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + size);

	(void)io;
	assert_false(dump);
	genlmsg_put(msg, 0, SEQ, FAMILY, 0, 0, cmd, 1);
	return msg;
}

void srdma_reading_scratch(struct io *io, struct srdma_reading *r)
{
	(void)io;
	*r = kernel->r;
}

/* For snapshots, of which there are none here. */
int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r))
{
	(void)io;
	(void)msg;
	(void)r;
	(void)again;
	return -EIO;
}

int srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
	       void (*again)(struct srdma_reading *r))
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg), *answer = nlmsg_hdr(kernel->msg);

	(void)io;
	assert_null(again);
	assert_int_equal(((struct genlmsghdr *)nlmsg_data(nlh))->cmd, SWIFTRDMA_CMD_PEER_GET);
	assert_int_equal(nla_get_u32(nlmsg_find_attr(nlh, GENL_HDRLEN, SWIFTRDMA_A_DEV_INDEX)), 3);
	assert_int_equal(nla_get_u32(nlmsg_find_attr(nlh, GENL_HDRLEN, SWIFTRDMA_A_QPN)), 17);
	nlmsg_free(msg);
	if (call_error)
		return call_error;
	return srdma_parse((char *)nlmsg_data(answer) + GENL_HDRLEN,
			   nlmsg_datalen(answer) - GENL_HDRLEN, r);
}

static void put_peer(struct nl_msg *msg, uint32_t status, bool class)
{
	struct nlattr *nest = nla_nest_start(msg, SWIFTRDMA_A_PEER);

	nla_put_u32(msg, SWIFTRDMA_PEER_A_DEV_INDEX, 3);
	nla_put_u32(msg, SWIFTRDMA_PEER_A_QPN, 17);
	nla_put_u64(msg, SWIFTRDMA_PEER_A_QP_SERIAL, 5);
	if (status)
		nla_put_u32(msg, SWIFTRDMA_PEER_A_STATUS, status);
	nla_put_u32(msg, SWIFTRDMA_PEER_A_VERSION, 1);
	nla_put_u32(msg, SWIFTRDMA_PEER_A_TRIES, 2);
	if (class) {
		nla_put_u32(msg, SWIFTRDMA_PEER_A_TCLASS_ASKED, 8);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_TCLASS, 96);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_SL_ASKED, 1);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_SL, 2);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_LEVEL, 3);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_LEVEL_TCLASS, 97);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_LEVEL_SL, 4);
		nla_put_flag(msg, SWIFTRDMA_PEER_A_CLASS_PENDING);
		nla_put_u32(msg, SWIFTRDMA_PEER_A_CLASS_ERROR, (uint32_t)-EBUSY);
	}
	nla_nest_end(msg, nest);
}

static int ask(void **state, struct io_peer *peer)
{
	kernel = *state;
	memset(peer, 0xff, sizeof(*peer));
	return io_peer(NULL, 3, 17, peer);
}

static void answered(void **state)
{
	struct io_peer p;

	call_error = 0;
	put_peer(((struct fixture *)*state)->msg, SWIFTRDMA_PEER_ANSWERED, true);
	assert_int_equal(ask(state, &p), 0);
	assert_int_equal(p.dev, 3);
	assert_int_equal(p.qpn, 17);
	assert_int_equal(p.serial, 5);
	assert_int_equal(p.status, SWIFTRDMA_PEER_ANSWERED);
	assert_int_equal(p.version, 1);
	assert_int_equal(p.tries, 2);
	assert_int_equal(p.has, SNAP_LEVEL | SNAP_CLASS_ERROR);
	assert_int_equal(p.tclass_asked, 8);
	assert_int_equal(p.tclass, 96);
	assert_int_equal(p.sl_asked, 1);
	assert_int_equal(p.sl, 2);
	assert_int_equal(p.level, 3);
	assert_int_equal(p.level_tclass, 97);
	assert_int_equal(p.level_sl, 4);
	assert_true(p.class_pending);
	assert_int_equal(p.class_error, -EBUSY);
}

static void not_answered(void **state)
{
	struct io_peer p;

	call_error = 0;
	put_peer(((struct fixture *)*state)->msg, SWIFTRDMA_PEER_NO_MODULE, false);
	assert_int_equal(ask(state, &p), 0);
	assert_int_equal(p.status, SWIFTRDMA_PEER_NO_MODULE);
	assert_int_equal(p.has, 0);
	assert_false(p.class_pending);
}

/* An answer without a class, or without a status, or none at all. */
static void malformed(void **state)
{
	struct fixture *f = *state;
	struct io_peer p;

	call_error = 0;
	assert_int_equal(ask(state, &p), -EBADMSG);
	put_peer(f->msg, 0, true);
	assert_int_equal(ask(state, &p), -EBADMSG);
}

static void without_class(void **state)
{
	struct io_peer p;

	call_error = 0;
	put_peer(((struct fixture *)*state)->msg, SWIFTRDMA_PEER_ANSWERED, false);
	assert_int_equal(ask(state, &p), -EBADMSG);
	call_error = -EOPNOTSUPP;
	assert_int_equal(ask(state, &p), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IO_TEST(answered), IO_TEST(not_answered), IO_TEST(malformed),
		IO_TEST(without_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
