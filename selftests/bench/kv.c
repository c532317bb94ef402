// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * kv: gets of a key-value store by one-sided reads, from several threads.
 *
 * The store is a table of values in a memory region of the server, which has
 * nothing more to do. A get is an RDMA READ of one value, whose first word says
 * of which key it is: so each is checked. Threads make their own QPs and
 * CQ, and keep --depth gets under way on every QP; the latency of one is from
 * its post to when its completion was seen.
 *
 * Where the QPs' doorbell registers are is the library's business, or, with
 * --domains, each thread's: it makes its QPs in a thread domain of its own.
 *
 * One JSON object on stdout. The times are the guest's.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

#include "stat.h"
#include "verbs.h"

#define MAX_THREADS	64
#define MAX_DEPTH	64
#define MAX_SAMPLES	1000000

struct options {
	const char *client, *server;
	struct vconn conn;
	uint64_t qps, threads, depth, size, keys, duration_ns, poll_us;
	bool domains;
};

struct get {
	uint64_t key, posted;
	bool busy;
};

struct conn {
	struct ibv_qp *qp;
	struct get *gets;	/* of its depth */
};

struct kv;

struct thread {
	struct kv *kv;
	pthread_t id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint32_t first, step;	/* its QPs: first, first + step, ... */
	uint32_t seed;
	uint64_t gets, wrong;
	struct samples latency;
	int ret;
};

struct kv {
	const struct options *o;
	struct vdev client, server;
	struct ibv_cq *server_cq;
	struct ibv_mr *store_mr, *values_mr;
	uint8_t *store, *values;
	uint32_t store_rkey;
	struct conn *conns;
	struct thread t[MAX_THREADS];
	pthread_barrier_t connected;
	_Atomic uint64_t warm;
	atomic_bool counting, stop;
};

static const char usage[] =
	"usage: kv [OPTION]...\n"
	"  --client DEV --server DEV  the two ends (mlx5_0, mlx5_1)\n"
	"  --qps N         (64)\n"
	"  --threads N     that share them evenly (8)\n"
	"  --depth N       gets under way on a QP (8)\n"
	"  --size BYTES    of a value (512)\n"
	"  --keys N        in the store (4096)\n"
	"  --domains       each thread makes its QPs in a thread domain of its own\n"
	"  --duration SEC  after so many gets as there can be under way (5); on SIGTERM\n"
	"                  and SIGINT it ends sooner\n"
	"  --poll USEC     pause of a thread that finds nothing (1000)\n";

static uint64_t word_of(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15 + 1;
}

static int make_store(struct kv *kv)
{
	const struct options *o = kv->o;
	uint64_t i;

	kv->store = aligned_alloc(4096, (o->keys * o->size + 4095) & ~4095ull);
	kv->values = aligned_alloc(4096, (o->qps * o->depth * o->size + 4095) & ~4095ull);
	if (!kv->store || !kv->values)
		return complain("memory");
	for (i = 0; i < o->keys; i++) {
		uint64_t word = word_of(i);

		memcpy(kv->store + i * o->size, &word, sizeof(word));
	}
	kv->store_mr = ibv_reg_mr(kv->server.pd, kv->store, o->keys * o->size,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	kv->values_mr = ibv_reg_mr(kv->client.pd, kv->values, o->qps * o->depth * o->size,
				   IBV_ACCESS_LOCAL_WRITE);
	kv->server_cq = ibv_create_cq(kv->server.ctx, 1, NULL, NULL, 0);
	if (!kv->store_mr || !kv->values_mr || !kv->server_cq)
		return complain("the store");
	kv->store_rkey = kv->store_mr->rkey;
	return 0;
}

static int connect_one(struct thread *t, struct conn *c)
{
	struct kv *kv = t->kv;
	const struct options *o = kv->o;
	struct ibv_qp *peer;

	c->qp = vqp_sender(t->pd, t->cq, o->depth);
	peer = vqp_sender(kv->server.pd, kv->server_cq, 1);
	c->gets = calloc(o->depth, sizeof(*c->gets));
	if (!c->qp || !peer || !c->gets)
		return complain("QP");
	if (vqp_pair(&kv->client, c->qp, &kv->server, peer, &o->conn))
		return -EIO;
	return 0;
}

static int thread_open(struct thread *t)
{
	const struct options *o = t->kv->o;

	t->pd = o->domains ? vdev_thread_pd(&t->kv->client) : t->kv->client.pd;
	if (!t->pd)
		return complain("thread domain");
	t->cq = ibv_create_cq(t->kv->client.ctx, (o->qps / o->threads + 1) * o->depth, NULL,
			      NULL, 0);
	return t->cq ? 0 : complain("CQ");
}

/* Get number @i of those that may be under way on QP @q. */
static int post(struct thread *t, uint32_t q, uint32_t i)
{
	struct kv *kv = t->kv;
	const struct options *o = kv->o;
	struct conn *c = &kv->conns[q];
	struct get *get = &c->gets[i];
	uint64_t at = (q * o->depth + i) * o->size;
	struct ibv_sge sge = {
		.addr = (uintptr_t)kv->values + at, .length = o->size,
		.lkey = kv->values_mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = q * o->depth + i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
	};

	get->key = vrnd(&t->seed) % o->keys;
	get->posted = now_ns();
	get->busy = true;
	wr.wr.rdma.remote_addr = (uintptr_t)kv->store + get->key * o->size;
	wr.wr.rdma.rkey = kv->store_rkey;
	memset(kv->values + at, 0, sizeof(uint64_t));
	errno = ibv_post_send(c->qp, &wr, &bad);
	return errno ? complain("post") : 0;
}

static void done(struct thread *t, uint32_t q, uint32_t i)
{
	struct kv *kv = t->kv;
	struct get *get = &kv->conns[q].gets[i];
	uint64_t word, at = (q * kv->o->depth + i) * kv->o->size;

	memcpy(&word, kv->values + at, sizeof(word));
	if (!get->busy || word != word_of(get->key))
		t->wrong++;
	get->busy = false;
	if (!kv->counting) {
		kv->warm++;
		return;
	}
	t->gets++;
	/* Of each get, until memory would be what is measured. */
	if (t->latency.n < MAX_SAMPLES)
		samples_add(&t->latency, now_ns() - get->posted);
}

/* Completions there are; their number or an error. */
static int reap(struct thread *t, bool refill)
{
	uint32_t depth = t->kv->o->depth;
	struct ibv_wc wc[32];
	int n = ibv_poll_cq(t->cq, 32, wc), k;

	if (n < 0)
		return complain("poll");
	for (k = 0; k < n; k++) {
		uint32_t q = wc[k].wr_id / depth, i = wc[k].wr_id % depth;

		if (wc[k].status) {
			fprintf(stderr, "kv: completion: %s\n",
				ibv_wc_status_str(wc[k].status));
			return -EIO;
		}
		done(t, q, i);
		if (refill && post(t, q, i))
			return -EIO;
	}
	return n;
}

static void *serve(void *arg)
{
	struct thread *t = arg;
	const struct options *o = t->kv->o;
	struct timespec pause = { 0, (long)o->poll_us * 1000 };
	uint64_t under_way = 0;
	uint32_t q, i;
	int n;

	t->ret = thread_open(t);
	for (q = t->first; q < o->qps && !t->ret; q += t->step)
		t->ret = connect_one(t, &t->kv->conns[q]);
	/* All are there before the first one posts. */
	pthread_barrier_wait(&t->kv->connected);
	for (i = 0; i < o->depth; i++)
		for (q = t->first; q < o->qps && !t->ret; q += t->step, under_way++)
			t->ret = post(t, q, i);
	while (!t->ret && !t->kv->stop) {
		n = reap(t, true);
		if (n < 0)
			t->ret = n;
		/* The device needs the CPU that a loop would take. */
		if (!n)
			nanosleep(&pause, NULL);
	}
	/* What is under way is let come to its end, or the QP would die with it. */
	while (!t->ret && under_way) {
		n = reap(t, false);
		if (n < 0)
			t->ret = n;
		else
			under_way -= (uint64_t)n;
		if (!n)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void report(struct kv *kv, uint64_t ns)
{
	const struct options *o = kv->o;
	uint32_t i;
	struct samples all = { 0 };
	uint64_t gets = 0, wrong = 0, k;

	for (i = 0; i < o->threads; i++) {
		gets += kv->t[i].gets;
		wrong += kv->t[i].wrong;
		for (k = 0; k < kv->t[i].latency.n; k++)
			samples_add(&all, kv->t[i].latency.v[k]);
	}
	printf("{\"qps\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"size\":%" PRIu64 ",\"depth\":%" PRIu64,
	       o->qps, o->threads, o->size, o->depth);
	printf(",\"gets\":%" PRIu64 ",\"wrong\":%" PRIu64 ",\"seconds\":%.6f,\"rate\":%.1f", gets,
	       wrong, ns / 1e9, ns ? gets / (ns / 1e9) : 0);
	printf(",\"p50_us\":%.1f,\"p99_us\":%.1f}\n", samples_quantile(&all, 50) / 1e3,
	       samples_quantile(&all, 99) / 1e3);
	free(all.v);
}

static int start(struct kv *kv)
{
	uint32_t i;

	errno = pthread_barrier_init(&kv->connected, NULL, kv->o->threads);
	for (i = 0; !errno && i < kv->o->threads; i++)
		errno = pthread_create(&kv->t[i].id, NULL, serve, &kv->t[i]);
	return errno ? complain("thread") : 0;
}

static int run(struct kv *kv, const sigset_t *ends)
{
	const struct options *o = kv->o;
	struct timespec pause = { 0, 1000000 };
	uint64_t begin, ns;
	uint32_t i;
	int ret = start(kv);

	while (!ret && kv->warm < o->qps * o->depth) {
		nanosleep(&pause, NULL);
		for (i = 0; i < o->threads && !ret; i++)
			ret = kv->t[i].ret;
	}
	if (ret)
		return ret;
	begin = now_ns();
	kv->counting = true;
	do {
		ns = now_ns() - begin;
		pause.tv_sec = (o->duration_ns - ns) / 1000000000;
		pause.tv_nsec = (o->duration_ns - ns) % 1000000000;
	} while (ns < o->duration_ns && sigtimedwait(ends, NULL, &pause) < 0);
	kv->counting = false;
	ns = now_ns() - begin;
	kv->stop = true;
	for (i = 0; i < o->threads; i++) {
		pthread_join(kv->t[i].id, NULL);
		if (kv->t[i].ret)
			ret = kv->t[i].ret;
	}
	if (!ret)
		report(kv, ns);
	return ret;
}

static int kv_open(struct kv *kv)
{
	const struct options *o = kv->o;
	uint32_t i;
	int ret;

	if (vdev_open(&kv->client, o->client) || vdev_open(&kv->server, o->server))
		return -ENODEV;
	ret = make_store(kv);
	kv->conns = calloc(o->qps, sizeof(*kv->conns));
	if (!ret && !kv->conns)
		ret = complain("memory");
	for (i = 0; i < o->threads; i++)
		kv->t[i] = (struct thread){
			.kv = kv, .first = i, .step = o->threads, .seed = i + 1,
		};
	return ret;
}

static void parse(int argc, char **argv, struct options *o)
{
	enum { CLIENT, SERVER, QPS, THREADS, DEPTH, SIZE, KEYS, DOMAINS, DURATION, POLL, HELP };
	static const struct option opts[] = {
		{ "client", 1, NULL, CLIENT }, { "server", 1, NULL, SERVER },
		{ "qps", 1, NULL, QPS }, { "threads", 1, NULL, THREADS },
		{ "depth", 1, NULL, DEPTH }, { "size", 1, NULL, SIZE },
		{ "keys", 1, NULL, KEYS }, { "domains", 0, NULL, DOMAINS },
		{ "duration", 1, NULL, DURATION }, { "poll", 1, NULL, POLL },
		{ "help", 0, NULL, HELP }, { 0 }
	};
	int i, at;

	while ((i = getopt_long(argc, argv, "", opts, &at)) != -1) {
		switch (i) {
		case CLIENT: o->client = optarg; break;
		case SERVER: o->server = optarg; break;
		case QPS: o->qps = number("qps", optarg, 1, 4096); break;
		case THREADS: o->threads = number("threads", optarg, 1, MAX_THREADS); break;
		case DEPTH: o->depth = number("depth", optarg, 1, MAX_DEPTH); break;
		case SIZE: o->size = number("size", optarg, 8, 1 << 20); break;
		case KEYS: o->keys = number("keys", optarg, 1, 1 << 24); break;
		case DOMAINS: o->domains = true; break;
		case DURATION: o->duration_ns = 1000000000 * number("duration", optarg, 1, 86400); break;
		case POLL: o->poll_us = number("poll", optarg, 1, 999999); break;
		case HELP: fputs(usage, stdout); exit(0);
		default: goto wrong;
		}
	}
	if (o->threads > o->qps)
		o->threads = o->qps;
	if (optind == argc)
		return;
wrong:
	fputs(usage, stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options o = {
		.client = "mlx5_0", .server = "mlx5_1", .conn = VCONN_DEFAULT,
		.qps = 64, .threads = 8, .depth = 8, .size = 512, .keys = 4096,
		.duration_ns = 5000000000, .poll_us = 1000,
	};
	static struct kv kv;
	sigset_t ends;
	int ret;

	o.conn.rd_atomic = 16;
	o.conn.timeout = 21;
	parse(argc, argv, &o);
	kv.o = &o;
	/* Of all threads, so that the first one hears of it. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	ret = kv_open(&kv);
	if (!ret)
		ret = run(&kv, &ends);
	return ret ? 1 : 0;
}
