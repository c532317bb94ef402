#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# move_pause: for how long the posts of a QP that moves are held after the end that asked has heard that nothing
# is outstanding at either end, in the guest's time, on an unshaped link. Before that, posts are held until what
# is outstanding has completed, and until the modules have carried the peer's message that it is so (DRAINED):
# both are booked as drain. That drain depends on the program and the link, but for the way of the message.
# On the port of the demo, of 20 Mbit/s, it is printed with the pause and the round trip of a single request.
#
# The guest has one CPU of 10^9 instructions a second for both ends and both software NICs. The longest
# pauses are those in which the end that follows posts all that was held, and the CPU works for that first.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/port.sh
. selftests/lib/port.sh
PATH=$PWD/build/progs:$PATH
# A move takes 4 messages of each port's channel, which sends 250 a second for processes. So moves that come
# as fast as they can would wait for the channel.
export SWIFTRDMA_MOVE=yes SWIFTRDMA_STATS=$row_tmp/stats MOVED_GAP=40
lib=$PWD/build/lib/libswiftrdma.so.1

# moved_ends MOVES: two ends of a connection, each of which asks for so many moves.
moved_ends() {
	local a b

	rm -f "$SWIFTRDMA_STATS"
	LD_PRELOAD=$lib timeout 600 moved rxe1 18600 "$1" >"$row_tmp/b" 2>&1 & b=$!
	LD_PRELOAD=$lib timeout 600 moved rxe0 18600 "$1" 127.0.0.1 >"$row_tmp/a" 2>&1 & a=$!
	wait $a || row_die "$(cat "$row_tmp/a")"
	wait $b || row_die "$(cat "$row_tmp/b")"
	row_say "$(cat "$SWIFTRDMA_STATS")"
}
# worst WHAT QUANTILE: in ms, of the two ends.
worst() { jq -s "[.[].devices[].move.$1.$2] | max / 1000 | round / 1000" "$SWIFTRDMA_STATS"; }
samples() { jq -s "[.[].devices[].move.$1.samples] | min" "$SWIFTRDMA_STATS"; }

# round_trips: of single requests of an idle connection, in ms, sorted.
round_trips() {
	local lat

	rm -f "$row_tmp/lat"
	SWIFTRDMA_MOVE=no build/bench/lat --client-dev rxe0 --server-dev rxe1 --log "$row_tmp/lat" >/dev/null 2>&1 & lat=$!
	wait_for 120 has_samples 400 || row_die "no round trips"
	kill $lat
	wait $lat
	awk '{ print $2 / 1000000 }' "$row_tmp/lat" | sort -n
}
# quantile Q, of sorted lines.
quantile() { awk -v q="$1" '{ v[NR] = $1 } END { n = q * NR; print v[n == int(n) ? n : int(n) + 1] }'; }
has_samples() { [ "$(cat "$row_tmp/lat" 2>/dev/null | wc -l)" -ge "$1" ]; }

srdma_load || row_die "insmod failed"
moved_ends 400
p99=$(worst pause p99_ns) p50=$(worst pause p50_ns) n=$(samples pause) drain=$(worst drain p99_ns)
trips=$(round_trips)

port_shape v0 20000000bit 104
moved_ends 60
row move_pause "$p99" ms null null '<=' 5 p50 "$p50" drain_p99 "$drain" samples "$n" \
	round_trip "$(quantile 0.5 <<<"$trips")" round_trip_p99 "$(quantile 0.99 <<<"$trips")" \
	shaped_pause_p99 "$(worst pause p99_ns)" shaped_drain_p99 "$(worst drain p99_ns)" \
	shaped_round_trip "$(round_trips | quantile 0.5)"
