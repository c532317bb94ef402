#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The stock programs of rdma-core and perftest, between the HCAs and on one.
# FULL=1 adds what takes long.
#
#   scripts/vm --nic softhca -- selftests/softhca/tests/programs.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

port=20000

# pair_on SERVER_DEV CLIENT_DEV PROGRAM ARG...: PROGRAM on both ends.
pair_on() {
	local a=$1 b=$2 prog=$3

	shift 3
	port=$((port + 1))
	# Or perftest takes a busy emulator's clocks for a CPU that changes its
	# frequency, and gives up at the end.
	case $prog in ib_*) set -- -F "$@" ;; esac
	pair -p $port "$prog" -d "$a" -p $port "$@" -- "$prog" -d "$b" -p $port "$@" localhost
}

# both NAME PROGRAM ARG...
both() {
	local name=$1

	shift
	check "$name, two HCAs" pair_on mlx5_0 mlx5_1 "$@"
	check "$name, one HCA" pair_on mlx5_0 mlx5_0 "$@"
}

ktap_begin
is "ports are active" "$(cat /sys/class/infiniband/mlx5_*/ports/1/state)" "4: ACTIVE
4: ACTIVE"
check "ibv_devinfo" ibv_devinfo -v

both "ibv_rc_pingpong -c" ibv_rc_pingpong -n 100 -c
both "ibv_rc_pingpong -e" ibv_rc_pingpong -n 100 -e -c
both "ibv_uc_pingpong" ibv_uc_pingpong -n 100 -c
both "ibv_uc_pingpong -e" ibv_uc_pingpong -n 100 -e
both "ibv_ud_pingpong" ibv_ud_pingpong -n 100 -s 2048 -c
both "ibv_ud_pingpong -e" ibv_ud_pingpong -n 100 -s 2048 -e
both "ibv_srq_pingpong" ibv_srq_pingpong -n 200 -c
both "ibv_srq_pingpong -e" ibv_srq_pingpong -n 200 -e

for op in send write read; do
	check "ib_${op}_bw" pair_on mlx5_0 mlx5_1 "ib_${op}_bw" -n 100
	check "ib_${op}_bw, 1 MiB, both directions" \
		pair_on mlx5_0 mlx5_1 "ib_${op}_bw" -n 20 -s 1048576 -b
	check "ib_${op}_bw -q 16" pair_on mlx5_0 mlx5_1 "ib_${op}_bw" -n 32 -s 512 -q 16
	check "ib_${op}_lat" pair_on mlx5_0 mlx5_1 "ib_${op}_lat" -n 30
done
check "ib_send_bw -e" pair_on mlx5_0 mlx5_1 ib_send_bw -n 100 -e
check "ib_send_lat -e" pair_on mlx5_0 mlx5_1 ib_send_lat -n 30 -e
check "ib_write_bw inline" pair_on mlx5_0 mlx5_1 ib_write_bw -n 100 -s 64 -I 64
check "ib_send_bw with SRQ" pair_on mlx5_0 mlx5_1 ib_send_bw -n 100 -s 256 -q 4 -r 512 --use-srq
check "ib_send_bw over UC" pair_on mlx5_0 mlx5_1 ib_send_bw -n 100 -c UC
check "ib_write_bw over UC" pair_on mlx5_0 mlx5_1 ib_write_bw -n 100 -c UC
check "ib_send_bw over UD" pair_on mlx5_0 mlx5_1 ib_send_bw -n 100 -s 1024 -c UD
check "ib_atomic_bw" pair_on mlx5_0 mlx5_1 ib_atomic_bw -n 50
check "ib_atomic_lat, fetch and add" pair_on mlx5_0 mlx5_1 ib_atomic_lat -n 30 -A FETCH_AND_ADD
check "ib_write_bw with 512 doorbell registers" \
	eval 'MLX5_TOTAL_UUARS=512 pair_on mlx5_0 mlx5_1 ib_write_bw -n 32 -s 512 -q 64'

rounds=2
[ -z "${FULL:-}" ] || rounds=100
for ((i = 1; i <= rounds; i++)); do
	check "ib_write_bw -t 16 with 8 QPs, round $i" \
		pair_on mlx5_0 mlx5_1 ib_write_bw -n 64 -s 512 -q 8 -t 16
done

# five: pairs at once, of different programs, from either HCA to the other
five() {
	local i pids=() pid failed=0
	local programs=("ib_write_bw -n 64 -s 512 -q 4 -t 16" "ib_send_bw -n 100 -s 4096"
			"ib_read_bw -n 50 -s 65536" "ib_write_lat -n 50" "ibv_rc_pingpong -n 100 -c")

	for ((i = 0; i < 5; i++)); do
		# shellcheck disable=SC2086
		(pair_on mlx5_$((i % 2)) mlx5_$((1 - i % 2)) ${programs[i]}) & pids+=($!)
		port=$((port + 1))
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	return $failed
}

rounds=1
[ -z "${FULL:-}" ] || rounds=20
for ((i = 1; i <= rounds; i++)); do
	check "five pairs at once, round $i" five
done

if [ -n "${FULL:-}" ]; then
	for op in send write read; do
		check "ib_${op}_bw -a" pair_on mlx5_0 mlx5_1 "ib_${op}_bw" -a -n 10
	done
	check "ib_write_bw -q 64" pair_on mlx5_0 mlx5_1 ib_write_bw -n 64 -s 512 -q 64
fi

like "rdma res" "$(rdma res show)" "mlx5_0.*qp"
like "rdma link" "$(rdma link show)" "mlx5_1/1.*ACTIVE"
check "rdma statistic" rdma statistic
ktap_end
