# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# The software ConnectX of the VM: loading it, waiting for it, commands to it.

hca_debug=/sys/kernel/debug/softhca

# hca_load [PARAM]...
hca_load() {
	insmod "build/softhca/$VM_KVER/softhca.ko" "$@" || return
	[ ! -e /sys/class/net/hca0 ] || scripts/vm.d/crossed hca0 hca1 10.2.0 || return
	hca_active
}

hca_active() {
	local dev n

	for dev in mlx5_0 mlx5_1; do
		for ((n = 0; n < 150; n++)); do
			grep -qs ACTIVE "/sys/class/infiniband/$dev/ports/1/state" && break
			sleep 0.2
		done
		[ $n -lt 150 ] || return 1
	done
}

# hca_gauge HCA FILE NAME [COLUMN]: of the lines that begin with NAME, summed
hca_gauge() {
	awk -v n="$3" -v c="${4:-2}" '$1 == n { sum += $c } END { print sum + 0 }' \
		"$hca_debug/hca$1/$2"
}

# hca_param HCA NAME VALUE
hca_param() { echo "$2 $3" >"$hca_debug/hca$1/params"; }

# hca_command OUTLEN HEX...: a command that mlx5_core itself passes on, to the first
# HCA; its output in hex, a dword a line.
hca_command() {
	local at len=$1

	at=$(find /sys/kernel/debug/mlx5 -name cmd -path '*:00*' | sort | head -n 1)
	shift
	# shellcheck disable=SC2059
	printf "$(printf '%s' "$@" | sed 's/../\\x&/g')" >"$at/in" || return
	printf %d "$len" >"$at/out_len" || return
	printf go >"$at/run" || return
	od -An -v -tx1 -w4 "$at/out" | tr -d ' '
}
