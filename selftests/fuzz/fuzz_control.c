// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as the control page of libswiftrdma, which changes while a program posts and polls,
 * also while a post waits. Whatever the page says: each post succeeds and waits for no
 * longer than a call may, each completion comes once and in order, and no memory is touched
 * that is not the library's.
 *
 * The first byte of the input says which of two things is tried: the header, which the library
 * refuses or takes, or what is behind it; and whether queues have room for pieces of requests
 * without a knob. Behind the header the input is some knobs that are set before the queues are made,
 * and then a row of steps, each a byte and what it needs.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/lib.h"
#include "stub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLOTS 4
#define PAGES 4096
#define LIST 24
#define SGES 2
#define SQ 256
#define LATE 200	/* ns that a thread that waits is woken late */
#define LOOK_NS	100	/* of a wait for a nanosecond */

static struct {
	const uint8_t *data;
	size_t left;
} input;

static struct {
	struct swiftrdma_control *last, *page;	/* attached last; of the device with a context */
	struct swiftrdma_block *job;
	uint64_t now, report_size, control_size;
	struct swiftrdma_control header;
	struct ibv_context *ctx;
	struct ibv_pd pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint64_t posted, polled;	/* numbers of requests, which are their wr_id */
	uint64_t signalled;		/* the last one, plus 1 */
	bool waiting;
	bool split;			/* requests may be posted in pieces */
} rig;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static size_t eat(void *to, size_t n)
{
	size_t got = n < input.left ? n : input.left;

	memset(to, 0, n);
	memcpy(to, input.data, got);
	input.data += got;
	input.left -= got;
	return got;
}

static uint8_t eat_byte(void)
{
	uint8_t b;

	eat(&b, 1);
	return b;
}

static int memory(uint64_t bytes, void *mapped)
{
	int fd = memfd_create("share", MFD_CLOEXEC);

	must(fd >= 0 && !ftruncate(fd, (off_t)bytes));
	*(void **)mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(*(void **)mapped != MAP_FAILED);
	return fd;
}

/* Stands in for the module. */
static int share(unsigned long cmd, void *arg)
{
	struct swiftrdma_attach *a = arg;
	void *report;

	if (cmd != SWIFTRDMA_IOC_ATTACH)
		return -ENOENT;
	a->slots = SLOTS;
	a->report_size = (swiftrdma_report_bytes(SLOTS) + PAGES - 1) & ~(uint64_t)(PAGES - 1);
	a->control_size = (swiftrdma_control_bytes(SLOTS) + PAGES - 1) & ~(uint64_t)(PAGES - 1);
	a->report_fd = memory(a->report_size, &report);
	a->control_fd = memory(a->control_size, &rig.last);
	munmap(report, a->report_size);
	*rig.last = rig.header;
	rig.report_size = a->report_size;
	rig.control_size = a->control_size;
	return 0;
}

static const struct swiftrdma_control good = {
	.magic = SWIFTRDMA_CONTROL_MAGIC, .version = SWIFTRDMA_SHARE_VERSION,
	.header_size = sizeof(good), .job_off = sizeof(good),
	.blocks_off = sizeof(good) + sizeof(struct swiftrdma_block),
	.block_size = sizeof(struct swiftrdma_block), .blocks = SLOTS,
	.state = SWIFTRDMA_CONTROL_LIVE,
};

/* A header with one field or another changed. */
static void try_header(void)
{
	struct swiftrdma_control_job job;
	struct device *dev;
	uint16_t at;

	rig.header = good;
	while (input.left > 2) {
		eat(&at, sizeof(at));
		((uint8_t *)&rig.header)[at % sizeof(rig.header)] = eat_byte();
	}
	device_forget_all();
	dev = device_get("header");
	must(dev != NULL);
	control_update(dev, rig.now);
	if (control_job(dev, &job))
		must(strlen(job.name) < sizeof(job.name));
	munmap(rig.last, rig.control_size);
	if (dev->control)
		munmap((void *)dev->control, rig.control_size);
	munmap(dev->report, dev->control ? rig.report_size : swiftrdma_report_bytes(dev->slots));
	free(dev->dead);
	free(dev);
	device_forget_all();
}

/* --- a program ------------------------------------------------------------------ */

static uint64_t rig_clock(void)
{
	return rig.now;
}

/* What a knob may be set to, with the values that matter. */
static uint64_t eat_number(void)
{
	static const uint64_t some[] = {
		0, 1, 2, 3, 8, 1000, 4096, 1u << 20, 1ull << 40, 1ull << 63, UINT64_MAX,
	};
	uint8_t how = eat_byte();
	uint64_t n;

	if (how < 200)
		return some[how % (sizeof(some) / sizeof(some[0]))];
	eat(&n, sizeof(n));
	return n;
}

static void write_knob(void)
{
	uint32_t k = eat_byte() % __SWIFTRDMA_SHARE_KNOB_MAX;
	struct swiftrdma_knob_value v = { .value = eat_number() };
	uint8_t until = eat_byte();

	v.until_ns = until & 1 ? UINT64_MAX : rig.now + (uint64_t)until * 8000000;
	rig.job->knob[0][k] = v;
	rig.job->knob[1][k] = v;
	__atomic_store_n(&rig.job->changes, rig.job->changes + 1, __ATOMIC_RELEASE);
}

static void write_page(void)
{
	switch (eat_byte() % 4) {
	case 0:
		rig.page->state = eat_byte() % 4;
		break;
	case 1:
		rig.job->changes = eat_number();
		break;
	case 2:
		eat(rig.job, sizeof(*rig.job));
		break;
	default:
		write_knob();
	}
}

static void rig_wait(uint64_t ns)
{
	must(ns <= PACE_SLICE_NS);
	/* A wait is never shorter than a look at the clock; else a post would look 200,000 times. */
	rig.now += ns > LOOK_NS ? ns : LOOK_NS;
	if (rig.waiting || !input.left)
		return;
	rig.waiting = true;
	switch (eat_byte() % 8) {
	case 0:
		write_page();
		break;
	case 1:
	case 2:
	case 3:
		stub_complete(rig.qp, eat_byte() % 4);
		break;
	case 4:
		rig.now += eat_byte() % LATE;
		break;
	}
	rig.waiting = false;
}

/* Requests that a program posts at once. */
struct load {
	struct ibv_sge sge[SGES];
	int sges, fail;		/* .fail: how many the provider takes; -1: all */
	uint32_t n, signals;
	enum ibv_wr_opcode opcode;
};

/* False: the send queue has no room. */
static bool eat_load(struct load *l)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND,
	};
	uint8_t kind = eat_byte();

	l->sges = 1 + kind % SGES;
	l->opcode = opcodes[kind / SGES % 3];
	for (int i = 0; i < l->sges; i++)
		l->sge[i] = (struct ibv_sge){ .length = 1u << (eat_byte() % 31) };
	l->n = 1 + eat_byte() % LIST;
	l->signals = eat_byte();
	l->fail = eat_byte();
	if (l->fail >= 32)
		l->fail = -1;
	/* As a program that knows how long its send queue is, and that must be able to go on. */
	if (rig.posted - rig.polled > SQ / 2)
		l->signals = 0xff;
	return rig.posted - rig.polled + l->n <= SQ;
}

static unsigned int flags_of(const struct load *l, uint32_t i)
{
	return l->signals >> i % 8 & 1 ? IBV_SEND_SIGNALED : 0;
}

/* The first @n requests of the load were posted. */
static void note_posted(const struct load *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (flags_of(l, i))
			rig.signalled = rig.posted + i + 1;
	rig.posted += n;
}

static void post(void)
{
	struct ibv_send_wr wr[LIST], *bad = NULL;
	uint64_t from = rig.now;
	struct load l;
	uint32_t n;

	if (!eat_load(&l))
		return;
	n = l.n;
	memset(wr, 0, sizeof(wr));
	for (uint32_t i = 0; i < n; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = rig.posted + i, .sg_list = l.sge, .num_sge = l.sges,
			.next = i + 1 < n ? &wr[i + 1] : NULL, .opcode = l.opcode,
			.send_flags = flags_of(&l, i),
		};
	stub.fail_after = l.fail;
	errno = 99;
	if (ibv_post_send(rig.qp, wr, &bad)) {
		/* The provider counts pieces. */
		must(l.fail >= 0 && bad >= wr && bad < wr + n && bad - wr <= l.fail);
		must(rig.split || bad - wr == l.fail);
		n = (uint32_t)(bad - wr);
	}
	must(errno == 99);
	stub.fail_after = -1;
	note_posted(&l, n);
	must(rig.now - from <= PACE_WAIT_NS + LATE + LOOK_NS);
}

/* The same by ibv_wr_*(). */
static void post_batch(void)
{
	struct ibv_qp_ex *qpx = stub_to_qp_ex(rig.qp);
	uint64_t from = rig.now;
	struct load l;

	if (!eat_load(&l))
		return;
	errno = 99;
	ibv_wr_start(qpx);
	for (uint32_t i = 0; i < l.n; i++) {
		qpx->wr_id = rig.posted + i;
		qpx->wr_flags = flags_of(&l, i);
		if (l.opcode == IBV_WR_RDMA_WRITE)
			ibv_wr_rdma_write(qpx, 0, 0);
		else if (l.opcode == IBV_WR_RDMA_READ)
			ibv_wr_rdma_read(qpx, 0, 0);
		else
			ibv_wr_send(qpx);
		ibv_wr_set_sge_list(qpx, (size_t)l.sges, l.sge);
	}
	stub.fail_after = l.fail;
	if (l.fail == 0)
		ibv_wr_abort(qpx);
	else if (ibv_wr_complete(qpx))
		must(l.fail >= 0 || rig.split);
	else
		note_posted(&l, l.n);
	must(errno == 99);
	stub.fail_after = -1;
	must(rig.now - from <= PACE_WAIT_NS + LATE + LOOK_NS);
}

static void poll(int n)
{
	struct ibv_wc wc[16];
	int got = ibv_poll_cq(rig.cq, n, wc);

	must(got >= 0 && got <= n);
	for (int i = 0; i < got; i++) {
		must(wc[i].wr_id >= rig.polled && wc[i].wr_id < rig.posted);
		must(wc[i].status == IBV_WC_SUCCESS && wc[i].qp_num == rig.qp->qp_num);
		rig.polled = wc[i].wr_id + 1;
	}
}

static void step(void)
{
	switch (eat_byte() % 8) {
	case 0:
	case 1:
		post();
		break;
	case 2:
		post_batch();
		break;
	case 3:
		poll(1 + eat_byte() % 16);
		break;
	case 4:
		stub_complete(rig.qp, eat_byte());
		break;
	case 5:
		rig.now += (uint64_t)eat_byte() * 10000000;
		break;
	default:
		write_page();
	}
}

/* The knob for places is for mlx5 alone. */
static bool is_mlx5(struct ibv_device *device)
{
	(void)device;
	return true;
}

static void open_rig(void)
{
	next = (struct next){
		.open_device = stub_open_device, .close_device = stub_close_device,
		.create_cq = stub_create_cq, .destroy_cq = stub_destroy_cq,
		.create_qp = stub_create_qp, .dealloc_pd = stub_dealloc_pd, .modify_qp = stub_modify_qp,
		.destroy_qp = stub_destroy_qp, .qp_to_qp_ex = stub_to_qp_ex,
	};
	lib_share = share;
	lib_clock = rig_clock;
	lib_wait = rig_wait;
	place_is_mlx5 = is_mlx5;
	rig.now = 1000000;
	must(life_begin() != NULL);
	settings.mode = MODE_LATENCY;
	settings.control = true;
}

static struct ibv_qp *new_qp(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = rig.cq, .recv_cq = rig.cq, .qp_type = IBV_QPT_RC, .pd = &rig.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				  IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = SQ, .max_send_sge = SGES },
	};

	return ibv_create_qp_ex(rig.ctx, &attr);
}

static void try_page(void)
{
	if (!rig.ctx) {
		rig.header = good;
		strcpy(stub_device.name, "stub0");
		rig.ctx = ibv_open_device(&stub_device);
		rig.page = rig.last;
		must(rig.ctx && rig.page);
		rig.job = (struct swiftrdma_block *)(rig.page + 1);
		rig.pd.context = rig.ctx;
	}
	*rig.page = good;
	memset(rig.job->knob, 0, sizeof(rig.job->knob));
	rig.job->changes++;
	/* Queues are made as the knobs of that time say. */
	for (int n = eat_byte() % 4; n; n--)
		write_knob();
	rig.cq = ibv_create_cq(rig.ctx, 64, NULL, NULL, 0);
	rig.qp = new_qp();
	must(rig.qp != NULL);
	rig.split = qp_find(rig.qp)->chunk;
	rig.posted = rig.polled = rig.signalled = 0;
	stub.hold = 1;
	while (input.left)
		step();
	stub_complete(rig.qp, STUB_RING);
	for (int i = 0; i < SQ; i++)
		poll(16);
	must(rig.polled == rig.signalled);
	must(!stub.violations && !stub.misplaced);
	ibv_destroy_qp(rig.qp);
	ibv_destroy_cq(rig.cq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 16384)
		return 0;
	if (lib_clock != rig_clock)
		open_rig();
	input.data = data + 1;
	input.left = size - 1;
	settings.chunk = data[0] & 2;
	if (data[0] & 1)
		try_header();
	else
		try_page();
	return 0;
}
