#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults in each state of a move. The library stops its process when a move is in the state, with all its
# threads; then the fault happens, and the process goes on, if there still is one. Both programs see what
# they would see without a move.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/full/move_states.sh [STATE FAULT...]

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/move.sh
. selftests/lib/move.sh

is_stopped() {
	local _ state

	read -r _ _ state _ <"/proc/$1/stat" && [ "$state" = T ]
}
process_of() { pgrep -P "$1"; }

# stop_in STATE: two ends move until one of them, $stopped, is stopped in the state; $other is the other one.
# $log and $other_log are what they print.
stop_in() {
	local stop=SWIFTRDMA_MOVE_STOP=$1 parent other_parent

	case $1 in
	asking|readying|freezing|decided)
		start_ends --peer SWIFTRDMA_MOVE_STOP=none $for_ever MOVED_RETRY=6 SWIFTRDMA_MOVE=yes "$stop"
		parent=$end_a other_parent=$end_b log=$work/end.a other_log=$work/end.b
		;;
	*)
		start_ends --peer "$stop" $for_ever MOVED_RETRY=6 SWIFTRDMA_MOVE=yes
		parent=$end_b other_parent=$end_a log=$work/end.b other_log=$work/end.a
		;;
	esac
	wait_for 10 process_of $parent >/dev/null && wait_for 10 process_of $other_parent >/dev/null || return
	stopped=$(process_of $parent) other=$(process_of $other_parent)
	wait_for $((60 * slowness)) is_stopped "$stopped"
}

go_on() { kill -CONT "$stopped"; }

# ends_well NAME: both ends have all that the other one sent.
ends_well() {
	stop_ends
	wait_for_ends
	is "$1: every byte, sequence and sum is right, at both ends" "$verdicts" "right right"
}

# ends_alone NAME LOG: the end with this log has lost its peer.
ends_alone() {
	wait_for_ends
	like "$1: the other end hears what it would hear without a move" "$(verdict "$2")" "$gone_peer"
	check "... and no QP is left" wait_for 30 no_qps
}

killed() {
	kill -KILL "$stopped"
	ends_alone "$1" "$other_log"
}

peer_killed() {
	kill -KILL "$other"
	go_on
	ends_alone "$1" "$log"
}

destroyed() {
	kill -TERM "$stopped"
	go_on
	ends_alone "$1" "$other_log"
	check "... and the program has destroyed its QP" grep -qx destroyed "$log"
}

failed() {
	kill -USR2 "$stopped"
	go_on
	ends_alone "$1" "$other_log"
	is "... and the program's own requests are flushed" "$(verdict "$log")" \
		"wrong: a completion: Work Request Flushed Error"
}

forked() {
	kill -USR1 "$stopped"
	go_on
	check "$1: the next move is refused" wait_for $((30 * slowness)) grep -q EOPNOTSUPP "$work/end.a"
	ends_well "$1"
	is "... for the process has forked" "$(whys | jq -c 'index("the process has forked") != null')" true
}

link_interrupted() {
	interrupt_link
	go_on
	sleep 0.5
	stop_ends
	wait_for_ends
	if [ -n "$survives" ]; then
		is "$1: the connection goes on" "$verdicts" "right right"
	else
		like "$1: the connection goes on, or ends with an error" "$verdicts" \
			'^(right right|.*wrong: a completion: .*)$'
	fi
}

# The agent is killed while its bound holds for both processes, one of which is stopped.
agent_killed() {
	cat >"$work/policy.yaml" <<-EOF
		agent: {interval: 100ms, lease: 2s}
		jobs: [{name: moving, class: throughput, match: [{comm: moved}]}]
		policies:
		  - {name: bound, for: job moving, when: job.qps > 0, do: job.credits = 32, undo: {when: job.qps == 0}}
	EOF
	swiftrdma-agent --config "$work/policy.yaml" >"$work/agent" 2>&1 & agent=$!
	check "$1: an agent bounds their requests" wait_for 30 bounds true || note "$(cat "$work/agent")"
	check "... and is killed" kill -KILL $agent
	wait $agent 2>/dev/null
	go_on
	check "... its bound ends with its lease" wait_for 10 bounds false
	sleep 0.5
	ends_well "$1"
}
bounds() { [ "$(swiftrdma -j action show | jq 'any(.knob == "credits")')" = "$1" ]; }

# The stopped process does not hold up the module.
unloaded() {
	check "$1: the module unloads" module_unload
	go_on
	sleep 0.5
	ends_well "$1"
	check "... the module loads again" module_load
}

ktap_begin
mark_dmesg
check "the module loads" module_load

survives=''
if survives_interruptions; then
	survives=yes
else
	note "connections do not survive interruptions here, without moves, too: $verdicts"
fi

states='asking readying freezing decided prepared draining in-doubt leaving'
faults='killed peer_killed destroyed failed forked link_interrupted agent_killed unloaded'
[ $# -lt 2 ] || faults=${*:2}
for state in ${1:-$states}; do
	for fault in $faults; do
		stop_in $state
		point $? "$state, $fault: a process is stopped in a move"
		$fault "$state, $fault"
	done
done

check "the kernel did not complain" test -z "$(other_complaints)"
check "the module unloads" module_unload
ktap_end
