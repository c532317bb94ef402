// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fleet: many connected QPs with traffic, and a close look at their classes.
 *
 * One process has both ends of each pair. Small messages go round robin; every
 * one that was posted must complete, without error. Asynchronous events are
 * read: SQ_DRAINED may come to a QP that this program itself took to SQD, and
 * to no other. The program can do to its QPs what applications do (modify,
 * drain, destroy and make anew) while others change their classes.
 *
 * With --wire it also looks at the packets, and knows the TOS of each QP's last
 * one. On one line each, on stdout:
 *
 *	ready pairs N pid PID
 *	classes MS client TC:N,... server TC:N,... stuck TC:N,... wire TC:N,...
 *	released N					(on SIGUSR1)
 *	ended N modify_us MAX destroy_us MAX		(on SIGHUP)
 *	posted N completed N ...			(at the end)
 *
 * "classes" comes on SIGUSR2, and with --watch whenever it differs. MS is
 * CLOCK_MONOTONIC; client, server and stuck are what ibv_query_qp says.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fleet.h"
#include "stat.h"

static const char usage[] =
	"usage: fleet [OPTION]...\n"
	"  --client-dev DEV  --server-dev DEV   the two ends (rxe0, rxe1)\n"
	"  --pairs N          of QPs, connected to each other (4)\n"
	"  --type rc|uc       (rc)\n"
	"  --both             both ends send\n"
	"  --rate N           messages per second, of all together (200)\n"
	"  --depth N          messages at a time on one QP (1)\n"
	"  --size BYTES       of a message (64)\n"
	"  --tclass N         what all ask for (0)\n"
	"  --stuck N          the first N pairs get no receives until SIGUSR1, and\n"
	"                     begin one by one, over 655 ms (their RNR timer);\n"
	"                     on SIGHUP they are modified and destroyed\n"
	"  --churn N          pairs destroyed and made anew per second\n"
	"  --modify N         QPs modified per second\n"
	"  --sqd N            QPs taken to SQD and back per second\n"
	"  --watch MS         look at the classes so often\n"
	"  --wire NETDEV      look at the packets too\n"
	"  --duration SEC     end after so long (at SIGTERM)\n";

int fail_with(const char *what, int err)
{
	fprintf(stderr, "fleet: %s: %s\n", what, strerror(err));
	return -err;
}

uint32_t random_below(struct fleet *f, uint32_t n)
{
	f->rand = f->rand * 1664525 + 1013904223;
	return (f->rand >> 8) % n;
}

/* Keeps the longest time of an application's call: no action may hold one up. */
void note_call_time(struct fleet *f, uint64_t begun)
{
	uint64_t took = now_ns() - begun;

	if (took > f->sum.max_call_ns)
		f->sum.max_call_ns = took;
}

static int open_fleet(struct fleet *f)
{
	struct itimerspec every = {
		.it_value = { .tv_nsec = TICK_NS }, .it_interval = { .tv_nsec = TICK_NS },
	};
	sigset_t set;
	uint64_t i;
	int ret = 0;

	f->wire = -1;
	if (f->o->wire) {
		f->seen = calloc(SEEN_SIZE, sizeof(*f->seen));
		f->wire = open_wire(f->o->wire);
		if (!f->seen || f->wire < 0)
			return -ENODEV;
	}
	for (i = 0; !ret && i < 2; i++)
		ret = open_side(&f->side[i], f->o->dev[i], f->o);
	f->pairs = calloc(f->o->pairs, sizeof(*f->pairs));
	if (!f->pairs)
		return -ENOMEM;
	for (i = 0; !ret && i < f->o->pairs; i++) {
		f->pairs[i].stuck = i < f->o->stuck;
		f->pairs[i].end[0].id = i << 1;
		f->pairs[i].end[1].id = i << 1 | 1;
		ret = make_pair(f, &f->pairs[i]);
	}
	sigprocmask(SIG_BLOCK, NULL, &set);
	f->signals = signalfd(-1, &set, SFD_CLOEXEC);
	f->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (!ret && (f->signals < 0 || f->timer < 0 || timerfd_settime(f->timer, 0, &every, NULL)))
		ret = -errno;
	return ret;
}

static void print_sums(const struct fleet *f)
{
	const struct sums *s = &f->sum;

	printf("posted %" PRIu64 " completed %" PRIu64 " abandoned %" PRIu64 " late %" PRIu64
	       " outstanding %" PRIu64 " errors %" PRIu64 " drained %" PRIu64 " drains %" PRIu64
	       " other_events %" PRIu64 " churned %" PRIu64 " modified %" PRIu64 " failed %" PRIu64
	       " call_us %" PRIu64 "\n",
	       s->posted, s->completed, s->abandoned, s->late, count_outstanding(f), s->errors,
	       s->drained, s->drains, s->other_events, s->churned, s->modified, s->failed,
	       s->max_call_ns / 1000);
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option opts[] = {
		{ "client-dev", 1, NULL, 'c' }, { "server-dev", 1, NULL, 's' },
		{ "pairs", 1, NULL, 'p' }, { "type", 1, NULL, 't' }, { "both", 0, NULL, 'b' },
		{ "rate", 1, NULL, 'r' }, { "depth", 1, NULL, 'd' }, { "size", 1, NULL, 'z' },
		{ "tclass", 1, NULL, 'T' }, { "stuck", 1, NULL, 'k' }, { "churn", 1, NULL, 'C' },
		{ "modify", 1, NULL, 'm' }, { "sqd", 1, NULL, 'q' }, { "watch", 1, NULL, 'w' },
		{ "wire", 1, NULL, 'W' }, { "duration", 1, NULL, 'D' }, { "help", 0, NULL, 'h' },
		{ 0 }
	};
	int i;

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'c': o->dev[0] = optarg; break;
		case 's': o->dev[1] = optarg; break;
		case 'p': o->pairs = number("pairs", optarg, 1, MAX_PAIRS); break;
		case 't':
			o->uc = !strcmp(optarg, "uc");
			if (!o->uc && strcmp(optarg, "rc"))
				goto wrong;
			break;
		case 'b': o->both = true; break;
		case 'r': o->rate = number("rate", optarg, 0, 1000000); break;
		case 'd': o->depth = number("depth", optarg, 1, 64); break;
		case 'z': o->size = number("size", optarg, 1, 1 << 20); break;
		case 'T': o->conn.tclass = number("tclass", optarg, 0, 255); break;
		case 'k': o->stuck = number("stuck", optarg, 0, MAX_PAIRS); break;
		case 'C': o->churn = number("churn", optarg, 0, 10000); break;
		case 'm': o->modify = number("modify", optarg, 0, 10000); break;
		case 'q': o->sqd = number("sqd", optarg, 0, 10000); break;
		case 'w': o->watch_ns = 1000000 * number("watch", optarg, 1, 60000); break;
		case 'W': o->wire = optarg; break;
		case 'D': o->duration_ns = 1000000000 * number("duration", optarg, 1, 86400); break;
		case 'h': fputs(usage, stdout); exit(0);
		default: goto wrong;
		}
	}
	if (optind == argc && o->stuck <= o->pairs)
		return;
wrong:
	fputs(usage, stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	struct options o = {
		.dev = { "rxe0", "rxe1" }, .conn = VCONN_DEFAULT,
		.pairs = 4, .rate = 200, .depth = 1, .size = 64,
	};
	struct fleet f = { .o = &o, .rand = 1 };
	sigset_t set;
	int ret;

	parse_options(argc, argv, &o);
	setlinebuf(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);

	ret = open_fleet(&f);
	if (!ret) {
		printf("ready pairs %" PRIu64 " pid %d\n", o.pairs, getpid());
		ret = run_fleet(&f);
		print_sums(&f);
	}
	/* The process's end takes the QPs along, as for any program. */
	return ret || f.sum.errors || f.sum.drained || f.sum.other_events || f.sum.failed ||
	       count_outstanding(&f) ? 1 : 0;
}
