#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# While QPs move, all the time and as both ends will: messages are lost, a process forks or stands still,
# the link is interrupted, the module is unloaded, a peer is killed. The program sees what it would see
# without moves.
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
	interrupt_link_often
	check "... and again, when the link is back" moves_go_on
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
if survives_interruptions; then
	amid "a link that is interrupted" interrupt_path
else
	note "connections do not survive interruptions here, without moves, too: $verdicts"
	start_ends $for_ever SWIFTRDMA_MOVE=yes
	check "a link that is interrupted: QPs move" moves_go_on
	interrupt_link_often
	stop_ends
	wait_for_ends
	like "... the connection goes on, or ends with an error" "$verdicts" \
		'^(right right|.*wrong: a completion: .*)$'
fi

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
check "the kernel did not complain" test -z "$(other_complaints)"
check "the module unloads" module_unload
ktap_end
