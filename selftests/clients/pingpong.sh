#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's ping-pongs and perftest, with Debian's libraries or, under
# selftests/lib/newest-rdma-core, with the newest: which it is, is a point.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/clients/pingpong.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

# RoCE has no LIDs: a GID is to be named.
gid=()
[ $nic = softhca ] || gid=(-g 1)

# run_pingpong TYPE
run_pingpong() {
	local prog=ibv_$1_pingpong

	pair -p 18515 "$prog" -d "${dev[1]}" -n 100 "${gid[@]}" -- \
		"$prog" -d "${dev[0]}" -n 100 "${gid[@]}" localhost >"$work/pp" || { cat "$work/pp" >&2; return 1; }
	awk '/^[0-9]+ (bytes|iters) in/ { print $1, $2 }' "$work/pp"
}

# A request waits 4.096 us * 2^18, a second, for its answer before it is sent again: on a busy host
# rxe's threads may not run for as long as perftest waits by itself. On the debug kernel the answers
# to the many requests of 8 QPs take longer than a second.
resend_after=18
[ $slowness -lt 6 ] || resend_after=21

# run_perftest PROGRAM ARG...
run_perftest() {
	local how=(-F -p 20001 -u "$resend_after")

	[ $nic = softhca ] || how+=(-x 1)
	pair -p 20001 "$1" -d "${dev[1]}" "${how[@]}" "${@:2}" -- \
		"$1" -d "${dev[0]}" "${how[@]}" "${@:2}" localhost >"$work/pt" || { cat "$work/pt" >&2; return 1; }
	awk '$1 ~ /^[0-9]+$/ { print $1, "bytes", $2, "iterations" }' "$work/pt"
}

# doorbells WRS: on rxe, that these rang one more for each work request; on the software
# ConnectX, each UAR as the device counted it. The program has to be alive for that.
exact_doorbells() {
	local before

	if [ $nic = rxe ]; then
		before=$(dev_jobs rxe0 doorbells)
		check "ib_send_bw of 4 QPs and 25 requests each" run_perftest ib_send_bw -q 4 -n 25 -s 64
		is "rang 100 doorbells, all of them counted" $(($(dev_jobs rxe0 doorbells) - before)) 100
		return
	fi
	wq_start eight --qps 8 --threads 2
	check "8 QPs post 24 work requests each" wq eight post 24
	is "all WQEBBs of all QPs are counted" "$(qp_said mlx5_0 "${wq_pid[eight]}")" "$(wq_said eight)"
	is "uar show has the UARs as the device counted them" "$(our_uars mlx5_0)" "$(hca_uars 0)"
	wq_end eight
}

more_points() {
	local lib=/usr/lib/x86_64-linux-gnu/libibverbs.so.1

	[ -z "${NEWEST_RDMA_CORE:-}" ] || lib=$NEWEST_RDMA_CORE/lib/libibverbs.so.1
	is "libibverbs is that of ${lib%/*}" \
		"$(ldd "$(command -v ib_write_bw)" | awk '$1 == "libibverbs.so.1" { print $3 }' | xargs realpath)" "$(realpath "$lib")"
	exact_doorbells
}

client "ibv_rc_pingpong" run_pingpong rc
client "ibv_ud_pingpong" run_pingpong ud
client "ib_write_bw of 8 QPs" run_perftest ib_write_bw -q 8 -n 50 -s 4096
client "ib_read_lat" run_perftest ib_read_lat -n 30
client "ib_send_bw over UD" run_perftest ib_send_bw -n 100 -s 1024 -c UD
compare_clients
