// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * nldump: the same QPs read in three ways by one program, so that nothing but
 * the kernel's part and the size of its answer differs: RDMA core's own dump
 * (what `rdma res show qp` asks for), swiftrdma's, and swiftrdma's of what
 * changed since a generation number.
 *
 * One JSON object: for each way median_ns, messages, objects and bytes.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/swiftrdma.h>

#include "stat.h"
#include "verbs.h"

/* What iproute2 reads with. */
#define RECV_BUFFER 32768

struct options {
	const char *dev, *between;
	uint32_t index;
	uint64_t repeats;
	bool res, full, since;
};

struct tally {
	uint64_t messages, objects, bytes;
	uint64_t generation;	/* of a swiftrdma dump */
};

static const char usage[] =
	"usage: nldump [OPTION]...\n"
	"  --dev DEV          (the first)\n"
	"  --what LIST        of res,full,since (res,full)\n"
	"  --repeats N        (9)\n"
	"  --between CMD      run by sh after the generation was read and before the\n"
	"                     dumps since it; it makes the change\n";

static int fail(const char *what, int nlerr)
{
	fprintf(stderr, "nldump: %s: %s\n", what, nl_geterror(nlerr));
	return nlerr;
}

/* Takes one message's objects into the tally. */
typedef void (*tally_fn)(struct nlmsghdr *h, struct tally *t);

static void tally_res(struct nlmsghdr *h, struct tally *t)
{
	struct nlattr *list = nlmsg_find_attr(h, 0, RDMA_NLDEV_ATTR_RES_QP), *a;
	int rem;

	if (list)
		nla_for_each_nested(a, list, rem)
			t->objects++;
}

static void tally_swift(struct nlmsghdr *h, struct tally *t)
{
	struct nlattr *obj;

	if (nlmsg_find_attr(h, GENL_HDRLEN, SWIFTRDMA_A_QP))
		t->objects++;
	obj = nlmsg_find_attr(h, GENL_HDRLEN, SWIFTRDMA_A_SNAPSHOT);
	if (obj)
		obj = nla_find(nla_data(obj), nla_len(obj), SWIFTRDMA_SNAPSHOT_A_GENERATION);
	if (obj)
		t->generation = nla_get_u64(obj);
}

/* 1: that was the last. */
static int take(struct nlmsghdr *h, tally_fn fn, struct tally *t)
{
	const struct nlmsgerr *e;

	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		return fail("dump", -NLE_DUMP_INTR);
	if (h->nlmsg_type == NLMSG_ERROR) {
		e = nlmsg_data(h);
		return fail("dump", -nl_syserr2nlerr(e->error));
	}
	if (h->nlmsg_type == NLMSG_DONE)
		return 1;
	t->messages++;
	t->bytes += h->nlmsg_len;
	fn(h, t);
	return 0;
}

/*
 * Not nl_recvmsgs(): it copies each message into one of its own, which says
 * more about libnl than about who sent them.
 */
static int dump(struct nl_sock *sk, struct nl_msg *msg, tally_fn fn, struct tally *t)
{
	struct sockaddr_nl from;
	unsigned char *buf;
	struct nlmsghdr *h;
	int len, ret = nl_send_auto(sk, msg);

	if (ret < 0)
		return fail("send", ret);
	do {
		ret = 0;
		len = nl_recv(sk, &from, &buf, NULL);
		if (len <= 0)
			return fail("receive", len);
		for (h = (void *)buf; !ret && nlmsg_ok(h, len); h = nlmsg_next(h, &len))
			ret = take(h, fn, t);
		free(buf);
	} while (!ret);
	return ret > 0 ? 0 : ret;
}

static int res_dump(struct nl_sock *sk, const struct options *o, struct tally *t)
{
	struct nl_msg *msg = nlmsg_alloc_simple(
		RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET),
		NLM_F_REQUEST | NLM_F_DUMP);
	int ret;

	nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, o->index);
	ret = dump(sk, msg, tally_res, t);
	nlmsg_free(msg);
	return ret;
}

static int swift_dump(struct nl_sock *sk, int family, const struct options *o,
		      const uint64_t *since, struct tally *t)
{
	struct nl_msg *msg = nlmsg_alloc();
	int ret;

	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_DUMP,
		    SWIFTRDMA_CMD_QP_GET, SWIFTRDMA_GENL_VERSION);
	nla_put_u32(msg, SWIFTRDMA_A_DEV_INDEX, o->index);
	if (since)
		nla_put_u64(msg, SWIFTRDMA_A_SINCE, *since);
	ret = dump(sk, msg, tally_swift, t);
	nlmsg_free(msg);
	return ret;
}

static struct nl_sock *connect_to(int protocol)
{
	struct nl_sock *sk = nl_socket_alloc();
	int ret = sk ? nl_connect(sk, protocol) : -NLE_NOMEM;

	if (!ret)
		ret = nl_socket_set_msg_buf_size(sk, RECV_BUFFER);
	if (!ret)
		return sk;
	fail("connect", ret);
	return NULL;
}

static void print_row(const char *name, struct samples *s, const struct tally *t)
{
	static const char *sep = "{";

	printf("%s\"%s\":{\"median_ns\":%" PRIu64 ",\"min_ns\":%" PRIu64 ",\"messages\":%" PRIu64
	       ",\"objects\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
	       sep, name, samples_quantile(s, 50), samples_quantile(s, 0),
	       t->messages, t->objects, t->bytes);
	sep = ",";
}

static int time_res(const struct options *o)
{
	struct nl_sock *sk = connect_to(NETLINK_RDMA);
	struct samples s = { 0 };
	struct tally t;
	uint64_t i, start;
	int ret = sk ? 0 : -1;

	for (i = 0; !ret && i < o->repeats; i++) {
		memset(&t, 0, sizeof(t));
		start = now_ns();
		ret = res_dump(sk, o, &t);
		if (!ret)
			ret = samples_add(&s, now_ns() - start);
	}
	if (!ret)
		print_row("res", &s, &t);
	return ret;
}

static int time_swift(const struct options *o, struct nl_sock *sk, int family,
		      const char *name, const uint64_t *since)
{
	struct samples s = { 0 };
	struct tally t;
	uint64_t i, start;
	int ret = 0;

	for (i = 0; !ret && i < o->repeats; i++) {
		memset(&t, 0, sizeof(t));
		start = now_ns();
		ret = swift_dump(sk, family, o, since, &t);
		if (!ret)
			ret = samples_add(&s, now_ns() - start);
	}
	if (!ret)
		print_row(name, &s, &t);
	return ret;
}

static int time_family(const struct options *o)
{
	struct nl_sock *sk = connect_to(NETLINK_GENERIC);
	struct tally t = { 0 };
	int family, ret;

	if (!sk)
		return -1;
	family = genl_ctrl_resolve(sk, SWIFTRDMA_GENL_NAME);
	if (family < 0)
		return fail("family " SWIFTRDMA_GENL_NAME, family);
	if (o->full) {
		ret = time_swift(o, sk, family, "full", NULL);
		if (ret)
			return ret;
	}
	if (!o->since)
		return 0;
	ret = swift_dump(sk, family, o, NULL, &t);
	if (ret)
		return ret;
	if (o->between && system(o->between)) {
		fprintf(stderr, "nldump: '%s' failed\n", o->between);
		return -1;
	}
	return time_swift(o, sk, family, "since", &t.generation);
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "what", 1, NULL, 'w' }, { "repeats", 1, NULL, 'r' },
		{ "between", 1, NULL, 'b' }, { "help", 0, NULL, 'h' }, { 0 }
	};
	char *word, *rest;
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': o->dev = optarg; break;
		case 'r': o->repeats = number("repeats", optarg, 1, 100000); break;
		case 'b': o->between = optarg; break;
		case 'h': fputs(usage, stdout); exit(0);
		case 'w':
			o->res = o->full = o->since = false;
			rest = optarg;
			while ((word = strsep(&rest, ","))) {
				if (!strcmp(word, "res"))
					o->res = true;
				else if (!strcmp(word, "full"))
					o->full = true;
				else if (!strcmp(word, "since"))
					o->since = true;
				else
					goto wrong;
			}
			break;
		default: goto wrong;
		}
	}
	if (optind == argc)
		return;
wrong:
	fputs(usage, stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options o = { .repeats = 9, .res = true, .full = true };
	struct vdev dev;

	parse(argc, argv, &o);
	if (vdev_open(&dev, o.dev))
		return 1;
	o.index = dev.index;
	vdev_close(&dev);
	if (o.res && time_res(&o))
		return 1;
	if ((o.full || o.since) && time_family(&o))
		return 1;
	puts("}");
	return 0;
}
