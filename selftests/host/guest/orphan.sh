#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a VM of its own, for the module cannot go any more: a device is removed while
# another module's wrapper is above ours and stays. Its users must not notice.

cd "$(dirname "$0")/../../.." || exit 1
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
check "another above it, that does not clean up" insmod "$above_ko" leave=1
start held hold --dev rxe0 --count 10 --modify rts --no-stdin
held=$pid
check "10 QPs" wait_for 30 grep -q ^ready "$work/held"
start churn churn --dev rxe0 --procs 2 --total 1000000
churn=$pid
# Each of its processes has QPs: one that opens the device only now would find it gone.
busy() { [ "$(swiftrdma -j qp show dev rxe0 | jq '[.[].pid // empty] | unique | length')" -ge 3 ]; }
check "churn" wait_for 30 busy
start del rdma link del rxe0
del=$pid
without() { ! swiftrdma -j dev show | grep -q rxe0; }
check "rxe0 goes" wait_for 30 without
like "the log says whose wrapper is there" "$(dmesg | grep swiftrdma)" 'rxe0 goes with above_create_qp'
at=$(calls)
further() { [ "$(calls)" -gt $((at + 50)) ]; }
check "its users go on creating QPs through both wrappers" wait_for 60 further
kill $churn
wait $churn
is "churn had no error" "$? $(field failed "$work/churn")" "0 0"
kill $held
wait $held
point $? "QPs older than that are destroyed"
wait $del
point $? "the removal is over"
is "the other device is as it was" "$(settled rxe1)" "1 1 1 1 1"
check "and still exact" churn --dev rxe1 --procs 2 --total 50
is "... as its counters say" "$(dev rxe1 created) $(dev rxe1 destroyed)" "50 50"
check "the other module may go" rmmod above
is "ours does not" "$(echo 1 2>&1 >$srdma_debugfs/disarm | grep -o busy)" busy
like "rmmod is refused" "$(rmmod swiftrdma 2>&1)" 'in use'
is "the kernel complained of nothing else" "$(dmesg_complaints | grep -v swiftrdma:)" ""
ktap_end
