#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# While QPs move, all the time and as both ends will: messages are lost, a process forks or stands still,
# the path is interrupted, a port goes down, the module is unloaded, a peer is killed. The program sees
# what it would see without moves.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/move_faults.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/move.sh
. selftests/lib/move.sh

param=/sys/module/swiftrdma/parameters
module_load_debug() {
	srdma_load_debug || return
	[ $nic = rxe ] || insmod "build/kmod/$(uname -r)-debug/swiftrdma_mlx5.ko"
}

# amid NAME FAULT: ends that move for as long as FAULT, a function, takes; then they stop, and everything
# has to be right.
amid() {
	start_ends $for_ever SWIFTRDMA_MOVE=yes
	check "$1: QPs move" moves_go_on
	"$2"
	stop_ends
	wait_for_ends
	is "$1: every byte, sequence and sum is right, at both ends" "$verdicts" "right right"
	note "$1: $(jq -sc '[.[].devices[].move]' "$stats")"
}

lose_messages() {
	local i

	# Longer than the module repeats a message.
	for i in {1..6}; do
		pause
		echo 256 >$param/peer_lose
		sleep 2.5
		echo 0 >$param/peer_lose
	done
	check "... and again, when messages arrive" moves_go_on
}

stand_still() {
	local i pid

	for i in $end_a $end_b $end_a $end_b; do
		pid=$(pgrep -P "$i")
		pause
		kill -STOP "$pid"
		sleep 1.2
		kill -CONT "$pid"
	done
	check "... and again, when both go on" moves_go_on
}

interrupt_path() {
	lose_packets_often
	check "... and again, when packets arrive" moves_go_on
}

unload() {
	pause
	check "... the module unloads" module_unload
	sleep 1
}

ktap_begin
mark_dmesg
check "the module loads" module_load_debug

echo 1 >$param/peer_wire
amid "lost messages" lose_messages
echo 0 >$param/peer_wire
check "... not every move took place" test "$(undone)" -ge 1

amid "a process that stands still" stand_still
if [ $nic = rxe ] && survives_loss; then
	amid "a path that is interrupted" interrupt_path
elif [ $nic = rxe ]; then
	note "rxe ends a connection that loses packets, without moves, too: $verdicts"
	start_ends $for_ever SWIFTRDMA_MOVE=yes
	check "a path that is interrupted: QPs move" moves_go_on
	lose_packets_often
	stop_ends
	wait_for_ends
	like "... the connection goes on, or ends with an error" "$verdicts" \
		'^(right right|.*wrong: a completion: .*)$'
fi
# rxe ends a connection by which it cannot send, also where nothing moves. It goes on if posts were held.
for round in 1 2 3 4; do
	start_ends $for_ever MOVED_RETRY=6 SWIFTRDMA_MOVE=yes
	check "a port that goes down, $round: QPs move" moves_go_on
	pause
	port_goes_down
	sleep 1
	stop_ends
	wait_for_ends
	case $nic:$verdicts in
	*:"right right"|rxe:*"wrong: a completion: "*) point 0 "... the connection goes on, or ends with an error" ;;
	*) is "... the connection goes on" "$verdicts" "right right" ;;
	esac
done

# Shared memory of the library and its thread stay with the parent, which does not move any more.
both_ends "a process that forks" 1000 SWIFTRDMA_MOVE=yes MOVED_FORK=10
is "... does not move any more" "$(whys | jq -c 'index("the process has forked") != null')" true
check "... but did before" test "$(move_figure moved)" -ge 10

for round in 1 2 3 4 5 6; do
	start_ends $for_ever MOVED_RETRY=6 SWIFTRDMA_MOVE=yes
	check "a peer that is killed, $round: QPs move" moves_go_on
	pause
	kill -KILL "$(pgrep -P $end_b)"
	wait_for_ends
	like "... the other end hears what it would hear without a move" "$(verdict "$work/end.a")" "$gone_peer"
	check "... and leaves no QP" wait_for 30 no_qps
done

amid "a module that goes" unload
check "the module loads again" module_load_debug
# Newer rxe reports the error completion of a connection whose peer was killed, and any rxe an
# acknowledgement that cannot be sent because the port is down.
check "the kernel did not complain" test -z "$(complaints |
	grep -vE 'make_send_cqe: non-flush error status = 12$|rdma_rxe: Failed sending ACK$')"
check "the module unloads" module_unload
ktap_end
