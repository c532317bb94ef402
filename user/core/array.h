/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Arrays: growing by doubling, so that n elements cost O(n) copies, and searching. */
#ifndef SRDMA_CORE_ARRAY_H
#define SRDMA_CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/**
 * array_reserve - make room
 * @array: the address of a pointer to malloc()ed elements, or to NULL
 * @cap: elements that *@array has room for; updated
 * @want: elements that it needs room for in all
 * @size: bytes of an element
 *
 * New room is not initialized. False: out of memory, and nothing has changed.
 */
bool array_reserve(void *array, size_t *cap, size_t want, size_t size);

/*
 * The element after the last of *@array's @n, zeroed; the caller adds one to its count
 * once the element is complete. NULL: out of memory.
 */
void *array_next(void *array, size_t n, size_t *cap, size_t size);

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

#endif /* SRDMA_CORE_ARRAY_H */
