#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# chunk_small: the latency of reads of 64 bytes, one at a time, on a port that two QPs of
# another program fill with messages of 128 KiB: as they are, and in pieces of 4 KiB that
# libswiftrdma makes of them when the knob job.chunk comes into force. The program runs on
# meanwhile. Times are of the contention model of a ConnectX-5.
#
# How a ConnectX takes turns between QPs is not published. The model's port takes them packet by
# packet; the first rows are of one that sends each message to its end (whole_messages), where a
# large one blocks the small ones of all other QPs. The last row is of the port as it is: there
# pieces gain nothing, and must cost nothing.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

count=${ROW_SAMPLES:-100}
size=131072
scale=$(<"$hca_debug/hca0/time_scale")
lib=$PWD/build/lib/libswiftrdma.so.1

sent() { hca_gauge 0 classes 0 4; }
busy() { [ "$(sent)" -gt $((sent_before + 4 * size)) ]; }

# small NAME: samples of the small reads, and the bytes that the port sent a second.
small() {
	local name=$1 was began

	sent_before=$(sent)
	[ "$name" = alone ] || wait_for 60 busy || row_die "$name: no bulk traffic"
	was=$(sent)
	began=${EPOCHREALTIME/./}
	build/bench/lat --client-dev mlx5_0 --server-dev mlx5_1 --op read --interval 20000 --count "$count" \
		--duration 300 --json >"$row_tmp/$name" || row_die "$name: no small messages"
	awk -v b=$(($(sent) - was)) -v us=$((${EPOCHREALTIME/./} - began)) -v s="$scale" \
		'BEGIN { printf "%.0f\n", b * 8 * s / us }' >"$row_tmp/$name.mbps"
	row_say "$name: $(tail -n 1 "$row_tmp/$name"), $(<"$row_tmp/$name.mbps") Mbit/s, late" \
		"$(hca_gauge 0 time late) of $(hca_gauge 0 time executed)"
}
# us NAME KEY: a time
us() { awk -v v="$(json_field "$2" <"$row_tmp/$1")" -v s="$scale" 'BEGIN { printf "%.3f", v / s }'; }
samples() { json_field samples <"$row_tmp/$1"; }
split() { swiftrdma action set job bulk chunk 4KiB for 600s >/dev/null || row_die "no knob"; }
whole() { swiftrdma action clear all >/dev/null || row_die "the knob stays"; }

srdma_load || row_die "the module does not load"
swiftrdma job set bulk match comm=crowd >/dev/null || row_die "no job"
small alone
env LD_PRELOAD="$lib" SWIFTRDMA_CHUNK=yes SWIFTRDMA_STATS="$row_tmp/stats" \
	build/bench/crowd --qps 2 --size $size --depth 2 --duration 900 >"$row_tmp/crowd" & bulk=$!
small packets
split
small packets_split
whole
hca_param 0 whole_messages 1
small messages
split
small messages_split
alive $bulk || row_die "the bulk program ended: $(cat "$row_tmp/crowd")"
qpn=$(swiftrdma -j qp show dev mlx5_0 job bulk | jq '.[0].qpn')
swiftrdma qp explain mlx5_0 "$qpn" | grep '^pieces' >&2 || row_die "nothing is said about pieces"
kill $bulk
wait $bulk

# Nothing to gain, nothing gained: the baseline has to be blocked.
awk -v a="$(us alone p50_us)" -v b="$(us messages p50_us)" 'BEGIN { exit !(b >= 5 * a) }' ||
	row_die "large messages do not block: p50 $(us messages p50_us) us, alone $(us alone p50_us) us"

# against KEY NAME ARBITRATION OP GOAL: the time whole by that in pieces
against() {
	row chunk_small "$(us "$2_split" "$1_us")" us "$(us "$2" "$1_us")" \
		"$(quotient "$(us "$2" "$1_us")" "$(us "$2_split" "$1_us")")" "$4" "$5" \
		figure "\"$1\"" turns "\"$3\"" alone "$(us alone "$1_us")" \
		mbps_whole "$(<"$row_tmp/$2.mbps")" mbps_split "$(<"$row_tmp/$2_split.mbps")" \
		samples "$(samples "$2_split")" samples_whole "$(samples "$2")" \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}
against p50 messages "by message" '>=' 4
against p99 messages "by message" '>=' 2
# What the pieces cost the bulk program, where they gain nothing.
row chunk_small_cost "$(<"$row_tmp/packets_split.mbps")" Mbit/s "$(<"$row_tmp/packets.mbps")" \
	"$(quotient "$(<"$row_tmp/packets_split.mbps")" "$(<"$row_tmp/packets.mbps")")" '>=' 0.95 \
	turns '"by packet"' p99_us_whole "$(us packets p99_us)" p99_us_split "$(us packets_split p99_us)" \
	late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
