#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# UCX: its benchmark over RC and UD by verbs, and on the software ConnectX over RC by
# its own code for mlx5 (rc_x), whose QPs are DEVX's or RDMA core's.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/clients/ucx.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

# With an IPv4 address as its GID UCX drops what rxe receives over UD, by which RC
# connects, too. The first GID is an IPv6 address.
[ $nic != rxe ] || export UCX_IB_GID_INDEX=0

# ucx TRANSPORT TEST COUNT SIZE [VAR=VALUE...]
ucx() {
	local tls=$1 test=$2 count=$3 size=$4 port=$((13000 + RANDOM % 1000))

	shift 4
	# The two ends take a device each, so that packets cross the wire.
	pair -p "$port" env "$@" UCX_TLS="$tls" UCX_NET_DEVICES="${dev[1]}:1" ucx_perftest -p "$port" -- \
		env "$@" UCX_TLS="$tls" UCX_NET_DEVICES="${dev[0]}:1" \
		ucx_perftest -p "$port" -t "$test" -n "$count" -s "$size" -w 10 -f localhost >"$work/ucx" ||
		{ cat "$work/ucx" >&2; return 1; }
	cat "$work/ucx" >&2
	# Iterations that it counted; the rest are times.
	awk -v n="$count" '/^Final:/ { print "iterations", $2 } $1 == n { print "iterations", $1 }' "$work/ucx"
}

client "UCX over rc_v, latency" ucx rc_v tag_lat 100 8
client "UCX over rc_v, 64 KiB" ucx rc_v tag_bw 50 65536
client "UCX over ud_v, latency" ucx ud_v tag_lat 100 8
if [ $nic != rxe ]; then
	client --own "UCX over rc_x, its receive queue too with DEVX" ucx rc_x tag_bw 50 65536
	client --own "UCX over rc_x with DEVX" ucx rc_x tag_lat 100 8 UCX_IB_MLX5_DEVX=y \
		UCX_IB_MLX5_DEVX_OBJECTS=rcqp
	client --own "UCX over rc_x without DEVX" ucx rc_x tag_lat 100 8 UCX_IB_MLX5_DEVX=n
fi
more_points() {
	local i

	for i in "${!client_names[@]}"; do
		case ${client_names[i]} in
		*"with DEVX") like "${client_names[i]}: makes QPs past RDMA core" "$(cat "$work/$i.library.qps")" ' [1-9][0-9]*$' ;;
		*) like "${client_names[i]}: makes none past RDMA core" "$(cat "$work/$i.library.qps")" ' 0$' ;;
		esac
	done
}
compare_clients
