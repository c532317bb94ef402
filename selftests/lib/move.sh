# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Two ends of a connection whose traffic is checked while its QPs move. Goes with library.sh.
# shellcheck disable=SC2154 # it is set there

# both_ends [--peer VAR=VALUE] NAME MOVES [VAR=VALUE]...: moved at both ends, with the library; each asks
# for MOVES moves. --peer: in the environment of the end that listens, which then asks for none.
# Points: all bytes are right, at both ends. $moved_line is what the end that connects says of its moves.
both_ends() {
	local name moves theirs host=127.0.0.1 peer=()

	if [ "$1" = --peer ]; then
		peer=("$2")
		shift 2
	fi
	name=$1 moves=$2 theirs=$2
	shift 2
	[ ${#peer[@]} -eq 0 ] || theirs=0
	rm -f "$stats"
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "$@" "${peer[@]}" \
		build/progs/moved "${dev[1]}" 18600 "$theirs" >"$work/end.b" 2>&1 &
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "$@" \
		timeout -k 5 $(((120 + moves / 8) * slowness)) \
		build/progs/moved "${dev[0]}" 18600 "$moves" $host >"$work/end.a" 2>&1
	wait $!
	sed 's/^/# /' "$work/end.a" "$work/end.b"
	# shellcheck disable=SC2034 # for the suite
	moved_line=$(grep ^moved "$work/end.a")
	is "$name: every byte, sequence and sum is right, at both ends" \
		"$(tail -qn 1 "$work/end.a" "$work/end.b" | paste -sd ' ')" "right right"
}

# move_figure FIELD: the sum of both ends.
move_figure() { jq -s "[.[].devices[].move.$1] | add" "$stats"; }
# Moves that did not take place, at either end.
undone() { jq -s '[.[].devices[].move | .refused + .rolled_back] | add' "$stats"; }
# Reasons of moves that did not take place, but for those that the other end was first with.
whys() {
	jq -sc '[.[].devices[].move.why // [] | .[] | select(startswith("both ends asked") | not)] | unique' "$stats"
}
pauses() {
	jq -s '[.[].devices[].move] | "\(map(.pause_ns) | add / 1000000 / ([$n, 1] | max)) ms in the mean, at most \(map(.pause_max_ns) | max / 1000000) ms"' \
		--argjson n "$(move_figure decided)" -r "$stats"
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
