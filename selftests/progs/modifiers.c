// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * modifiers: threads that modify one QP all the time, which RDMA core lets them.
 *
 *	modifiers DEV THREADS TIMES
 *
 * Ends when each has done so TIMES times, with what they did on stdout.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "stat.h"
#include "verbs.h"

static struct vdev dev;
static struct ibv_qp *qp;
static uint64_t times;

static void *modify(void *unused)
{
	intptr_t failed = 0;

	(void)unused;
	for (uint64_t i = 0; i < times; i++)
		failed += !!vqp_init(&dev, qp);
	return (void *)failed;
}

int main(int argc, char **argv)
{
	pthread_t thread[16];
	intptr_t failed = 0;
	struct ibv_cq *cq;
	uint64_t n, i;
	void *ret;

	if (argc != 4) {
		fputs("usage: modifiers DEV THREADS TIMES\n", stderr);
		return 2;
	}
	n = number("THREADS", argv[2], 1, 16);
	times = number("TIMES", argv[3], 1, 100000000);
	if (vdev_open(&dev, argv[1]))
		return 1;
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	qp = cq ? vqp_small(&dev, cq) : NULL;
	if (!qp) {
		perror("modifiers: no QP");
		return 1;
	}
	for (i = 0; i < n; i++) {
		if (pthread_create(&thread[i], NULL, modify, NULL)) {
			fputs("modifiers: no thread\n", stderr);
			return 1;
		}
	}
	for (i = 0; i < n; i++) {
		pthread_join(thread[i], &ret);
		failed += (intptr_t)ret;
	}
	printf("modified %" PRIu64 " failed %jd\n", n * times, (intmax_t)failed);
	return failed || ibv_destroy_qp(qp);
}
