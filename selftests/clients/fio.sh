#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fio's RDMA engine: write and read, between two of it. (Its send hangs now and then on
# rxe, without the module as well.)
#
#   scripts/vm --nic rxe|softhca-eth -- selftests/clients/fio.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

# shellcheck disable=SC2034

# fio_rdma VERB JOBS
fio_rdma() {
	local verb=$1 common=(--ioengine=rdma --port=4711 --bs=32k --size=2m --iodepth=4)

	pair -c fio fio "${common[@]}" --name=receiver --rw=read -- \
		fio "${common[@]}" --name=sender --rw=write --hostname="${addr[1]}" --verb="$verb" \
		--iodepth_batch_complete=1 --output-format=json --output="$work/fio" || return
	jq -r '.jobs[] | "\(.jobname) error \(.error) writes \(.write.total_ios) bytes \(.write.io_bytes)"' "$work/fio"
}

client "fio, RDMA write" fio_rdma write
client "fio, RDMA read" fio_rdma read
compare_clients
