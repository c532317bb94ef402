// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hugemr DEV PEER [wr]: regions of different kinds of memory, checked by reads and writes that
 * the device PEER does, by ibv_wr_*() with wr. Reads commands from stdin and answers each with one
 * line.
 *
 *	reg KIND BYTES	registers new memory on DEV: "reg KIND KIB", of which KIB is in huge pages
 *	check		"check ok" if PEER reads what is in the last region, and what PEER
 *			writes arrives, and the rest is as it was
 *	dereg		ends the last region, and its memory
 *	quit
 *
 * KIND: plain; unused (nothing was written to it); nohugepage (MADV_NOHUGEPAGE); shared (with
 * nobody, but MAP_SHARED); forked (a child has the same pages); pinned (a page of each 2 MiB is
 * in another region).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs.h"

#define RANGE	(2ull << 20)
#define PAGE	4096ull
#define MESSAGE	65536u
#define MRS_MAX	256

static struct vdev dev, peer;
static struct ibv_cq *cq[2];
static struct ibv_qp *qp[2];
static bool by_wr;
static uint8_t *message;
static struct ibv_mr *message_mr;
static const int access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_WRITE;

static struct {
	uint8_t *map, *p;
	uint64_t bytes;
	bool blank;
	struct ibv_mr *mr, *pins[MRS_MAX];
	pid_t child;
} region;

static uint64_t pattern(uint64_t at)
{
	return region.blank ? 0 : (at + 1) * 0x9e3779b97f4a7c15ull;
}

/* Every other page first, so that neighbours do not lie one after the other. */
static void fill(void)
{
	for (uint64_t even = 0; even < 2; even++)
		for (uint64_t page = even ? 0 : PAGE; page < region.bytes; page += 2 * PAGE)
			for (uint64_t at = page; at < page + PAGE; at += 8)
				*(uint64_t *)(region.p + at) = pattern(at);
}

/* KiB in huge pages of the mappings that the region is in. */
static uint64_t huge_kib(void)
{
	unsigned long from = 0, to = 0, at = (unsigned long)region.p;
	FILE *f = fopen("/proc/self/smaps", "r");
	uint64_t kib, sum = 0;
	char line[4096];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			continue;
		if (sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1 &&
		    from < at + region.bytes && to > at)
			sum += kib;
	}
	if (f)
		fclose(f);
	return sum;
}

static int make_memory(const char *kind)
{
	bool shared = !strcmp(kind, "shared");

	region.map = mmap(NULL, region.bytes + RANGE, PROT_READ | PROT_WRITE,
			  MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE), -1, 0);
	if (region.map == MAP_FAILED)
		return complain("mmap");
	region.p = region.map + (-(uintptr_t)region.map & (RANGE - 1));
	if (!strcmp(kind, "nohugepage"))
		madvise(region.map, region.bytes + RANGE, MADV_NOHUGEPAGE);
	region.blank = !strcmp(kind, "unused");
	if (!region.blank)
		fill();
	for (uint64_t i = 0; !strcmp(kind, "pinned") && i < region.bytes / RANGE; i++) {
		region.pins[i] = ibv_reg_mr(dev.pd, region.p + i * RANGE, PAGE, access_flags);
		if (!region.pins[i])
			return complain("pin");
	}
	if (!strcmp(kind, "forked")) {
		region.child = fork();
		if (!region.child) {
			pause();
			_exit(0);
		}
	}
	return 0;
}

static int reg(const char *kind, uint64_t bytes)
{
	memset(&region, 0, sizeof(region));
	region.bytes = bytes;
	if (make_memory(kind))
		return -ENOMEM;
	region.mr = ibv_reg_mr(dev.pd, region.p, bytes, access_flags);
	if (!region.mr)
		return complain("reg");
	printf("reg %s %" PRIu64 "\n", kind, huge_kib());
	return fflush(stdout);
}

static struct ibv_qp *new_wr_qp(struct vdev *d, struct ibv_cq *to)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = to, .recv_cq = to, .qp_type = IBV_QPT_RC, .pd = d->pd,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_RDMA_WRITE,
	};

	return ibv_create_qp_ex(d->ctx, &attr);
}

static int post_batch(enum ibv_wr_opcode opcode, uint64_t at)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(qp[1]);
	uint64_t to = (uintptr_t)region.p + at;

	ibv_wr_start(qpx);
	qpx->wr_id = at;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	if (opcode == IBV_WR_RDMA_READ)
		ibv_wr_rdma_read(qpx, region.mr->rkey, to);
	else
		ibv_wr_rdma_write(qpx, region.mr->rkey, to);
	ibv_wr_set_sge(qpx, message_mr->lkey, (uintptr_t)message, MESSAGE);
	return ibv_wr_complete(qpx);
}

static int post_list(enum ibv_wr_opcode opcode, uint64_t at)
{
	struct ibv_sge sge = { (uintptr_t)message, MESSAGE, message_mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = at, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)region.p + at, region.mr->rkey },
	}, *bad;

	return ibv_post_send(qp[1], &wr, &bad);
}

static int transfer(enum ibv_wr_opcode opcode, uint64_t at)
{
	struct ibv_wc wc;
	int n;

	errno = by_wr ? post_batch(opcode, at) : post_list(opcode, at);
	if (errno)
		return complain("post");
	do
		n = ibv_poll_cq(cq[1], 1, &wc);
	while (!n);
	if (n == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == at)
		return 0;
	fprintf(stderr, "hugemr: completion of %" PRIu64 ": %s\n", wc.wr_id,
		ibv_wc_status_str(wc.status));
	return -EIO;
}

/* In each 2 MiB a message at another place is read, and another one written. */
static const char *check(void)
{
	for (uint64_t i = 0; i < region.bytes / RANGE; i++) {
		uint64_t at = i * RANGE + i * 5 % (RANGE / MESSAGE) * MESSAGE;

		if (transfer(IBV_WR_RDMA_READ, at))
			return "failed";
		for (uint64_t k = 0; k < MESSAGE; k += 8)
			if (*(uint64_t *)(message + k) != pattern(at + k))
				return "read other data";
		for (uint64_t k = 0; k < MESSAGE; k += 8)
			*(uint64_t *)(message + k) = ~(at + k);
		if (transfer(IBV_WR_RDMA_WRITE, at))
			return "failed";
		for (uint64_t k = 0; k < MESSAGE; k += 8) {
			if (*(volatile uint64_t *)(region.p + at + k) != ~(at + k))
				return "has not what was written";
			*(uint64_t *)(region.p + at + k) = pattern(at + k);
		}
	}
	for (uint64_t at = 0; at < region.bytes; at += 8)
		if (*(uint64_t *)(region.p + at) != pattern(at))
			return "memory has changed";
	return "ok";
}

static int dereg(void)
{
	errno = ibv_dereg_mr(region.mr);
	for (int i = 0; !errno && i < MRS_MAX && region.pins[i]; i++)
		errno = ibv_dereg_mr(region.pins[i]);
	if (errno)
		return complain("dereg");
	if (region.child > 0) {
		kill(region.child, SIGKILL);
		waitpid(region.child, NULL, 0);
	}
	munmap(region.map, region.bytes + RANGE);
	region.mr = NULL;
	printf("dereg\n");
	return fflush(stdout);
}

static int obey(const char *line)
{
	char kind[16];
	uint64_t bytes;

	if (!region.mr && sscanf(line, "reg %15s %" SCNu64, kind, &bytes) == 2 &&
	    bytes && !(bytes % RANGE) && bytes / RANGE <= MRS_MAX)
		return reg(kind, bytes);
	if (region.mr && !strcmp(line, "check\n")) {
		printf("check %s\n", check());
		return fflush(stdout);
	}
	if (region.mr && !strcmp(line, "dereg\n"))
		return dereg();
	fprintf(stderr, "hugemr: what is %s", line);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	static const struct vconn conn = VCONN_DEFAULT;

	by_wr = argc == 4 && !strcmp(argv[3], "wr");
	if (argc != 3 + by_wr || vdev_open(&dev, argv[1]) || vdev_open(&peer, argv[2]))
		return 2;
	cq[0] = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	cq[1] = ibv_create_cq(peer.ctx, 16, NULL, NULL, 0);
	qp[0] = cq[0] ? vqp_small(&dev, cq[0]) : NULL;
	qp[1] = !cq[1] ? NULL : by_wr ? new_wr_qp(&peer, cq[1]) : vqp_small(&peer, cq[1]);
	message = malloc(MESSAGE);
	message_mr = message ? ibv_reg_mr(peer.pd, message, MESSAGE, access_flags) : NULL;
	if (!qp[0] || !qp[1] || !message_mr || vqp_pair(&dev, qp[0], &peer, qp[1], &conn))
		return complain("set up") ? 2 : 0;
	return obey_lines(obey) ? 1 : 0;
}
