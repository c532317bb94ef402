#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The channel between the ends of a connection on mlx5's QP 1: by GID and, on InfiniBand, by LID
# alone, over the wire between two HCAs; and, on Ethernet, a class at both ends, as the device
# counts it.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/peer.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
param=/sys/module/swiftrdma/parameters

# The GRH of an RC pingpong that is not told of a GID is left out.
pingpong() { ibv_rc_pingpong -d "mlx5_$1" -p 18600 -n 1000000 "${@:2}" >/dev/null 2>&1; }
of_pingpong() { swiftrdma -j qp show dev "mlx5_$1" comm ibv_rc_pingpong state RTS | jq -r '.[].qpn'; }
connected() { [ -n "$(of_pingpong 0)" ] && [ -n "$(of_pingpong 1)" ]; }

lid_of() { cat "/sys/class/infiniband/mlx5_$1/ports/1/lid"; }

# Frames that left HCA 1 in a priority, as in eth.sh.
frames() { hca_ppcnt 1 10 "$1" 18; }
more_frames() { [ "$(frames "$1")" -gt "$2" ]; }
at_work() { [ "$(swiftrdma -j qp show dev mlx5_1 pid $pid | jq '[.[] | select(.wrs > 0)] | length')" -ge 2 ]; }
ends_at() { swiftrdma -j qp show dev "$1" pid $pid type RC | jq -c '[.[].ends] | unique'; }
both_ends() { [ "$(ends_at mlx5_0) $(ends_at mlx5_1)" = '["both"] ["both"]' ]; }

ktap_begin
mark_dmesg
check "the debug module loads" srdma_load_debug
check "... and the provider's" insmod "build/kmod/$(uname -r)-debug/swiftrdma_mlx5.ko"
echo 1 >$param/peer_wire

if [ ! -e /sys/class/net/hca0 ]; then
	pingpong 1 & server=$!
	wait_for 30 listening 18600
	pingpong 0 localhost & client=$!
	check "two QPs are connected by LIDs" wait_for 60 connected
	a=$(of_pingpong 0) b=$(of_pingpong 1)
	is "they have no GID" "$(swiftrdma -j qp show qpn "$a" dev mlx5_0 | jq '.[0].dgid')" null
	like "one end hears the other" "$(peer_of mlx5_0 "$a")" '^answered '
	like "... and the other way round" "$(peer_of mlx5_1 "$b")" '^answered '
	check "the messages crossed the wire" [ "$(count mlx5_0 received)" -ge 4 ]
	kill $server $client
	wait $server $client 2>/dev/null
	# The module of mlx5_0 asks the QP b, which is connected to the same QPN at another LID.
	qpsh_start a qpsh --dev mlx5_0 --no-grh
	qpsh_start b qpsh --dev mlx5_1 --no-grh
	connect_ends 0 "lid:$(lid_of 1)" 0 "lid:$(lid_of 1)"
	point $? "a QP is connected to one that expects its peer at another LID"
	strange=$(count mlx5_1 strange)
	is "it hears nothing" "$(peer_of mlx5_0 "$a")" "silent - - -"
	check "... its messages are a stranger's" counted mlx5_1 strange $((strange + 1))
	connect_ends 0 "lid:$(lid_of 1)" 0 "lid:$(lid_of 0)"
	strange=$(count mlx5_1 strange)
	is "two QPs with each other's LIDs hear each other" \
		"$(peer_of mlx5_0 "$a") $(peer_of mlx5_1 "$b")" "answered 0 0 - answered 0 0 -"
	is "... and are no strangers" "$(count mlx5_1 strange)" "$strange"
	qpsh_stop a
	qpsh_stop b
else
	qpsh_start a qpsh --dev mlx5_0
	qpsh_start b qpsh --dev mlx5_1
	connect_ends 8 10.2.0.2 16 10.2.0.1
	point $? "two QPs are connected by GID"
	is "one end hears the other" "$(peer_of mlx5_0 "$a")" "answered 16 16 -"
	is "... and the other way round" "$(peer_of mlx5_1 "$b")" "answered 8 8 -"
	check "the messages crossed the wire" [ "$(count mlx5_0 received)" -ge 4 ]
	qpsh_stop a
	qpsh_stop b
	# Data flows from HCA 1 to 0, and the level is at its receiver.
	swiftrdma job set crowd match comm=crowd >/dev/null
	crowd --from mlx5_1 --to mlx5_0 --qps 2 --size 4096 --duration 300 >/dev/null 2>&1 & pid=$!
	check "traffic from one end to the other" wait_for 30 at_work
	for qpn in $(swiftrdma -j qp show dev mlx5_0 pid $pid type RC | jq '.[].qpn'); do
		swiftrdma action set dev mlx5_0 qpn "$qpn" level 3 for 300s >/dev/null
	done
	was=$(frames 3)
	check "with a level at one end data stays in priority 0" wait_for 60 more_frames 0 $(($(frames 0) + 200))
	is "... and none is in priority 3" "$(frames 3)" "$was"
	is "the QPs say that they are one-sided" "$(ends_at mlx5_0)" '["one-sided"]'
	swiftrdma action set job crowd follow 3 for 300s >/dev/null
	check "where the other end follows, data is in priority 3" wait_for 60 more_frames 3 $((was + 200))
	check "... and the QPs say that both ends are raised" wait_for 20 both_ends
	kill -9 $pid
	wait $pid 2>/dev/null
	swiftrdma action clear all >/dev/null
fi
check "the modules unload" both_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
ktap_end
