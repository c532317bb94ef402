/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Threads that write through many QPs as fast as the NIC lets them. Each QP, and each CQ, belongs
 * to one thread, so that threads meet only in libmlx5's lock of a doorbell register and in the
 * NIC.
 */
#ifndef SRDMA_PROBE_WRITERS_H
#define SRDMA_PROBE_WRITERS_H

#include "probe/nic.h"

struct writers_want {
	struct nic *from, *to;
	uint32_t qps, threads, depth, bytes;
	bool own;		/* a doorbell register for each QP */
	uint64_t measure_ns;
	/* Asked each ms; true ends the run early. NULL: none. */
	bool (*enough)(void *arg);
	void *arg;
};

struct writers_result {
	uint64_t messages;	/* measured, after each QP's first window */
	double seconds;		/* that these took */
	uint64_t posted;	/* all */
	bool enough;
};

#define WRITERS_MAX	16

/* As many threads as the host has CPUs, %WRITERS_MAX at most. */
uint32_t writers_threads(void);

/* 0 or -errno with nic_words(). It leaves no QP. */
int writers_run(const struct writers_want *want, struct writers_result *r);

#endif /* SRDMA_PROBE_WRITERS_H */
