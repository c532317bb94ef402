// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Who talks to whom, and in which class; and the addresses that sysfs has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/pair.h"
#include "io/address.h"
#include "unit/snap_build.h"

static struct made m;
static struct pairs pairs;
static struct pair_addr addrs[4];
static size_t n_addrs;

static void gid(uint8_t *g, uint8_t last)
{
	memset(g, 0, 16);
	g[0] = 0xfe;
	g[15] = last;
}

static struct snap_qp *qp(uint32_t dev, uint32_t qpn, uint32_t dest, uint8_t to)
{
	struct snap_qp *q = made_qp(&m, dev, qpn, 1);

	q->has |= SNAP_CLASS | SNAP_DEST;
	q->dest_qpn = dest;
	if (to)
		gid(q->dgid, to);
	return q;
}

static struct pair_addr *addr(uint32_t dev, uint8_t last)
{
	struct pair_addr *a = &addrs[n_addrs++];

	a->dev = dev;
	a->port = 1;
	if (last)
		gid(a->gid, last);
	return a;
}

/* rxe0 is reached at 1, rxe1 at 2; both on Ethernet. */
static int setup(void **state)
{
	(void)state;
	made_init(&m, 1000);
	memset(addrs, 0, sizeof(addrs));
	n_addrs = 0;
	for (uint32_t dev = 0; dev < 2; dev++) {
		made_dev(&m, dev);
		made_port(&m, dev, 0)->link_layer = 2;
		addr(dev, (uint8_t)(dev + 1));
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_free(&pairs);
	return 0;
}

static const struct pair *only(void)
{
	assert_int_equal(pair_find(&pairs, &m.s, addrs, n_addrs), 0);
	assert_int_equal(pairs.n, 1);
	return pairs.pair;
}

static void verdict(size_t row, enum pair_verdict want, size_t peer)
{
	const struct pair *p;

	assert_int_equal(pair_find(&pairs, &m.s, addrs, n_addrs), 0);
	p = pair_of(&pairs, row);
	assert_non_null(p);
	assert_int_equal(p->verdict, want);
	assert_true((p->qp == row ? p->peer : p->qp) == peer);
}

static void both_ends(void **state)
{
	struct snap_qp *a = qp(0, 17, 18, 2), *b = qp(1, 18, 17, 1);

	(void)state;
	a->tclass = a->tclass_asked = b->tclass = 41;
	assert_int_equal(only()->verdict, PAIR_ALIKE);
	/* ECN is each application's own, and so is the SL on Ethernet */
	b->tclass = 42;
	b->sl = 3;
	assert_int_equal(only()->verdict, PAIR_ALIKE);
	b->tclass = 96;
	assert_int_equal(only()->verdict, PAIR_DIFFER);
	assert_int_equal(only()->qp, 0);
	/* who is forced is named first */
	b->has |= SNAP_LEVEL;
	assert_int_equal(only()->qp, 1);
	assert_int_equal(only()->peer, 0);
	a->has |= SNAP_LEVEL;
	assert_int_equal(only()->qp, 0);
	/* on InfiniBand the SL counts */
	m.ports[0].link_layer = m.ports[1].link_layer = 1;
	assert_int_equal(only()->verdict, PAIR_DIFFER);
	a->sl = 3;
	assert_int_equal(only()->verdict, PAIR_ALIKE);
}

static void not_seen(void **state)
{
	struct snap_qp *a = qp(0, 17, 18, 3);

	(void)state;
	verdict(0, PAIR_AWAY, PAIR_NONE);
	gid(a->dgid, 2);
	verdict(0, PAIR_HIDDEN, PAIR_NONE);
	memset(a->dgid, 0, 16);
	verdict(0, PAIR_NOWHERE, PAIR_NONE);
	/* who is not connected is no end */
	a->state = 1;
	assert_int_equal(pair_find(&pairs, &m.s, addrs, n_addrs), 0);
	assert_int_equal(pairs.n, 0);
	a->state = 3;
	a->has &= ~SNAP_CLASS;
	assert_int_equal(pair_find(&pairs, &m.s, addrs, n_addrs), 0);
	assert_int_equal(pairs.n, 0);
}

static void not_connected_back(void **state)
{
	struct snap_qp *b;

	(void)state;
	qp(0, 17, 18, 2);
	b = qp(1, 18, 99, 1);
	verdict(0, PAIR_LOOSE, PAIR_NONE);
	b->dest_qpn = 17;
	verdict(0, PAIR_ALIKE, 1);
	/* to a QP of that number of somebody else */
	gid(b->dgid, 3);
	verdict(0, PAIR_LOOSE, PAIR_NONE);
	verdict(1, PAIR_AWAY, PAIR_NONE);
	gid(b->dgid, 1);
	b->state = 6;
	verdict(0, PAIR_LOOSE, PAIR_NONE);
}

/* The same numbers, on hosts that gave them out in the same order. */
static void numbers_are_not_enough(void **state)
{
	(void)state;
	qp(0, 17, 17, 2);
	qp(1, 17, 17, 3);
	verdict(0, PAIR_LOOSE, PAIR_NONE);
	verdict(1, PAIR_AWAY, PAIR_NONE);
}

static void with_itself(void **state)
{
	(void)state;
	qp(0, 17, 17, 1);
	verdict(0, PAIR_ALIKE, 0);
	assert_int_equal(pairs.n, 1);
}

/* Two with one number: the later one is alive. One address at two devices. */
static void which_of_two(void **state)
{
	(void)state;
	addr(2, 2);
	qp(0, 17, 18, 2);
	qp(1, 18, 1, 1)->serial = 1;
	qp(1, 18, 17, 1)->serial = 2;
	qp(2, 18, 1, 1);
	verdict(0, PAIR_ALIKE, 2);
}

static void by_lid(void **state)
{
	struct snap_qp *a = qp(0, 17, 18, 0), *b = qp(1, 18, 17, 0);
	struct pair_addr *l;

	(void)state;
	m.ports[0].link_layer = m.ports[1].link_layer = 1;
	a->dlid = 6;
	b->dlid = 1;
	for (uint32_t dev = 0; dev < 2; dev++) {
		l = addr(dev, 0);
		l->lid = dev ? 4 : 1;
		l->n_lids = 4;
	}
	addrs[2].n_lids = 1;
	verdict(0, PAIR_ALIKE, 1);
	b->sl = 3;
	verdict(0, PAIR_DIFFER, 1);
	a->dlid = 8;
	verdict(0, PAIR_AWAY, PAIR_NONE);
	a->dlid = 3;
	verdict(0, PAIR_AWAY, PAIR_NONE);
	a->dlid = 1;
	verdict(0, PAIR_HIDDEN, PAIR_NONE);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void sysfs(void **state)
{
	char top[] = "/tmp/test_pair.XXXXXX", dir[64], cmd[96];
	struct pair_addr *got = NULL;
	size_t n = 0;

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(dir, sizeof(dir), "%s/rxe1/ports/1/gids", top);
	snprintf(cmd, sizeof(cmd), "mkdir -p %s", dir);
	assert_int_equal(system(cmd), 0);
	write_file(dir, "0", "fe80:0000:0000:0000:0002:c9ff:fe00:0001\n");
	write_file(dir, "1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	write_file(dir, "2", "garbage\n");
	write_file(dir, "3", "");
	*strrchr(dir, '/') = '\0';
	write_file(dir, "lid", "0x0000\n");
	write_file(dir, "lid_mask_count", "2\n");
	assert_int_equal(srdma_addresses(top, &m.s, &got, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(got[0].dev, 1);
	assert_int_equal(got[0].gid[0], 0xfe);
	assert_int_equal(got[0].gid[15], 1);
	assert_int_equal(got[0].n_lids, 0);
	free(got);
	write_file(dir, "lid", "0x0010\n");
	assert_int_equal(srdma_addresses(top, &m.s, &got, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(got[0].lid, 16);
	assert_int_equal(got[0].n_lids, 4);
	free(got);
	/* the permissive one, which is everybody's */
	write_file(dir, "lid", "0xffff\n");
	assert_int_equal(srdma_addresses(top, &m.s, &got, &n), 0);
	assert_int_equal(n, 1);
	free(got);
	snprintf(cmd, sizeof(cmd), "rm -r %s", top);
	assert_int_equal(system(cmd), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(both_ends), TEST(not_seen), TEST(not_connected_back),
		TEST(numbers_are_not_enough), TEST(with_itself),
		TEST(which_of_two), TEST(by_lid), TEST(sysfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
