#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# peer_storm: what the channel between peers takes from a storm of rdma_cm connections, whose
# messages use QP 1, too. In a VM with --icount, where 4 ns stand for an executed instruction, so
# its CPU is one of 250 million a second. Messages come as often as peer_rate lets a CPU of 3,000
# million take them in, in the same number of instructions: one in 12. All are HELLOs of
# a connected peer, which are answered, and what it costs to send them counts, too. Storms with
# and without them are measured in turn, and one with them is compared with the mean of those
# before and after it.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
# shellcheck source=selftests/lib/peer.sh
. selftests/lib/peer.sh
PATH=$PWD/build/progs:$PATH
rounds=6 connections=200

# storm: us from the first to the last connection, by the client's own clock.
storm() {
	local server us

	cmtime -b 10.1.0.2 >"$row_tmp/server" 2>&1 & server=$!
	if ! wait_for 5 cm_listens cmtime; then
		sed 's/^/# /' "$row_tmp/server" >&2
		kill $server
		return 1
	fi
	us=$(cmtime -b 10.1.0.1 -s 10.1.0.2 -c $connections 2>"$row_tmp/client" |
		awk '$1 == "connect" && NF > 1 { printf "%d", $3 * 1000 }')
	kill $server
	wait $server 2>/dev/null
	[ "${us:-0}" -gt 0 ] && echo "$us" && return
	sed 's/^/# /' "$row_tmp/client" >&2
	return 1
}

srdma_load || row_die "insmod failed"
qpsh_start a qpsh --dev rxe0
qpsh_start b qpsh --dev rxe1
qp a create
a=$last
qp b create
b=$last
qp a "take $a rts 0 0 $b 10.1.0.2"
qp b "take $b rts 0 0 $a 10.1.0.1"
pause_us=$((12 * 1000000 / $(</sys/module/swiftrdma/parameters/peer_rate)))

# The first one may find no neighbour in time.
storm >/dev/null
without=$(storm) || row_die "no connections"
for ((i = 0; i < rounds; i++)); do
	served=$(count rxe0 served)
	forge raw 10.1.0.2 10.1.0.1 1 n=1000000 us=$pause_us type=1 "from=$b" "to=$a" mine=7 >/dev/null & flood=$!
	wait_for 30 counted rxe0 served $((served + 1)) || row_die "no message came"
	with=$(storm) || row_die "no connections"
	kill $flood
	wait $flood 2>/dev/null
	served=$(($(count rxe0 served) - served))
	before=$without
	without=$(storm) || row_die "no connections"
	row_say "round $i: $before us before, $with us with $served messages, $without us after"
	echo $(((before + without) / 2)) >>"$row_tmp/without"
	echo "$with" >>"$row_tmp/with"
done
without=$(median <"$row_tmp/without")
with=$(median <"$row_tmp/with")
row peer_storm "$with" us "$without" "$(quotient "$with" "$without")" '<=' 1.05 \
	connections $connections served "$served"
