#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Another module's wrapper above ours: we stay until it is gone.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

above_ko=build/above/$(uname -r)/above.ko
calls() { cat /sys/module/above/parameters/calls; }

ktap_begin
mark_dmesg
check "the module loads" srdma_load
check "another wraps create_qp above it" insmod "$above_ko"
is "disarm is refused" "$(echo 1 2>&1 >$srdma_debugfs/disarm | grep -o 'busy')" busy
like "... naming the other" "$(armed)" '^armed: rxe0: above_create_qp.*above our hook'
is "... also by force" "$(echo force 2>&1 >$srdma_debugfs/disarm | grep -o 'busy')" busy
like "rmmod is refused" "$(rmmod swiftrdma 2>&1)" 'in use'
start churn churn --dev rxe0 --total 100
wait "$pid"
is "QPs pass through both" "$? $(calls) $(dev rxe0 created) $(dev rxe0 destroyed)" "0 100 100 100"
check "the other is unloaded" rmmod above
check "... and then ours may go" srdma_unload

is "the kernel did not complain of anything else" "$(dmesg_complaints | grep -v 'swiftrdma: not disarmed')" ""
ktap_end
