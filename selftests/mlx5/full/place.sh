#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# New QPs of unmodified programs on registers of libswiftrdma: 64 QPs that libmlx5 crowds on 10, 4
# and 1 registers reach what they do on a register each, in rates of the contention model. Then
# threads that share QPs and a register, and programs that look at what their calls return.
#
#   scripts/vm --nic softhca -- selftests/mlx5/full/place.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
nic=softhca dev=(mlx5_0 mlx5_1)
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# A device with a model, whatever the one before had.
scale=2000
rmmod softhca && hca_load preset=cx5 time_scale=$scale && hca_warm_up || exit 1

tmp=$work
qps=64
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"; }
holds() { awk "BEGIN { exit !($1) }"; }
# How many registers have one QP, but for those of the driver's own QPs.
own=0
lone_registers() {
	awk -v own=$own 'NR > 1 && $3 == 1 { n++ } END { print n - own }' $hca_debug/hca0/registers
}
counted() { jq -cs "map(.devices[] | select(.dev == \"mlx5_0\"))[0] | $1" "$stats"; }

# crowd NAME [VAR=VALUE]... [-- ARG...]: 64 QPs at work, to their end.
crowd() {
	local name=$1 env=()

	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		env+=("$1")
		shift
	done
	rm -f "$stats"
	env "${env[@]}" build/bench/crowd --duration 3 "${@:2}" >"$tmp/$name" 2>"$tmp/$name.err"
}
# The same with the library; at_work looks at the registers meanwhile.
placed() {
	local name=$1 pid

	shift
	crowd "$name" LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" SWIFTRDMA_PLACE=lightest "$@" & pid=$!
	at_work || note "$(cat "$tmp/$name.err")"
	wait $pid
}
at_work() {
	wait_for 30 all_known || return
	lone_registers >"$tmp/ones"
	swiftrdma -j uar show mlx5_0 >"$tmp/uars"
}
# Every QP has rung its register; before that the device does not know it.
all_known() { [ "$(lone_registers)" -ge $qps ]; }
left() { rdma res show qp | grep -c "comm $1"; rdma res show pd | grep -c "comm $1"; }

ktap_begin
mark_dmesg
check "load" both_load
own=$(lone_registers)
check "64 QPs, a register each" crowd alone -- --registers 64
alone=$(field rate "$tmp/alone")

# crowded NAME [VAR=VALUE]...
crowded() {
	local name=$1 by_default placed

	shift
	check "$name: without the library" crowd "$name.default" "$@"
	by_default=$(field rate "$tmp/$name.default")
	check "$name: it is crowded ($by_default/s of $alone/s)" holds "$by_default < 0.9 * $alone"
	rm -f "$tmp/ones" "$tmp/uars"
	check "$name: placed" placed "$name.placed" "$@"
	placed=$(field rate "$tmp/$name.placed")
	check "$name: $placed/s, 0.95 of $alone/s or more" holds "$placed >= 0.95 * $alone"
	is "$name: 64 registers with one QP" "$(<"$tmp/ones")" 64
	is "$name: uar show has QPs, and the most on a UAR of two registers" \
		"$(jq -r '[.[] | select(.kind != "kernel" and .qps > 0).qps] | "\(add) \(max)"' "$tmp/uars")" "64 2"
	like "$name: QPs that the library placed: $(counted .placed)" "$(counted .placed)" '^[1-9]'
	is "$name: every request is seen" "$(counted '.wrs == .done + .dropped and .errors == 0')" true
}

crowded "10 registers" MLX5_TOTAL_UUARS=9 MLX5_NUM_LOW_LAT_UUARS=0
crowded "4 registers" MLX5_TOTAL_UUARS=4 MLX5_NUM_LOW_LAT_UUARS=0
crowded "1 register" MLX5_SHUT_UP_BF=1
is "QPs and PDs that are left" "$(left crowd | tr '\n' ' ')" "0 0 "

# With a register for each QP there is nothing to gain.
qps=16
check "16 QPs on 16 registers" placed few MLX5_TOTAL_UUARS=16 -- --qps 16
qps=64
is "... stay where they are" "$(counted .placed)" 0

# By itself, lightest has libmlx5 make registers enough.
check "64 QPs without a word on registers" placed plain
is "... have registers of libmlx5 alone" "$(<"$tmp/ones") $(counted .placed)" "64 0"

# shared NAME PLACE [VAR=VALUE]...: four threads on four QPs.
shared() {
	local name=$1 out

	shift
	rm -f "$stats"
	out=$(env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" "${@:2}" SWIFTRDMA_PLACE="$1" \
		build/progs/sharedqp --dev mlx5_0 --qps 4 --threads 4 --messages 2000)
	is "$name: ends well" $? 0
	is "$name: messages" "$out" '{"sent":8000,"received":8000,"errors":0}'
	is "$name: requests that were counted" \
		"$(counted '[.wrs, .done, .recv_wrs, .recv_wcs, .errors]')" \
		'[8000,8000,8000,8000,0]'
}
shared "four threads on one register" by-thread
is "... of the library" "$(counted .placed)" 4
shared "four threads, QPs on registers of both" lightest MLX5_TOTAL_UUARS=2 MLX5_NUM_LOW_LAT_UUARS=0
is "... of which the library's" "$(counted .placed)" 2

# Programs that fail if a call of theirs does, the deallocation of the PD for one.
for place in lightest by-thread; do
	export SWIFTRDMA_PLACE=$place MLX5_TOTAL_UUARS=2 MLX5_NUM_LOW_LAT_UUARS=0
	rm -f "$stats"
	is "rc_pingpong, $place" "$(with_lib pingpong rc)" "$(pingpong rc)"
	is "rc_pingpong -N, $place" "$(with_lib pingpong rc -N)" "$(pingpong rc -N)"
	is "ud_pingpong, $place" "$(with_lib pingpong ud)" "$(pingpong ud)"
	like "srq_pingpong, $place" "$(with_lib pingpong srq)" iters
	like "ib_write_bw -q 64, $place" "$(with_lib perftest ib_write_bw -q 64 -n 200 -s 64)" iterations
	like "ib_send_lat, $place" "$(with_lib perftest ib_send_lat -n 200 -s 64)" iterations
	like "$place: QPs that were placed" "$(jq -s 'map(.devices[].placed) | add' "$stats")" '^[1-9]'
	is "$place: no error" "$(jq -s 'map(.devices[].errors) | add' "$stats")" 0
done
unset SWIFTRDMA_PLACE MLX5_TOTAL_UUARS MLX5_NUM_LOW_LAT_UUARS
is "QPs and PDs that are left" "$(left 'ib' | tr '\n' ' ')" "0 0 "
check "unload" both_unload
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
