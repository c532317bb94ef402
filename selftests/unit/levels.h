/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Policy files that raise class levels, for tests of which levels are not the point. */
#ifndef SELFTESTS_UNIT_LEVELS_H
#define SELFTESTS_UNIT_LEVELS_H

#include <stdio.h>
#include <string.h>

#define LEVELS								\
	"levels: [{level: 1, dscp: 8}, {level: 2, dscp: 16}, {level: 3, dscp: 24}, " \
	"{level: 4, dscp: 32}, {level: 5, dscp: 40}, {level: 6, dscp: 48}, " \
	"{level: 7, dscp: 56}]\n"

/*
 * @text as it is, unless it raises levels and does not say what they are: then it does,
 * at its end, so that the lines of what is before stay where they are.
 */
static inline const char *with_levels(const char *text)
{
	static char whole[1 << 20];

	if (strstr(text, "levels:") ||
	    (!strstr(text, "job.level") && !strstr(text, "order:")))
		return text;
	snprintf(whole, sizeof(whole), "%s%s", text, LEVELS);
	return whole;
}

#endif /* SELFTESTS_UNIT_LEVELS_H */
