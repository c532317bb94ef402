// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Answers: errors in words, cut short, and the names of attributes. */
#include "unit/io_rig.h"

/* An error message as the kernel writes it, with and without the request. */
static size_t put_error(char *buf, bool capped, int error, const char *text)
{
	struct nl_msg *msg = nlmsg_alloc_size(1024);
	struct nlmsgerr e = { .error = error };
	struct nlmsghdr *nlh = nlmsg_put(msg, 0, SEQ, NLMSG_ERROR, 0,
					 NLM_F_ACK_TLVS |
					 (capped ? NLM_F_CAPPED : 0));
	size_t len;

	e.msg.nlmsg_len = NLMSG_HDRLEN + 20;
	nlmsg_append(msg, &e, sizeof(e), NLMSG_ALIGNTO);
	if (!capped)
		nlmsg_append(msg, "the request, 20 byte", 20, NLMSG_ALIGNTO);
	nla_put_string(msg, NLMSGERR_ATTR_MSG, text);
	nla_put_u32(msg, NLMSGERR_ATTR_OFFS, 24);
	nlh = nlmsg_hdr(msg);
	len = nlh->nlmsg_len;
	memcpy(buf, nlh, len);
	nlmsg_free(msg);
	return len;
}

static void errors(void **state)
{
	struct fixture *f = *state;
	char *buf = malloc(2048);

	for (int capped = 0; capped < 2; capped++) {
		struct srdma_answer a = { 0 };
		size_t len = put_error(buf, capped, -ENOENT, "no such job");

		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ, &f->r,
					      &a), 0);
		assert_true(a.done);
		assert_int_equal(a.error, -ENOENT);
		assert_string_equal(a.message, "no such job");
		assert_true(a.has_offset);
		assert_int_equal(a.offset, 24);
		/* of another request: not ours to read */
		memset(&a, 0, sizeof(a));
		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ + 1,
					      &f->r, &a), 0);
		assert_false(a.done);
		for (size_t n = 0; n < len; n++) {
			char *cut = malloc(n ? n : 1);

			memcpy(cut, buf, n);
			memset(&a, 0, sizeof(a));
			srdma_answer(cut, n, FAMILY, SEQ, &f->r, &a);
			assert_false(a.done);
			free(cut);
		}
	}
	free(buf);
}

static void no_errno(void **state)
{
	static const int bad[] = { 1, -4096, INT_MIN };
	struct fixture *f = *state;
	_Alignas(struct nlmsghdr) char buf[2048];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct srdma_answer a = { 0 };
		size_t len = put_error(buf, true, bad[i], "?");

		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ, &f->r,
					      &a), -EBADMSG);
		((struct nlmsghdr *)buf)->nlmsg_type = NLMSG_DONE;
		assert_int_equal(srdma_answer(buf, len, FAMILY, SEQ, &f->r,
					      &a), -EBADMSG);
	}
}

static void interrupted(void **state)
{
	struct fixture *f = *state;
	struct srdma_answer a = { 0 };
	struct nlmsghdr *nlh = nlmsg_hdr(f->msg);

	nlh->nlmsg_flags |= NLM_F_DUMP_INTR;
	assert_int_equal(srdma_answer(nlh, nlh->nlmsg_len, FAMILY, SEQ, &f->r,
				      &a), 0);
	assert_true(a.interrupted);
	assert_false(a.done);
}

/* The kernel points at an attribute; a name is what a person can use. */
static void attribute_names(void **state)
{
	struct fixture *f = *state;
	struct nlattr *nest, *value, *second;
	struct nlmsghdr *nlh;
	char name[64];

	nest = nla_nest_start(f->msg, SWIFTRDMA_A_LEASE);
	nla_put_u32(f->msg, SWIFTRDMA_LEASE_A_TTL_MS, 1);
	nla_nest_end(f->msg, nest);
	for (int i = 0; i < 2; i++) {
		nest = nla_nest_start(f->msg, SWIFTRDMA_A_ACTION);
		nla_put_u32(f->msg, SWIFTRDMA_ACTION_A_KNOB, 1);
		nla_put_u64(f->msg, SWIFTRDMA_ACTION_A_VALUE, 99);
		nla_nest_end(f->msg, nest);
	}
	nlh = nlmsg_hdr(f->msg);
	second = nest;
	value = nla_find(nla_data(second), nla_len(second),
			 SWIFTRDMA_ACTION_A_VALUE);
	srdma_attr_name(nlh, nlh->nlmsg_len, (char *)value - (char *)nlh, name,
			sizeof(name));
	assert_string_equal(name, "action[2].value");
	srdma_missing_name(nlh, nlh->nlmsg_len, (char *)second - (char *)nlh,
			   SWIFTRDMA_ACTION_A_JOB, name, sizeof(name));
	assert_string_equal(name, "action[2].job");
	srdma_missing_name(nlh, nlh->nlmsg_len, 0, SWIFTRDMA_A_LEASE, name,
			   sizeof(name));
	assert_string_equal(name, "lease");
	for (uint32_t i = 0; i < nlh->nlmsg_len + 8; i++)
		srdma_attr_name(nlh, nlh->nlmsg_len, i, name, 12);
	srdma_attr_name(nlh, nlh->nlmsg_len, 21, name, sizeof(name));
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IO_TEST(errors),
		IO_TEST(no_errno),
		IO_TEST(interrupted),
		IO_TEST(attribute_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
