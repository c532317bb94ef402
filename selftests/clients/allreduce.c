// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * All-reduce over MPI: what training jobs do all day. Each rank adds a vector whose sum
 * is known; prints what was added up, so that two runs can be compared.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS	10

/* What rank contributes at this place in this round. */
static int64_t part(int rank, int round, int at)
{
	return (int64_t)(rank + 1) * (round + 3) * (at % 1009 + 1);
}

/* Returns the sum over the vector, or aborts the job where a value is wrong. */
static int64_t reduce(int rank, int size, int round, int n, int64_t *mine, int64_t *all)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		mine[i] = part(rank, round, i);
	MPI_Allreduce(mine, all, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++) {
		int64_t want = 0;

		for (int r = 0; r < size; r++)
			want += part(r, round, i);
		if (all[i] != want) {
			fprintf(stderr, "rank %d, round %d, %d of %d: %" PRId64 ", not %" PRId64 "\n",
				rank, round, i, n, all[i], want);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		sum += all[i];
	}
	return sum;
}

int main(int argc, char **argv)
{
	static const int length[] = { 1, 512, 32768 };	/* eager, eager, rendezvous */
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (size_t l = 0; l < sizeof(length) / sizeof(*length); l++) {
		int64_t *mine = calloc(length[l], sizeof(*mine));
		int64_t *all = calloc(length[l], sizeof(*all));
		int64_t sum = 0;

		if (!mine || !all)
			MPI_Abort(MPI_COMM_WORLD, 1);
		for (int round = 0; round < ROUNDS; round++)
			sum += reduce(rank, size, round, length[l], mine, all);
		if (!rank)
			printf("%d ranks, %d rounds of %d: %" PRId64 "\n", size, ROUNDS, length[l], sum);
		free(mine);
		free(all);
	}
	MPI_Finalize();
	return 0;
}
