// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * lat: a job that cares about latency.
 *
 * Two processes with one RC QP each. The client sends one small message at a
 * time, sleeps on a completion channel until the answer is there, and measures
 * from post to completion, so the acknowledgement is part of it. Polling tools
 * cannot do this under emulation: they take the CPU their own packets need.
 *
 * On one line each, on stdout:
 *
 *	ready client DEV QPN PID server DEV QPN PID
 *	query client TCLASS SL STATE server TCLASS SL STATE	(on SIGUSR2)
 *	released N						(on SIGUSR1)
 *	samples N p50 US p99 US max US errors N outstanding N	(at the end)
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

#define MAX_OUTSTANDING 64

struct options {
	const char *client_dev, *server_dev, *log;
	struct vconn conn;
	uint64_t interval_ns, duration_ns, count;
	uint32_t size, outstanding;
	bool read;
	bool send;	/* two-sided; no receives are there until SIGUSR1 */
	bool json;
};

struct end {
	struct vdev dev;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
	size_t size;
	pid_t pid;
};

/* What the server answers to each command. */
struct answer {
	char dev[64];
	struct vpeer peer;
	uint32_t qpn;
	pid_t pid;
	uint8_t tclass, sl, state;
};

enum command { CMD_QUERY = 'q', CMD_RELEASE = 'r' };

static const char usage[] =
	"usage: lat [OPTION]...\n"
	"  --client-dev DEV  --server-dev DEV   the two ends (rxe0, rxe1)\n"
	"  --op write|read|send    with send, the server posts no receive until SIGUSR1\n"
	"  --size BYTES       of a message (64)\n"
	"  --outstanding N    messages at a time (1)\n"
	"  --interval USEC    pause after a completion (2000)\n"
	"  --count N          end after so many completions\n"
	"  --duration SEC     end after so long; neither: at SIGTERM\n"
	"  --tclass N --sl N  what both ends ask for (0)\n"
	"  --qp-timeout N     4.096 us << N (18)\n"
	"  --rnr-retry N      7: for ever (7)\n"
	"  --log FILE         a line for each message: time posted, latency (ns), status\n"
	"  --json             the last line as JSON\n";

static int end_open(struct end *e, const char *dev, const struct options *o)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = o->outstanding, .max_recv_wr = o->outstanding,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	int ret = vdev_open(&e->dev, dev);

	if (ret)
		return ret;
	e->pid = getpid();
	e->size = o->size;
	e->buf = calloc(1, o->size);
	e->channel = ibv_create_comp_channel(e->dev.ctx);
	if (!e->buf || !e->channel)
		goto failed;
	e->mr = ibv_reg_mr(e->dev.pd, e->buf, o->size,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ);
	e->cq = ibv_create_cq(e->dev.ctx, 2 * o->outstanding, NULL, e->channel, 0);
	if (!e->mr || !e->cq)
		goto failed;
	attr.send_cq = attr.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->dev.pd, &attr);
	if (!e->qp)
		goto failed;
	return vqp_init(&e->dev, e->qp);

failed:
	ret = -errno;
	fprintf(stderr, "lat: %s: %s\n", dev, strerror(errno));
	return ret;
}

static struct vpeer end_peer(const struct end *e)
{
	struct vpeer p = vdev_peer(&e->dev, e->qp, 0);

	p.addr = (uintptr_t)e->buf;
	p.rkey = e->mr->rkey;
	return p;
}

static int end_connect(struct end *e, const struct vpeer *to, const struct options *o)
{
	int ret = vqp_rtr(&e->dev, e->qp, to, &o->conn);

	return ret ? ret : vqp_rts(e->qp, 0, &o->conn);
}

static int end_answer(struct end *e, struct answer *a)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = ibv_query_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV, &init);

	memset(a, 0, sizeof(*a));
	if (ret) {
		fprintf(stderr, "lat: query QP: %s\n", strerror(ret));
		return -ret;
	}
	snprintf(a->dev, sizeof(a->dev), "%s", ibv_get_device_name(e->dev.ctx->device));
	a->peer = end_peer(e);
	a->qpn = e->qp->qp_num;
	a->pid = e->pid;
	a->state = attr.qp_state;
	a->tclass = attr.ah_attr.grh.traffic_class;
	a->sl = attr.ah_attr.sl;
	return 0;
}

static int post_recv(struct end *e)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf, .length = e->size, .lkey = e->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return -ibv_post_recv(e->qp, &wr, &bad);
}

static int post_send(struct end *e, const struct vpeer *to, const struct options *o, uint64_t id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->buf, .length = e->size, .lkey = e->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = o->send ? IBV_WR_SEND : o->read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = to->addr, .rkey = to->rkey },
	};

	return -ibv_post_send(e->qp, &wr, &bad);
}

/* Consumes the channel's event and arms it again, before the CQ is polled. */
static int rearm(struct end *e)
{
	struct ibv_cq *cq;
	void *ctx;

	if (ibv_get_cq_event(e->channel, &cq, &ctx))
		return -errno;
	ibv_ack_cq_events(cq, 1);
	return -ibv_req_notify_cq(cq, 0);
}

/* --- The server: its own process, idle unless it gives receives. --- */

static int repost(struct end *e)
{
	struct ibv_wc wc;
	int ret = rearm(e);

	while (!ret && ibv_poll_cq(e->cq, 1, &wc) > 0)
		ret = wc.status ? -EIO : post_recv(e);
	return ret;
}

static int serve(struct end *e, int sock, const struct options *o)
{
	struct pollfd fds[] = {
		{ .fd = sock, .events = POLLIN },
		{ .fd = e->channel->fd, .events = POLLIN },
	};
	struct answer a;
	uint32_t i;
	char cmd;
	int ret;

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			return -errno;
		if (fds[1].revents) {
			ret = repost(e);
			if (ret)
				return ret;
		}
		if (!fds[0].revents)
			continue;
		if (read(sock, &cmd, 1) != 1)
			return 0;
		for (i = 0; cmd == CMD_RELEASE && i < o->outstanding; i++) {
			ret = post_recv(e);
			if (ret)
				return ret;
		}
		ret = end_answer(e, &a);
		if (ret || write(sock, &a, sizeof(a)) != sizeof(a))
			return ret ? ret : -EPIPE;
	}
}

static int server(int sock, const struct options *o)
{
	struct end e = { 0 };
	struct answer a;
	struct vpeer to;
	int ret;

	/* Signals are the client's; this end goes when the client is gone. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ret = end_open(&e, o->server_dev, o);
	if (ret || recv(sock, &to, sizeof(to), MSG_WAITALL) != sizeof(to))
		return 1;
	ret = end_connect(&e, &to, o);
	if (ret || end_answer(&e, &a) || ibv_req_notify_cq(e.cq, 0))
		return 1;
	if (write(sock, &a, sizeof(a)) != sizeof(a))
		return 1;
	ret = serve(&e, sock, o);
	if (ret)
		fprintf(stderr, "lat: server: %s\n", strerror(-ret));
	return ret ? 1 : 0;
}

/* --- The client --- */

struct client {
	struct end e;
	struct answer server;
	const struct options *o;
	int sock, timer, signals;
	FILE *log;
	struct samples lat;
	uint64_t posted_at[MAX_OUTSTANDING];
	uint32_t outstanding;
	uint64_t errors;
	bool done;
};

static int ask(struct client *c, char cmd)
{
	if (write(c->sock, &cmd, 1) != 1 ||
	    recv(c->sock, &c->server, sizeof(c->server), MSG_WAITALL) != sizeof(c->server)) {
		fprintf(stderr, "lat: the server is gone\n");
		return -EPIPE;
	}
	return 0;
}

static int report_query(struct client *c)
{
	struct answer a;
	int ret = end_answer(&c->e, &a);

	if (!ret)
		ret = ask(c, CMD_QUERY);
	if (!ret)
		printf("query client %u %u %u server %u %u %u\n", a.tclass, a.sl, a.state,
		       c->server.tclass, c->server.sl, c->server.state);
	return ret;
}

static int on_signal(struct client *c)
{
	struct signalfd_siginfo si;
	int ret;

	if (read(c->signals, &si, sizeof(si)) != sizeof(si))
		return -errno;
	switch (si.ssi_signo) {
	case SIGUSR1:
		if (!c->o->send)
			return 0;
		ret = ask(c, CMD_RELEASE);
		if (!ret)
			printf("released %u\n", c->o->outstanding);
		return ret;
	case SIGUSR2:
		return report_query(c);
	default:
		c->done = true;
		return 0;
	}
}

static int on_timer(struct client *c)
{
	uint64_t expired;
	int ret;

	if (read(c->timer, &expired, sizeof(expired)) < 0)
		return -errno;
	while (c->outstanding < c->o->outstanding) {
		c->posted_at[c->outstanding] = now_ns();
		ret = post_send(&c->e, &c->server.peer, c->o, c->outstanding);
		if (ret)
			return ret;
		c->outstanding++;
	}
	return 0;
}

static int pause_for(struct client *c, uint64_t ns)
{
	struct itimerspec t = {
		.it_value = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 },
	};

	return timerfd_settime(c->timer, 0, &t, NULL) ? -errno : 0;
}

static int on_completion(struct client *c)
{
	uint64_t posted, lat;
	struct ibv_wc wc;
	int ret = rearm(&c->e);

	while (!ret && ibv_poll_cq(c->e.cq, 1, &wc) > 0) {
		posted = c->posted_at[wc.wr_id];
		lat = now_ns() - posted;
		c->outstanding--;
		if (c->log)
			fprintf(c->log, "%" PRIu64 " %" PRIu64 " %d\n", posted, lat, wc.status);
		if (wc.status) {
			fprintf(stderr, "lat: completion: %s\n", ibv_wc_status_str(wc.status));
			c->errors++;
			c->done = true;
			continue;
		}
		ret = samples_add(&c->lat, lat);
	}
	if (c->o->count && c->lat.n >= c->o->count)
		c->done = true;
	if (!ret && !c->outstanding && !c->done)
		ret = pause_for(c, c->o->interval_ns);
	return ret;
}

static int run(struct client *c)
{
	struct pollfd fds[] = {
		{ .fd = c->e.channel->fd, .events = POLLIN },
		{ .fd = c->timer, .events = POLLIN },
		{ .fd = c->signals, .events = POLLIN },
	};
	uint64_t end = c->o->duration_ns ? now_ns() + c->o->duration_ns : UINT64_MAX, now;
	int ret = pause_for(c, 1), wait;

	while (!ret && !c->done) {
		now = now_ns();
		if (now >= end)
			break;
		wait = end == UINT64_MAX ? -1 : (int)((end - now) / 1000000 + 1);
		if (poll(fds, 3, wait) < 0)
			return -errno;
		if (fds[0].revents)
			ret = on_completion(c);
		if (!ret && fds[1].revents)
			ret = on_timer(c);
		if (!ret && fds[2].revents)
			ret = on_signal(c);
	}
	return ret;
}

static int client_open(struct client *c)
{
	struct vpeer mine;
	sigset_t set;
	int ret = end_open(&c->e, c->o->client_dev, c->o);

	if (ret)
		return ret;
	sigprocmask(SIG_BLOCK, NULL, &set);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (c->signals < 0 || c->timer < 0)
		return -errno;
	mine = end_peer(&c->e);
	if (write(c->sock, &mine, sizeof(mine)) != sizeof(mine) ||
	    recv(c->sock, &c->server, sizeof(c->server), MSG_WAITALL) != sizeof(c->server))
		return -EPIPE;
	ret = end_connect(&c->e, &c->server.peer, c->o);
	if (ret)
		return ret;
	if (c->o->log) {
		c->log = fopen(c->o->log, "w");
		if (!c->log)
			return -errno;
		/* Read by others while we run. */
		setlinebuf(c->log);
	}
	return -ibv_req_notify_cq(c->e.cq, 0);
}

static void report(struct client *c)
{
	double p50 = samples_quantile(&c->lat, 50) / 1e3;
	double p99 = samples_quantile(&c->lat, 99) / 1e3;
	double max = samples_quantile(&c->lat, 100) / 1e3;

	printf(c->o->json ?
	       "{\"samples\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"max_us\":%.1f,\"errors\":%" PRIu64 ",\"outstanding\":%u}\n" :
	       "samples %zu p50 %.1f p99 %.1f max %.1f errors %" PRIu64 " outstanding %u\n",
	       c->lat.n, p50, p99, max, c->errors, c->outstanding);
}

static int client(int sock, const struct options *o)
{
	struct client c = { .sock = sock, .o = o };
	int ret = client_open(&c);

	if (!ret) {
		printf("ready client %s %u %d server %s %u %d\n",
		       ibv_get_device_name(c.e.dev.ctx->device), c.e.qp->qp_num, c.e.pid,
		       c.server.dev, c.server.qpn, c.server.pid);
		ret = run(&c);
		report(&c);
	}
	if (ret)
		fprintf(stderr, "lat: client: %s\n", strerror(-ret));
	return ret || c.errors ? 1 : 0;
}

static void parse(int argc, char **argv, struct options *o)
{
	enum { CDEV, SDEV, OP, SIZE, OUT, INTERVAL, COUNT, DURATION, TCLASS, SL, TIMEOUT, RNR,
	       LOG, JSON, HELP };
	static const struct option opts[] = {
		{ "client-dev", 1, NULL, CDEV }, { "server-dev", 1, NULL, SDEV },
		{ "op", 1, NULL, OP }, { "size", 1, NULL, SIZE },
		{ "outstanding", 1, NULL, OUT }, { "interval", 1, NULL, INTERVAL },
		{ "count", 1, NULL, COUNT }, { "duration", 1, NULL, DURATION },
		{ "tclass", 1, NULL, TCLASS }, { "sl", 1, NULL, SL },
		{ "qp-timeout", 1, NULL, TIMEOUT }, { "rnr-retry", 1, NULL, RNR },
		{ "log", 1, NULL, LOG }, { "json", 0, NULL, JSON },
		{ "help", 0, NULL, HELP }, { 0 }
	};
	int i, at;

	while ((i = getopt_long(argc, argv, "", opts, &at)) != -1) {
		switch (i) {
		case CDEV: o->client_dev = optarg; break;
		case SDEV: o->server_dev = optarg; break;
		case OP:
			o->send = !strcmp(optarg, "send");
			o->read = !strcmp(optarg, "read");
			if (!o->send && !o->read && strcmp(optarg, "write"))
				goto wrong;
			break;
		case SIZE: o->size = number("size", optarg, 1, 1 << 20); break;
		case OUT: o->outstanding = number("outstanding", optarg, 1, MAX_OUTSTANDING); break;
		case INTERVAL: o->interval_ns = 1000 * number("interval", optarg, 1, 1000000000); break;
		case COUNT: o->count = number("count", optarg, 1, 1000000000); break;
		case DURATION: o->duration_ns = 1000000000 * number("duration", optarg, 1, 86400); break;
		case TCLASS: o->conn.tclass = number("tclass", optarg, 0, 255); break;
		case SL: o->conn.sl = number("sl", optarg, 0, 15); break;
		case TIMEOUT: o->conn.timeout = number("qp-timeout", optarg, 0, 31); break;
		case RNR: o->conn.rnr_retry = number("rnr-retry", optarg, 0, 7); break;
		case LOG: o->log = optarg; break;
		case JSON: o->json = true; break;
		case HELP: fputs(usage, stdout); exit(0);
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
	struct options o = {
		.client_dev = "rxe0", .server_dev = "rxe1",
		.conn = VCONN_DEFAULT,
		.interval_ns = 2000000, .size = 64, .outstanding = 1,
	};
	sigset_t set;
	int sv[2], status, ret;
	pid_t pid;

	parse(argc, argv, &o);
	setlinebuf(stdout);

	/* Blocked before the fork: the client reads them, the server never. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);

	/* Before any device is open: a process's QPs are its own. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv)) {
		perror("lat");
		return 1;
	}
	pid = fork();
	if (pid < 0) {
		perror("lat");
		return 1;
	}
	if (!pid) {
		close(sv[0]);
		_exit(server(sv[1], &o));
	}
	close(sv[1]);
	ret = client(sv[0], &o);
	close(sv[0]);
	waitpid(pid, &status, 0);
	return ret ? ret : status ? 1 : 0;
}
