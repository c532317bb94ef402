// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Which classes the QPs have, by ibv_query_qp() and by their packets on the wire. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "fleet.h"
#include "stat.h"

#define ROCE_PORT 4791

int open_wire(const char *netdev)
{
	/* SOCK_DGRAM leaves out the link's header: IPv4 without options, UDP, RoCE's port. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x45, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 22),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCE_PORT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 64),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(netdev),
	};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int size = 4 << 20;

	if (fd < 0 || !at.sll_ifindex)
		return fail_with(netdev, errno);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return fail_with(netdev, errno);
	return fd;
}

static struct seen *find_seen(struct fleet *f, uint32_t addr, uint32_t qpn)
{
	uint64_t key = (uint64_t)addr << 24 | qpn, h = key * 0x9e3779b97f4a7c15ull >> 48;

	while (f->seen[h].key && f->seen[h].key != key)
		h = (h + 1) % SEEN_SIZE;
	f->seen[h].key = key;
	return &f->seen[h];
}

/* Offsets: IPv4 destination 16, UDP 20, BTH 28, whose bytes 5 to 7 are the QPN. */
void read_wire(struct fleet *f)
{
	uint8_t p[64];
	uint32_t addr;

	while (recv(f->wire, p, sizeof(p), 0) >= 36) {
		memcpy(&addr, p + 16, sizeof(addr));
		find_seen(f, addr, p[33] << 16 | p[34] << 8 | p[35])->tos = p[1];
	}
}

struct histogram {
	uint32_t n[256];
};

static void print_histogram(char **at, char *end, const char *name, const struct histogram *h)
{
	const char *sep = "";
	int i;

	*at += snprintf(*at, end - *at, " %s ", name);
	for (i = 0; i < 256 && *at < end; i++) {
		if (!h->n[i])
			continue;
		*at += snprintf(*at, end - *at, "%s%d:%u", sep, i, h->n[i]);
		sep = ",";
	}
	if (!*sep && *at < end)
		*at += snprintf(*at, end - *at, "-");
}

int print_classes(struct fleet *f, bool always)
{
	static struct histogram h[4];
	char line[sizeof(f->classes)], *at = line, *end = line + sizeof(line);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct seen *seen;
	uint32_t addr;
	uint64_t i;
	int ret;

	memset(h, 0, sizeof(h));
	for (i = 0; i < 2 * f->o->pairs; i++) {
		struct pair *p = &f->pairs[i / 2];
		struct end *e = &p->end[i % 2];

		if (p->gone)
			continue;
		ret = ibv_query_qp(e->qp, &attr, IBV_QP_AV, &init);
		if (ret)
			return fail_with("query QP", ret);
		h[p->stuck ? 2 : i % 2].n[attr.ah_attr.grh.traffic_class]++;
		if (!f->seen || p->stuck)
			continue;
		/* By the address it sends to: the last bytes of an IPv4 GID. */
		memcpy(&addr, p->end[!(i % 2)].addr.gid.raw + 12, sizeof(addr));
		seen = find_seen(f, addr, p->end[!(i % 2)].addr.qpn);
		h[3].n[seen->tos]++;
	}
	print_histogram(&at, end, "client", &h[0]);
	print_histogram(&at, end, "server", &h[1]);
	print_histogram(&at, end, "stuck", &h[2]);
	print_histogram(&at, end, "wire", &h[3]);
	if (!always && !strcmp(line, f->classes))
		return 0;
	memcpy(f->classes, line, sizeof(line));
	printf("classes %" PRIu64 "%s\n", now_ns() / 1000000, line);
	return 0;
}
