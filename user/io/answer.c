// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>

#include "io/answer.h"
#include "io/attr.h"

#define MAX_ERRNO	4095	/* the kernel's */

static void take_extack(struct srdma_answer *a, const void *pos, size_t left)
{
	const struct nlattr *attr;
	bool bad = false;

	while ((attr = srdma_next_attr(&pos, &left, &bad))) {
		const void *data = (const char *)attr + NLA_HDRLEN;
		size_t n, len = attr->nla_len - NLA_HDRLEN;
		uint32_t v = 0;

		if (len >= sizeof(v))
			memcpy(&v, data, sizeof(v));
		switch (attr->nla_type & NLA_TYPE_MASK) {
		case NLMSGERR_ATTR_MSG:
			n = strnlen(data, len);
			if (n >= sizeof(a->message))
				n = sizeof(a->message) - 1;
			memcpy(a->message, data, n);
			a->message[n] = '\0';
			break;
		case NLMSGERR_ATTR_OFFS:
			a->has_offset = true;
			a->offset = v;
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			a->has_missing = true;
			a->missing = v;
			break;
		case NLMSGERR_ATTR_MISS_NEST:
			a->has_missing_nest = true;
			a->missing_nest = v;
		}
	}
}

/* A number outside the range of errno could be taken for a count or for success. */
static int take_errno(struct srdma_answer *a, int err)
{
	if (err > 0 || err < -MAX_ERRNO)
		return -EBADMSG;
	a->error = err;
	return 0;
}

/* NLMSG_ERROR: an errno, the request's header, perhaps the request, TLVs. */
static int take_error(struct srdma_answer *a, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = NLMSG_DATA(nlh);
	size_t len = nlh->nlmsg_len - NLMSG_HDRLEN;
	size_t skip = sizeof(*e);

	if (len < sizeof(*e))
		return -EBADMSG;
	if (take_errno(a, e->error))
		return -EBADMSG;
	a->done = true;
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return 0;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) {
		if (e->msg.nlmsg_len < NLMSG_HDRLEN || e->msg.nlmsg_len > len)
			return -EBADMSG;
		skip += NLMSG_ALIGN(e->msg.nlmsg_len - NLMSG_HDRLEN);
	}
	if (skip < len)
		take_extack(a, (const char *)e + skip, len - skip);
	return 0;
}

/* NLMSG_DONE: an errno, TLVs. */
static int take_done(struct srdma_answer *a, const struct nlmsghdr *nlh)
{
	const char *data = NLMSG_DATA(nlh);
	size_t len = nlh->nlmsg_len - NLMSG_HDRLEN;
	int err = 0;

	if (len >= sizeof(int))
		memcpy(&err, data, sizeof(int));
	if (take_errno(a, err))
		return -EBADMSG;
	a->done = true;
	if (len < sizeof(int))
		return 0;
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		take_extack(a, data + sizeof(int), len - sizeof(int));
	return 0;
}

static int take_message(struct srdma_answer *a, const struct nlmsghdr *nlh,
			uint16_t family, struct srdma_reading *r)
{
	a->interrupted |= nlh->nlmsg_flags & NLM_F_DUMP_INTR;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return take_error(a, nlh);
	if (nlh->nlmsg_type == NLMSG_DONE)
		return take_done(a, nlh);
	if (nlh->nlmsg_type != family)
		return 0;
	if (nlh->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN))
		return -EBADMSG;
	return srdma_parse((const char *)nlh + NLMSG_LENGTH(GENL_HDRLEN),
			   nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), r);
}

/* As NLMSG_OK(), which compares numbers of different signs. */
static bool has_message(const struct nlmsghdr *nlh, int left)
{
	return left >= NLMSG_HDRLEN && nlh->nlmsg_len >= NLMSG_HDRLEN &&
	       nlh->nlmsg_len <= (uint32_t)left;
}

/*
 * Does not use libnl's nl_recvmsgs(), which copies each message first, nor libnl's accessors,
 * which are calls into a shared library.
 */
int srdma_answer(const void *buf, size_t len, uint16_t family, uint32_t seq,
		 struct srdma_reading *r, struct srdma_answer *a)
{
	const struct nlmsghdr *nlh = buf;
	int left = (int)len, err = 0;

	for (; has_message(nlh, left) && !err && !a->done; nlh = NLMSG_NEXT(nlh, left))
		if (nlh->nlmsg_seq == seq)
			err = take_message(a, nlh, family, r);
	/* A rest that is shorter than a header is padding. */
	if (!err && !a->done && left >= NLMSG_HDRLEN)
		err = -EBADMSG;
	return err;
}
