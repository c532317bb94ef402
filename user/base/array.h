/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Arrays: growing by doubling, so that n elements cost O(n) copies, and searching. */
#ifndef SRDMA_BASE_ARRAY_H
#define SRDMA_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* One of several arrays that have an element for each row and grow together. */
struct array_column {
	void *array;		/* the address of a pointer to malloc()ed elements, or to NULL */
	size_t size;		/* bytes of a row */
};

#define ARRAY_WIDE_COLUMN(array, per_row) { &(array), (per_row) * sizeof(*(array)) }
#define ARRAY_COLUMN(array) ARRAY_WIDE_COLUMN(array, 1)

/**
 * array_grow - make room in arrays that have one capacity
 * @columns: the arrays
 * @n: number of arrays
 * @cap: rows for which the arrays have room; updated
 * @want: rows for which they need room
 *
 * New room is zeroed. The arrays are not NULL afterwards, not even if @want is 0. False: out
 * of memory; the contents and *@cap are unchanged.
 */
bool array_grow(const struct array_column *columns, size_t n, size_t *cap, size_t want);

/* The same for columns that are listed in the call. */
#define array_grow_columns(cap, want, ...) ({					\
	const struct array_column columns_[] = { __VA_ARGS__ };			\
										\
	array_grow(columns_, sizeof(columns_) / sizeof(columns_[0]), cap, want); })

/* The same for one array of elements of @size bytes. */
bool array_reserve(void *array, size_t *cap, size_t want, size_t size);

/*
 * The element after the last of *@array's @n, zeroed; the caller adds one to its count
 * once the element is complete. NULL: out of memory.
 */
void *array_next(void *array, size_t n, size_t *cap, size_t size);

/* Compares two numbers, as strcmp() does strings. */
#define ARRAY_CMP(a, b) (((a) > (b)) - ((a) < (b)))
/* Compares two elements by their members @x, then @y, then @z. */
#define ARRAY_CMP_2(a, b, x, y)						\
	((a)->x != (b)->x ? ARRAY_CMP((a)->x, (b)->x) : ARRAY_CMP((a)->y, (b)->y))
#define ARRAY_CMP_3(a, b, x, y, z)					\
	((a)->x != (b)->x ? ARRAY_CMP((a)->x, (b)->x) : ARRAY_CMP_2(a, b, y, z))

/*
 * Binary search: of @n elements that are sorted, the place of the first for which
 * @before, an expression of the place @i, is false; @n if there is none.
 */
#define array_find(n, i, before) ({					\
	size_t first_ = 0, end_ = (n);					\
									\
	while (first_ < end_) {						\
		size_t i = first_ + (end_ - first_) / 2;		\
									\
		if (before)						\
			first_ = i + 1;					\
		else							\
			end_ = i;					\
	}								\
	first_; })

/*
 * The place of the element for which @cmp, an expression of the place @i that compares the
 * element with the one that is searched for as strcmp() does, is 0; @n if there is none.
 */
#define array_lookup(n, i, cmp) ({					\
	size_t n_ = (n), i = array_find(n_, i, (cmp) < 0);		\
									\
	i < n_ && !(cmp) ? i : n_; })

/* The same, but the place @at is tried first, which may be any number. */
#define array_lookup_near(n, at, i, cmp) ({				\
	size_t near_ = (n), i = (size_t)(at);				\
									\
	i < near_ && !(cmp) ? i : array_lookup(near_, i, cmp); })

/*
 * A step through two sorted arrays at once: moves @i past the elements for which @cmp, an
 * expression of @i as above, is below 0. True: @cmp is 0 for the element at @i.
 */
#define array_seek(n, i, cmp) ({					\
	while ((i) < (n) && (cmp) < 0)					\
		(i)++;							\
	(i) < (n) && !(cmp); })

#define array_swap(a, b) ({						\
	__typeof__(a) swap_ = (a);					\
									\
	(a) = (b);							\
	(b) = swap_; })

#endif /* SRDMA_BASE_ARRAY_H */
