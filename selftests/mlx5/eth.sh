#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ethernet links: the DSCP of live QPs, changed under traffic and taken back when its
# lease ends, as the device's counters of each priority see it. Against a model: it
# shows the command's form and that the model obeys, not that a NIC would.
#
#   scripts/vm --nic softhca-eth -- selftests/mlx5/eth.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

# Frames that left HCA 0 in a priority, which is its DSCP / 8: group 10 of PPCNT.
sent() { hca_ppcnt 0 10 "$1" 18; }
more_sent() { [ "$(sent "$1")" -gt "$2" ]; }
goes_on() { wait_for 60 more_sent "$1" $(($(sent "$1") + 200)); }
# What traffic there is goes in $1 and not in $2, but for the frames of the netdev, in
# priority 0, by which neighbours ask for each other now and then.
only_in() {
	local was

	goes_on "$1" || return
	was=$(sent "$2")
	goes_on "$1" && [ $(($(sent "$2") - was)) -le 20 ]
}
classes() {
	swiftrdma -j qp show job bulk |
		jq -c '[.[] | [.tclass_asked, .tclass]] | unique'
}
classes_are() { [ "$(classes)" = "$1" ]; }
act() { swiftrdma action set job bulk "$@"; }
bulk() {
	in_cgroup bulk crowd --from mlx5_0 --to mlx5_1 --qps 8 --size 4096 --duration 300 \
		>"$work/bulk" 2>&1 & pid=$!
	wait_for 30 at_work
}
at_work() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '[.[] | select(.wrs > 0)] | length')" -ge 8 ]; }
end_bulk() { kill -9 "$pid"; wait "$pid" 2>/dev/null; }

ktap_begin
dmesg -C
check "load" both_load
is "the device can" "$(swiftrdma -j dev show mlx5_0 | jq '.[0].caps | index("live-class") != null')" true
swiftrdma job set bulk match cgroup=/bulk >/dev/null
bulk
is "as the application asked" "$(classes)" '[[0,0]]'
check "its traffic is in priority 0" only_in 0 3

check "a level for the live job" act level 3 for 300s
check "every QP has it, at both ends" wait_for 30 classes_are '[[0,96]]'
is "all of them are reported done" \
	"$(swiftrdma -j action show | jq -c '.[0] | [.qps, .qps_done, .qps_pending, .qps_unsupported]')" '[16,16,0,0]'
is "live, without a pause" "$(dev mlx5_0 live_changed) $(dev mlx5_0 drain_max)" "8 0"
check "the device sends it in priority 3, and nothing in 0" only_in 3 0
check "another level" act level 5 for 300s
check "priority 5" only_in 5 3
check "taken back" swiftrdma action clear all
check "the application's class again" wait_for 30 classes_are '[[0,0]]'
check "priority 0" only_in 0 5

check "a level for a moment" act level 4 for 5s
check "it is there" goes_on 4
check "it runs out" wait_for 30 classes_are '[[0,0]]'
check "priority 0 again" only_in 0 4

# Of a QP that connects, of a process that dies, of a provider that goes.
check "a level" act level 2 for 300s
end_bulk
bulk
is "a new process has it from the first packet on" "$(classes)" '[[0,64]]'
check "priority 2" only_in 2 0
check "the provider goes under a lease" rmmod swiftrdma_mlx5
check "what it changed is taken back" only_in 0 2
check "it comes again" mlx5_load
check "the lease holds again" wait_for 30 classes_are '[[0,64]]'
check "priority 2 again" only_in 2 0
check "unload under a lease" both_unload
check "the application's class again" only_in 0 2
end_bulk
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
