// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST	16

bool array_reserve(void *array, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap ? *cap : FIRST;
	void *p;

	if (want <= *cap)
		return true;
	while (n < want)
		n *= 2;
	/* A pointer to any type: memcpy() reads and writes it whatever the type is. */
	memcpy(&p, array, sizeof(p));
	p = realloc(p, n * size);
	if (!p)
		return false;
	memcpy(array, &p, sizeof(p));
	*cap = n;
	return true;
}

void *array_next(void *array, size_t n, size_t *cap, size_t size)
{
	char *p;

	if (!array_reserve(array, cap, n + 1, size))
		return NULL;
	memcpy(&p, array, sizeof(p));
	return memset(p + n * size, 0, size);
}
