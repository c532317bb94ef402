#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A connected QP moves thousands of times while it works at both ends, and every byte of its traffic is
# checked: with requests outstanding at both ends each time; while messages of the two modules are lost;
# with a connection of rdma_cm; and the ends of a peer's process and of the module meanwhile.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/full/move.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/move.sh
. selftests/lib/move.sh

case $nic in rxe) moves=10000 ;; *) moves=1000 ;; esac
# Kernels with self-checks have enough to do with fewer.
moves=${MOVES:-$((moves / (slowness * slowness)))}

ktap_begin
mark_dmesg
check "the module loads" module_load

both_ends "both ends move" $((moves * 4 / 3)) SWIFTRDMA_MOVE=yes
moved_at_least "both ends move" "$moves"
is "... none was refused but for a move of the peer's" "$(whys)" '[]'
note "posts were held with nothing outstanding for $(pauses)"

# The peer's process is killed: this end gets an error, and is not held up.
for kill_after in 0.5 1.1 1.7 2.3 2.9; do
	peer_killed "the peer is killed after $kill_after s" $kill_after SWIFTRDMA_MOVE=yes
done

if [ $nic = rxe ]; then
	for prog in ib_send_bw ib_write_bw ib_read_bw; do
		rm -f "$stats"
		is "rdma_cm: $prog has its results" "$(SWIFTRDMA_MOVE=yes SWIFTRDMA_MOVE_EVERY=40 with_lib \
			perftest $prog -R --use_old_post_send -s 4096 -n 20000 -t 16)" "4096 bytes 20000 iterations"
		check "rdma_cm: $prog: its QPs have moved" test "$(move_figure moved)" -ge 4
		is "... and none is lost sight of" "$(figure '.errors + .stopped + .unmatched + .wrs - .done')" "0 0"
	done
fi

check "the kernel did not complain" test -z "$(complaints)"
check "the module unloads" module_unload
ktap_end
