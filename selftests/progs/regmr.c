// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * regmr: memory regions on request. Reads commands from stdin and answers each with
 * one line, which ends with what it has: regions, bytes.
 *
 *	reg BYTES [huge]	one more; huge: in pages of 2 MiB, where there are any
 *	regs COUNT BYTES	so many more
 *	dmabuf BYTES		one more, by the call for memory of other devices; above.ko
 *				makes it this program's own (dmabuf=1)
 *	rereg BYTES		the last one anew, elsewhere
 *	dereg			the last one
 *	quit
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs.h"

#define HUGE_PAGE	(2ull << 20)
#define PAGE		4096ull
#define MAX_MRS		4096

static struct vdev dev;
static struct ibv_mr *mrs[MAX_MRS];
static uint32_t n;
static const int access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

/* At a boundary of both kinds of pages, and present. Never given back. */
static void *memory(uint64_t bytes, int advice)
{
	size_t page = advice == MADV_HUGEPAGE ? HUGE_PAGE : PAGE;
	uint8_t *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p += -(uintptr_t)p & (HUGE_PAGE - 1);
	/* A kernel without huge pages has none to be without. */
	if (madvise(p, bytes, advice) && advice != MADV_NOHUGEPAGE)
		return NULL;
	/*
	 * Every other page first, from the second: neighbours that came one after
	 * the other would lie one after the other, and the device map both as one.
	 */
	for (size_t even = 0; even < 2; even++)
		for (size_t at = even ? 0 : page; at < bytes; at += 2 * page)
			p[at] = 1;
	return p;
}

static int answer(const char *what)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		bytes += mrs[i]->length;
	printf("%s %u %" PRIu64 "\n", what, n, bytes);
	return fflush(stdout);
}

static int obey(const char *line)
{
	uint64_t bytes, count;
	char how[8] = "";
	void *p;

	if (sscanf(line, "reg %" SCNu64 " %7s", &bytes, how) >= 1) {
		p = memory(bytes, *how ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		if (!p || n == MAX_MRS)
			return complain("memory");
		mrs[n] = ibv_reg_mr(dev.pd, p, bytes, access_flags);
		if (!mrs[n])
			return complain("reg");
		n++;
		return answer("reg");
	}
	if (sscanf(line, "regs %" SCNu64 " %" SCNu64, &count, &bytes) == 2) {
		p = memory(bytes, MADV_NOHUGEPAGE);
		for (; p && count && n < MAX_MRS; count--, n++) {
			mrs[n] = ibv_reg_mr(dev.pd, p, bytes, access_flags);
			if (!mrs[n])
				return complain("reg");
		}
		return answer("regs");
	}
	if (sscanf(line, "dmabuf %" SCNu64, &bytes) == 1) {
		p = memory(bytes, MADV_NOHUGEPAGE);
		if (!p || n == MAX_MRS)
			return complain("memory");
		mrs[n] = ibv_reg_dmabuf_mr(dev.pd, 0, bytes, (uintptr_t)p, 0,
					   access_flags);
		if (!mrs[n])
			return complain("dmabuf");
		n++;
		return answer("dmabuf");
	}
	if (n && sscanf(line, "rereg %" SCNu64, &bytes) == 1) {
		p = memory(bytes, MADV_NOHUGEPAGE);
		if (!p || ibv_rereg_mr(mrs[n - 1], IBV_REREG_MR_CHANGE_TRANSLATION, NULL, p,
				       bytes, 0))
			return complain("rereg");
		return answer("rereg");
	}
	if (n && !strcmp(line, "dereg\n")) {
		errno = ibv_dereg_mr(mrs[n - 1]);
		if (errno)
			return complain("dereg");
		n--;
		return answer("dereg");
	}
	fprintf(stderr, "regmr: what is %s", line);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	if (argc > 2 || vdev_open(&dev, argc == 2 ? argv[1] : NULL))
		return 2;
	return obey_lines(obey) ? 1 : 0;
}
