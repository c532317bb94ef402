#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# UARs, QP by QP: the same as the device itself counted, for unmodified programs,
# for many registers, for thread domains and for several processes.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/uars.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

# equal NAME: UAR by UAR, at rest.
equal() {
	local device

	device=$(hca_uars 0)
	is "$1: $(wc -l <<<"$device") UARs as the device counted them" "$(our_uars mlx5_0)" "$device"
}

# kinds DEV: "KIND N" of users' UARs.
kinds() {
	swiftrdma -j uar show "$1" |
		jq -r '[.[] | select(.kind != "kernel").kind] | group_by(.)[] | "\(.[0]) \(length)"'
}

# figure DEV UAR KEY
figure() { swiftrdma -j uar show "$1" "$2" | jq ".[0].$3"; }

ktap_begin
dmesg -C
check "load" both_load
check "loading sends few commands" sent_few mlx5_0
is "provider" "$(dev mlx5_0 provider)" mlx5

wq_start default --qps 64 --threads 4
check "64 QPs post 24 WRs each" wq default post 24
equal "default"
is "all WQEBBs of all QPs" "$(qp_said mlx5_0 "${wq_pid[default]}")" "$(wq_said default)"
is "UARs of the process" "$(our_uars mlx5_0 | wc -l)" 8
busiest=$(our_uars mlx5_0 | sort -k2 -n | tail -n 1 | cut -d' ' -f1)
note "busiest UAR $busiest: $(grep "^ *$busiest " $srdma_debugfs/mlx5_0/uars)"
is "one process on it" "$(awk -v u="$busiest" '$1 == u { print $7 }' $srdma_debugfs/mlx5_0/uars)" 1
threads=$(swiftrdma -j qp show dev mlx5_0 | jq "[.[] | select(.uar == $busiest).tid] | unique | length")
is "$threads threads on it" \
	"$(awk -v u="$busiest" '$1 == u { print $8 }' $srdma_debugfs/mlx5_0/uars)" "$threads"
is "its context asked for 8 UARs" \
	"$(awk -v u="$busiest" '$1 == u { print $12, $13 }' $srdma_debugfs/mlx5_0/uars)" "8 8"
like "limit of the device" "$(summary mlx5_0 uar_limit)" '^[1-9][0-9]+$'

is "they are of one context" \
	"$(swiftrdma -j uar show mlx5_0 | jq '[.[] | select(.kind != "kernel").context] | unique | length')" 1

MLX5_TOTAL_UUARS=512 wq_start many --qps 64
check "64 QPs with 512 registers" wq many post 10
equal "two processes"
is "32 more UARs" "$(our_uars mlx5_0 | wc -l)" 40

is "two processes have a context each" "$(swiftrdma -j uar show mlx5_0 |
	jq -c '[.[] | select(.kind != "kernel") | [.pid, .context]] | unique | [length, (map(.[1]) | unique | length)]')" "[2,2]"
is "the kernel has none" \
	"$(swiftrdma -j uar show mlx5_0 | jq '[.[] | select(.kind == "kernel" and .context != null)] | length')" 0

wq_start domains --qps 64 --domains 8
check "64 QPs in 8 thread domains" wq domains post 10
equal "three processes"

wq_start shut --qps 3 --domains 1
check "3 QPs in one thread domain" wq shut post 10
equal "four processes"
wq_end shut

wq_start alone --qps 1
check "one QP" wq alone post 10
equal "one QP"
uar=$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[alone]}" | jq '.[0].uar')
is "which is dedicated" "$(figure mlx5_0 "$uar" kind)" '"dedicated"'
check "it goes" wq alone destroy 1
is "its UAR and its WQEBBs stay" "$(our_uars mlx5_0 | awk -v u="$uar" '$1 == u')" \
	"$(hca_uars 0 | awk -v u="$uar" '$1 == u')"
wq_end alone
is "with its context it goes" "$(our_uars mlx5_0 | awk -v u="$uar" '$1 == u')" ""

check "half of the QPs go" wq default destroy 32
equal "after that"
wq_end default
wq_end many
wq_end domains
is "no UAR is left" "$(our_uars mlx5_0)" ""
is "no page is held" "$(summary mlx5_0 held_pages)" 0

# perftest, while it runs: who is on which UAR.
ib_write_bw -d mlx5_0 -p 20300 -q 64 -s 512 -D 60 >/dev/null 2>&1 & server=$!
wait_for 60 listening 20300
ib_write_bw -d mlx5_1 -p 20300 -q 64 -s 512 -D 60 localhost >/dev/null 2>&1 & client=$!
running() { [ "$(swiftrdma -j qp show dev mlx5_1 pid $client | jq '[.[] | select(.wrs > 0)] | length')" = 64 ]; }
check "ib_write_bw -q 64 at work" wait_for 60 running
is "its QPs per UAR, both ends" \
	"$(for i in 0 1; do our_uars mlx5_$i | cut -d' ' -f1,2; done)" \
	"$(for i in 0 1; do hca_uars $i | cut -d' ' -f1,2; done)"
kill -9 $client $server
wait $client $server 2>/dev/null
gone() { [ -z "$(our_uars mlx5_0)$(our_uars mlx5_1)" ]; }
check "killed" wait_for 20 gone
is "no page is held" "$(summary mlx5_0 held_pages) $(summary mlx5_1 held_pages)" "0 0"

note "$(kinds mlx5_0)"
check "unload" both_unload
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
