// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Good requests with some bytes changed, lost or added. */
#include <stdio.h>
#include <string.h>

#include "netlink_bad.h"

static uint64_t rng;

static uint32_t random_number(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng >> 16;
}

/* A good request with some bytes changed, lost or added. */
static void change_bytes(void)
{
	size_t body = NLMSG_HDRLEN + GENL_HDRLEN, at;
	unsigned int changes = random_number() % 8;
	struct nlattr nla;

	while (changes--) {
		at = NLMSG_HDRLEN + random_number() % (req.len - NLMSG_HDRLEN + 1);
		switch (random_number() % 5) {
		case 0:
			req.buf[at] = random_number();
			break;
		case 1:
			req.buf[at] ^= 1u << random_number() % 8;
			break;
		case 2:
			if (req.len > body)
				req.len -= random_number() % (req.len - body + 1);
			break;
		case 3:		/* a header, where one may be */
			nla.nla_len = random_number() % 64;
			nla.nla_type = (random_number() % 24) | (random_number() & NLA_F_NESTED);
			at = body + (at - NLMSG_HDRLEN) / 4 * 4;
			memcpy(req.buf + at, &nla, sizeof(nla));
			if (at + sizeof(nla) > req.len)
				req.len = at + sizeof(nla);
			break;
		case 4:
			for (at = random_number() % 64; at; at--)
				req.buf[req.len++] = random_number();
			break;
		}
	}
}

int fuzz_requests(unsigned long n, uint64_t seed)
{
	unsigned long refused = 0, wordless = 0, done = 0;
	struct rawnl_node *nodes[n_goods];
	struct rawnl_reply reply;
	const struct good *g;
	int err;

	rng = seed | 1;
	for (size_t i = 0; i < n_goods; i++)
		nodes[i] = rawnl_parse(goods[i].text, vars);
	while (n--) {
		size_t i = random_number() % n_goods;

		g = &goods[i];
		rawnl_encode(&req, g->cmd, g->how, nodes[i], NULL, RAWNL_RIGHT);
		change_bytes();
		/* Any other command, now and then. */
		if (!(random_number() % 16))
			genl_of(&req)->cmd = random_number() % (SWIFTRDMA_CMD_MAX + 2);
		err = rawnl_call(&nl, &req, &reply, NULL, NULL);
		if (err) {
			printf("# no answer: %s\n", strerror(-err));
			break;
		}
		if (!reply.error)
			done++;
		else if (reply.message[0])
			refused++;
		else
			wordless++;
	}
	printf("# seed %llu: %lu done, %lu refused in words, %lu without\n",
	       (unsigned long long)seed, done, refused, wordless);
	point(n == -1UL && refused && done, "requests of random bytes, each answered");
	for (size_t i = 0; i < n_goods; i++)
		rawnl_free(nodes[i]);
	return failed;
}
