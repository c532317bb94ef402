// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * crowd: many QPs of one process that write as fast as their device lets them.
 *
 * Both ends are here. A window of writes is under way; which QP posts next is
 * taken in turn or at random. Where doorbell registers are what is asked about,
 * thread domains place the QPs on so many of them; where it is contexts, each QP
 * gets a memory region of its own over one buffer, and writes from anywhere in it.
 *
 * One JSON object on stdout. The rate is of the guest's time, from when the first
 * window, or as many messages as --warm says, were completed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>

#include "stat.h"
#include "verbs.h"

#define MAX_LEAVES	8
#define PAGE		4096
#define HUGE_PAGE	(2ul << 20)
#define FIRST_NS	30000000000
#define EVENT_CONGESTION 0x1a	/* DB_BF_CONGESTION */
#define EQE_LEVEL	34	/* the byte of its level */

struct options {
	const char *from, *to;
	struct vconn conn;
	uint64_t qps, depth, size, registers, window, region, warm, duration_ns, messages;
	struct mlx5dv_sched_attr leaf[MAX_LEAVES];
	uint32_t leaves;
	bool random, regions, huge, events;
};

struct sender {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint32_t rkey, outstanding;
};

struct crowd {
	const struct options *o;
	struct vdev from, to;
	struct ibv_cq *cq, *to_cq;
	struct ibv_mr *from_mr, *to_mr;
	struct ibv_pd **pd;	/* of each register, or the only one */
	struct mlx5dv_sched_leaf *leaf[MAX_LEAVES];
	struct mlx5dv_devx_event_channel *channel;
	struct sender *s;
	uint8_t *buf;
	uint64_t posted, completed, counted, counted_leaf[MAX_LEAVES];
	uint64_t raised, cleared;
	uint32_t seed, turn;
};

static const char usage[] =
	"usage: crowd [OPTION]...\n"
	"  --from DEV --to DEV  the two ends (mlx5_0, mlx5_1)\n"
	"  --qps N              (64)\n"
	"  --depth N            writes under way on a QP at most (8)\n"
	"  --window N           on all of them together (QPs * depth)\n"
	"  --size BYTES         of a message (512)\n"
	"  --registers N        place the QPs on so many doorbell registers, by thread\n"
	"                       domains; 0: as the library does (0)\n"
	"  --regions BYTES      each QP has a memory region of that size\n"
	"  --huge               in memory that may be collapsed into huge pages\n"
	"  --random             whose turn it is, and what of a region\n"
	"  --leaf MBPS:SHARE    a scheduling leaf; QP i is bound to leaf i modulo leaves\n"
	"  --events             count congestion events\n"
	"  --tclass N --sl N    what both ends ask for (0)\n"
	"  --warm N             messages before any counts (the first window)\n"
	"  --duration SEC       (5)\n"
	"  --messages N         end after so many, whatever the time\n";

/*
 * Pages that lie apart in memory, or one translation would do for many. With @huge, they begin where a
 * huge page does, and may be collapsed.
 */
static uint8_t *map_pages(size_t bytes, bool huge)
{
	size_t spare = huge ? HUGE_PAGE : 0, i;
	uint8_t *p = mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (huge)
		p += -(uintptr_t)p & (HUGE_PAGE - 1);
	else
		madvise(p, bytes, MADV_NOHUGEPAGE);
	for (i = 0; i < bytes; i += 2 * PAGE)
		p[i] = 1;
	for (i = PAGE; i < bytes; i += 2 * PAGE)
		p[i] = 1;
	return p;
}

static int make_leaves(struct crowd *c)
{
	struct mlx5dv_sched_attr attr = { 0 };
	struct mlx5dv_sched_node *root;
	uint32_t i;

	if (!c->o->leaves)
		return 0;
	root = mlx5dv_sched_node_create(c->from.ctx, &attr);
	if (!root)
		return complain("scheduling node");
	for (i = 0; i < c->o->leaves; i++) {
		attr = c->o->leaf[i];
		attr.parent = root;
		c->leaf[i] = mlx5dv_sched_leaf_create(c->from.ctx, &attr);
		if (!c->leaf[i])
			return complain("scheduling leaf");
	}
	return 0;
}

static int make_channel(struct crowd *c)
{
	uint16_t type = EVENT_CONGESTION;
	int fd;

	if (!c->o->events)
		return 0;
	c->channel = mlx5dv_devx_create_event_channel(c->from.ctx, 0);
	if (!c->channel)
		return complain("event channel");
	fd = c->channel->fd;
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ||
	    mlx5dv_devx_subscribe_devx_event(c->channel, NULL, sizeof(type), &type, 1))
		return complain("subscribe");
	return 0;
}

static int connect_one(struct crowd *c, uint32_t i)
{
	const struct options *o = c->o;
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct sender *s = &c->s[i];
	struct ibv_qp *peer;
	struct ibv_mr *mr;

	s->qp = vqp_selective(c->pd[o->registers ? i % o->registers : 0], c->cq, o->depth);
	peer = vqp_sender(c->to.pd, c->to_cq, 1);
	if (!s->qp || !peer)
		return complain("QP");
	s->mr = c->from_mr;
	mr = c->to_mr;
	if (o->regions) {
		s->mr = ibv_reg_mr(c->from.pd, c->buf, o->region, access);
		mr = ibv_reg_mr(c->to.pd, c->buf, o->region, access);
	}
	if (!s->mr || !mr)
		return complain("memory region");
	s->rkey = mr->rkey;
	if (vqp_pair(&c->from, s->qp, &c->to, peer, &o->conn))
		return -EIO;
	if (!o->leaves)
		return 0;
	errno = mlx5dv_modify_qp_sched_elem(s->qp, c->leaf[i % o->leaves], NULL);
	return errno ? complain("binding a QP to a leaf") : 0;
}

static int crowd_open(struct crowd *c)
{
	const struct options *o = c->o;
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint32_t i, n = o->registers ? o->registers : 1;
	int ret;

	if (vdev_open(&c->from, o->from) || vdev_open(&c->to, o->to))
		return -ENODEV;
	c->buf = map_pages(o->region, o->huge);
	c->s = calloc(o->qps, sizeof(*c->s));
	c->pd = calloc(n, sizeof(*c->pd));
	if (!c->buf || !c->s || !c->pd)
		return complain("memory");
	c->from_mr = ibv_reg_mr(c->from.pd, c->buf, o->region, access);
	c->to_mr = ibv_reg_mr(c->to.pd, c->buf, o->region, access);
	c->cq = ibv_create_cq(c->from.ctx, o->window, NULL, NULL, 0);
	c->to_cq = ibv_create_cq(c->to.ctx, 1, NULL, NULL, 0);
	if (!c->from_mr || !c->to_mr || !c->cq || !c->to_cq)
		return complain("resources");
	c->pd[0] = c->from.pd;
	for (i = 0; i < o->registers; i++) {
		c->pd[i] = vdev_thread_pd(&c->from);
		if (!c->pd[i])
			return complain("thread domain");
	}
	ret = make_leaves(c);
	if (!ret)
		ret = make_channel(c);
	for (i = 0; !ret && i < o->qps; i++)
		ret = connect_one(c, i);
	return ret;
}

static int post(struct crowd *c, uint32_t i)
{
	const struct options *o = c->o;
	uint64_t at = o->random ? vrnd(&c->seed) % (o->region / o->size) * o->size : 0;
	struct ibv_sge sge = {
		.addr = (uintptr_t)c->buf + at, .length = o->size, .lkey = c->s[i].mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = sge.addr, .rkey = c->s[i].rkey },
	};

	errno = ibv_post_send(c->s[i].qp, &wr, &bad);
	if (errno)
		return complain("post");
	c->s[i].outstanding++;
	c->posted++;
	return 0;
}

/* The next QP that has room, from a random one or from the one after the last. */
static int post_next(struct crowd *c)
{
	uint32_t i = c->o->random ? vrnd(&c->seed) % c->o->qps : c->turn;

	while (c->s[i].outstanding == c->o->depth)
		i = (i + 1) % c->o->qps;
	c->turn = (i + 1) % c->o->qps;
	return post(c, i);
}

static void count_events(struct crowd *c)
{
	struct {
		struct mlx5dv_devx_async_event_hdr hdr;
		uint8_t eqe[64];
	} e;

	while (c->channel && mlx5dv_devx_get_event(c->channel, &e.hdr, sizeof(e)) > 0) {
		if (e.eqe[EQE_LEVEL])
			c->raised++;
		else
			c->cleared++;
	}
}

static int reap(struct crowd *c, bool refill)
{
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(c->cq, 32, wc), i, ret;

	if (n < 0)
		return complain("poll");
	for (i = 0; i < n; i++) {
		if (wc[i].status) {
			fprintf(stderr, "crowd: completion: %s\n", ibv_wc_status_str(wc[i].status));
			return -EIO;
		}
		c->s[wc[i].wr_id].outstanding--;
		c->completed++;
		if (c->completed > c->o->warm && refill) {
			c->counted++;
			if (c->o->leaves)
				c->counted_leaf[wc[i].wr_id % c->o->leaves]++;
		}
		if (!refill)
			continue;
		ret = post_next(c);
		if (ret)
			return ret;
	}
	/* The device needs the CPU that a loop would take. */
	if (!n)
		usleep(50);
	return n;
}

static int run(struct crowd *c)
{
	const struct options *o = c->o;
	/* The first window may take long, but not for ever. */
	uint64_t begin = 0, end = now_ns() + FIRST_NS + o->duration_ns, now = 0;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < o->window && !ret; i++)
		ret = post_next(c);
	while (ret >= 0) {
		ret = reap(c, true);
		count_events(c);
		now = now_ns();
		if (!begin && c->completed >= o->warm) {
			begin = now;
			end = now + o->duration_ns;
		}
		if (now >= end || (o->messages && c->completed >= o->messages))
			break;
	}
	end = now;
	while (ret >= 0 && c->completed < c->posted)
		ret = reap(c, false);
	count_events(c);
	if (ret < 0)
		return ret;
	printf("{\"qps\":%" PRIu64 ",\"registers\":%" PRIu64 ",\"size\":%" PRIu64, o->qps,
	       o->registers, o->size);
	printf(",\"posted\":%" PRIu64 ",\"counted\":%" PRIu64 ",\"seconds\":%.6f,\"rate\":%.1f", c->posted,
	       c->counted, (end - begin) / 1e9, begin ? c->counted / ((end - begin) / 1e9) : 0);
	for (i = 0; i < o->leaves; i++)
		printf(",\"leaf%u\":%" PRIu64, i, c->counted_leaf[i]);
	if (o->events)
		printf(",\"raised\":%" PRIu64 ",\"cleared\":%" PRIu64, c->raised, c->cleared);
	printf("}\n");
	return 0;
}

static bool parse_leaf(struct options *o, const char *arg)
{
	struct mlx5dv_sched_attr *a = &o->leaf[o->leaves];

	if (o->leaves == MAX_LEAVES ||
	    sscanf(arg, "%u:%u", &a->max_avg_bw, &a->bw_share) != 2)
		return false;
	a->flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE | MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;
	o->leaves++;
	return true;
}

static void parse(int argc, char **argv, struct options *o)
{
	enum { FROM, TO, QPS, DEPTH, WINDOW, SIZE, REGISTERS, REGIONS, HUGE, RANDOM, LEAF,
	       EVENTS, TCLASS, SL, WARM, DURATION, MESSAGES, HELP };
	static const struct option opts[] = {
		{ "from", 1, NULL, FROM }, { "to", 1, NULL, TO },
		{ "qps", 1, NULL, QPS }, { "depth", 1, NULL, DEPTH },
		{ "window", 1, NULL, WINDOW }, { "size", 1, NULL, SIZE },
		{ "registers", 1, NULL, REGISTERS }, { "regions", 1, NULL, REGIONS },
		{ "huge", 0, NULL, HUGE }, { "random", 0, NULL, RANDOM },
		{ "leaf", 1, NULL, LEAF }, { "events", 0, NULL, EVENTS },
		{ "tclass", 1, NULL, TCLASS }, { "sl", 1, NULL, SL },
		{ "warm", 1, NULL, WARM }, { "duration", 1, NULL, DURATION },
		{ "messages", 1, NULL, MESSAGES }, { "help", 0, NULL, HELP }, { 0 }
	};
	int i, at;

	while ((i = getopt_long(argc, argv, "", opts, &at)) != -1) {
		switch (i) {
		case FROM: o->from = optarg; break;
		case TO: o->to = optarg; break;
		case QPS: o->qps = number("qps", optarg, 1, 60000); break;
		case DEPTH: o->depth = number("depth", optarg, 1, 4096); break;
		case WINDOW: o->window = number("window", optarg, 1, 1 << 20); break;
		case SIZE: o->size = number("size", optarg, 1, 1 << 24); break;
		case REGISTERS: o->registers = number("registers", optarg, 0, 1024); break;
		case REGIONS:
			o->region = number("regions", optarg, 1, 1 << 28);
			o->regions = true;
			break;
		case HUGE: o->huge = true; break;
		case RANDOM: o->random = true; break;
		case LEAF:
			if (!parse_leaf(o, optarg))
				goto wrong;
			break;
		case EVENTS: o->events = true; break;
		case TCLASS: o->conn.tclass = number("tclass", optarg, 0, 255); break;
		case SL: o->conn.sl = number("sl", optarg, 0, 15); break;
		case WARM: o->warm = number("warm", optarg, 1, 1000000000); break;
		case DURATION: o->duration_ns = 1000000000 * number("duration", optarg, 1, 86400); break;
		case MESSAGES: o->messages = number("messages", optarg, 1, 1000000000); break;
		case HELP: fputs(usage, stdout); exit(0);
		default: goto wrong;
		}
	}
	if (o->region < o->size)
		o->region = o->size;
	if (!o->window || o->window > o->qps * o->depth)
		o->window = o->qps * o->depth;
	if (!o->warm)
		o->warm = o->window;
	if (optind == argc)
		return;
wrong:
	fputs(usage, stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options o = {
		.from = "mlx5_0", .to = "mlx5_1", .conn = VCONN_DEFAULT,
		.qps = 64, .depth = 8, .size = 512, .duration_ns = 5000000000,
	};
	struct crowd c = { .o = &o, .seed = 1 };
	int ret;

	parse(argc, argv, &o);
	ret = crowd_open(&c);
	if (!ret)
		ret = run(&c);
	return ret ? 1 : 0;
}
