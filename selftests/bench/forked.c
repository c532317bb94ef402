// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * forked: QPs whose process ends before they do.
 *
 * The parent creates --count QPs, forks, and ends without destroying any. The
 * child goes on with the same device context: it destroys one of them, creates
 * --more of its own, prints
 *
 *	ready parent PID child PID
 *
 * and at SIGTERM ends without destroying what is left.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stat.h"
#include "verbs.h"

static int child(struct vdev *dev, struct ibv_cq *cq, struct ibv_qp *first, uint64_t more,
		 int parent_gone, pid_t parent)
{
	sigset_t set;
	char c;
	int sig;

	/* The end of file: nobody but the parent had the other end. */
	if (read(parent_gone, &c, 1))
		return 1;
	if (ibv_destroy_qp(first)) {
		fputs("forked: destroy failed\n", stderr);
		return 1;
	}
	for (; more; more--) {
		if (!vqp_small(dev, cq)) {
			perror("forked: create");
			return 1;
		}
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("ready parent %d child %d\n", parent, getpid());
	fflush(stdout);
	sigwait(&set, &sig);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "dev", 1, NULL, 'd' }, { "count", 1, NULL, 'n' }, { "more", 1, NULL, 'm' }, { 0 }
	};
	uint64_t count = 3, more = 2, n;
	struct ibv_qp *first = NULL, *qp;
	const char *name = NULL;
	struct ibv_cq *cq;
	struct vdev dev;
	pid_t parent = getpid(), pid;
	int i, pipefd[2];

	while ((i = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (i) {
		case 'd': name = optarg; break;
		case 'n': count = number("count", optarg, 1, 10000); break;
		case 'm': more = number("more", optarg, 0, 10000); break;
		default:
			fputs("usage: forked [--dev DEV] [--count N] [--more N]\n", stderr);
			return 2;
		}
	}
	if (vdev_open(&dev, name))
		return 1;
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	if (!cq || pipe(pipefd)) {
		perror("forked");
		return 1;
	}
	for (n = 0; n < count; n++) {
		qp = vqp_small(&dev, cq);
		if (!qp) {
			perror("forked: create");
			return 1;
		}
		if (!first)
			first = qp;
	}
	pid = fork();
	if (pid < 0) {
		perror("forked");
		return 1;
	}
	if (!pid) {
		close(pipefd[1]);
		_exit(child(&dev, cq, first, more, pipefd[0], parent));
	}
	_exit(0);
}
