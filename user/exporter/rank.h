/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The k objects of a kind that matter most. An object among them stays until another one clearly
 * surpasses it, because a series that comes and goes is of little use.
 */
#ifndef SRDMA_EXPORTER_RANK_H
#define SRDMA_EXPORTER_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_KEYS	3

struct rank_id {
	uint32_t dev, index;
	uint64_t since;
};

struct rank_item {
	struct rank_id id;
	uint32_t row;			/* in the snapshot */
	double key[RANK_KEYS];		/* the first that differs decides */
};

struct rank {
	size_t k;
	struct rank_item *items;	/* after rank_end() by row */
	size_t n;
	struct rank_item *last;		/* those of the time before, by id */
	size_t n_last;
};

/* 0 or -ENOMEM. */
int rank_init(struct rank *r, size_t k);
void rank_free(struct rank *r);

void rank_begin(struct rank *r);
void rank_offer(struct rank *r, const struct rank_item *item);
void rank_end(struct rank *r);
/* After rank_end(): is the object in @row of the snapshot among them? */
bool rank_has(const struct rank *r, uint32_t row);

#endif /* SRDMA_EXPORTER_RANK_H */
