// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hcaraw FROM TO NETDEV_FROM NETDEV_TO: sends frames from a raw packet QP of HCA FROM to raw
 * packet QPs of HCA TO, with flow rules, and between these QPs and the netdevs of the two
 * ports. Prints "ok - NAME" or "not ok - NAME" for each test.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <net/ethernet.h>

#include "stat.h"
#include "verbs.h"

#define ROOM		2048
#define DEPTH		64
#define ETH_TEST	0x88b5	/* IEEE 802, local experimental */
#define INLINE		18	/* bytes of a frame that libmlx5 puts into the WQE, at least */
#define VID		5
#define PORT		4791
#define SOON_NS		300000000ull
#define NOTHING_NS	100000000ull

/* One end: a QP, and room for DEPTH frames. */
struct end {
	struct vdev dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem, mac[ETH_ALEN];
	int ifindex;
};

static struct end a, b;
static int failed;

static void tell(bool ok, const char *name)
{
	printf("%sok - %s\n", ok ? "" : "not ", name);
	failed |= !ok;
}

static bool find_netdev(struct end *e, const char *name)
{
	struct ifreq r = {};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool ok;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	e->ifindex = (int)if_nametoindex(name);
	ok = fd >= 0 && e->ifindex && !ioctl(fd, SIOCGIFHWADDR, &r);
	memcpy(e->mac, r.ifr_hwaddr.sa_data, ETH_ALEN);
	close(fd);
	return ok;
}

static bool to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .port_num = 1, .qp_state = IBV_QPS_INIT };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static bool open_qp(struct end *e)
{
	struct ibv_qp_init_attr init = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RAW_PACKET,
		.cap = { DEPTH, DEPTH, 2, 1, 0 }, .sq_sig_all = 1,
	};

	e->qp = ibv_create_qp(e->dev.pd, &init);
	return e->qp && to_rts(e->qp);
}

static bool open_end(struct end *e, const char *dev, const char *netdev)
{
	if (vdev_open(&e->dev, dev) || !find_netdev(e, netdev))
		return false;
	e->mem = aligned_alloc(4096, DEPTH * ROOM);
	e->cq = ibv_create_cq(e->dev.ctx, 4 * DEPTH, NULL, NULL, 0);
	e->mr = ibv_reg_mr(e->dev.pd, e->mem, DEPTH * ROOM, IBV_ACCESS_LOCAL_WRITE);
	return e->cq && e->mr && open_qp(e);
}

static int post_receive(struct end *e, uint32_t slot, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)e->mem + (size_t)slot * ROOM, length, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

static int post_frame(struct end *e, const void *frame, uint32_t length, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, length, lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	memcpy(e->mem, frame, length);
	return ibv_post_send(e->qp, &wr, &bad);
}

/* The next completion within @ns. */
static bool next(struct end *e, struct ibv_wc *wc, uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	int n;

	do
		n = ibv_poll_cq(e->cq, 1, wc);
	while (!n && now_ns() < end);
	return n == 1;
}

/* Sends, and takes the completion. */
static enum ibv_wc_status send_frame(struct end *e, const void *frame, uint32_t length)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	if (post_frame(e, frame, length, e->mr->lkey) || !next(e, &wc, 50 * SOON_NS))
		return IBV_WC_GENERAL_ERR;
	return wc.status;
}

static uint32_t head(uint8_t *f, const uint8_t *dst, uint16_t type)
{
	memcpy(f, dst, ETH_ALEN);
	memcpy(f + 6, a.mac, ETH_ALEN);
	f[12] = (uint8_t)(type >> 8);
	f[13] = (uint8_t)type;
	return ETH_HLEN;
}

/* A frame of @length bytes whose payload tells it from others. */
static void fill(uint8_t *f, uint32_t from, uint32_t length, uint32_t seed)
{
	while (from < length)
		f[from++] = (uint8_t)vrnd(&seed);
}

/* Is it what comes next at @b? */
static bool arrives(const uint8_t *f, uint32_t length)
{
	struct ibv_wc wc;
	bool ok = next(&b, &wc, 50 * SOON_NS) && wc.status == IBV_WC_SUCCESS &&
		  wc.byte_len == length && !memcmp(b.mem + wc.wr_id * ROOM, f, length);

	return !post_receive(&b, (uint32_t)wc.wr_id % DEPTH, ROOM) && ok;
}

static bool nothing_arrives(void)
{
	struct ibv_wc wc;

	return !next(&b, &wc, NOTHING_NS);
}

/* A rule with an Ethernet header, then @more, if any, of @size bytes. */
struct rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	union {
		struct ibv_flow_spec_tcp_udp udp;
		struct ibv_flow_spec_action_drop drop;
	};
};

static struct ibv_flow *add_rule(struct ibv_qp *qp, struct rule *r, const uint8_t *dst,
				 uint16_t type, size_t more)
{
	r->attr = (struct ibv_flow_attr){
		.type = IBV_FLOW_ATTR_NORMAL, .port = 1, .num_of_specs = (uint8_t)(1 + !!more),
		.size = (uint16_t)(sizeof(r->attr) + sizeof(r->eth) + more),
	};
	r->eth.type = IBV_FLOW_SPEC_ETH;
	r->eth.size = sizeof(r->eth);
	memcpy(r->eth.val.dst_mac, dst, ETH_ALEN);
	memset(r->eth.mask.dst_mac, 0xff, ETH_ALEN);
	if (type) {
		r->eth.val.ether_type = htons(type);
		r->eth.mask.ether_type = 0xffff;
	}
	return ibv_create_flow(qp, &r->attr);
}

static void test_frames(void)
{
	struct rule r = {};
	struct ibv_flow *flow = add_rule(b.qp, &r, b.mac, ETH_TEST, 0);
	uint8_t f[ROOM], other[ETH_ALEN] = { 2, 0, 0, 0, 0, 9 };
	uint32_t length, bad = 0, n = 0;

	tell(flow, "a rule for an address and a type");
	for (length = INLINE; length <= 1514; length += 22, n++) {
		head(f, b.mac, ETH_TEST);
		fill(f, ETH_HLEN, length, length);
		bad += send_frame(&a, f, length) != IBV_WC_SUCCESS || !arrives(f, length);
	}
	tell(n > 50 && !bad, "frames of 18 to 1514 bytes arrive as they were");
	head(f, b.mac, ETH_TEST + 1);
	send_frame(&a, f, 60);
	tell(nothing_arrives(), "none of another type");
	head(f, other, ETH_TEST);
	send_frame(&a, f, 60);
	tell(nothing_arrives(), "none for another address");
	tell(flow && !ibv_destroy_flow(flow), "the rule goes");
	head(f, b.mac, ETH_TEST);
	send_frame(&a, f, 60);
	tell(nothing_arrives(), "none without a rule");
}

static void test_fields(void)
{
	struct rule vlan = {}, port = {};
	struct ibv_flow *of_vlan, *of_port;
	struct iphdr ip = { .version = 4, .ihl = 5, .ttl = 9, .protocol = IPPROTO_UDP };
	struct udphdr udp = { .dest = htons(PORT) };
	uint8_t f[ROOM];

	vlan.eth.val.vlan_tag = htons(VID);
	vlan.eth.mask.vlan_tag = htons(0xfff);
	of_vlan = add_rule(b.qp, &vlan, b.mac, 0, 0);
	port.udp = (struct ibv_flow_spec_tcp_udp){
		.type = IBV_FLOW_SPEC_UDP, .size = sizeof(port.udp),
		.val.dst_port = htons(PORT), .mask.dst_port = 0xffff,
	};
	of_port = add_rule(b.qp, &port, b.mac, ETH_P_IP, sizeof(port.udp));
	tell(of_vlan && of_port, "rules for a VLAN and a UDP port");

	head(f, b.mac, ETH_P_8021Q);
	memcpy(f + 14, &(uint16_t){ htons(3 << 13 | VID) }, 2);
	memcpy(f + 16, &(uint16_t){ htons(ETH_TEST) }, 2);
	fill(f, 18, 64, 1);
	tell(send_frame(&a, f, 64) == IBV_WC_SUCCESS && arrives(f, 64), "a frame of the VLAN");
	f[15]++;
	send_frame(&a, f, 64);
	tell(nothing_arrives(), "none of the next VLAN");

	head(f, b.mac, ETH_P_IP);
	memcpy(f + 14, &ip, sizeof(ip));
	memcpy(f + 34, &udp, sizeof(udp));
	fill(f, 42, 64, 2);
	tell(send_frame(&a, f, 64) == IBV_WC_SUCCESS && arrives(f, 64), "a datagram for the port");
	f[37]++;
	send_frame(&a, f, 64);
	tell(nothing_arrives(), "none for the next port");
	tell(!ibv_destroy_flow(of_port) && !ibv_destroy_flow(of_vlan), "these rules go");
}

static int packet_socket(const struct end *e)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_TEST), .sll_ifindex = e->ifindex,
	};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_TEST));

	if (fd >= 0 && bind(fd, (void *)&at, sizeof(at))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Does it arrive at the netdev of @b? */
static bool socket_gets(int fd, const uint8_t *f, uint32_t length, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t got[ROOM];

	return poll(&p, 1, ms) == 1 && recv(fd, got, sizeof(got), 0) == (ssize_t)length &&
	       !memcmp(got, f, length);
}

static void test_netdevs(void)
{
	int from = packet_socket(&a), to = packet_socket(&b);
	struct rule r = {}, drop = {
		.drop = { .type = IBV_FLOW_SPEC_ACTION_DROP, .size = sizeof(drop.drop) },
	};
	struct ibv_flow *flow;
	uint8_t f[ROOM];

	head(f, b.mac, ETH_TEST);
	fill(f, ETH_HLEN, 100, 3);
	tell(send_frame(&a, f, 100) == IBV_WC_SUCCESS && socket_gets(to, f, 100, 15000),
	     "a frame that no rule wants is the netdev's");
	flow = add_rule(b.qp, &r, b.mac, ETH_TEST, 0);
	tell(send(from, f, 100, 0) == 100 && arrives(f, 100), "a netdev's frame that a rule wants");
	tell(!socket_gets(to, f, 100, 200), "... is not the other netdev's");
	tell(flow && !ibv_destroy_flow(flow) && send(from, f, 100, 0) == 100 &&
	     socket_gets(to, f, 100, 15000), "... but is without the rule");
	flow = add_rule(b.qp, &drop, b.mac, ETH_TEST, sizeof(drop.drop));
	tell(flow && send_frame(&a, f, 100) == IBV_WC_SUCCESS && !socket_gets(to, f, 100, 200) &&
	     nothing_arrives(), "a rule that drops: neither gets it");
	tell(!ibv_destroy_flow(flow) && send_frame(&a, f, 100) == IBV_WC_SUCCESS &&
	     socket_gets(to, f, 100, 15000), "... and the netdev does without the rule");
	close(from);
	close(to);
}

/*
 * Vectors of Microsoft's "Verifying the RSS Hash Calculation": addresses, ports, and the lowest
 * four bits of the hash of both.
 */
static const struct vector {
	const char *src, *dst;
	uint16_t sport, dport;
	uint8_t queue;
} vectors[] = {
	{ "66.9.149.187", "161.142.100.80", 2794, 1766, 0x8 },		/* 0x51ccc178 */
	{ "199.92.111.2", "65.69.140.83", 14230, 4739, 0xa },		/* 0xc626b0ea */
	{ "24.19.198.95", "12.22.207.184", 12898, 38024, 0xa },		/* 0x5c2b394a */
	{ "38.27.205.30", "209.142.163.6", 48228, 2217, 0xf },		/* 0xafc7327f */
	{ "153.39.163.191", "202.188.127.2", 44251, 1303, 0x2 },	/* 0x10e828a2 */
};

static uint8_t rss_key[] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* A work queue with one receive, whose wr_id is the queue's number. */
static struct ibv_wq *open_wq(uint64_t number)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = b.dev.pd, .cq = b.cq,
	};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_sge sge = { (uintptr_t)b.mem + number * ROOM, ROOM, b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = number, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wq *wq = ibv_create_wq(b.dev.ctx, &init);
	int i;

	if (!wq || ibv_modify_wq(wq, &ready))
		return NULL;
	for (i = 0; i < 4; i++)
		if (ibv_post_wq_recv(wq, &wr, &bad))
			return NULL;
	return wq;
}

static struct ibv_qp *open_rss(struct ibv_rwq_ind_table *table)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RAW_PACKET, .pd = b.dev.pd, .rwq_ind_tbl = table,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH |
			     IBV_QP_INIT_ATTR_IND_TABLE,
		.rx_hash_conf = {
			.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
			.rx_hash_key_len = sizeof(rss_key), .rx_hash_key = rss_key,
			.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
					       IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP,
		},
	};

	return ibv_create_qp_ex(b.dev.ctx, &init);
}

/* Does the frame of the vector arrive at its queue? */
static bool arrives_at_queue(const struct vector *v)
{
	struct iphdr ip = {
		.version = 4, .ihl = 5, .ttl = 9, .protocol = IPPROTO_TCP,
		.saddr = inet_addr(v->src), .daddr = inet_addr(v->dst),
	};
	uint16_t ports[10] = { htons(v->sport), htons(v->dport) };
	uint8_t f[ROOM] = {};
	struct ibv_wc wc;

	head(f, b.mac, ETH_P_IP);
	memcpy(f + 14, &ip, sizeof(ip));
	memcpy(f + 34, ports, sizeof(ports));
	return send_frame(&a, f, 60) == IBV_WC_SUCCESS && next(&b, &wc, 50 * SOON_NS) &&
	       wc.status == IBV_WC_SUCCESS && wc.wr_id == v->queue;
}

static void test_rss(void)
{
	struct ibv_wq *wq[16] = {};
	struct ibv_rwq_ind_table_init_attr init = { .log_ind_tbl_size = 4, .ind_tbl = wq };
	struct ibv_rwq_ind_table *table;
	struct ibv_flow *flow;
	struct rule r = {};
	struct ibv_qp *qp;
	uint32_t i, n = 0;

	for (i = 0; i < 16; i++) {
		wq[i] = open_wq(i);
		n += !!wq[i];
	}
	table = n == 16 ? ibv_create_rwq_ind_table(b.dev.ctx, &init) : NULL;
	qp = table ? open_rss(table) : NULL;
	flow = qp ? add_rule(qp, &r, b.mac, ETH_P_IP, 0) : NULL;
	tell(flow, "a rule that spreads frames over 16 work queues");
	if (!flow)
		return;
	for (i = 0, n = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		n += arrives_at_queue(&vectors[i]);
	tell(n == i, "frames arrive at the queues that RSS's own vectors say");
	tell(ibv_destroy_wq(wq[0]), "no queue goes that the table has");
	n = ibv_destroy_flow(flow) || ibv_destroy_qp(qp) || ibv_destroy_rwq_ind_table(table);
	for (i = 0; i < 16; i++)
		n |= !!ibv_destroy_wq(wq[i]);
	tell(!n, "all of them go");
}

static void test_errors(void)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct rule r = {};
	struct ibv_flow *flow = add_rule(b.qp, &r, b.mac, ETH_TEST, 0);
	uint32_t i, flushed = 0;
	uint8_t f[ROOM] = {};
	struct ibv_wc wc;

	head(f, b.mac, ETH_TEST);
	fill(f, ETH_HLEN, 1000, 4);
	for (i = 0; i < DEPTH; i++)
		send_frame(&a, f, 60);
	for (i = 0; i < DEPTH && next(&b, &wc, SOON_NS); i++)
		;
	tell(i == DEPTH, "as many frames arrive as there are receives");
	send_frame(&a, f, 60);
	tell(nothing_arrives(), "one without a receive is lost");
	post_receive(&b, 0, 500);
	send_frame(&a, f, 1000);
	tell(next(&b, &wc, 50 * SOON_NS) && wc.status == IBV_WC_LOC_LEN_ERR,
	     "one that is too long for its receive is an error");
	tell(flow && !ibv_destroy_flow(flow) && !ibv_destroy_qp(b.qp) && open_qp(&b),
	     "another QP");
	for (i = 0; i < DEPTH; i++)
		post_receive(&b, i, ROOM);
	tell(!ibv_modify_qp(b.qp, &err, IBV_QP_STATE), "to the error state");
	while (next(&b, &wc, SOON_NS))
		flushed += wc.status == IBV_WC_WR_FLUSH_ERR;
	tell(flushed == DEPTH, "all receives are flushed");
	post_frame(&a, f, 60, a.mr->lkey + 0x10000);
	tell(next(&a, &wc, 50 * SOON_NS) && wc.status == IBV_WC_LOC_PROT_ERR,
	     "no frame from memory that is not the sender's");
}

int main(int argc, char **argv)
{
	uint32_t i;

	if (argc != 5) {
		fprintf(stderr, "usage: hcaraw FROM TO NETDEV_FROM NETDEV_TO\n");
		return 2;
	}
	if (!open_end(&a, argv[1], argv[3]) || !open_end(&b, argv[2], argv[4])) {
		complain("two raw packet QPs");
		return 2;
	}
	for (i = 0; i < DEPTH; i++)
		post_receive(&b, i, ROOM);
	test_frames();
	test_fields();
	test_netdevs();
	test_rss();
	test_errors();
	return failed;
}
