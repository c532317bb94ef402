#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An all-reduce under Open MPI over UCX, with two and with four ranks, half of them on
# each device. On the debug kernel, where four ranks take more than an hour, with two.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/clients/mpi.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

# As ucx.sh has it.
[ $nic != rxe ] || export UCX_IB_GID_INDEX=0

# As ucx.sh has it, too: what the device has of DEVX is QPs.
export UCX_IB_MLX5_DEVX_OBJECTS=rcqp

# With fork support rdma-core calls madvise() and reads smaps for each queue and region, which takes
# almost half of a run under emulation. ucx.sh has fork support.
export UCX_IB_FORK_INIT=n

# allreduce RANKS TRANSPORT
allreduce() {
	local half=$(($1 / 2)) transport=$2
	local here=(--allow-run-as-root --oversubscribe --bind-to none --mca plm isolated
		    --mca oob_tcp_if_include lo --mca pml ucx --mca osc ucx --mca btl '^openib,vader,tcp'
		    -x UCX_IB_GID_INDEX -x UCX_IB_MLX5_DEVX_OBJECTS
		    -x UCX_IB_FORK_INIT
		    -x "UCX_TLS=$transport,self")

	timeout $((240 * slowness)) mpirun "${here[@]}" \
		-np $half -x "UCX_NET_DEVICES=${dev[0]}:1" build/clients/allreduce : \
		-np $half -x "UCX_NET_DEVICES=${dev[1]}:1" build/clients/allreduce
}

most=4
[ $slowness -lt 6 ] || most=2
client "all-reduce of 2 ranks over rc_v" allreduce 2 rc_v
[ $most = 2 ] || client "all-reduce of $most ranks over rc_v" allreduce $most rc_v
client "all-reduce of 2 ranks over ud_v" allreduce 2 ud_v
[ $nic = rxe ] || client --own "all-reduce of $most ranks over rc_x" allreduce $most rc_x
compare_clients
