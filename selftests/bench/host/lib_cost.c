// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What libswiftrdma adds to posting and polling, over a provider without a device, and
 * beside it what the obvious alternative adds: a look at the clock for each request and each
 * completion. Times are of the thread's CPU clock; the ways are measured in turn, and of
 * each the fastest run counts, which is the one that nothing interrupted. lib_pace has rates
 * in force that are never reached.
 *
 *   lib_cost		a row for each, as in selftests/bench/run.sh
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/lib.h"
#include "stub.h"

#define RUNS 40
#define WRS (1 << 18)
#define THREAD_WRS (1 << 15)
#define LIST 16

/* Of the alternative: when each request was posted, and what came of it. */
static uint64_t posted_ns[STUB_WRS];
static uint64_t latencies[SWIFTRDMA_HIST_BUCKETS];
static uint32_t alt_posted, alt_polled;

struct side {
	struct ibv_context *ctx;
	struct ibv_pd pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int clock_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	for (const struct ibv_send_wr *w = wr; w; w = w->next)
		posted_ns[alt_posted++ % STUB_WRS] = clock_ns();
	return stub_post_send(qp, wr, bad);
}

static int clock_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got = stub_poll_cq(cq, n, wc);

	for (int i = 0; i < got; i++)
		latencies[swiftrdma_hist_bucket(clock_ns() -
						posted_ns[alt_polled++ % STUB_WRS])]++;
	return got;
}

static int memory(uint64_t bytes, void *mapped)
{
	int fd = memfd_create("share", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -1;
	*(void **)mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return fd;
}

/* Stands in for the module: both rates are in force, and far above what is posted. */
static int share_paced(unsigned long cmd, void *arg)
{
	const struct swiftrdma_knob_value high = { .value = 1ull << 40, .until_ns = 1ull << 62 };
	struct swiftrdma_attach *a = arg;
	struct swiftrdma_control *c;
	struct swiftrdma_block *job;
	void *report;

	if (cmd != SWIFTRDMA_IOC_ATTACH)
		return -ENOENT;
	a->slots = 1;
	a->report_size = swiftrdma_report_bytes(1);
	a->control_size = swiftrdma_control_bytes(1);
	a->report_fd = memory(a->report_size, &report);
	a->control_fd = memory(a->control_size, &c);
	job = (struct swiftrdma_block *)(c + 1);
	job->knob[0][SWIFTRDMA_SHARE_KNOB_WR_RATE] = high;
	job->knob[0][SWIFTRDMA_SHARE_KNOB_BIT_RATE] = high;
	*c = (struct swiftrdma_control){
		.magic = SWIFTRDMA_CONTROL_MAGIC, .version = SWIFTRDMA_SHARE_VERSION,
		.header_size = sizeof(*c), .job_off = sizeof(*c),
		.blocks_off = sizeof(*c) + sizeof(*job), .block_size = sizeof(*job),
		.blocks = 1, .state = SWIFTRDMA_CONTROL_LIVE,
	};
	return 0;
}

static bool open_side(struct side *s, enum mode mode)
{
	struct ibv_qp_init_attr attr = { .cap.max_send_wr = 256, .qp_type = IBV_QPT_RC };

	settings.mode = mode;
	s->ctx = stub_open_device(&stub_device);
	s->pd.context = s->ctx;
	if (mode != MODE_OFF && swiftrdma_attach(s->ctx))
		return false;
	s->cq = mode == MODE_OFF ? stub_create_cq(s->ctx, 1, NULL, NULL, 0) :
		ibv_create_cq(s->ctx, 1, NULL, NULL, 0);
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	s->qp = mode == MODE_OFF ? stub_create_qp(&s->pd, &attr) : ibv_create_qp(&s->pd, &attr);
	return s->cq && s->qp;
}

/* ns a request: posted in lists of @n, and polled as many at a time. */
static double run(const struct side *s, int n, int wrs)
{
	static _Thread_local struct ibv_send_wr wr[LIST];
	struct ibv_sge sge = { .length = 8 };
	struct ibv_wc wc[LIST];
	struct ibv_send_wr *bad;
	uint64_t from;

	for (int i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		};
	from = cpu_ns();
	for (int i = 0; i < wrs; i += n) {
		if (ibv_post_send(s->qp, wr, &bad))
			return 1e9;
		ibv_poll_cq(s->cq, n, wc);
	}
	return (double)(cpu_ns() - from) / wrs;
}

struct thread {
	const struct side *side;
	pthread_barrier_t *start;
	double ns;
};

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	pthread_barrier_wait(t->start);
	t->ns = run(t->side, 1, THREAD_WRS);
	return NULL;
}

/* Two threads on one QP and one CQ. */
static double run_two(const struct side *s)
{
	pthread_barrier_t start;
	struct thread t[2];
	pthread_t id[2];

	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		t[i] = (struct thread){ .side = s, .start = &start };
		if (pthread_create(&id[i], NULL, run_thread, &t[i]))
			return 1e9;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	return (t[0].ns + t[1].ns) / 2;
}

static void keep_min(double *min, double v)
{
	if (v < *min)
		*min = v;
}

/* Up to the goal; what else a row has follows. */
static void row(const char *name, double bare, double with, double goal, bool exact)
{
	double added = with - bare;

	printf("{\"bench\":\"%s\",\"value\":%.2f,\"unit\":\"ns\",\"vs\":%.2f,\"ratio\":%.3f,\"goal\":\"value <= %g\",\"ok\":%s,\"counts_exact\":%s",
	       name, added, bare, with / bare, goal, added <= goal && exact ? "true" : "false",
	       exact ? "true" : "false");
}

/* Added to the bare one by lists, and by the alternative. */
static void more(const char *name, double bare, double with)
{
	printf(",\"%s\":%.2f,\"%s_ratio\":%.3f", name, with - bare, name, with / bare);
}

static void end_row(void)
{
	puts("}");
	fflush(stdout);
}

/* All that was posted is counted, and so is what completed. */
static bool exact(const struct side *s, uint64_t wrs)
{
	struct swiftrdma_figures f;
	struct ibv_wc wc[LIST];

	while (ibv_poll_cq(s->cq, LIST, wc) > 0)
		;
	return !swiftrdma_read_qp(s->qp, &f, sizeof(f)) && f.wrs == wrs && f.wcs == wrs &&
	       f.bytes == 8 * wrs && !f.stopped && !f.outstanding;
}

int main(void)
{
	enum { BARE, COUNT, LATENCY, PACE, CLOCK, BARE2, COUNT2, LATENCY2, WAYS };
	static struct side side[WAYS];
	double ns[WAYS], ns16[WAYS];

	next = (struct next){
		.open_device = stub_open_device, .close_device = stub_close_device,
		.create_cq = stub_create_cq, .destroy_cq = stub_destroy_cq,
		.create_qp = stub_create_qp, .modify_qp = stub_modify_qp,
		.destroy_qp = stub_destroy_qp, .qp_to_qp_ex = stub_to_qp_ex,
	};
	strcpy(stub_device.name, "stub0");
	life_begin();
	for (int w = 0; w < WAYS; w++) {
		static const enum mode modes[WAYS] = {
			[COUNT] = MODE_COUNT, [LATENCY] = MODE_LATENCY, [PACE] = MODE_COUNT,
			[COUNT2] = MODE_COUNT, [LATENCY2] = MODE_LATENCY,
		};

		/* One device has a control page, the others have none. */
		if (w == PACE)
			lib_share = share_paced;
		strcpy(stub_device.name, w == PACE ? "stub1" : "stub0");
		if (!open_side(&side[w], modes[w]))
			return 1;
		ns[w] = ns16[w] = 1e9;
	}
	side[CLOCK].ctx->ops.post_send = clock_post_send;
	side[CLOCK].ctx->ops.poll_cq = clock_poll_cq;
	for (int r = 0; r < RUNS; r++) {
		stub.unlocked = 1;
		for (int w = BARE; w <= CLOCK; w++) {
			keep_min(&ns[w], run(&side[w], 1, WRS));
			keep_min(&ns16[w], run(&side[w], LIST, WRS));
		}
		stub.unlocked = 0;
		for (int w = BARE2; w <= LATENCY2; w++)
			keep_min(&ns[w], run_two(&side[w]));
	}
	row("lib_count", ns[BARE], ns[COUNT], 5, exact(&side[COUNT], 2ull * RUNS * WRS));
	more("list16", ns16[BARE], ns16[COUNT]);
	more("clock", ns[BARE], ns[CLOCK]);
	more("clock_list16", ns16[BARE], ns16[CLOCK]);
	end_row();
	row("lib_count_threads", ns[BARE2], ns[COUNT2], 12,
	    exact(&side[COUNT2], 2ull * RUNS * THREAD_WRS));
	end_row();
	row("lib_pace", ns[BARE], ns[PACE], 60, exact(&side[PACE], 2ull * RUNS * WRS) &&
	    devices->report->knob[SWIFTRDMA_SHARE_KNOB_WR_RATE].state == SWIFTRDMA_KNOB_STATE_IN_FORCE &&
	    !devices->report->held[SWIFTRDMA_SHARE_KNOB_WR_RATE].posts);
	more("list16", ns16[BARE], ns16[PACE]);
	more("count", ns[BARE], ns[COUNT]);
	more("count_list16", ns16[BARE], ns16[COUNT]);
	end_row();
	row("lib_latency", ns[BARE], ns[LATENCY], 12,
	    exact(&side[LATENCY], 2ull * RUNS * WRS) &&
	    exact(&side[LATENCY2], 2ull * RUNS * THREAD_WRS));
	more("list16", ns16[BARE], ns16[LATENCY]);
	more("threads", ns[BARE2], ns[LATENCY2]);
	more("clock", ns[BARE], ns[CLOCK]);
	more("clock_list16", ns16[BARE], ns16[CLOCK]);
	end_row();
	return 0;
}
