#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A connected QP moves whatever the way in which its program uses it, or is refused for a reason; every
# byte of its traffic is checked.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/runtime/move_kinds.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/move.sh
. selftests/lib/move.sh

ktap_begin
mark_dmesg
check "the module loads" module_load

moves=${MOVES:-100}
both_ends "batches of ibv_wr_*()" "$moves" SWIFTRDMA_MOVE=yes MOVED_WR=1
moved_at_least "batches of ibv_wr_*()" "$moves" $((moves / 4))
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'

both_ends "the same, with two threads that post" "$moves" SWIFTRDMA_MOVE=yes MOVED_WR=1 MOVED_POSTERS=1 MOVED_POLLER=1
moved_at_least "the same, with two threads that post" "$moves" $((moves / 8))

both_ends "an extended completion queue" "$moves" SWIFTRDMA_MOVE=yes MOVED_ENTRIES=1
moved_at_least "an extended completion queue" "$moves" $((moves / 4))
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'

both_ends "... that a thread polls" "$moves" SWIFTRDMA_MOVE=yes MOVED_ENTRIES=1 MOVED_WR=1 MOVED_POLLER=1
moved_at_least "... that a thread polls" "$moves" $((moves / 20))

both_ends "shared receive queues" "$moves" SWIFTRDMA_MOVE=yes MOVED_SRQ=1
moved_at_least "shared receive queues" "$moves" $((moves / 8))
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'

# rxe of Linux 6.1 and 6.12 reports no IBV_EVENT_QP_LAST_WQE_REACHED.
if [ $nic != rxe ]; then
	both_ends "... whose end the device reports, once" "$moves" SWIFTRDMA_MOVE=yes MOVED_SRQ=1 MOVED_ASYNC=1
	is "... to both programs" "$(cat "$work"/end.[ab] | grep -cx 'last receive reported')" 2
	check "... which have moved" test "$(move_figure moved)" -ge $((2 * moves))
fi

both_ends "... at one end, which a thread polls after events" --peer MOVED_SRQ=1 "$moves" \
	SWIFTRDMA_MOVE=yes MOVED_EVENTS=all MOVED_POLLER=1
check "... at both ends $moves times" test "$(move_figure moved)" -ge $((2 * moves))

# Of the devices here only softhca, as mlx5, causes an event for what is there when a queue is armed.
events="all few"
[ $nic = rxe ] && events=all
for polled in $events; do
	both_ends "a completion channel ($polled)" "$moves" SWIFTRDMA_MOVE=yes MOVED_EVENTS=$polled
	check "... at both ends $moves times" test "$(move_figure moved)" -ge $((2 * moves))
	is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'
	both_ends "... of an extended queue, which a thread polls" "$moves" SWIFTRDMA_MOVE=yes \
		MOVED_EVENTS=$polled MOVED_ENTRIES=1 MOVED_POLLER=1
	check "... at both ends $moves times" test "$(move_figure moved)" -ge $((2 * moves))
done

# On rxe move.sh has this.
if [ $nic = softhca-eth ]; then
	both_ends "connected by rdma_cm" "$moves" SWIFTRDMA_MOVE=yes "MOVED_CM=${addr[1]}"
	moved_at_least "connected by rdma_cm" "$moves" $((moves / 8))
fi

# QPs have ports to choose from where a device aggregates links. A QP in RESET, as the program's is by
# then, has none.
if [ $nic = softhca-eth ]; then
	both_ends "a port that is set after a move" 50 SWIFTRDMA_MOVE=yes MOVED_PORT=2
	is "... keeps the QP where it is" \
		"$(whys | jq 'index("the program has set its port by mlx5dv_modify_qp_lag_port()") != null')" true
	check "... which has moved before" test "$(move_figure moved)" -ge 4
fi

check "the kernel did not complain" test -z "$(complaints)"
check "the module unloads" module_unload
ktap_end
