#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an Ethernet port tells of each priority and of congestion, beside the device's
# own counters of the same: PPCNT group 10 and the driver's hardware statistics.
#
#   scripts/vm --nic softhca-eth -- selftests/mlx5/ports.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

# As we tell it, and as the device does: bytes, packets, pauses, us of these; rx, tx.
ours() {
	swiftrdma -j port show "mlx5_$1/1" | jq -r --argjson p "$2" '.[0].prios[] | select(.prio == $p) |
		[.rx_bytes, .rx_packets, .tx_bytes, .tx_packets, .rx_pauses, .rx_pause_time / 1000,
		 .tx_pauses, .tx_pause_time / 1000] | join(" ")'
}
theirs() {
	local at values=()

	for at in 0 8 10 18 20 22 24 26; do
		values+=("$(hca_ppcnt "$1" 10 "$2" $at)")
	done
	echo "${values[*]}"
}
same() { [ "$(ours "$1" "$2")" = "$(theirs "$1" "$2")" ]; }
hw() { cat "/sys/class/infiniband/mlx5_$1/ports/1/hw_counters/$2"; }
cnp_ours() { swiftrdma -j port show "mlx5_$1/1" | jq -r '.[0] | "\(.ecn_marked) \(.cnp_sent) \(.cnp_handled)"'; }
cnp_theirs() {
	echo "$(hw "$1" np_ecn_marked_roce_packets) $(hw "$1" np_cnp_sent) $(hw "$1" rp_cnp_handled)"
}
cnp_same() { [ "$(cnp_ours "$1")" = "$(cnp_theirs "$1")" ]; }
detail_time() { swiftrdma -j port show mlx5_0/1 | jq '.[0].detail_time'; }
# In a priority of their own: frames of the netdevs, in 0, come at any time.
bulk() { in_cgroup bulk crowd --from "mlx5_$1" --to mlx5_1 --qps 8 --size 65536 --depth 4 --duration "$2"; }

ktap_begin
check "three that send to one another, with a model" \
	eval "wait_for 60 rmmod softhca && hca_load link=eth hcas=3 preset=cx5 time_scale=2000"
third() {
	ip addr add 10.2.0.3/24 dev hca2 && ip link set hca2 up &&
		wait_for 30 grep -q ACTIVE /sys/class/infiniband/mlx5_2/ports/1/state
}
check "the third has an address" third
# Priority flow control for all priorities.
for i in 0 1 2; do
	hca_register $i write 5007 00010000 00ff00ff 00ff0000 00ff0000 "$(printf '%032d' 0)" >/dev/null
done
dmesg -C
check "load" both_load
is "eight priorities" "$(swiftrdma -j port show mlx5_0/1 | jq -c '[.[0].prios[].prio]')" '[0,1,2,3,4,5,6,7]'
is "not in the text" "$(swiftrdma port show mlx5_0/1 | wc -l)" 2
is "but with --details" "$(swiftrdma --details port show mlx5_0/1 | grep -c '^ *[0-7] ')" 8

swiftrdma job set bulk match cgroup=/bulk >/dev/null
check "a level for bulk: priority 1" swiftrdma action set job bulk level 1 for 600s
bulk 0 30 >"$work/first" & first=$!
bulk 2 30 >"$work/second" & second=$!
first_qp() { swiftrdma -j qp show dev mlx5_0 job bulk state RTS | jq -e '.[0].qpn'; }
wait_for 30 first_qp >"$work/qpns"
qpn=$(tail -n 1 "$work/qpns")
explained() {
	swiftrdma -i 2 qp explain mlx5_0 "$qpn" | tr -s ' \n' ' ' |
		grep -q 'network: yes, notifications of congestion slow QPs of the port down, [1-9]'
}
check "a QP of it is told that they slow it down" wait_for 20 explained
wait $first
point $? "one that sends much"
wait $second
point $? "another to the same"
for i in 0 1 2; do
	check "HCA $i: priority 1 is the device's own" wait_for 30 same $i 1
	check "HCA $i: marks and notifications are the driver's" wait_for 30 cnp_same $i
done
read -r marked sent _ < <(cnp_ours 1)
check "the receiver had marked packets ($marked) and sent notifications ($sent)" \
	[ "$marked" -gt 0 -a "$sent" -gt 0 ]
read -r _ _ handled0 < <(cnp_ours 0)
read -r _ _ handled2 < <(cnp_ours 2)
is "the senders got each of them" $((handled0 + handled2)) "$sent"
read -r _ _ _ _ _ _ pauses us < <(ours 1 1)
check "it paused them ($pauses times, $us us)" [ "$pauses" -gt 0 -a "$us" -gt 0 ]
lat --client-dev mlx5_0 --server-dev mlx5_1 --tclass 96 --count 100 >"$work/lat"
point $? "a class of its own"
check "its priority is the device's own" wait_for 30 same 0 3
read -r _ _ _ frames _ < <(ours 0 3)
check "with its packets ($frames)" [ "$frames" -ge 100 ]
is "as in debugfs" "$(awk '$1 == 1 && $2 == 3 { print $4, $6, $3, $5, $8, $10, $7, $9 }' \
	$srdma_debugfs/mlx5_0/priorities)" "$(ours 0 3)"

# Nine commands, so seldom.
was=$(dev mlx5_0 commands)
at=$(detail_time)
for i in 1 2 3 4 5 6 7 8 9 10; do swiftrdma -j port show mlx5_0/1 >"$work/show"; done
reads=$((($(jq '.[0].detail_time' "$work/show") - at) / 1000000000 + 1))
asked=$(($(dev mlx5_0 commands) - was))
check "readers that hurry get what was read last ($asked commands)" \
	[ $asked -le $((10 * 3 + 4 + 9 * (reads + 1))) ]
check "unload" both_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
