// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What uar show and dev show print, byte by byte. */
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "unit/cli_rig.h"

/* Two QPs of a process on page 27, one of another on page 28, of an mlx5 device. */
static void scene(struct made *m, uint64_t ms)
{
	made_scene(m, ms, 0);
	strcpy(m->devs[0].name, "mlx5_0");
	strcpy(m->devs[0].provider, "mlx5");
	m->devs[0].caps = SWIFTRDMA_DEV_CAP_WRS;
	m->devs[0].has = SNAP_LIMIT | SNAP_UAR_LIMIT;
	m->devs[0].uars = 2;
	m->devs[0].uar_limit = 2;
	m->devs[0].qp_limit = 262144;
	m->devs[0].mr_limit = m->devs[0].cq_limit = 65536;
	for (int i = 0; i < 2; i++) {
		m->uars[i].index = 27 + (uint32_t)i;
		m->uars[i].has = SNAP_WRS | SNAP_OWNER | SNAP_OWNERS;
		m->uars[i].owner = (uint32_t)i;
		m->uars[i].owners = 1;
		m->uars[i].threads = 2 - (uint32_t)i;
	}
	m->uars[0].kind = SWIFTRDMA_UAR_KIND_DYNAMIC;
	m->uars[1].kind = SWIFTRDMA_UAR_KIND_DEDICATED;
	for (int i = 0; i < 3; i++) {
		m->qps[i].has &= ~SNAP_DOORBELLS;
		m->qps[i].uar = i < 2 ? 27 : 28;
	}
	strcpy(m->owners[0].comm, "kv");
	strcpy(m->owners[0].cgroup, "/kv");
	strcpy(m->owners[1].comm, "bulk");
}

static int setup(void **state)
{
	(void)state;
	scene(&was, 1000);
	scene(&is, 2000);
	is.qps[0].wrs = 1000;
	is.qps[1].wrs = 500;
	is.qps[2].wrs = 500;
	is.uars[0].wrs = 1500;
	is.uars[1].wrs = 500;
	rig_begin();
	rig_read();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_end();
	return 0;
}

static void prints(const struct rows *rows, const char *want)
{
	size_t size;
	char *text;

	cli.out.f = open_memstream(&text, &size);
	assert_int_equal(out_rows(&cli, &cli.out, rows), 0);
	fclose(cli.out.f);
	assert_string_equal(text, want);
	free(text);
}

static void printed_has(const struct rows *rows, const char *what, bool has)
{
	size_t size;
	char *text;

	cli.out.f = open_memstream(&text, &size);
	assert_int_equal(out_rows(&cli, &cli.out, rows), 0);
	fclose(cli.out.f);
	if (!strstr(text, what) == has)
		fail_msg("%s: %s", what, text);
	free(text);
}

static void uars(void **state)
{
	struct rows rows = uar_rows(&cli.snap);

	(void)state;
	prints(&rows,
	       "DEV     UAR  KIND       QPS  ACTIVE  OWNERS  THREADS    WR/s  SHARE  DB/s  COACTIVE  DOORBELLS   WRS  PID  COMM\n"
	       "mlx5_0   27  dynamic      2       2       1        2  1500/s    75%     -      100%          -  1500  100  kv\n"
	       "mlx5_0   28  dedicated    1       1       1        1   500/s    25%     -        0%          -   500  200  bulk\n");
}

/* With its QPs below it, which is the last of the columns. */
static void one_uar(void **state)
{
	struct rows rows = uar_rows(&cli.snap);

	(void)state;
	cli.out.rates = false;
	rows.n_columns++;
	rows.n = 1;
	prints(&rows,
	       "DEV     UAR  KIND     QPS  OWNERS  THREADS  SHARE  DOORBELLS   WRS  PID  COMM\n"
	       "mlx5_0   27  dynamic    2       1        2    75%          -  1500  100  kv\n"
	       "    QPN  TYPE  STATE  JOB  PID  TID  OWNER  DOORBELLS   WRS  CGROUP\n"
	       "     17  RC    RTS    kv   100    -  kv             -  1000  /kv\n"
	       "     18  RC    RTS    kv   100    -  kv             -   500  /kv\n");
}

/* What is counted is named: blocks of 64 bytes, where that is what they are. */
static void blocks(void **state)
{
	struct sorting by = { .key = "wqebbs" };
	struct rows rows = uar_rows(&cli.snap);

	(void)state;
	cli.out.json = true;
	printed_has(&rows, "\"wr_unit\":\"wr\"", true);
	assert_int_equal(sort_rows(&cli, &rows, &by), CLI_USAGE);
	is.devs[0].caps |= SWIFTRDMA_DEV_CAP_WQEBBS;
	printed_has(&rows, "\"wr_unit\":\"wqebb\"", true);
	/* Nothing is counted of which there is no unit. */
	is.uars[0].has = is.uars[1].has = 0;
	printed_has(&rows, "wr_unit", false);
	is.uars[0].has = is.uars[1].has = SNAP_WRS;
	cli.out.json = false;
	printed_has(&rows, "  WQEBB/s  SHARE  DB/s  COACTIVE  DOORBELLS  WQEBBS  ", true);
	printed_has(&rows, "WRS", false);
	assert_int_equal(sort_rows(&cli, &rows, &by), CLI_OK);
	free(by.order);
}

static void sorted(void **state)
{
	struct sorting by = { .key = "qps" }, none = { .key = "threads", .top = 1 };
	struct rows rows = uar_rows(&cli.snap);

	(void)state;
	is.uars[1].qps = 5;
	assert_int_equal(sort_rows(&cli, &rows, &by), CLI_OK);
	assert_int_equal(rows.n, 2);
	assert_int_equal(by.order[0], 1);
	free(by.order);
	rows = uar_rows(&cli.snap);
	assert_int_equal(sort_rows(&cli, &rows, &none), CLI_OK);
	assert_int_equal(rows.n, 1);
	assert_int_equal(none.order[0], 0);
	free(none.order);
}

/* Cgroups that differ only after 40 bytes are sorted. */
static void sorted_by_name(void **state)
{
	struct sorting by = { .key = "cgroup" };
	struct rows rows = uar_rows(&cli.snap);

	(void)state;
	strcpy(is.owners[0].cgroup, "/kubepods.slice/kubepods-burstable.slice/pod-b");
	strcpy(is.owners[1].cgroup, "/kubepods.slice/kubepods-burstable.slice/pod-a");
	is.uars[0].has |= SNAP_OWNER;
	is.uars[1].has |= SNAP_OWNER;
	is.uars[1].owner = 1;
	assert_int_equal(sort_rows(&cli, &rows, &by), CLI_OK);
	assert_int_equal(by.order[0], 1);
	free(by.order);
}

static void read_error(void **state)
{
	struct sorting by = { .key = "wr_rate" };
	struct rows rows = uar_rows(&cli.snap);

	(void)state;
	cli.out.rates = false;
	assert_int_equal(sort_rows(&cli, &rows, &by), CLI_USAGE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(uars), TEST(one_uar), TEST(blocks), TEST(sorted), TEST(sorted_by_name), TEST(read_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
