#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Levels, leases and jobs change at random for two minutes, while more than a
# hundred QPs have traffic and applications come, go and modify. Afterwards all
# is as if nothing had been.

cd "$(dirname "$0")/../../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/fleet.sh

seconds=${SECONDS_OF_STORM:-120}
RANDOM=${SEED:-4711}
qpns=()

any_act() {
	local ms=$((RANDOM % 3000 + 20)) rank=$((RANDOM % 256)) n=$((RANDOM % 8))

	case $((RANDOM % 12)) in
	0) swiftrdma job set left match comm=fleet,cgroup=/left order $((RANDOM % 200)) ;;
	1) swiftrdma job del left ;;
	2) swiftrdma action clear all ;;
	3) swiftrdma level set $n dscp $((RANDOM % 64)) ;;
	4|5) swiftrdma action set dev "rxe$((RANDOM % 2))" qpn "${qpns[RANDOM % ${#qpns[@]}]}" level $n for ${ms}ms rank $rank ;;
	6) swiftrdma action set job left level $n and job fleet level $((7 - n)) for ${ms}ms rank $rank ;;
	*) swiftrdma action set job fleet level $n for ${ms}ms rank $rank ;;
	esac >>"$fleet_dir/acts" 2>&1
}

ktap_begin
check "the module loads" srdma_load
mark_dmesg
job_fleet
swiftrdma job set left match cgroup=/left
fleet calm --pairs 40 --both --rate 150 --depth 2 --wire v0 --watch 500
fleet large --pairs 10 --both --rate 30 --depth 4 --size 16384
fleet uc --pairs 10 --both --rate 30 --type uc
fleet busy --pairs 10 --both --rate 30 --churn 5 --modify 20
in_cgroup left fleet --pairs 10 --both --rate 30 --modify 2 >"$fleet_dir/left" 2>"$fleet_dir/left.err" & fleet_pid[left]=$!
fleet_says left '^ready ' 30
mapfile -t qpns < <(swiftrdma -j qp show dev rxe0 type RC | jq '.[].qpn')
n=$(qps type RC)
[ "$n" -ge 120 ]
point $? "there are $n RC QPs, and some of UC"

before=$(dev rxe0 live_changed)
end=$((SECONDS + seconds)) acts=0
while [ $SECONDS -lt $end ]; do
	any_act
	acts=$((acts + 1))
	nap 0.$((RANDOM % 5))
done
changed=$(($(dev rxe0 live_changed) - before))
[ "$acts" -ge $((seconds / 4)) ] && [ "$changed" -ge $((acts * 5)) ]
point $? "$acts random requests in $seconds s made $changed class changes on rxe0"
# Of those on QPs some come too late, of those on the job some as well.
refused=$(grep -c '^swiftrdma: ' "$fleet_dir/acts")
[ "$refused" -le $((acts / 2)) ]
point $? "... of which $refused were refused"

swiftrdma action clear all >/dev/null
# shellcheck disable=SC2317
is_calm() { [ "$(swiftrdma -j action show)" = '[]' ]; }
wait_for 20 is_calm
point $? "in the end nothing is in force, nothing is pending"
swiftrdma -j qp show | jq -c '.[] | select(.tclass != .tclass_asked)' | sed 's/^/# /'
fleet_has calm '^client 0:40 server 0:40 .* wire 0:80' 20
point $? "all have their own class, queried and on the wire"
is "... as swiftrdma says of every QP" \
	"$(swiftrdma -j qp show | jq '[.[] | select(.tclass != .tclass_asked)] | length')" 0
for name in calm large uc busy left; do
	fleet_end $name "$name: nothing lost, no error, no event"
	[ "$(sum completed)" -gt 100 ]
	point $? "... of $(sum completed) messages"
done
is "the kernel has nothing to complain about" "$(dmesg_complaints | grep -v 'swiftrdma-selftest mark')" ''
check "the module unloads" srdma_unload
ktap_end
