// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * churn: processes that create, modify and destroy QPs without a pause, and say
 * exactly how many, so that who watches can be compared with them. What happens
 * in which order follows from the seed alone.
 *
 *	created N modified N destroyed N failed N abandoned N
 *
 * "failed" counts calls that returned an error, "abandoned" QPs that were left
 * to the end of their process (--abandon).
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

struct options {
	const char *dev;
	uint64_t procs, total, live, seconds, seed;
	enum vstate to;
	bool abandon;
};

/* One for each process, on a shared page, so that counts outlive a kill. */
struct counts {
	uint64_t created, modified, destroyed, failed, abandoned;
};

static volatile sig_atomic_t stop;

static const char usage[] =
	"usage: churn [OPTION]...\n"
	"  --dev DEV          (the first)\n"
	"  --procs N          processes (4)\n"
	"  --total N          QPs to create, all processes together (10000)\n"
	"  --live N           QPs a process has at most (32)\n"
	"  --modify none|init|rtr|rts   how far each is taken, to itself (rts)\n"
	"  --seconds N        stop creating after so long\n"
	"  --seed N           (1)\n"
	"  --abandon          leave the last QPs to the end of the process\n"
	"SIGTERM stops creating; what was created is destroyed and counted.\n";

static pid_t *children;	/* NULL in a child */
static volatile sig_atomic_t n_children;

/* Who stops the parent means them all. */
static void on_term(int sig)
{
	int i;

	stop = 1;
	for (i = 0; children && i < n_children; i++)
		kill(children[i], sig);
}

/* xorshift64*: as good as needed, and the same everywhere. */
static uint64_t next(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1dull;
}

static void create(struct vdev *dev, struct ibv_cq *cq, enum vstate to,
		   struct ibv_qp **slot, struct counts *c)
{
	struct vpeer self;
	int done;

	*slot = vqp_small(dev, cq);
	if (!*slot) {
		c->failed++;
		return;
	}
	c->created++;
	self = vdev_peer(dev, *slot, 0);
	done = vqp_take(dev, *slot, &self, to);
	c->modified += done;
	if (done < (int)to)
		c->failed++;
}

static int churn(const struct options *o, uint64_t rank, uint64_t share, struct counts *c)
{
	uint64_t end = o->seconds ? now_ns() + o->seconds * 1000000000 : UINT64_MAX;
	uint64_t rng = (o->seed + 1) * 0x9e3779b97f4a7c15ull + rank * 0xbf58476d1ce4e5b9ull;
	uint64_t made = 0, n = 0, i;
	struct ibv_qp **qps = calloc(o->live, sizeof(*qps));
	struct ibv_cq *cq;
	struct vdev dev;

	if (!qps || vdev_open(&dev, o->dev))
		return 1;
	rng |= 1;
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	if (!cq) {
		perror("churn: create CQ");
		return 1;
	}
	while (!stop && made < share && now_ns() < end) {
		if (n < o->live && (!n || next(&rng) % 2)) {
			create(&dev, cq, o->to, &qps[n], c);
			made++;
			n += !!qps[n];
			continue;
		}
		i = next(&rng) % n;
		if (ibv_destroy_qp(qps[i]))
			c->failed++;
		else
			c->destroyed++;
		qps[i] = qps[--n];
	}
	if (o->abandon) {
		c->abandoned = n;
		return 0;
	}
	for (i = 0; i < n; i++) {
		if (ibv_destroy_qp(qps[i]))
			c->failed++;
		else
			c->destroyed++;
	}
	ibv_destroy_cq(cq);
	vdev_close(&dev);
	free(qps);
	return 0;
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "procs", 1, NULL, 'p' }, { "total", 1, NULL, 't' },
		{ "live", 1, NULL, 'l' }, { "modify", 1, NULL, 'm' }, { "seconds", 1, NULL, 's' },
		{ "seed", 1, NULL, 'r' }, { "abandon", 0, NULL, 'a' }, { "help", 0, NULL, 'h' },
		{ 0 }
	};
	int i, to;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': o->dev = optarg; break;
		case 'p': o->procs = number("procs", optarg, 1, 1024); break;
		case 't': o->total = number("total", optarg, 1, 1ull << 40); break;
		case 'l': o->live = number("live", optarg, 1, 100000); break;
		case 's': o->seconds = number("seconds", optarg, 1, 86400); break;
		case 'r': o->seed = number("seed", optarg, 0, UINT64_MAX); break;
		case 'a': o->abandon = true; break;
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

int main(int argc, char **argv)
{
	struct options o = { .procs = 4, .total = 10000, .live = 32, .seed = 1, .to = V_RTS };
	struct sigaction sa = { .sa_handler = on_term };
	struct counts *counts, sum = { 0 };
	int status, ret = 0;
	uint64_t i, share;
	pid_t pid;

	parse(argc, argv, &o);
	counts = mmap(NULL, o.procs * sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	children = calloc(o.procs, sizeof(*children));
	if (counts == MAP_FAILED || !children) {
		perror("churn");
		return 1;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);

	for (i = 0; i < o.procs; i++) {
		share = o.total / o.procs + (i < o.total % o.procs);
		pid = fork();
		if (pid < 0) {
			perror("churn: fork");
			on_term(SIGTERM);
			ret = 1;
			break;
		}
		if (!pid) {
			children = NULL;
			_exit(churn(&o, i, share, &counts[i]));
		}
		children[n_children++] = pid;
	}
	for (i = 0; i < (uint64_t)n_children; i++) {
		while (waitpid(children[i], &status, 0) < 0)
			;
		ret |= !!status;
		sum.created += counts[i].created;
		sum.modified += counts[i].modified;
		sum.destroyed += counts[i].destroyed;
		sum.failed += counts[i].failed;
		sum.abandoned += counts[i].abandoned;
	}
	printf("created %" PRIu64 " modified %" PRIu64 " destroyed %" PRIu64 " failed %" PRIu64
	       " abandoned %" PRIu64 "\n",
	       sum.created, sum.modified, sum.destroyed, sum.failed, sum.abandoned);
	return ret;
}
