#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# libfabric's own ping-pong, over the provider verbs and over rxm above it. Both
# connect by rdma_cm, so there must be IP addresses.
#
#   scripts/vm --nic rxe|softhca-eth -- selftests/clients/fabric.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

# Or rxm wants a CQ of more entries than rxe's can have, for 256 peers.
export FI_UNIVERSE_SIZE=16 FI_OFI_RXM_RX_SIZE=256

# Size, how many were sent and acknowledged, bytes; then times.
results() { awk 'NR > 1 { print $1, $2, $3, $4 }' "$work/fi"; }

# pingpong PROVIDER ENDPOINT SIZE
pingpong() {
	local args=(-p "$1" -e "$2" -S "$3" -I 50 -c)

	pair -p 47592 fi_pingpong "${args[@]}" -- fi_pingpong "${args[@]}" "${addr[1]}" >"$work/fi" ||
		{ cat "$work/fi" >&2; return 1; }
	results
}

# Over rxm one end may leave before the other has taken its last completion. Then the other
# fails after all transfers, with a flushed request or inside libfabric. That happens on a
# busy machine, with and without the module and the library, so such an end is as good.
pingpong_rxm() {
	pingpong 'verbs;ofi_rxm' rdm "$1" && return
	awk '$2 == 50 && $3 == "=50" { done = 1 } END { exit !done }' "$work/fi" && results
}

client "fi_pingpong over verbs" pingpong verbs msg 64
client "fi_pingpong over verbs, 64 KiB" pingpong verbs msg 65536
client "fi_pingpong over rxm" pingpong_rxm 64
client "fi_pingpong over rxm, 64 KiB" pingpong_rxm 65536
compare_clients
