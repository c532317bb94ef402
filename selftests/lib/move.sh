# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Two ends of a connection whose traffic is checked while its QPs move. Goes with library.sh.

# both_ends NAME MOVES [VAR=VALUE]...: moved at both ends, with the library; each asks for MOVES moves.
# Points: all bytes are right, at both ends. $moved_line is what the end that connects says of its moves.
both_ends() {
	local name=$1 moves=$2 host=127.0.0.1

	shift 2
	rm -f "$stats"
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "$@" \
		build/progs/moved "${dev[1]}" 18600 "$moves" >"$work/end.b" 2>&1 &
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "$@" \
		timeout -k 5 $((300 * slowness)) build/progs/moved "${dev[0]}" 18600 "$moves" $host >"$work/end.a" 2>&1
	wait $!
	sed 's/^/# /' "$work/end.a" "$work/end.b"
	moved_line=$(grep ^moved "$work/end.a")
	is "$name: every byte, sequence and sum is right, at both ends" \
		"$(tail -qn 1 "$work/end.a" "$work/end.b" | paste -sd ' ')" "right right"
}

# move_figure FIELD: the sum of both ends.
move_figure() { jq -s "[.[].devices[].move.$1] | add" "$stats"; }
# Reasons of moves that did not take place, but for those that the other end was first with.
whys() {
	jq -sc '[.[].devices[].move.why[] | select(startswith("both ends asked") | not)] | unique' "$stats"
}
pauses() {
	jq -s '[.[].devices[].move] | "\(map(.pause_ns) | add / 1000000 / ([$n, 1] | max)) ms in the mean, at most \(map(.pause_max_ns) | max / 1000000) ms"' \
		--argjson n "$(move_figure decided)" -r "$stats"
}

# moved_at_least NAME N: so many moves of both ends together, each with 8 requests outstanding.
moved_at_least() {
	note "$1: $(jq -sc '[.[].devices[].move]' "$stats")"
	check "$1: $2 moves, counted at each end" test "$(move_figure moved)" -ge $((2 * $2))
	check "$1: as many with 8 requests outstanding, at both ends" test "$(move_figure loaded)" -ge $((2 * $2))
}
