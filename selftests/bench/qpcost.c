// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * qpcost: what it costs to create and destroy a QP, or to take it to RTS in
 * between, in ns each. Meant for `scripts/vm --icount`, where time follows the
 * instructions that were executed; elsewhere it is just a time.
 *
 * Who waits for a device model that is a thread of the same CPU also measures that
 * thread, and how long it sleeps. --less takes both out: what is left is all that the
 * kernel did for these QPs, in whatever context.
 */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat.h"
#include "verbs.h"

struct options {
	const char *dev;
	uint64_t iterations, repeats, warmup;
	enum vstate to;
	int less;
};

static const char usage[] =
	"usage: qpcost [OPTION]...\n"
	"  --dev DEV          (the first)\n"
	"  --modify none|init|rtr|rts   how far each QP is taken, to itself (none)\n"
	"  --iterations N     QPs a repeat (500)\n"
	"  --repeats N        (9)\n"
	"  --warmup N         QPs before (200)\n"
	"  --less PID         without the time of this process, and idle time (with them)\n";

static int once(struct vdev *dev, struct ibv_cq *cq, enum vstate to)
{
	struct ibv_qp *qp = vqp_small(dev, cq);
	struct vpeer self;

	if (!qp) {
		perror("qpcost: create QP");
		return -1;
	}
	self = vdev_peer(dev, qp, 0);
	if (vqp_take(dev, qp, &self, to) != (int)to)
		return -1;
	return ibv_destroy_qp(qp);
}

static int many(struct vdev *dev, struct ibv_cq *cq, enum vstate to, uint64_t n)
{
	int ret = 0;

	while (n-- && !ret)
		ret = once(dev, cq, to);
	return ret;
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "modify", 1, NULL, 'm' },
		{ "iterations", 1, NULL, 'i' }, { "repeats", 1, NULL, 'r' },
		{ "warmup", 1, NULL, 'w' }, { "less", 1, NULL, 'l' }, { "help", 0, NULL, 'h' }, { 0 }
	};
	int i, to;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': o->dev = optarg; break;
		case 'i': o->iterations = number("iterations", optarg, 1, 1000000000); break;
		case 'r': o->repeats = number("repeats", optarg, 1, 100000); break;
		case 'w': o->warmup = number("warmup", optarg, 0, 1000000000); break;
		case 'l': o->less = number("less", optarg, 1, INT_MAX); break;
		case 'h': fputs(usage, stdout); exit(0);
		case 'm':
			to = vstate_parse(optarg);
			if (to >= 0) {
				o->to = to;
				break;
			}
			/* fall through */
		default: fputs(usage, stderr); exit(2);
		}
	}
	if (optind != argc) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* A clock that stands still where --less says so. */
static uint64_t clock_ns(const struct options *o)
{
	return o->less ? now_ns() - ran_ns(o->less) - idle_ns() : now_ns();
}

int main(int argc, char **argv)
{
	struct options o = { .iterations = 500, .repeats = 9, .warmup = 200 };
	struct samples s = { 0 };
	struct ibv_cq *cq;
	struct vdev dev;
	uint64_t r, start;

	parse(argc, argv, &o);
	if (vdev_open(&dev, o.dev))
		return 1;
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	if (!cq) {
		perror("qpcost: create CQ");
		return 1;
	}
	if (many(&dev, cq, o.to, o.warmup))
		return 1;
	for (r = 0; r < o.repeats; r++) {
		start = clock_ns(&o);
		if (many(&dev, cq, o.to, o.iterations))
			return 1;
		if (samples_add(&s, (clock_ns(&o) - start) / o.iterations))
			return 1;
	}
	printf("{\"median_ns\":%" PRIu64 ",\"min_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
	       ",\"iterations\":%" PRIu64 ",\"repeats\":%" PRIu64 "}\n",
	       samples_quantile(&s, 50), samples_quantile(&s, 0), samples_quantile(&s, 100),
	       o.iterations, o.repeats);
	return 0;
}
