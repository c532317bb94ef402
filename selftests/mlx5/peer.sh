#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The channel between the ends of a connection on mlx5's QP 1: by GID and, on InfiniBand, by LID
# alone, over the wire between two HCAs.
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
else
	qpsh_start a qpsh --dev mlx5_0
	qpsh_start b qpsh --dev mlx5_1
	qp a create
	a=$last
	qp b create
	b=$last
	qp a "take $a rts 8 0 $b 10.2.0.2"
	is "an end is connected by GID" "$answer" ok
	qp b "take $b rts 16 0 $a 10.2.0.1"
	is "... and the other one" "$answer" ok
	is "one end hears the other" "$(peer_of mlx5_0 "$a")" "answered 16 16 -"
	is "... and the other way round" "$(peer_of mlx5_1 "$b")" "answered 8 8 -"
	check "the messages crossed the wire" [ "$(count mlx5_0 received)" -ge 4 ]
	qpsh_stop a
	qpsh_stop b
fi
check "the modules unload" both_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
ktap_end
