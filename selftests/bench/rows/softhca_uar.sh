#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# softhca_uar: the message rate of 64 QPs of one process, 512 bytes each, depth 8,
# with a doorbell register for each, against fewer; in the time of the contention
# model of a ConnectX-5. The published 2.22 is of a real one, whose placement was
# not told: so there is a row for each of several. The last is the library's own,
# 4 QPs alone and 60 on 12 registers.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

seconds=8
scale=$(<"$hca_debug/hca0/time_scale")

# rate REGISTERS: messages in a modelled second
rate() {
	local out

	out=$(build/bench/crowd --qps 64 --size 512 --depth 8 --registers "$1" --duration $seconds) ||
		row_die "no traffic"
	row_say "$out"
	awk -v r="$(json_field rate <<<"$out")" -v s="$scale" 'BEGIN { printf "%.0f", r * s }'
}

# crowded REGISTERS PLACEMENT OP GOAL
crowded() {
	local value

	value=$(rate "$1") || exit 1
	row softhca_uar "$value" messages/s "$each" "$(quotient "$each" "$value")" "$3" "$4" \
		placement "\"$2\"" published_ratio 2.22 \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}

each=$(rate 64) || exit 1
crowded 16 "4 QPs on each of 16 registers" '>=' 0.95
crowded 9 "7 or 8 QPs on each of 9 registers" '>=' 2.22
crowded 1 "64 QPs on one register" '>=' 10
crowded 0 "libmlx5: 4 QPs alone, 5 on each of 12 registers" '>=' 0.95
