#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# softhca_cache: 16 to 4096 QPs, each with a memory region of 128 KiB, write 512
# bytes from anywhere in it, 64 writes under way, any QP's turn. What of all uses
# of contexts missed the cache, and the bandwidth against that of 256 QPs, which is held
# against what the simulator says of the same: to a device threads are free, so that it
# is a little faster than the simulator's host. In the time of the contention model of a
# ConnectX-5, whose registers take no time here.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

size=512
warm=12000	# more contexts than the cache holds
seconds=6
scale=$(<"$hca_debug/hca0/time_scale")

uses() { awk '$1 ~ /^(qpc|mtt|cqc)$/ { h += $2; m += $3 } END { print h, m }' "$hca_debug/hca0/cache"; }
warmed() { [ "$(hca_gauge 0 time posted)" -ge $((posted + warm)) ]; }

# traffic QPS: sets $miss and $gbps
traffic() {
	local hits0 miss0 hits1 miss1 pid

	posted=$(hca_gauge 0 time posted)
	build/bench/crowd --qps "$1" --regions 131072 --random --size $size --depth 4 --window 64 \
		--warm $warm --duration $seconds >"$row_tmp/crowd" & pid=$!
	wait_for 900 warmed || row_die "no traffic"
	read -r hits0 miss0 < <(uses)
	wait $pid || row_die "the traffic failed"
	read -r hits1 miss1 < <(uses)
	row_say "$(cat "$row_tmp/crowd")"
	miss=$(awk -v h=$((hits1 - hits0)) -v m=$((miss1 - miss0)) 'BEGIN { printf "%.4f", m / (h + m) }')
	gbps=$(awk -v r="$(json_field rate <"$row_tmp/crowd")" -v s="$scale" -v b=$size \
		'BEGIN { printf "%.2f", r * s * b * 8 / 1e9 }')
}

# simulated QPS: Gbit/s. Each region has 32 pages, and as many translations.
simulated() {
	local threads=$(($1 < 64 ? $1 : 64))

	cat >"$row_tmp/scenario.yaml" <<-EOF
		name: cache
		nic: {preset: cx5}
		time: 60ms
		warmup: 40ms
		interval: 1ms
		jobs:
		  - {name: dlrm, class: throughput, op: write, threads: $threads, qps: $1, depth: $((64 / threads)), size: $size, mrs: $((32 * $1)), uars: $threads}
	EOF
	swiftrdma -j policy simulate user/sim/policy.yaml scenario "$row_tmp/scenario.yaml" without |
		jq '.[] | select(.policies | not) | .byte_rate / 1e9'
}

# cached QPS
cached() {
	local model

	traffic "$1"
	model=$(simulated "$1")
	row softhca_cache "$(quotient "$gbps" "$base")" "of 256 QPs" "$(quotient "$model" "$base_model")" \
		"$(quotient "$(quotient "$gbps" "$base")" "$(quotient "$model" "$base_model")")" \
		within 0.1 qps "$1" gbps "$gbps" \
		samples "$(json_field counted <"$row_tmp/crowd")" miss_ratio "$miss" cache_bytes "$(hca_gauge 0 params cache_bytes)" \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}

hca_param 0 uar_ps 0
traffic 256
base=$gbps
base_model=$(simulated 256)
for qps in 16 1024 4096; do
	cached $qps
done
