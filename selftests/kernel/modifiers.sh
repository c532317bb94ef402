#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads that modify the same QP at once wait for each other, and none for ever:
# with the lock held for a millisecond each time, they always meet.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

threads=2 times=${TIMES:-500}

ended() { ! kill -0 "$1" 2>/dev/null; }

ktap_begin
mark_dmesg
check "the module loads" srdma_load_debug delay_at=16 delay_ms=1
before=$(dev rxe0 modified)
build/progs/modifiers rxe0 $threads "$times" >"$work/modifiers" & modifiers=$!
if wait_for 120 ended $modifiers; then
	is "all threads come to their end" "$(cat "$work/modifiers")" \
		"modified $((threads * times)) failed 0"
	is "... and every modify was counted" "$(($(dev rxe0 modified) - before))" $((threads * times))
	check "the module unloads" srdma_unload
else
	point 1 "all threads come to their end"
	cat /proc/$modifiers/task/*/stack | sed 's/^/# /'
fi
is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
