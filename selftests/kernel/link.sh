#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Devices that go, come and change their names under the module.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

devices() { swiftrdma -j dev show | jq -c 'map(.dev) | sort'; }
dirs() { find /sys/kernel/debug/swiftrdma -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort | xargs; }
without() { ! devices | grep -q "$1"; }

# exact DEV: churn, and the counters say the same.
exact() {
	local created destroyed qps

	created=$(dev "$1" created) destroyed=$(dev "$1" destroyed) qps=$(dev "$1" qps)
	churn --dev "$1" --procs 2 --total 100 >"$work/exact" || return 1
	[ "$(dev "$1" created) $(dev "$1" destroyed) $(dev "$1" qps)" = \
		"$((created + 100)) $((destroyed + 100)) $qps" ]
}

ktap_begin
mark_dmesg
check "the module loads" srdma_load
is "both devices are there" "$(devices) $(dirs)" '["rxe0","rxe1"] rxe0 rxe1'

# --- Renamed ---

lat_start talk
point $? "a conversation"
seen=$(swiftrdma -j qp show comm lat dev rxe0 | jq '.[0].id')
check "rxe0 is renamed" rdma dev set rxe0 name foo
is "... for netlink and debugfs" "$(devices) $(dirs)" '["foo","rxe1"] foo rxe1'
is "... it is the same device, with the same QP" "$(swiftrdma -j qp show comm lat dev foo | jq '.[0].id')" "$seen"
like "... whose table can be read" "$(cat /sys/kernel/debug/swiftrdma/foo/summary)" '^device +foo '
check "... and whose counters are exact" exact foo
check "and back" rdma dev set foo name rxe0
is "... everywhere" "$(devices) $(dirs)" '["rxe0","rxe1"] rxe0 rxe1'
lat_stop talk
point $? "the conversation noticed nothing"
check "rxe0's counters are exact" exact rxe0

# --- Gone, while programs have it open ---
#
# Where rxe cannot take a device from its users, the removal waits for them; the
# module has let go of it by then, and they go on. The rxe of newer kernels takes it away,
# as a NIC's driver does: then their calls fail. Either is so without the module, too.
takes=no
! grep -qw rxe_disassociate_ucontext /proc/kallsyms || takes=yes
# in_the_end FAILED: how a program that had it open sees its end.
in_the_end() { if [ $takes = no ]; then [ "$1" = 0 ]; else [ "$1" != 0 ]; fi; }

lat_start talk
point $? "a conversation"
start held hold --dev rxe0 --count 20 --modify rts --no-stdin
held=$pid
check "20 more QPs" wait_for 30 grep -q ^ready "$work/held"
before=$(dev rxe1 adopted)
start del rdma link del rxe0
del=$pid
check "rxe0 goes: the module does not have it any more" wait_for 30 without rxe0
is "... nor debugfs" "$(dirs)" rxe1
check "... nor any QP of it" eval '! swiftrdma -j qp show | grep -q rxe0'
is "nothing of rxe1 was taken in anew" "$(dev rxe1 adopted)" "$before"
[ $takes = yes ] || is "... and it is as it was" "$(dev rxe1 qps)" 2
kill $held
wait $held
point $? "QPs of a device that is gone can be destroyed"
lat_stop talk
check "... and the conversation ended without an error, or as the device was taken away" in_the_end $?
wait $del
point $? "the removal is over"
is "RDMA core has one device" "$(rdma -j dev | jq -c 'map(.ifname)')" '["rxe1"]'
is "what the other end had is gone" "$(settled rxe1)" "1 1 1 1 1"

check "rxe0 is made anew" rdma link add rxe0 type rxe netdev v0
is "... and hooked: its counters begin at 0" "$(dev rxe0 created) $(dev rxe0 qps) $(dirs)" "0 1 rxe0 rxe1"
check "... and are exact" exact rxe0

# Under churn, which sees its device go: the removal may have to wait for it.
for i in 1 2; do
	start churn churn --dev rxe0 --procs 3 --total 1000000 --seed $i
	churn=$pid
	all_three() { [ "$(swiftrdma -j qp show comm churn | jq 'map(.pid) | unique | length')" = 3 ]; }
	check "round $i: churn" wait_for 30 all_three
	start del rdma link del rxe0
	del=$pid
	check "round $i: the device goes under it" wait_for 30 without rxe0
	kill $churn 2>/dev/null
	wait $churn
	point $? "round $i: churn ends"
	check "round $i: ... without an error, or as the device was taken away" in_the_end "$(field failed "$work/churn")"
	wait $del
	point $? "round $i: the removal is over"
	rdma link add rxe0 type rxe netdev v0
	check "round $i: the new one's counters are exact" exact rxe0
done

# --- The driver itself ---

check "rdma_rxe is unloaded" rmmod rdma_rxe
is "no device is left" "$(devices)$(dirs)" '[]'
check "it loads again" modprobe rdma_rxe
check "rxe0 is back" rdma link add rxe0 type rxe netdev v0
check "rxe1 is back" rdma link add rxe1 type rxe netdev v1
is "both are hooked" "$(devices) $(dirs)" '["rxe0","rxe1"] rxe0 rxe1'
check "counters are exact" exact rxe1
check "they can talk" lat --count 20 --interval 100
check "the module unloads" srdma_unload

# --- Without a device ---

check "rdma_rxe is unloaded once more" rmmod rdma_rxe
check "the module loads without a device" srdma_load
is "... and says so" "$(devices)" '[]'
check "it unloads" srdma_unload
check "the devices are made again" eval \
	'modprobe rdma_rxe && rdma link add rxe0 type rxe netdev v0 && rdma link add rxe1 type rxe netdev v1'
is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
