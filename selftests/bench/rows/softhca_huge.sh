#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# softhca_huge: 64 QPs, each with a memory region of 32 MiB, write 512 bytes from anywhere in it,
# 64 writes under way. In pages of 4 KiB the translations of the regions are four times what the cache
# holds; libswiftrdma collapses the memory before it is registered, and they fit. What that gains, which
# is to be no less than the simulator says of as many translations. In the time of the contention model
# of a ConnectX-5, whose registers take no time here.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

qps=64
region=$((32 << 20))
size=512
seconds=6
warm=25000	# the regions have 65536 lines of translations, of which the cache holds 16384
scale=$(<"$hca_debug/hca0/time_scale")
lib=$PWD/build/lib/libswiftrdma.so.1
# Emulated, a collapse takes longer than on a machine.
export SWIFTRDMA_HUGE_TIME=600
# Lines of translations, of which the device keeps 8 together, with pages of so many bytes.
lines() { echo $((qps * region / $1 / 8)); }

mtt() { awk '$1 == "mtt" { print $2, $3 }' "$hca_debug/hca0/cache"; }
warmed() { [ "$(hca_gauge 0 time posted)" -ge $((posted + warm)) ]; }

# traffic NAME yes|no: sets $miss, $gbps and $mtts
traffic() {
	local hits0 miss0 hits1 miss1 pid

	posted=$(hca_gauge 0 time posted)
	LD_PRELOAD="$lib" SWIFTRDMA_HUGE_PAGES=$2 SWIFTRDMA_STATS="$row_tmp/stats.$1" build/bench/crowd \
		--qps $qps --regions $region --huge --random --size $size --depth 4 --window 64 \
		--warm $warm --duration $seconds >"$row_tmp/$1" & pid=$!
	wait_for 900 warmed || row_die "no traffic"
	read -r hits0 miss0 < <(mtt)
	mtts=$(swiftrdma -j dev show mlx5_0 | jq '.[0].mtts')
	wait $pid || row_die "the traffic failed"
	read -r hits1 miss1 < <(mtt)
	row_say "$1: $(cat "$row_tmp/$1"), huge pages $(jq -c '.devices[] | select(.dev == "mlx5_0").huge_pages' "$row_tmp/stats.$1")"
	miss=$(awk -v h=$((hits1 - hits0)) -v m=$((miss1 - miss0)) 'BEGIN { printf "%.4f", m / (h + m) }')
	gbps=$(awk -v r="$(json_field rate <"$row_tmp/$1")" -v s="$scale" -v b=$size \
		'BEGIN { printf "%.2f", r * s * b * 8 / 1e9 }')
}

# simulated TRANSLATIONS: Gbit/s
simulated() {
	cat >"$row_tmp/scenario.yaml" <<-EOF
		name: huge
		nic: {preset: cx5}
		time: 60ms
		warmup: 40ms
		interval: 1ms
		jobs:
		  - {name: dlrm, class: throughput, op: write, threads: $qps, qps: $qps, depth: 1, size: $size, mrs: $1, uars: $qps}
	EOF
	swiftrdma -j policy simulate user/sim/policy.yaml scenario "$row_tmp/scenario.yaml" without |
		jq '.[] | select(.policies | not) | .byte_rate / 1e9'
}

# Pages are collapsed by the library alone.
echo madvise >/sys/kernel/mm/transparent_hugepage/enabled
echo 4294967295 >/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
srdma_load || row_die "the module does not load"
insmod "build/kmod/$(uname -r)/swiftrdma_mlx5.ko" || row_die "the provider does not load"
hca_param 0 uar_ps 0
traffic small no
small=$gbps small_miss=$miss small_mtts=$mtts
traffic huge yes
predicted=$(quotient "$(simulated "$(lines $((2 << 20)))")" "$(simulated "$(lines 4096)")")
row softhca_huge "$gbps" Gbit/s "$small" "$(quotient "$gbps" "$small")" '>=' "$predicted" \
	samples "$(json_field counted <"$row_tmp/huge")" samples_small "$(json_field counted <"$row_tmp/small")" \
	mtt_miss_small "$small_miss" mtt_miss_huge "$miss" mtts_small "$small_mtts" mtts_huge "$mtts" \
	cache_bytes "$(hca_gauge 0 params cache_bytes)" \
	late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
