/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Replaces top_screen.c of the command: a test has no terminal, so nothing here is called. */
#ifndef SELFTESTS_UNIT_SCREEN_STUBS_H
#define SELFTESTS_UNIT_SCREEN_STUBS_H

#include "cli/top.h"

int screen_open(bool color)
{
	(void)color;
	return -1;
}

void screen_close(void)
{
}

void screen_size(struct top *t)
{
	(void)t;
}

void screen_show(const struct top_frame *f)
{
	(void)f;
}

int screen_key(void)
{
	return 0;
}

#endif /* SELFTESTS_UNIT_SCREEN_STUBS_H */
