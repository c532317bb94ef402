#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A QP that moves while it works, where the peer is another host: at will, while messages of the modules
# and packets are lost, while the module there is unloaded, and where the other host or its process cannot.
#
#   scripts/vm --pair --nic rxe -- selftests/pair/move.sh -- selftests/lib/obey.sh
# shellcheck disable=SC2016 # in guest 2

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/other.sh
. selftests/lib/move.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters
netdev=$(rdma -j link | jq -r '.[] | select(.ifname == "rxe0") | .netdev')
work=$(mktemp -d)
stats=$work/stats
moves=50

# start MOVES-HERE MOVES-THERE [VAR=VALUE]: moved at both hosts; each end asks for so many moves. VAR: there.
start() {
	local env=(LD_PRELOAD="$PWD/build/lib/libswiftrdma.so.1" SWIFTRDMA_MOVE=yes)

	rm -f "$stats"
	other eval "rm -f /tmp/stats; env ${env[*]} SWIFTRDMA_STATS=/tmp/stats ${3:-} \
		timeout -k 5 400 moved rxe0 18600 $2 >/tmp/end 2>&1 & end=\$!"
	env "${env[@]}" SWIFTRDMA_STATS="$stats" \
		timeout -k 5 400 moved rxe0 18600 "$1" "$other_address" >"$work/end" 2>&1 &
	end=$!
}

# finish NAME: waits for both ends, and a point: all bytes are right. The figures of both are in $stats.
finish() {
	wait $end
	other eval 'wait $end'
	other cat /tmp/stats >>"$stats"
	other cat /tmp/end >"$work/there"
	sed 's/^/# /' "$work/end" "$work/there"
	moved_line=$(grep ^moved "$work/end")
	is "$1: every byte, sequence and sum is right, at both hosts" \
		"$(tail -qn 1 "$work/end" "$work/there" | paste -sd ' ')" "right right"
}
interrupt() {
	pkill -INT -x moved
	other pkill -INT -x moved
}
has_moved() { swiftrdma -j qp show dev rxe0 | jq -e 'any(.[]; .now)' >/dev/null; }

ktap_begin
mark_dmesg
other mark_dmesg
check "the debug module loads here" srdma_load_debug
check "... and there" other srdma_load_debug

start $moves $moves
finish "both hosts move"
moved_at_least "both hosts move" $moves $((moves / 4))
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'

# A TELL or its answer, at either host.
start $for_ever $for_ever
for _ in {1..6}; do
	for type in 8 9; do
		echo $((1 << type)) >$param/peer_lose_once
		other eval "echo $((1 << type)) >$param/peer_lose_once"
		sleep 0.5
	done
done
lost() { [ "$(cat $param/peer_lose_once)$(other cat $param/peer_lose_once)" = 00 ]; }
check "the last messages to be lost are lost at both hosts" wait_for 30 lost
interrupt
finish "messages are lost"
check "messages are lost: moves took place" test "$(move_figure moved)" -gt 0
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'

# rxe of later kernels does not stand lost packets. Without the module, and with no move, moved found wrong
# results of atomic additions on 6.12, or its QP in error, and rxe_sender() of 7.3 warned.
if [[ $(uname -r) = 6.1.* && $(other uname -r) = 6.1.* ]]; then
	start $moves $moves
	tc qdisc add dev "$netdev" root netem loss 2%
	point $? "2 % of the packets from here are lost"
	finish "packets are lost"
	check "packets are lost: moves took place" test "$(move_figure moved)" -gt 0
	check "... and packets were lost" test "$(tc -s -j qdisc show dev "$netdev" | jq 'map(.drops) | add')" -gt 0
	tc qdisc del dev "$netdev" root netem
else
	skip "packets are lost" "rxe of one of these kernels does not stand that, also without moves"
fi

start $for_ever $for_ever
check "a QP has moved" wait_for 60 has_moved
check "the module there is unloaded meanwhile" other srdma_unload
# A call that was under way may time out first.
refused() { grep -q '^refused: EOPNOTSUPP' "$work/end"; }
check "further moves are refused" wait_for 60 refused
interrupt
finish "the module there is unloaded"
cannot='the peer cannot, or its host has no module that relays messages'
check "... they were refused for that" jq -e --arg why "$cannot" 'any(.[]; . == $why)' <<<"$(whys)"

start 1 0
finish "a host without the module"
is "... nothing moves" "$moved_line" "moved 0 failed 1 busy 0 error EOPNOTSUPP"
is "... for a reason" "$(whys)" "[\"$cannot\"]"
check "the module there loads" other srdma_load_debug

start 1 0 SWIFTRDMA_MOVE=no
finish "a peer without the setting"
is "... nothing moves" "$moved_line" "moved 0 failed 1 busy 0 error ECONNREFUSED"
is "... for a reason" "$(whys)" '["the peer'"'"'s process has no library that can"]'

start $moves $moves
finish "both hosts can again"
moved_at_least "both hosts can again" $moves $((moves / 4))

check "the module unloads" srdma_unload
check "... and there" other srdma_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
is "... nor does the one there" "$(other dmesg_complaints)" ""
rm -rf "$work"
ktap_end
