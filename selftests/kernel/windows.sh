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

above_ko=build/above/$(uname -r)/above.ko
# param MODULE NAME VALUE
param() { echo "$3" >/sys/module/"$1"/parameters/"$2"; }

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
param swiftrdma delay_ms 6000
param swiftrdma delay_at 64
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

# A modify had begun before the hook went in, and ends after the scan has looked.
check "another module holds each modify up" insmod "$above_ko" hold=0
is_held() { [ "$(cat /sys/module/above/parameters/held)" = 1 ]; }
qpsh_start early qpsh --comm early
qp early 'create 2'
read -r _ first _ second <<<"$answer"
qp early "take $first init" && qp early "take $second rtr"
state() { swiftrdma -j qp show qpn "$1" | jq -r '.[0] | [.state, .dest_qpn] | map(tostring) | join(" ")'; }
# load_while QPN STATE BEFORE: the module comes while the QP is taken to STATE
load_while() {
	param above hold 1
	echo "take $1 $2" >&"${qpsh_in[early]}"
	check "a modify to $2 is under way" wait_for 30 is_held
	check "the module loads meanwhile" srdma_load
	is "it saw the QP as it was before" "$(state "$1")" "$3"
	param above hold 0
	IFS= read -r answer <&"${qpsh_out[early]}"
	is "the modify ends" "$answer" ok
}
load_while "$first" rtr 'INIT null'
swiftrdma job set early match comm=early >/dev/null
swiftrdma action set job early level 3 for 300s >/dev/null
qp early "take $first rts"
is "from the next on its destination is known" "$answer $(state "$first")" "ok RTS $first"
class_of() { qp early "class $1" && [ "$answer" = 'class 96' ]; }
cannot() { swiftrdma -j action show | jq -e ".[] | select(.kind == \"pending\" and .qpn == $1) | .error == -95"; }
# With all CPUs stopped only the driver's own modify may be called.
may_have_class() {
	if rxe_at_once; then
		check "$2 that it cannot have another class below the other module's wrapper" \
			wait_for 30 cannot "$1"
	else
		check "$2 that its class is that of its job" wait_for 30 class_of "$1"
	fi
}
may_have_class "$first" "... and"
swiftrdma action clear all >/dev/null
check "the module unloads" srdma_unload

# The same with the one to RTS, after which there is none.
load_while "$second" rts "RTR $second"
swiftrdma job set early match comm=early >/dev/null
swiftrdma action set job early level 3 for 300s >/dev/null
may_have_class "$second" "so is"
is "... and its state is known" "$(state "$second")" "RTS $second"
swiftrdma action clear all >/dev/null
check "the module unloads" srdma_unload
qpsh_stop early
check "... and the other" rmmod above

# A dump of changes begins after a change has read its generation, before the stamp.
qpsh_start late qpsh --comm late
qp late create
check "the module loads" srdma_load_debug
rm -f "$work/quiet"
dumpcheck since "$work/quiet" >"$work/delta" & delta=$!
check "dumps of changes begin" wait_for 60 grep -q begun "$work/delta"
param swiftrdma delay_ms 10000
param swiftrdma delay_at 4096
swiftrdma job set late match comm=late >/dev/null & setting=$!
sleep 1
param swiftrdma delay_at 0
wait "$setting"
touch "$work/quiet"
wait "$delta"
like "there were many before the stamp" "$(cat "$work/delta")" '^# [0-9]{2,} deltas'
like "a later one has the change" "$(cat "$work/delta")" '^ok - deltas lack no change'
qpsh_stop late
check "the module unloads" srdma_unload

is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
