#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Races whose windows are a few instructions wide, held open by the debug build.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH
rounds=${ROUNDS:-5}

param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }

ktap_begin
mark_dmesg

# A QP is in the table, its creator held before it joins its job, when the device
# is let go.
start churn churn --dev rxe0 --procs 2 --live 16 --total 10000000
churn=$pid
for ((i = 1; i <= rounds; i++)); do
	check "published $i: the module loads" srdma_load_debug delay_at=32 delay_ms=30
	some() { [ "$(dev rxe0 created)" -ge 8 ]; }
	check "published $i: QPs are made" wait_for 60 some
	check "published $i: the module unloads" srdma_unload
done
kill -TERM "$churn"
wait "$churn"
is "churn had no error" "$? $(field failed "$work/churn")" "0 0"

# A modify does not find its QP, and while it is held there the scan takes it in.
# The scan is held at the device's first QP, which is the GSI's, until the modify has
# begun.
qpsh_start old qpsh
qp old create
qpn=$last
like "a QP older than the module" "$answer" '^qp [0-9]+$'
insmod "$srdma_debug_ko" delay_at=8 delay_ms=3000 & loading=$!
hooked() { [ -e $srdma_debugfs/rxe0/summary ]; }
check "the scan has begun" wait_for 60 hooked
param delay_ms 6000
param delay_at 64
qp old "take $qpn init"
is "its program modifies it meanwhile" "$answer" ok
wait $loading
is "the module loads" $? 0
is "it was taken in once" "$(swiftrdma -j qp show qpn "$qpn" | jq length)" 1
is "the module knows where the modify took it" \
	"$(swiftrdma -j qp show qpn "$qpn" | jq -r '.[0].state')" INIT
is "... and counts it" "$(dev rxe0 modified)" 1
qpsh_stop old
check "the module unloads" srdma_unload

is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
