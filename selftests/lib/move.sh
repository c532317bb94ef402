# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Two ends of a connection whose traffic is checked while its QPs move. Goes with library.sh.
# shellcheck disable=SC2154 # it is set there

# start_ends [--peer VAR=VALUE] MOVES [VAR=VALUE]...: moved at both ends, with the library; each asks
# for MOVES moves ($for_ever: until they get SIGINT). --peer: in the environment of the end that listens, which then asks for none.
# wait_for_ends: until both have ended; $moved_line is what the end that connects says of its moves,
# $verdicts how both ended.
for_ever=4294967295
start_ends() {
	local moves theirs host=127.0.0.1 peer=() limit each=4

	if [ "$1" = --peer ]; then
		peer=("$2")
		shift 2
	fi
	moves=$1 theirs=$1
	shift
	# Against ends that hang. On a busy host a move takes 0.4 s on the software ConnectX, 0.14 s on rxe.
	[ $nic = rxe ] || each=1
	limit=$(((120 + (moves < for_ever ? moves / each : 0)) * slowness))
	[ ${#peer[@]} -eq 0 ] || theirs=0
	rm -f "$stats"
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "$@" "${peer[@]}" \
		timeout -s KILL $limit build/progs/moved "${dev[1]}" 18600 "$theirs" >"$work/end.b" 2>&1 &
	end_b=$!
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "$@" \
		timeout -s KILL $limit build/progs/moved "${dev[0]}" 18600 "$moves" $host >"$work/end.a" 2>&1 &
	end_a=$!
}
# The last line with a verdict of an end that printed LOG; its thread that moves may print another line after it.
verdict() { grep -E '^(right|wrong)' "$1" | tail -n 1; }
wait_for_ends() {
	wait $end_a
	wait $end_b
	sed 's/^/# /' "$work/end.a" "$work/end.b"
	# shellcheck disable=SC2034 # for the suite
	moved_line=$(grep ^moved "$work/end.a")
	verdicts="$(verdict "$work/end.a") $(verdict "$work/end.b")"
}

# both_ends NAME [--peer VAR=VALUE] MOVES [VAR=VALUE]...: the same, to the end, and a point: all bytes are
# right, at both ends.
both_ends() {
	local name=$1

	shift
	start_ends "$@"
	wait_for_ends
	is "$name: every byte, sequence and sum is right, at both ends" "$verdicts" "right right"
}

# move_figure FIELD: the sum of both ends.
move_figure() { jq -s "[.[].devices[].move.$1] | add" "$stats"; }
# Moves that did not take place, at either end.
undone() { jq -s '[.[].devices[].move | .refused + .rolled_back] | add' "$stats"; }
# Reasons of moves that did not take place, but for those that the other end was first with.
whys() {
	jq -sc '[.[].devices[].move.why // [] | .[] | select(startswith("both ends asked") | not)] | unique' "$stats"
}
# The same without those of a busy host, on which requests take longer than posts are held.
whys_but_time() {
	whys | jq -c '. - ["requests did not complete in time", "the peer did not answer", "the peer gave it up"]'
}
pauses() {
	jq -sr '[.[].devices[].move.pause | select(.samples > 0)] |
		"\(map(.mean_ns * .samples) | add / 1000000 / $n) ms in the mean of \($n), at most \(map(.max_ns) | max / 1000000) ms"' \
		--argjson n "$(move_figure pause.samples)" "$stats"
}

# Moves before which both ends had 8 requests outstanding, at the least.
loaded_moves() {
	jq -s '[.[].devices[].move] | (map(.loaded) | add) - (map(.moved) | max)' "$stats"
}

# moved_at_least NAME N LOADED: N moves, of them LOADED with 8 requests outstanding at both ends.
moved_at_least() {
	note "$1: $(jq -sc '[.[].devices[].move]' "$stats")"
	check "$1: $2 times" test "$(jq -s '[.[].devices[].move.moved] | min' "$stats")" -ge "$2"
	check "$1: $3 times with 8 requests outstanding at both ends" test "$(loaded_moves)" -ge "$3"
	is "$1: both ends have counted as many" "$(jq -sc '[.[].devices[].move.moved] | unique | length' "$stats")" 1
}

# Each move creates a QP, so moves are under way if the device has made more of them.
created() { dev "${dev[0]}" created; }
more_created() { [ "$(created)" -ge "$1" ]; }
moves_go_on() { wait_for $((60 * slowness)) more_created $(($(created) + ${1:-5})); }

no_qps() { [ "$(qps type RC)" = 0 ]; }

# stop_ends: both ends stop to ask for moves, and end.
stop_ends() { pkill -INT -P $end_a; pkill -INT -P $end_b; }

# The verdict of an end whose peer is gone, as it would be without moves.
# shellcheck disable=SC2034 # for suites
gone_peer='^wrong: a completion: (transport retry counter exceeded|Work Request Flushed Error)$'

# The kernel's complaints without those of rxe about a connection that ends: newer rxe reports its error completion,
# and any rxe an acknowledgement that it cannot send.
other_complaints() {
	complaints | grep -vE 'make_send_cqe: non-flush error status = 12$|rdma_rxe: Failed sending (ATOMIC )?ACK$'
}

# --- faults ---

pause() { sleep "0.$((RANDOM % 900 + 100))"; }

# Interrupts the link for a moment, shorter than the connection's retries take. On rxe packets are lost: a connection
# whose port was down may neither go on nor end with an error there, also where nothing moves.
interrupt_link() {
	if [ $nic = rxe ]; then
		tc qdisc add dev v0 root netem loss 100%
		sleep 0.15
		tc qdisc del dev v0 root
	else
		echo 0 >$hca_debug/hca1/link
		sleep 0.15
		echo 1 >$hca_debug/hca1/link
	fi
}

interrupt_link_often() {
	local _

	for _ in 1 2 3 4 5 6; do
		pause
		interrupt_link
	done
}

# Whether connections survive that where nothing moves. Those of rxe in 6.12 do not.
survives_interruptions() {
	local _

	for _ in 1 2 3; do
		start_ends 0 SWIFTRDMA_MOVE=no MOVED_UNTIL="$work/until"
		interrupt_link_often
		touch "$work/until"
		wait_for_ends
		rm "$work/until"
		[ "$verdicts" = "right right" ] || return
	done
}
