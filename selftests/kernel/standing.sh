#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How QPs stand to a level that is wanted of their job: done, later, cannot. Result, list
# and debugfs say the same, and what they say adds up.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/standing.sh
. selftests/lib/standing.sh
PATH=$PWD/build/progs:$PATH

# make NAME: two QPs that are connected, two that are not, and a UD QP; the numbers of the
# second and the last are in $unconnected and $datagram.
make() {
	local a b

	qpsh_start "$1" qpsh --comm mix && qp "$1" 'create 4' && read -r _ a _ b _ _ _ unconnected <<<"$answer"
	qp "$1" "take $a rts" && qp "$1" "take $b rts" && qp "$1" "take $unconnected init" && qp "$1" ud
	datagram=$last
}

ktap_begin
make old
check "the module loads" srdma_load
swiftrdma job set mix match comm=mix >/dev/null
for which in "older than the module" "new"; do
	is "$which: two can be changed, two will have it later, one cannot" \
		"$(level mix 3)" "failed 5 2 0 1 2 0"
	is "$which: the list has the same" "$(listed)" "5 2 0 1 2 0"
	is "$which: it names the one that cannot, and why" "$(reasons)" \
		"$datagram EOPNOTSUPP a QP of this type has no class: each of its work requests has its own"
	is "$which: debugfs, too" "$(in_debugfs rxe0)" "4 - 1 cannot"
	is "$which: ... with the reason" "$(tail -n 1 $srdma_debugfs/rxe0/actions | awk '{ print $1 }')" \
		"$datagram"
	qp old "take $unconnected rts" 2>/dev/null
	qp new "take $unconnected rts" 2>/dev/null
	is "$which: later has come for one" "$(listed)" "5 3 0 1 1 0"
	is "$which: with nothing wanted all have what they want" \
		"$(swiftrdma action clear all 2>&1 | words)" "done 5 5 0 0 0 0"
	is "$which: and nothing is listed" "$(swiftrdma -j action show | jq -c .)" "[]"
	[ "$which" = new ] || qpsh_stop old
	[ "$which" = new ] || make new
done
qpsh_stop new
check "the module unloads" srdma_unload

# A connect that began before a disarm gets the level's class, and the disarm waits for it.
check "the module loads, with delays" srdma_load_debug
swiftrdma job set mix match comm=mix >/dev/null
qpsh_start late qpsh --comm mix && qp late create
one=$last
qp late "take $one init"
like "a level before a QP connects" "$(level mix 3)" "1 0 0 0 1 0"
echo 3000 >/sys/module/swiftrdma/parameters/delay_ms
echo 16 >/sys/module/swiftrdma/parameters/delay_at
echo "take $one rtr" >&"${qpsh_in[late]}"
runs() { grep -q '^State:.R' "/proc/${qpsh_pid[late]}/status"; }
check "it connects, for three seconds" wait_for 10 runs
disarm() { echo 1 2>/dev/null >$srdma_debugfs/disarm; }
disarm
refused=$?
IFS= read -r answer <&"${qpsh_out[late]}"
is "it is connected" "$answer" ok
echo 0 >/sys/module/swiftrdma/parameters/delay_at
# Where a class is only changed in RTS, the disarm was refused.
[ $refused = 0 ] || qp late "take $one rts"
check "the module unloads" srdma_unload
qp late "class $one"
is "the QP has its own class" "$answer" "class 0"
qpsh_stop late
ktap_end
