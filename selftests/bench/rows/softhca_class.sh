#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# softhca_class: the latency of 64 bytes, one message at a time, next to 32 QPs
# that write 16 KiB as fast as they can, in their class and in one of its own; in
# the time of the contention model of a ConnectX-5. It is from post to completion
# in the program, so the emulation's own share, a few hundredths, is in it.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

scale=$(<"$hca_debug/hca0/time_scale")

# latency SL: "p50 p99", in us
latency() {
	local pid

	build/bench/crowd --qps 32 --size 16384 --depth 2 --sl 0 --duration 600 >/dev/null & pid=$!
	wait_for 60 bulk || row_die "no bulk traffic"
	build/bench/lat --client-dev mlx5_0 --server-dev mlx5_1 --sl "$1" --interval 1000 \
		--duration 30 --json >"$row_tmp/lat" || row_die "no small messages"
	kill $pid
	wait $pid 2>/dev/null
	row_say "SL $1: $(cat "$row_tmp/lat")"
	awk -v a="$(json_field p50_us <"$row_tmp/lat")" -v b="$(json_field p99_us <"$row_tmp/lat")" \
		-v s="$scale" 'BEGIN { printf "%.3f %.3f\n", a / s, b / s }'
}

bulk() { [ "$(hca_gauge 0 classes 0 3)" -gt 0 ]; }

# protected WHAT OWN SAME OP GOAL
protected() {
	row "softhca_class_$1" "$2" us "$3" "$(quotient "$3" "$2")" "$4" "$5" \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}

read -r same50 same99 < <(latency 0)
read -r own50 own99 < <(latency 1)
[ -n "$own99" ] || row_die "no latencies"
protected p50 "$own50" "$same50" '>=' 2
protected p99 "$own99" "$same99" '>=' 2
