// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fleet: many connected QPs with traffic, and a close look at their classes.
 *
 * One process has both ends of each pair. Small messages go round robin; every
 * one that was posted must complete, without error. Asynchronous events are
 * read: SQ_DRAINED may come to a QP that this program itself took to SQD, and
 * to no other. The program can do to its QPs what applications do (modify,
 * drain, destroy and make anew) while others change their classes.
 *
 * With --wire it also looks at the packets, and knows the TOS of each QP's last
 * one. On one line each, on stdout:
 *
 *	ready pairs N pid PID
 *	classes MS client TC:N,... server TC:N,... stuck TC:N,... wire TC:N,...
 *	released N					(on SIGUSR1)
 *	ended N modify_us MAX destroy_us MAX		(on SIGHUP)
 *	posted N completed N ...			(at the end)
 *
 * "classes" comes on SIGUSR2, and with --watch whenever it differs. MS is
 * CLOCK_MONOTONIC; client, server and stuck are what ibv_query_qp says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define TICK_NS 5000000
#define MAX_PAIRS 2048
#define SEEN_SIZE 65536		/* QPs whose packets were seen, open addressing */
#define ROCE_PORT 4791
#define RNR_TIMER_NS 655360000	/* encoding 0, the longest: IB_RNR_TIMER_655_36 */

struct options {
	const char *dev[2], *wire;
	struct vconn conn;
	uint64_t pairs, stuck, rate, churn, modify, sqd, watch_ns, duration_ns, depth, size;
	bool uc, both;
};

struct end {
	struct ibv_qp *qp;
	struct vpeer addr;
	uint32_t id;		/* pair << 1 | side */
	uint32_t gen;		/* of the pair: a completion may be of an older one */
	uint32_t outstanding;
	bool draining;		/* by ourselves */
	uint64_t drain_end;
};

struct pair {
	struct end end[2];
	bool stuck, gone;
};

struct side {
	struct vdev dev;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *buf;
};

struct sums {
	uint64_t posted, completed, abandoned, errors, late;
	uint64_t drained, drains, other_events;
	uint64_t churned, modified, failed, max_call_ns;
};

/* The last packet to a QP, by address and number of who gets it. */
struct seen {
	uint64_t key;		/* 0: free */
	uint8_t tos;
};

struct fleet {
	const struct options *o;
	struct side side[2];
	struct pair *pairs;
	struct seen *seen;
	struct sums sum;
	int timer, signals, wire;
	uint64_t next;		/* end to post on */
	uint64_t begun, ticks, watched;
	uint32_t rand;
	bool released, done;
	char classes[4096];
};

static const char usage[] =
	"usage: fleet [OPTION]...\n"
	"  --client-dev DEV  --server-dev DEV   the two ends (rxe0, rxe1)\n"
	"  --pairs N          of QPs, connected to each other (4)\n"
	"  --type rc|uc       (rc)\n"
	"  --both             both ends send\n"
	"  --rate N           messages per second, of all together (200)\n"
	"  --depth N          messages at a time on one QP (1)\n"
	"  --size BYTES       of a message (64)\n"
	"  --tclass N         what all ask for (0)\n"
	"  --stuck N          the first N pairs get no receives until SIGUSR1, and\n"
	"                     begin one by one, over 655 ms (their RNR timer);\n"
	"                     on SIGHUP they are modified and destroyed\n"
	"  --churn N          pairs destroyed and made anew per second\n"
	"  --modify N         QPs modified per second\n"
	"  --sqd N            QPs taken to SQD and back per second\n"
	"  --watch MS         look at the classes so often\n"
	"  --wire NETDEV      look at the packets too\n"
	"  --duration SEC     end after so long (at SIGTERM)\n";

static int failed(const char *what, int err)
{
	fprintf(stderr, "fleet: %s: %s\n", what, strerror(err));
	return -err;
}

static uint32_t any(struct fleet *f, uint32_t n)
{
	f->rand = f->rand * 1664525 + 1013904223;
	return (f->rand >> 8) % n;
}

/* The application's calls must not be held up for long. */
static void timed(struct fleet *f, uint64_t begun)
{
	uint64_t took = now_ns() - begun;

	if (took > f->sum.max_call_ns)
		f->sum.max_call_ns = took;
}

/* --- Making and ending pairs --- */

static int side_open(struct side *s, const char *dev, const struct options *o)
{
	int ret = vdev_open(&s->dev, dev);

	if (ret)
		return ret;
	s->buf = calloc(1, o->size);
	s->channel = ibv_create_comp_channel(s->dev.ctx);
	if (!s->buf || !s->channel)
		return failed(dev, errno);
	s->mr = ibv_reg_mr(s->dev.pd, s->buf, o->size,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	s->cq = ibv_create_cq(s->dev.ctx, (int)(4 * o->pairs * o->depth + 64), NULL, s->channel, 0);
	if (!s->mr || !s->cq)
		return failed(dev, errno);
	if (fcntl(s->dev.ctx->async_fd, F_SETFL, O_NONBLOCK))
		return failed("async_fd", errno);
	return -ibv_req_notify_cq(s->cq, 0);
}

static int end_make(struct fleet *f, struct end *e, int i)
{
	struct side *s = &f->side[i];
	struct ibv_qp_init_attr attr = {
		.qp_context = e,
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.cap = {
			.max_send_wr = f->o->depth, .max_recv_wr = f->o->depth,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = f->o->uc ? IBV_QPT_UC : IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	e->outstanding = 0;
	e->draining = false;
	e->gen++;
	e->qp = ibv_create_qp(s->dev.pd, &attr);
	if (!e->qp)
		return failed("create QP", errno);
	e->addr = vdev_peer(&s->dev, e->qp, 0);
	e->addr.addr = (uintptr_t)s->buf;
	e->addr.rkey = s->mr->rkey;
	return vqp_init(&s->dev, e->qp);
}

/* As lib/verbs.c connects an RC QP; UC has no acknowledgements to set up. */
static int uc_connect(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to,
		      const struct vconn *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = dev->mtu,
		.dest_qp_num = to->qpn,
		.rq_psn = to->psn,
		.ah_attr = {
			.is_global = 1,
			.port_num = dev->port,
			.grh = {
				.dgid = to->gid, .sgid_index = dev->gid_index,
				.hop_limit = 64, .traffic_class = c->tclass,
			},
		},
	};
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);

	if (ret)
		return failed("modify to RTR", ret);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return ret ? failed("modify to RTS", ret) : 0;
}

static int end_connect(struct fleet *f, struct pair *p, int i)
{
	struct vdev *dev = &f->side[i].dev;
	struct ibv_qp *qp = p->end[i].qp;
	const struct vpeer *to = &p->end[!i].addr;
	/* The longest: till it runs out, a queue that waits is not drained. */
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .min_rnr_timer = 0 };
	int ret;

	if (f->o->uc)
		return uc_connect(dev, qp, to, &f->o->conn);
	ret = vqp_rtr(dev, qp, to, &f->o->conn);
	if (!ret)
		ret = vqp_rts(qp, 0, &f->o->conn);
	if (!ret && p->stuck)
		ret = -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
	return ret;
}

static int pair_make(struct fleet *f, struct pair *p)
{
	int i, ret = 0;

	for (i = 0; !ret && i < 2; i++)
		ret = end_make(f, &p->end[i], i);
	for (i = 0; !ret && i < 2; i++)
		ret = end_connect(f, p, i);
	return ret;
}

/* The sender first: nobody is left to wait for an answer. */
static int pair_end(struct fleet *f, struct pair *p)
{
	uint64_t begun;
	int i, ret = 0;

	for (i = 0; i < 2; i++) {
		f->sum.abandoned += p->end[i].outstanding;
		begun = now_ns();
		ret = ret ? ret : ibv_destroy_qp(p->end[i].qp);
		timed(f, begun);
	}
	return ret ? failed("destroy QP", ret) : 0;
}

/* --- Traffic --- */

static int post_recv(struct fleet *f, struct end *e)
{
	struct side *s = &f->side[e->id & 1];
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->buf, .length = f->o->size, .lkey = s->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = {
		.wr_id = (uint64_t)e->gen << 32 | e->id, .sg_list = &sge, .num_sge = 1,
	};

	return -ibv_post_recv(e->qp, &wr, &bad);
}

static int post_send(struct fleet *f, struct pair *p, int i)
{
	struct side *s = &f->side[i];
	struct end *e = &p->end[i];
	const struct vpeer *to = &p->end[!i].addr;
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->buf, .length = f->o->size, .lkey = s->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)e->gen << 32 | e->id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = p->stuck ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = to->addr, .rkey = to->rkey },
	};
	int ret = ibv_post_send(e->qp, &wr, &bad);

	if (ret)
		return failed("post", ret);
	e->outstanding++;
	f->sum.posted++;
	return 0;
}

/*
 * A queue that is not heard is drained for a moment each time that its RNR timer
 * has run out. Never all of them in the same moment: so they do not begin in one.
 */
static bool begins_later(const struct fleet *f, const struct pair *p)
{
	uint64_t turn = p - f->pairs;

	return p->stuck && now_ns() - f->begun < turn * RNR_TIMER_NS / f->o->stuck;
}

/* So many messages on the ends whose turn it is and that have room. */
static int send_some(struct fleet *f, uint64_t n)
{
	uint64_t ends = 2 * f->o->pairs, looked;
	int ret = 0;

	for (looked = 0; !ret && n && looked < ends; looked++) {
		struct pair *p = &f->pairs[f->next / 2];
		int i = f->next % 2;

		f->next = (f->next + 1) % ends;
		if (p->gone || (i && (p->stuck || !f->o->both)) || p->end[i].draining ||
		    p->end[i].outstanding >= f->o->depth || begins_later(f, p))
			continue;
		ret = post_send(f, p, i);
		n--;
	}
	return ret;
}

static int completed(struct fleet *f, const struct ibv_wc *wc)
{
	uint32_t id = (uint32_t)wc->wr_id;
	struct end *e = &f->pairs[id / 2].end[id & 1];

	if (e->gen != wc->wr_id >> 32 || f->pairs[id / 2].gone) {
		f->sum.late++;
		return 0;
	}
	if (wc->status) {
		fprintf(stderr, "fleet: pair %u: completion: %s\n", id / 2,
			ibv_wc_status_str(wc->status));
		f->sum.errors++;
		f->done = true;
	}
	/* With an error, the opcode is not told; nothing goes on then anyhow. */
	if (!wc->status && wc->opcode & IBV_WC_RECV)
		return post_recv(f, e);
	e->outstanding--;
	f->sum.completed++;
	return 0;
}

static int on_completions(struct fleet *f, struct side *s)
{
	struct ibv_wc wc[16];
	struct ibv_cq *cq;
	void *ctx;
	int i, n, ret;

	if (ibv_get_cq_event(s->channel, &cq, &ctx))
		return failed("completion channel", errno);
	ibv_ack_cq_events(cq, 1);
	ret = ibv_req_notify_cq(cq, 0);
	while (!ret && (n = ibv_poll_cq(s->cq, 16, wc)) > 0)
		for (i = 0; !ret && i < n; i++)
			ret = completed(f, &wc[i]);
	return ret;
}

/*
 * rxe looks neither whether a queue is drained by now nor, back in RTS, for what
 * was posted meanwhile, until a doorbell rings.
 */
static void ring(struct end *e)
{
	struct ibv_send_wr *bad;

	ibv_post_send(e->qp, NULL, &bad);
}

static int on_event(struct fleet *f, struct side *s)
{
	struct ibv_async_event ev;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct end *e;
	int ret = 0;

	while (!ret && !ibv_get_async_event(s->dev.ctx, &ev)) {
		if (ev.event_type != IBV_EVENT_SQ_DRAINED) {
			fprintf(stderr, "fleet: event: %s\n", ibv_event_type_str(ev.event_type));
			f->sum.other_events++;
			ibv_ack_async_event(&ev);
			continue;
		}
		e = ev.element.qp->qp_context;
		ibv_ack_async_event(&ev);
		if (!e->draining) {
			f->sum.drained++;
			fprintf(stderr, "fleet: pair %u: SQ_DRAINED out of the blue\n", e->id / 2);
			continue;
		}
		e->draining = false;
		ret = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
		if (ret)
			return failed("modify SQD to RTS", ret);
		ring(e);
		f->sum.drains++;
	}
	return ret;
}

/* --- What applications do to their QPs --- */

/* One that is not stuck, where there is any. */
static struct pair *any_pair(struct fleet *f)
{
	uint32_t free = f->o->pairs - f->o->stuck;
	struct pair *p = free ? &f->pairs[f->o->stuck + any(f, free)] :
				&f->pairs[any(f, f->o->pairs)];

	return p->gone ? NULL : p;
}

static int do_churn(struct fleet *f)
{
	struct pair *p = any_pair(f);
	int ret;

	if (!p || p->end[0].draining || p->end[1].draining)
		return 0;
	ret = pair_end(f, p);
	if (!ret)
		ret = pair_make(f, p);
	f->sum.churned++;
	return ret;
}

static int modify(struct fleet *f, struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	uint64_t begun = now_ns();
	int ret = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);

	timed(f, begun);
	return ret ? failed("modify RTS to RTS", ret) : 0;
}

static int do_modify(struct fleet *f)
{
	struct pair *p = any_pair(f);
	struct end *e = p ? &p->end[any(f, 2)] : NULL;
	int ret;

	if (!e || e->draining)
		return 0;
	ret = modify(f, e);
	f->sum.modified++;
	return ret;
}

static int do_sqd(struct fleet *f)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pair *p = any_pair(f);
	struct end *e = p ? &p->end[any(f, 2)] : NULL;
	uint64_t begun = now_ns();
	int ret;

	if (!e || e->draining)
		return 0;
	e->draining = true;
	e->drain_end = begun + 10000000000ull;
	ret = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
	timed(f, begun);
	return ret ? failed("modify to SQD", ret) : 0;
}

/* Its own event must come: without it an application would wait for ever. */
static void check_drains(struct fleet *f, uint64_t now)
{
	struct end *e;
	uint64_t i;

	for (i = 0; i < 2 * f->o->pairs; i++) {
		e = &f->pairs[i / 2].end[i % 2];
		if (!e->draining)
			continue;
		ring(e);
		if (now < e->drain_end)
			continue;
		fprintf(stderr, "fleet: pair %" PRIu64 ": no SQ_DRAINED in 10 s\n", i / 2);
		e->draining = false;
		f->sum.failed++;
		f->done = true;
	}
}

static int release(struct fleet *f)
{
	uint64_t i, k;
	int ret = 0;

	if (f->released)
		return 0;
	f->released = true;
	for (i = 0; i < f->o->stuck; i++)
		for (k = 0; !ret && !f->pairs[i].gone && k < f->o->depth; k++)
			ret = post_recv(f, &f->pairs[i].end[1]);
	printf("released %" PRIu64 "\n", f->o->stuck);
	return ret;
}

/* An application may do with a QP what it likes, also while that is stuck. */
static int end_stuck(struct fleet *f)
{
	uint64_t i, modify_ns, n = 0;
	int ret = 0;

	f->sum.max_call_ns = 0;
	for (i = 0; !ret && i < f->o->stuck; i++)
		ret = modify(f, &f->pairs[i].end[0]);
	modify_ns = f->sum.max_call_ns;
	f->sum.max_call_ns = 0;
	for (i = 0; !ret && i < f->o->stuck; i++) {
		if (f->pairs[i].gone)
			continue;
		ret = pair_end(f, &f->pairs[i]);
		f->pairs[i].gone = true;
		n++;
	}
	printf("ended %" PRIu64 " modify_us %" PRIu64 " destroy_us %" PRIu64 "\n", n,
	       modify_ns / 1000, f->sum.max_call_ns / 1000);
	return ret;
}

/* --- The wire --- */

static int wire_open(const char *netdev)
{
	/* Without the link's header: IPv4 without options, UDP, to RoCE's port. */
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
		return failed(netdev, errno);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return failed(netdev, errno);
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

/* IPv4 destination at 16, UDP at 20, BTH at 28 with the QPN in its bytes 5 to 7. */
static void on_wire(struct fleet *f)
{
	uint8_t p[64];
	uint32_t addr;

	while (recv(f->wire, p, sizeof(p), 0) >= 36) {
		memcpy(&addr, p + 16, sizeof(addr));
		find_seen(f, addr, p[33] << 16 | p[34] << 8 | p[35])->tos = p[1];
	}
}

/* --- What classes there are --- */

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

static int look(struct fleet *f, bool always)
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
			return failed("query QP", ret);
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

/* --- The loop --- */

/* How many of @per_second are due in this tick. */
static uint64_t due(const struct fleet *f, uint64_t per_second)
{
	uint64_t hz = 1000000000 / TICK_NS;

	return (f->ticks + 1) * per_second / hz - f->ticks * per_second / hz;
}

static int on_tick(struct fleet *f)
{
	const struct options *o = f->o;
	uint64_t now = now_ns(), n;
	uint64_t expired;
	int ret;

	if (read(f->timer, &expired, sizeof(expired)) < 0)
		return failed("timer", errno);
	ret = send_some(f, due(f, o->rate));
	for (n = due(f, o->modify); !ret && n; n--)
		ret = do_modify(f);
	for (n = due(f, o->sqd); !ret && n; n--)
		ret = do_sqd(f);
	for (n = due(f, o->churn); !ret && n; n--)
		ret = do_churn(f);
	f->ticks++;
	check_drains(f, now);
	if (!ret && o->watch_ns && now - f->watched >= o->watch_ns) {
		f->watched = now;
		ret = look(f, false);
	}
	return ret;
}

static int on_signal(struct fleet *f)
{
	struct signalfd_siginfo si;

	if (read(f->signals, &si, sizeof(si)) != sizeof(si))
		return failed("signals", errno);
	switch (si.ssi_signo) {
	case SIGUSR1:
		return release(f);
	case SIGUSR2:
		return look(f, true);
	case SIGHUP:
		return end_stuck(f);
	default:
		f->done = true;
		return 0;
	}
}

enum { CH0, CH1, EV0, EV1, SIGNALS, WIRE, TIMER, N_FDS };

static int turn(struct fleet *f, struct pollfd *fds)
{
	int i, ret = 0;

	if (poll(fds, N_FDS, 100) < 0)
		return failed("poll", errno);
	for (i = 0; i < 2; i++) {
		if (!ret && fds[CH0 + i].revents)
			ret = on_completions(f, &f->side[i]);
		if (!ret && fds[EV0 + i].revents)
			ret = on_event(f, &f->side[i]);
	}
	if (!ret && fds[WIRE].revents)
		on_wire(f);
	if (!ret && fds[SIGNALS].revents)
		ret = on_signal(f);
	if (!ret && fds[TIMER].revents)
		ret = on_tick(f);
	return ret;
}

static uint64_t outstanding(const struct fleet *f)
{
	uint64_t i, n = 0;

	for (i = 0; i < 2 * f->o->pairs; i++) {
		const struct pair *p = &f->pairs[i / 2];

		if (!p->gone)
			n += p->end[i % 2].outstanding + p->end[i % 2].draining;
	}
	return n;
}

static int run(struct fleet *f)
{
	struct pollfd fds[N_FDS] = {
		[CH0] = { .fd = f->side[0].channel->fd, .events = POLLIN },
		[CH1] = { .fd = f->side[1].channel->fd, .events = POLLIN },
		[EV0] = { .fd = f->side[0].dev.ctx->async_fd, .events = POLLIN },
		[EV1] = { .fd = f->side[1].dev.ctx->async_fd, .events = POLLIN },
		[SIGNALS] = { .fd = f->signals, .events = POLLIN },
		[WIRE] = { .fd = f->wire, .events = POLLIN },
		[TIMER] = { .fd = f->timer, .events = POLLIN },
	};
	uint64_t end = f->o->duration_ns ? now_ns() + f->o->duration_ns : UINT64_MAX;
	int ret = 0;

	f->begun = now_ns();
	while (!ret && !f->done && now_ns() < end)
		ret = turn(f, fds);
	/* What is on its way must still arrive. */
	fds[TIMER].fd = -1;
	end = now_ns() + 20000000000ull;
	while (!ret && !f->sum.errors && outstanding(f) && now_ns() < end) {
		ret = turn(f, fds);
		check_drains(f, now_ns());
	}
	return ret;
}

static int open_all(struct fleet *f)
{
	struct itimerspec every = {
		.it_value = { .tv_nsec = TICK_NS }, .it_interval = { .tv_nsec = TICK_NS },
	};
	sigset_t set;
	uint64_t i;
	int ret = 0;

	f->wire = -1;
	if (f->o->wire) {
		f->seen = calloc(SEEN_SIZE, sizeof(*f->seen));
		f->wire = wire_open(f->o->wire);
		if (!f->seen || f->wire < 0)
			return -ENODEV;
	}
	for (i = 0; !ret && i < 2; i++)
		ret = side_open(&f->side[i], f->o->dev[i], f->o);
	f->pairs = calloc(f->o->pairs, sizeof(*f->pairs));
	if (!f->pairs)
		return -ENOMEM;
	for (i = 0; !ret && i < f->o->pairs; i++) {
		f->pairs[i].stuck = i < f->o->stuck;
		f->pairs[i].end[0].id = i << 1;
		f->pairs[i].end[1].id = i << 1 | 1;
		ret = pair_make(f, &f->pairs[i]);
	}
	sigprocmask(SIG_BLOCK, NULL, &set);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC);
	f->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (!ret && (f->signals < 0 || f->timer < 0 || timerfd_settime(f->timer, 0, &every, NULL)))
		ret = -errno;
	return ret;
}

static void report(const struct fleet *f)
{
	const struct sums *s = &f->sum;

	printf("posted %" PRIu64 " completed %" PRIu64 " abandoned %" PRIu64 " late %" PRIu64
	       " outstanding %" PRIu64 " errors %" PRIu64 " drained %" PRIu64 " drains %" PRIu64
	       " other_events %" PRIu64 " churned %" PRIu64 " modified %" PRIu64 " failed %" PRIu64
	       " call_us %" PRIu64 "\n",
	       s->posted, s->completed, s->abandoned, s->late, outstanding(f), s->errors,
	       s->drained, s->drains, s->other_events, s->churned, s->modified, s->failed,
	       s->max_call_ns / 1000);
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "client-dev", 1, NULL, 'c' }, { "server-dev", 1, NULL, 's' },
		{ "pairs", 1, NULL, 'p' }, { "type", 1, NULL, 't' }, { "both", 0, NULL, 'b' },
		{ "rate", 1, NULL, 'r' }, { "depth", 1, NULL, 'd' }, { "size", 1, NULL, 'z' },
		{ "tclass", 1, NULL, 'T' }, { "stuck", 1, NULL, 'k' }, { "churn", 1, NULL, 'C' },
		{ "modify", 1, NULL, 'm' }, { "sqd", 1, NULL, 'q' }, { "watch", 1, NULL, 'w' },
		{ "wire", 1, NULL, 'W' }, { "duration", 1, NULL, 'D' }, { "help", 0, NULL, 'h' },
		{ 0 }
	};
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'c': o->dev[0] = optarg; break;
		case 's': o->dev[1] = optarg; break;
		case 'p': o->pairs = number("pairs", optarg, 1, MAX_PAIRS); break;
		case 't':
			o->uc = !strcmp(optarg, "uc");
			if (!o->uc && strcmp(optarg, "rc"))
				goto wrong;
			break;
		case 'b': o->both = true; break;
		case 'r': o->rate = number("rate", optarg, 0, 1000000); break;
		case 'd': o->depth = number("depth", optarg, 1, 64); break;
		case 'z': o->size = number("size", optarg, 1, 1 << 20); break;
		case 'T': o->conn.tclass = number("tclass", optarg, 0, 255); break;
		case 'k': o->stuck = number("stuck", optarg, 0, MAX_PAIRS); break;
		case 'C': o->churn = number("churn", optarg, 0, 10000); break;
		case 'm': o->modify = number("modify", optarg, 0, 10000); break;
		case 'q': o->sqd = number("sqd", optarg, 0, 10000); break;
		case 'w': o->watch_ns = 1000000 * number("watch", optarg, 1, 60000); break;
		case 'W': o->wire = optarg; break;
		case 'D': o->duration_ns = 1000000000 * number("duration", optarg, 1, 86400); break;
		case 'h': fputs(usage, stdout); exit(0);
		default: goto wrong;
		}
	}
	if (optind == argc && o->stuck <= o->pairs)
		return;
wrong:
	fputs(usage, stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options o = {
		.dev = { "rxe0", "rxe1" }, .conn = VCONN_DEFAULT,
		.pairs = 4, .rate = 200, .depth = 1, .size = 64,
	};
	struct fleet f = { .o = &o, .rand = 1 };
	sigset_t set;
	int ret;

	parse(argc, argv, &o);
	setlinebuf(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);

	ret = open_all(&f);
	if (!ret) {
		printf("ready pairs %" PRIu64 " pid %d\n", o.pairs, getpid());
		ret = run(&f);
		report(&f);
	}
	/* The process's end takes the QPs along, as for any program. */
	return ret || f.sum.errors || f.sum.drained || f.sum.other_events || f.sum.failed ||
	       outstanding(&f) ? 1 : 0;
}
