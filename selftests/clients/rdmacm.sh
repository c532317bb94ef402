#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What connects by rdma_cm: qperf, rstream (sockets over RDMA), rping, udaddy. Where
# there are no IP addresses, qperf alone, by LIDs.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/clients/rdmacm.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

# run_qperf TEST: its name, if it was measured; the figure is a time. Its server ends
# only when it is killed. On a slow host the client may connect before the server listens, and is
# rejected: of 20 runs on the RT kernel without the module one was.
run_qperf() {
	local how=(-cm 1) host=${addr[1]:-localhost} server status

	[ ${#addr[@]} -gt 0 ] || how=(-li "${dev[0]}:1" -ri "${dev[1]}:1")
	qperf >"$work/server.out" 2>&1 & server=$!
	wait_for 60 listening 19765 &&
		timeout $((60 * slowness)) qperf "${how[@]}" -t 1 "$host" "$1" >"$work/qperf" 2>&1
	status=$?
	kill $server
	wait $server 2>/dev/null
	[ $status -eq 0 ] || cat "$work/qperf" "$work/server.out" >&2
	! grep -q 'RDMA CM: Event rejected' "$work/qperf" "$work/server.out" || return 75
	grep -E '^    (bw|latency) *= *[0-9.]*[1-9]' "$work/qperf" >&2 && echo "$1" || status=1
	return $status
}

run_rstream() {
	local args=(-S "$1" -C 20 -I 5 "${@:2}")

	pair -c rstream rstream -b "${addr[1]}" "${args[@]}" -- rstream -s "${addr[1]}" "${args[@]}" >"$work/rstream" ||
		return
	awk 'NR > 1 { print $1, $2, $3, $4, $5 }' "$work/rstream"
}

run_rping() {

	pair -c rping rping -s -a "${addr[1]}" -C 20 -S 100 -- rping -c -v -a "${addr[1]}" -C 20 -S 100
}

run_udaddy() {

	pair -c udaddy udaddy -b "${addr[1]}" -c 2 -C 20 -S 100 -- udaddy -s "${addr[1]}" -c 2 -C 20 -S 100
}

for test in rc_lat rc_bw rc_rdma_write_bw; do
	client "qperf $test" run_qperf $test
done
if [ ${#addr[@]} -gt 0 ]; then
	client "rstream" run_rstream 64
	client "rstream, 64 KiB" run_rstream 65536
	client "rping" run_rping
	client "udaddy" run_udaddy
else
	# These two do not connect by rdma_cm, and know LIDs alone.
	client "qperf uc_lat" run_qperf uc_lat
	client "qperf ud_lat" run_qperf ud_lat
fi
compare_clients
