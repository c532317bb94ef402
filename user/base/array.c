// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST	16

static bool grow_column(const struct array_column *c, size_t had, size_t rows)
{
	size_t bytes = rows * c->size;
	char *p;

	/* A pointer to any type: memcpy() reads and writes it whatever the type is. */
	memcpy(&p, c->array, sizeof(p));
	p = realloc(p, bytes ? bytes : 1);
	if (!p)
		return false;
	memset(p + had * c->size, 0, (rows - had) * c->size);
	memcpy(c->array, &p, sizeof(p));
	return true;
}

bool array_grow(const struct array_column *columns, size_t n, size_t *cap, size_t want)
{
	size_t rows = *cap ? *cap : FIRST;

	if (want <= *cap && *cap)
		return true;
	while (rows < want)
		rows *= 2;
	for (size_t i = 0; i < n; i++)
		if (!grow_column(&columns[i], *cap, rows))
			return false;
	*cap = rows;
	return true;
}

bool array_reserve(void *array, size_t *cap, size_t want, size_t size)
{
	return array_grow(&(struct array_column){ array, size }, 1, cap, want);
}

void *array_next(void *array, size_t n, size_t *cap, size_t size)
{
	char *p;

	if (n >= *cap && !array_reserve(array, cap, n + 1, size))
		return NULL;
	memcpy(&p, array, sizeof(p));
	return memset(p + n * size, 0, size);
}
