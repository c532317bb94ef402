// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * forge: sends a message of the module's channel between peers (kmod/peer_priv.h) that is not
 * the module's:
 *
 *	forge raw FROM-IP TO-IP SOURCE-QP MESSAGE	a raw socket, with any source
 *	forge ud DEV TO-IP MESSAGE			a UD QP of DEV, with QP 1's Q_Key
 *
 *	MESSAGE: [n=COUNT] [us=PAUSE] [version=V] type=T from=QPN to=QPN [mine=NONCE] [yours=NONCE]
 *		 [wish=LEVEL]
 *
 * A type of 1 is HELLO, 2 WELCOME, 3 ASK, 4 ANSWER, 5 REFUSE, 6 WISH, 7 HEARD, 8 TELL, 9 TOLD. With wish, the
 * message has one wish, for the same QPs. PAUSE us are between two messages.
 * Prints "sent N".
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs.h"

#define ROCE_PORT	4791
#define GSI_QKEY	0x80010000	/* IBA 3.9.3 */
#define UD_SEND_ONLY	0x64
#define MAD_BYTES	256

/* As the module's, all in network order. */
struct message {
	uint8_t version, type, reserved[2];
	uint32_t from_qpn, to_qpn;
	uint64_t from_nonce, to_nonce;
	uint8_t rest[24];
	uint8_t n_wishes, reserved3[3];
	struct {
		uint32_t from_qpn, to_qpn;
		uint8_t level, ends, there, reserved;
	} wish;
} __attribute__((packed));

struct mad {
	uint8_t base_version, mgmt_class, class_version, method;
	uint8_t status[4];
	uint64_t tid;
	uint16_t attr_id, reserved;
	uint32_t attr_mod;
	uint8_t rmpp_version, rmpp_type, rmpp_flags, rmpp_status, rmpp_rest[8];
	uint8_t reserved2, oui[3];
	struct message m;
	uint8_t padding[216 - sizeof(struct message)];
} __attribute__((packed));

_Static_assert(sizeof(struct mad) == MAD_BYTES, "a MAD has 256 bytes");

struct packet {
	struct iphdr ip;
	struct udphdr udp;
	/* base transport header, then that of datagrams */
	uint8_t opcode, flags;
	uint16_t pkey;
	uint32_t qpn, psn;
	uint32_t qkey, source_qp;
	struct mad mad;
	uint32_t icrc;
} __attribute__((packed));

static unsigned long count = 1, pause_us;

static uint64_t number(const char *s)
{
	char *end;
	uint64_t v = strtoull(s, &end, 0);

	if (*end || !*s) {
		fprintf(stderr, "forge: '%s' is no number\n", s);
		exit(2);
	}
	return v;
}

static void parse(int argc, char **argv, struct mad *mad)
{
	struct message *m = &mad->m;

	*mad = (struct mad){
		.base_version = 1, .mgmt_class = 0x3b, .class_version = 1, .method = 3,
		.tid = htobe64(1), .attr_id = htobe16(0xff53), .oui = "RDM", .m.version = 1,
	};
	for (int i = 0; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		uint64_t v;

		if (!value) {
			fprintf(stderr, "forge: '%s' has no =\n", argv[i]);
			exit(2);
		}
		*value++ = '\0';
		v = number(value);
		if (!strcmp(argv[i], "n"))
			count = v;
		else if (!strcmp(argv[i], "us"))
			pause_us = v;
		else if (!strcmp(argv[i], "version"))
			m->version = v;
		else if (!strcmp(argv[i], "type"))
			m->type = v;
		else if (!strcmp(argv[i], "from"))
			m->from_qpn = htobe32(v);
		else if (!strcmp(argv[i], "to"))
			m->to_qpn = htobe32(v);
		else if (!strcmp(argv[i], "mine"))
			m->from_nonce = htobe64(v);
		else if (!strcmp(argv[i], "yours"))
			m->to_nonce = htobe64(v);
		else if (!strcmp(argv[i], "wish"))
			m->wish.level = v + 1;
		else
			exit(2);
	}
	if (m->wish.level) {
		m->n_wishes = 1;
		m->wish.from_qpn = m->from_qpn;
		m->wish.to_qpn = m->to_qpn;
	}
	/* HELLO, ASK and WISH have the method Get. */
	if (m->type == 1 || m->type == 3 || m->type == 6)
		mad->method = 1;
}

/* CRC-32 of IEEE 802.3. */
static uint32_t crc32(uint32_t crc, const void *data, size_t n)
{
	const uint8_t *p = data;

	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The invariant CRC: over the packet, where all that a router may change counts as ones. */
static uint32_t invariant_crc(struct packet p)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };

	p.ip.tos = 255;
	p.ip.ttl = 255;
	p.ip.check = 0xffff;
	p.udp.check = 0xffff;
	p.qpn |= htobe32(0xff000000);
	return ~crc32(crc32(~0u, ones, sizeof(ones)), &p, offsetof(struct packet, icrc));
}

static int send_raw(const char *from, const char *to, uint32_t source_qp, const struct mad *mad)
{
	struct packet p = {
		.ip = { .ihl = 5, .version = 4, .tot_len = htobe16(sizeof(p)), .id = htobe16(1),
			.frag_off = htobe16(0x4000), .ttl = 64, .protocol = IPPROTO_UDP },
		.udp = { .source = htobe16(0xc000), .dest = htobe16(ROCE_PORT),
			 .len = htobe16(sizeof(p) - sizeof(p.ip)) },
		.opcode = UD_SEND_ONLY, .pkey = 0xffff, .qpn = htobe32(1),
		.qkey = htobe32(GSI_QKEY), .source_qp = htobe32(source_qp), .mad = *mad,
	};
	struct sockaddr_in dest = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	if (fd < 0)
		return complain("raw socket");
	if (inet_pton(AF_INET, from, &p.ip.saddr) != 1 || inet_pton(AF_INET, to, &p.ip.daddr) != 1)
		return 2;
	dest.sin_addr.s_addr = p.ip.daddr;
	p.icrc = htole32(invariant_crc(p));
	for (unsigned long i = 0; i < count; i++) {
		if (sendto(fd, &p, sizeof(p), 0, (struct sockaddr *)&dest, sizeof(dest)) < 0)
			return complain("send");
		if (pause_us)
			usleep(pause_us);
	}
	close(fd);
	return 0;
}

static int send_ud(const char *name, const char *to, const struct mad *mad)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = GSI_QKEY };
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };
	struct ibv_sge sge = { .length = sizeof(*mad) };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .remote_qpn = 1, .remote_qkey = GSI_QKEY },
	};
	struct vdev dev;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (vdev_open(&dev, name))
		return 1;
	init.send_cq = init.recv_cq = ibv_create_cq(dev.ctx, 4, NULL, NULL, 0);
	qp = init.send_cq ? ibv_create_qp(dev.pd, &init) : NULL;
	if (!qp)
		return complain("UD QP");
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return complain("to INIT with QP 1's Q_Key");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return complain("to RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		return complain("to RTS");
	/* A GID of an IPv4 address ends with it (RFC 4291, 2.5.5.2). */
	ah.grh.sgid_index = dev.gid_index;
	ah.grh.dgid = dev.gid;
	if (inet_pton(AF_INET, to, ah.grh.dgid.raw + 12) != 1)
		return 2;
	wr.wr.ud.ah = ibv_create_ah(dev.pd, &ah);
	mr = ibv_reg_mr(dev.pd, (void *)mad, sizeof(*mad), 0);
	if (!wr.wr.ud.ah || !mr)
		return complain("address or memory");
	sge.addr = (uintptr_t)mad;
	sge.lkey = mr->lkey;
	for (unsigned long i = 0; i < count; i++) {
		if (ibv_post_send(qp, &wr, &bad))
			return complain("post");
		while (!ibv_poll_cq(init.send_cq, 1, &wc))
			;
		if (wc.status != IBV_WC_SUCCESS)
			return complain("send");
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct mad mad;
	int ret;

	if (argc > 6 && !strcmp(argv[1], "raw")) {
		parse(argc - 5, argv + 5, &mad);
		ret = send_raw(argv[2], argv[3], number(argv[4]), &mad);
	} else if (argc > 4 && !strcmp(argv[1], "ud")) {
		parse(argc - 4, argv + 4, &mad);
		ret = send_ud(argv[2], argv[3], &mad);
	} else {
		fputs("usage: forge raw FROM-IP TO-IP SOURCE-QP MESSAGE | forge ud DEV TO-IP MESSAGE\n",
		      stderr);
		return 2;
	}
	if (!ret)
		printf("sent %lu\n", count);
	return !!ret;
}
