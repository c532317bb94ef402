# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The software ConnectX of the VM: loading it, waiting for it, commands to it.

# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

hca_debug=/sys/kernel/debug/softhca

# hca_load [PARAM]...
hca_load() {
	[ -d /sys/module/mlx5_ib ] || modprobe -a mlx5_core mlx5_ib || return
	insmod "build/softhca/$VM_KVER/softhca.ko" "$@" || return
	[ ! -e /sys/class/net/hca0 ] || scripts/vm.d/crossed hca0 hca1 10.2.0 || return
	hca_active
}

# Later suites of mlx5.sh in the same VM load a device of their own. A VM with rxe has none.
hca_mark_used() { [ -d /sys/class/infiniband/rxe0 ] || : >/run/hca_used; }

# Newer drivers create a QP of their own at the first memory region, and keep it.
hca_warm_up() { build/progs/hcabytes mlx5_0 mlx5_1 >/dev/null; }

hca_active() {
	local dev

	for dev in mlx5_0 mlx5_1; do
		wait_for 30 grep -qs ACTIVE "/sys/class/infiniband/$dev/ports/1/state" || return
	done
}

# hca_gauge HCA FILE NAME [COLUMN]: the sum over the lines that begin with NAME
hca_gauge() {
	awk -v n="$3" -v c="${4:-2}" '$1 == n { sum += $c } END { print sum + 0 }' \
		"$hca_debug/hca$1/$2"
}

# hca_param HCA NAME VALUE
hca_param() { echo "$2 $3" >"$hca_debug/hca$1/params"; }

# hca_command OUTLEN HEX...: sends a command to the first HCA through mlx5_core; prints the
# output in hex, one dword per line.
hca_command() { hca_command_to 0 "$@"; }

# hca_command_to HCA OUTLEN HEX...
hca_command_to() {
	local at=/sys/kernel/debug/mlx5/10000:00:0$1.0/cmd len=$2

	shift 2
	# The command must be written at once; printf alone would split it at a newline byte.
	# shellcheck disable=SC2059
	printf "$(printf '%s' "$@" | sed 's/../\\x&/g')" |
		dd of="$at/in" bs=64k iflag=fullblock status=none || return
	printf %d "$len" >"$at/out_len" || return
	printf go >"$at/run" || return
	od -An -v -tx1 -w4 "$at/out" | tr -d ' '
}

# hca_register HCA read|write ID HEX...: accesses a port register; prints the register from
# the device's answer, one dword per line. Fails if the device refuses.
hca_register() {
	local hca=$1 mode=1 id=$3 data out

	[ "$2" = read ] || mode=0
	shift 3
	data=$(printf %s "$@")
	mapfile -t out < <(hca_command_to "$hca" $((16 + ${#data} / 2)) 08050000 "0000000$mode" \
		"0000$id" 00000000 "$data")
	printf '%s\n' "${out[@]:4}"
	[ "${out[0]}" = 00000000 ]
}

# hca_ppcnt HCA GROUP PRIORITY DWORD: a counter of the port, by the dword of its upper half
# in the counter set; the group is hexadecimal.
hca_ppcnt() {
	local r

	mapfile -t r < <(hca_register "$1" read 5008 "000100$2" "0000000$3" "$(printf '%0496d' 0)")
	echo $((16#${r[$4 + 2]} << 32 | 16#${r[$4 + 3]}))
}

# hca_raw_lat N: N frames and their answers, between two programs with a raw packet QP each.
hca_raw_lat() {
	local a b out server args=(-n "$1" -s 100 -F)

	a=$(cat /sys/class/net/hca0/address)
	b=$(cat /sys/class/net/hca1/address)
	out=$(mktemp)
	timeout $((300 * slowness)) raw_ethernet_lat --server -d mlx5_1 -E "$a" -B "$b" "${args[@]}" >"$out" 2>&1 & server=$!
	# It posts its receives just after its rule; nothing tells when.
	if wait_for 60 grep -q '^flow_group [1-9]' $hca_debug/hca1/objects && nap 2 &&
	   timeout $((240 * slowness)) raw_ethernet_lat --client -d mlx5_0 -E "$b" -B "$a" "${args[@]}" >/dev/null &&
	   wait $server; then
		return
	fi
	cat "$out" >&2
	kill $server 2>/dev/null
	return 1
}
