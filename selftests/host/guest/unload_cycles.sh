#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# unload_cycles.sh N SKIP_GRACE: the debug build N times in and out under churn,
# whose processes it holds at each end of its wrappers. "survived" is the last line.

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

# While an mdelay() runs with the CPU to itself nobody else gets in the way; with
# more processes than CPUs the held ones are preempted where they are. For a second:
# longer than it takes from the way out of the hook to the module's end, when they
# must still be there.
start churn churn --dev rxe0 --procs 6 --live 8 --total 1000000
churn=$pid
some() { [ "$(dev rxe0 created)" -ge 6 ]; }
for ((i = 1; i <= $1; i++)); do
	srdma_load_debug delay_at=5 delay_ms=1000 skip_grace="$2" || exit 2
	wait_for 300 some || exit 3
	srdma_unload || exit 4
	echo "cycle $i"
done
kill -TERM "$churn"
wait "$churn" || exit 5
echo survived
