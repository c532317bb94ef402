#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# place_loop: libmlx5 crowds the 64 QPs of an unmodified program on 10, 4 and 1 registers.
# libswiftrdma places the QPs on registers of its own, and the program reaches the rate that it
# has with a register for each QP. Rates are in the time of the contention model of a ConnectX-5.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

seconds=${ROW_SECONDS:-8}
qps=64
scale=$(<"$hca_debug/hca0/time_scale")
lib=$PWD/build/lib/libswiftrdma.so.1

# QPs that have a register of HCA 0 to themselves, but for the driver's own QPs.
driver=0
with_own() {
	awk -v driver="$driver" 'NR > 1 && $3 == 1 { n++ } END { print n - driver }' "$hca_debug/hca0/registers"
}
# The device has the QPs of the program.
all_made() { [ "$(awk 'NR > 1 { n += $3 } END { print n + 0 }' "$hca_debug/hca0/registers")" -ge $qps ]; }

# crowd NAME [VAR=VALUE]... [-- ARG...]: 64 QPs at work, to their end.
crowd() {
	local name=$1 env=() pid

	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		env+=("$1")
		shift
	done
	env "${env[@]}" build/bench/crowd --qps $qps --duration "$seconds" "${@:2}" \
		>"$row_tmp/$name" 2>"$row_tmp/$name.err" & pid=$!
	wait_for 60 all_made || row_die "$name: it does not make its QPs: $(cat "$row_tmp/$name.err")"
	# The device knows the register of a QP once the QP has rung it.
	nap 2
	with_own >"$row_tmp/$name.own"
	wait $pid || row_die "$name: $(cat "$row_tmp/$name.err")"
	row_say "$name: $(cat "$row_tmp/$name"), $(<"$row_tmp/$name.own") QPs with a register of their own"
}
# modelled NAME: its rate
modelled() { awk -v v="$(json_field rate <"$row_tmp/$1")" -v s="$scale" 'BEGIN { printf "%.0f", v * s }'; }

srdma_load || row_die "the module does not load"
insmod "build/kmod/$(uname -r)/swiftrdma_mlx5.ko" || row_die "the provider does not load"
driver=$(with_own)
crowd alone -- --registers 64

# placed REGISTERS VAR=VALUE...
placed() {
	local registers=$1

	shift
	crowd crowded "$@"
	crowd placed LD_PRELOAD="$lib" SWIFTRDMA_PLACE=lightest "$@"
	row place_loop "$(modelled placed)" messages/s "$(modelled alone)" \
		"$(quotient "$(modelled placed)" "$(modelled alone)")" '>=' 0.95 \
		placement "\"by libmlx5 on $registers\"" crowded "$(modelled crowded)" \
		gain "$(quotient "$(modelled placed)" "$(modelled crowded)")" \
		own_register_before "$(<"$row_tmp/crowded.own")" \
		own_register_after "$(<"$row_tmp/placed.own")" \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}
placed "10 registers" MLX5_TOTAL_UUARS=9 MLX5_NUM_LOW_LAT_UUARS=0
placed "4 registers" MLX5_TOTAL_UUARS=4 MLX5_NUM_LOW_LAT_UUARS=0
placed "one register" MLX5_SHUT_UP_BF=1
