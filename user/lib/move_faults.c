// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What tests ask of moves: a step that fails (SWIFTRDMA_MOVE_FAIL), a state that stops (SWIFTRDMA_MOVE_STOP). */
#include <signal.h>
#include <string.h>

#include "lib/lib.h"

/* Returns the index of @name among @n names, of which the first is not used; 0: none. */
static int find_name(const char *const *names, int n, const char *name)
{
	for (int i = 1; name && i < n; i++)
		if (!strcmp(name, names[i]))
			return i;
	return 0;
}

enum move_step move_step_named(const char *name)
{
	static const char *const names[] = {
		[MOVE_STEP_SHADOW] = "shadow", [MOVE_STEP_CONNECT] = "connect",
		[MOVE_STEP_DRAIN] = "drain", [MOVE_STEP_RECVS] = "receives",
		[MOVE_STEP_RESET] = "reset",
	};

	return (enum move_step)find_name(names, sizeof(names) / sizeof(names[0]), name);
}

enum move_state move_state_named(const char *name)
{
	static const char *const names[] = {
		[MOVE_ASKING] = "asking", [MOVE_READYING] = "readying", [MOVE_FREEZING] = "freezing",
		[MOVE_DECIDED] = "decided", [MOVE_PREPARED] = "prepared", [MOVE_DRAINING] = "draining",
		[MOVE_IN_DOUBT] = "in-doubt", [MOVE_LEAVING] = "leaving",
	};

	return (enum move_state)find_name(names, sizeof(names) / sizeof(names[0]), name);
}

bool move_fails_at(enum move_step step)
{
	static _Atomic uint32_t times[MOVE_STEP_RESET + 1];

	return step == settings.move_fail && atomic_fetch_add(&times[step], 1) % 2 == 0;
}

void move_stop_in(enum move_state state)
{
	static _Atomic uint32_t times;

	/* All threads of the process stop, wherever they are. */
	if (state == settings.move_stop && atomic_fetch_add(&times, 1) == MOVES_BEFORE_STOP)
		raise(SIGSTOP);
}
