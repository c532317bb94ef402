#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The modules go in every order, under traffic: the provider, swiftrdma, mlx5_ib, the
# device. Nothing stays behind. FULL=1: in more orders.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/unload.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

port=20400

active() { [ "$(rdma -j res show qp link mlx5_1/1 | jq "[.[] | select(.pid == $client)] | length")" = 8 ]; }
traffic() {
	port=$((port + 1))
	ib_write_bw -d mlx5_0 -p $port -q 8 -s 4096 -D 100 >/dev/null 2>&1 & server=$!
	wait_for 20 grep -q ":$(printf %04X $port) .* 0A " /proc/net/tcp /proc/net/tcp6
	ib_write_bw -d mlx5_1 -p $port -q 8 -s 4096 -D 100 localhost >/dev/null 2>&1 & client=$!
	wait_for 20 active
}
quiet() {
	kill -9 $client $server
	wait $client $server
} 2>/dev/null

# One letter a module: p the provider, s swiftrdma, i mlx5_ib, h the device.
take_out() {
	case $1 in
	p) rmmod swiftrdma_mlx5 ;;
	s) srdma_unload ;;
	i) quiet; modprobe -r mlx5_ib ;;
	h) rmmod softhca ;;
	esac
}
put_in() {
	case $1 in
	p) mlx5_load ;;
	s) srdma_load ;;
	i) modprobe mlx5_ib ;;
	h) insmod "build/softhca/$VM_KVER/softhca.ko" ;;
	esac
}

# order WORD: those modules go, in that order, and come back in the reverse one.
order() {
	local i

	check "$1: traffic" traffic
	swiftrdma qp show >/dev/null
	for ((i = 0; i < ${#1}; i++)); do
		check "$1: out ${1:i:1}" take_out "${1:i:1}"
	done
	quiet
	for ((i = ${#1} - 1; i >= 0; i--)); do
		check "$1: in ${1:i:1}" put_in "${1:i:1}"
	done
	check "$1: active" hca_active
	is "$1: provider" "$(dev mlx5_0 provider) $(dev mlx5_1 provider)" "mlx5 mlx5"
}

ktap_begin
dmesg -C
check "load" both_load
words=(p ps i h psh ih)
[ -z "${FULL:-}" ] || words+=(pi ip hp ph hps ips pis psi)
for word in "${words[@]}"; do
	order $word
done
refused() { ! rmmod swiftrdma; }
check "swiftrdma cannot go before its provider" refused
check "the provider goes while disarmed" swiftrdma module disarm
check "and comes" rmmod swiftrdma_mlx5
check "unload" rmmod swiftrdma
is "no page is held by anyone" "$(dmesg | grep 'let go' | grep -vc ' 0 pages held, 0 records')" 0
like "and that was said" "$(dmesg | grep -c 'let go')" '^[1-9][0-9]+$'
like "the device has no objects left" "$(dmesg | grep ' objects left' | grep -vc ' 0 objects left')" '^0$'
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
