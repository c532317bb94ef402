// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hold: has QPs, and keeps them until its stdin or itself is closed.
 *
 * Prints "ready N". On SIGUSR1 it modifies --change percent of them, spread
 * evenly, without changing their state, and prints "changed N".
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
#include <sys/signalfd.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

struct options {
	const char *dev, *dev2;
	uint64_t count;
	double change;
	enum vstate to;
	bool no_stdin, fast_exit;
};

struct held {
	struct vdev dev[2];
	struct ibv_cq *cq[2];
	struct ibv_qp **qps;
	uint64_t n;
};

static const char usage[] =
	"usage: hold [OPTION]...\n"
	"  --count N          QPs (1)\n"
	"  --dev DEV          (the first)\n"
	"  --dev2 DEV         every other QP is this device's; two by two they are\n"
	"                     connected to each other (else each to itself)\n"
	"  --modify none|init|rts   how far (none)\n"
	"  --change PERCENT   how many change on SIGUSR1 (1)\n"
	"  --no-stdin         only SIGTERM ends it\n"
	"  --fast-exit        leave the QPs to the end of the process\n";

static int make(struct held *h, const struct options *o)
{
	int ends = o->dev2 ? 2 : 1, i;
	struct vpeer peer;
	uint64_t q, mate;

	for (i = 0; i < ends; i++) {
		if (vdev_open(&h->dev[i], i ? o->dev2 : o->dev))
			return -ENODEV;
		/* All completions there can be: rxe bounds a CQ, not its QPs. */
		h->cq[i] = ibv_create_cq(h->dev[i].ctx, 1024, NULL, NULL, 0);
		if (!h->cq[i])
			return -errno;
	}
	h->qps = calloc(o->count, sizeof(*h->qps));
	if (!h->qps)
		return -ENOMEM;
	for (h->n = 0; h->n < o->count; h->n++) {
		i = h->n % ends;
		h->qps[h->n] = vqp_small(&h->dev[i], h->cq[i]);
		if (!h->qps[h->n])
			return -errno;
	}
	for (q = 0; q < h->n; q++) {
		i = q % ends;
		mate = ends == 2 ? q ^ 1 : q;
		if (mate >= h->n)
			mate = q;
		peer = vdev_peer(&h->dev[mate % ends], h->qps[mate], 0);
		if (vqp_take(&h->dev[i], h->qps[q], &peer, o->to) != (int)o->to)
			return -EIO;
	}
	return 0;
}

/* A modify that any state short of an error allows and nobody minds. */
static int touch(struct ibv_qp *qp, enum vstate state)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = 13, .port_num = 1 };
	int mask = IBV_QP_STATE;

	switch (state) {
	case V_NONE:
		attr.qp_state = IBV_QPS_RESET;
		break;
	case V_INIT:
		attr.qp_state = IBV_QPS_INIT;
		attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
		mask |= IBV_QP_ACCESS_FLAGS;
		break;
	default:
		attr.qp_state = IBV_QPS_RTS;
		mask |= IBV_QP_MIN_RNR_TIMER;
	}
	return ibv_modify_qp(qp, &attr, mask);
}

static uint64_t change(struct held *h, const struct options *o)
{
	uint64_t want = h->n * o->change / 100 + 0.5, done = 0, i;
	int err;

	for (i = 0; i < want; i++) {
		err = touch(h->qps[i * h->n / want], o->to);
		if (err)
			fprintf(stderr, "hold: modify: %s\n", strerror(err));
		else
			done++;
	}
	return done;
}

static void wait_for_end(struct held *h, const struct options *o, int signals)
{
	struct pollfd fds[] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = o->no_stdin ? -1 : STDIN_FILENO, .events = POLLIN },
	};
	struct signalfd_siginfo si;
	char buf[256];

	while (poll(fds, 2, -1) > 0) {
		if (fds[0].revents) {
			if (read(signals, &si, sizeof(si)) != sizeof(si) || si.ssi_signo != SIGUSR1)
				return;
			printf("changed %" PRIu64 "\n", change(h, o));
		}
		if (fds[1].revents && read(STDIN_FILENO, buf, sizeof(buf)) <= 0)
			return;
	}
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "dev2", 1, NULL, 'e' }, { "count", 1, NULL, 'n' },
		{ "modify", 1, NULL, 'm' }, { "change", 1, NULL, 'c' },
		{ "no-stdin", 0, NULL, 'i' }, { "fast-exit", 0, NULL, 'f' },
		{ "help", 0, NULL, 'h' }, { 0 }
	};
	char *end;
	int i, to;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': o->dev = optarg; break;
		case 'e': o->dev2 = optarg; break;
		case 'n': o->count = number("count", optarg, 1, 10000000); break;
		case 'i': o->no_stdin = true; break;
		case 'f': o->fast_exit = true; break;
		case 'c':
			o->change = strtod(optarg, &end);
			if (*end || o->change < 0 || o->change > 100)
				goto wrong;
			break;
		case 'm':
			to = vstate_parse(optarg);
			if (to < 0)
				goto wrong;
			o->to = to;
			break;
		case 'h': fputs(usage, stdout); exit(0);
		default: goto wrong;
		}
	}
	if (optind == argc && o->to != V_RTR)
		return;
wrong:
	fputs(usage, stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options o = { .count = 1, .change = 1 };
	struct held h = { 0 };
	sigset_t set;
	uint64_t i;
	int ret, signals;

	parse(argc, argv, &o);
	setlinebuf(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);

	ret = signals < 0 ? -errno : make(&h, &o);
	if (ret) {
		fprintf(stderr, "hold: after %" PRIu64 " QPs: %s\n", h.n, strerror(-ret));
		return 1;
	}
	printf("ready %" PRIu64 "\n", h.n);
	wait_for_end(&h, &o, signals);
	if (o.fast_exit)
		return 0;
	for (i = 0; i < h.n; i++)
		ret |= ibv_destroy_qp(h.qps[i]);
	return ret ? 1 : 0;
}
