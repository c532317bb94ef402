/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: memory is put into huge pages before it is registered.
 *
 * Invariants:
 *  - The program's registration happens once, with its own arguments, whatever happens here.
 *  - The contents of memory and what the program may do with it stay as they are.
 *  - Only ranges of the size of a huge page that lie wholly inside the registered region are
 *    touched.
 */
#ifndef LIB_HUGE_H
#define LIB_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct context;
struct device;

/* Smaller regions are left alone without a further look. */
#define HUGE_REGION_MIN (2ull << 20)
/*
 * Default of SWIFTRDMA_HUGE_TIME: the seconds that one registration may spend here. The range that
 * is being collapsed when the time is over is finished; a range takes 1 ms or 2, more on a busy host.
 * The default is the time that a post may wait, too.
 */
#define HUGE_SECONDS 1
/* The free memory is checked once for so many ranges, and must suffice for twice as many. */
#define HUGE_BATCH 16
/* After so many ranges in a row that were not made huge pages, the rest of the mapping is left alone. */
#define HUGE_REFUSALS 8

/* What control says about huge pages. */
enum huge_wish { HUGE_UNSAID, HUGE_NO, HUGE_YES };

/* --- huge.c -------------------------------------------------------------------- */

/*
 * Called before [@addr, @addr + @length) is registered with @access on a device of @c, NULL: a
 * context that the library does not watch. errno stays as it is.
 */
void huge_before_reg(struct context *c, const void *addr, size_t length, unsigned int access);
/* The state of the knob, enum swiftrdma_knob_state, if @wish is what control says. */
uint32_t huge_state(enum huge_wish wish);

/* Replaced by tests. */
extern int (*huge_madvise)(void *at, size_t length, int advice);
extern int (*huge_disabled)(void);

/* --- memlimit.c ------------------------------------------------------------------ */

extern const char *huge_root;

/* Bytes that the process may still use before the kernel has to reclaim memory; 0: none, or unknown. */
uint64_t huge_memory_left(void);
int huge_open(const char *path);
void huge_close(int fd);
/* Reads the first @size - 1 bytes of a file as a string. */
bool huge_read(const char *path, char *buf, size_t size);

#pragma GCC visibility pop

#endif /* LIB_HUGE_H */
