// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * dumpcheck: are the module's dumps of QPs right while QPs come and go?
 *
 *	dumpcheck once PID N DUMPS	the N QPs of process PID, which stay, come
 *					exactly once in each of so many dumps, and
 *					COUNT is what is listed
 *	dumpcheck since READY		deltas until READY exists; laid over each other
 *					they are what a full dump then has
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/netlink.h>

#include "rawnl.h"

struct qp {
	uint64_t serial;
	unsigned int seen;
	size_t len;
	void *attrs;		/* without TIME */
};

struct table {
	struct qp *qps;
	size_t n, cap;
	bool sorted;
};

static struct rawnl nl;

static void fail(const char *what, int err)
{
	fprintf(stderr, "dumpcheck: %s: %s\n", what, strerror(-err));
	exit(2);
}

static int by_serial(const void *a, const void *b)
{
	uint64_t x = ((const struct qp *)a)->serial, y = ((const struct qp *)b)->serial;

	return x < y ? -1 : x > y;
}

static struct qp *look_up(struct table *t, uint64_t serial)
{
	struct qp key = { .serial = serial };

	if (!t->sorted)
		qsort(t->qps, t->n, sizeof(*t->qps), by_serial);
	t->sorted = true;
	return t->n ? bsearch(&key, t->qps, t->n, sizeof(*t->qps), by_serial) : NULL;
}

/* A copy of the attributes but for when they were read. */
static void keep(struct qp *q, const void *attrs, size_t len)
{
	size_t time_len;
	const char *time = rawnl_find(attrs, len, SWIFTRDMA_QP_A_TIME, &time_len);

	free(q->attrs);
	q->attrs = malloc(len);
	q->len = len;
	memcpy(q->attrs, attrs, len);
	if (time)
		memset((char *)q->attrs + (time - (const char *)attrs), 0, time_len);
}

static void add_qp(struct table *t, uint64_t serial, const void *attrs, size_t len)
{
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 1024;
		t->qps = realloc(t->qps, t->cap * sizeof(*t->qps));
	}
	memset(&t->qps[t->n], 0, sizeof(*t->qps));
	t->qps[t->n].serial = serial;
	t->qps[t->n].seen = 1;
	if (attrs)
		keep(&t->qps[t->n], attrs, len);
	t->n++;
	t->sorted = false;
}

static void take_all(const void *attrs, size_t len, void *arg)
{
	size_t n;
	const void *qp = rawnl_find(attrs, len, SWIFTRDMA_A_QP, &n);

	add_qp(arg, rawnl_u64(qp, n, SWIFTRDMA_QP_A_SERIAL), qp, n);
}

static void take_serial(const void *attrs, size_t len, void *arg)
{
	size_t n;
	const void *qp = rawnl_find(attrs, len, SWIFTRDMA_A_QP, &n);

	add_qp(arg, rawnl_u64(qp, n, SWIFTRDMA_QP_A_SERIAL), NULL, 0);
}

static struct rawnl_reply dump(const char *text, const struct rawnl_var *vars,
			       rawnl_answer_fn fn, void *arg)
{
	struct rawnl_reply reply;
	int err = rawnl_do(&nl, SWIFTRDMA_CMD_QP_GET, true, text, vars, &reply, fn, arg);

	if (err)
		fail("dump", err);
	if (!reply.has_count)
		fail("a dump without its end", -EPROTO);
	return reply;
}

static int once(uint64_t pid, size_t n, unsigned int dumps)
{
	struct rawnl_var vars[] = { { "pid", pid }, { NULL, 0 } };
	unsigned int missing = 0, twice = 0, miscounted = 0, others = 0, i;
	struct table stay = {}, t = {};
	uint64_t generation = 0, moved = 0, last = 0;
	struct rawnl_reply reply;

	reply = dump("pid=$pid", vars, take_serial, &stay);
	printf("%s - those that stay: %zu\n", stay.n == n && reply.count == n ? "ok" : "not ok", n);
	/* Not just so many, but enough of them with something going on. */
	for (i = 0; i < dumps || (moved < dumps / 4 && i < 20 * dumps); i++) {
		t.n = 0;
		reply = dump("", NULL, take_serial, &t);
		miscounted += reply.count != t.n;
		if (reply.generation <= generation)
			fail("a generation that does not grow", -EPROTO);
		generation = reply.generation;
		for (size_t q = 0; q < stay.n; q++)
			missing += !look_up(&t, stay.qps[q].serial);
		for (size_t q = 1; q < t.n; q++)
			twice += t.qps[q].serial == t.qps[q - 1].serial;
		others += t.n - stay.n;
		moved += t.qps[t.n - 1].serial != last;
		last = t.qps[t.n - 1].serial;
	}
	printf("# %u dumps, %llu of them with new QPs, %u others in all\n", i,
	       (unsigned long long)moved, others);
	printf("%s - others came and went meanwhile\n", moved >= dumps / 4 ? "ok" : "not ok");
	printf("%s - each of those that stay is in each of %u dumps (%u were not)\n",
	       missing ? "not ok" : "ok", i, missing);
	printf("%s - no QP is in a dump twice (%u were)\n", twice ? "not ok" : "ok", twice);
	printf("%s - COUNT is what is listed (%u times not)\n", miscounted ? "not ok" : "ok",
	       miscounted);
	return missing || twice || miscounted || moved < dumps / 4 || stay.n != n;
}

static void take_delta(const void *attrs, size_t len, void *arg)
{
	struct table *t = arg;
	size_t n;
	const void *qp = rawnl_find(attrs, len, SWIFTRDMA_A_QP, &n);
	uint64_t serial = rawnl_u64(qp, n, SWIFTRDMA_QP_A_SERIAL);
	struct qp *q = NULL;

	/* One that is new is at the end until the next delta; the last one holds. */
	for (size_t i = t->n; i && !t->sorted && !q; i--)
		if (t->qps[i - 1].serial == serial)
			q = &t->qps[i - 1];
	if (t->sorted)
		q = look_up(t, serial);
	if (q)
		keep(q, qp, n);
	else
		add_qp(t, serial, qp, n);
}

static int since(const char *ready)
{
	unsigned int deltas = 0, changes = 0, differ = 0, lacking = 0;
	struct rawnl_var vars[] = { { "since", 0 }, { NULL, 0 } };
	struct table merged = {}, full = {};
	struct rawnl_reply reply;
	bool quiet;

	reply = dump("", NULL, take_all, &merged);
	puts("# begun");
	fflush(stdout);
	do {
		quiet = !access(ready, F_OK);
		look_up(&merged, 0);
		vars[0].value = reply.generation;
		reply = dump("since=$since", vars, take_delta, &merged);
		deltas++;
		changes += reply.answers;
	} while (!quiet);
	dump("", NULL, take_all, &full);
	for (size_t i = 0; i < full.n; i++) {
		struct qp *q = look_up(&merged, full.qps[i].serial);

		if (!q)
			lacking++;
		else if (q->len != full.qps[i].len || memcmp(q->attrs, full.qps[i].attrs, q->len))
			differ++;
	}
	printf("# %u deltas with %u QPs, of %zu\n", deltas, changes, full.n);
	printf("%s - there were changes\n", changes > deltas ? "ok" : "not ok");
	printf("%s - a delta is less than everything\n",
	       changes < deltas * full.n ? "ok" : "not ok");
	printf("%s - deltas lack no QP (%u lack)\n", lacking ? "not ok" : "ok", lacking);
	printf("%s - deltas lack no change (%u differ)\n", differ ? "not ok" : "ok", differ);
	return changes <= deltas || differ || lacking;
}

int main(int argc, char **argv)
{
	int err = rawnl_open(&nl, -1);

	if (err)
		fail("family", err);
	if (argc == 5 && !strcmp(argv[1], "once"))
		return once(strtoull(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
			    strtoul(argv[4], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "since"))
		return since(argv[2]);
	fputs("usage: dumpcheck once PID N DUMPS | since FILE\n", stderr);
	return 2;
}
