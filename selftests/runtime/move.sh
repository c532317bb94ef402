#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A connected QP moves to another register while it works: both ends of a connection that is checked in
# every byte, at will; moves that are refused or rolled back, with the reason; and nothing of it without
# SWIFTRDMA_MOVE=yes.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/move.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/move.sh
. selftests/lib/move.sh

ktap_begin
mark_dmesg
check "the module loads" module_load

moves=${MOVES:-200}
both_ends "both ends move" "$moves" SWIFTRDMA_MOVE=yes
moved_at_least "both ends move" "$moves" $((moves / 4))
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'
note "posts were held with nothing outstanding for $(pauses)"

both_ends "with a thread that polls" $((moves / 2)) SWIFTRDMA_MOVE=yes MOVED_POLLER=1
moved_at_least "with a thread that polls" $((moves / 2)) $((moves / 16))

both_ends "with two threads that post" $((moves / 2)) SWIFTRDMA_MOVE=yes MOVED_POSTERS=1 MOVED_POLLER=1
moved_at_least "with two threads that post" $((moves / 2)) $((moves / 16))

# Its messages know the QPs by the numbers that the program knows.
if [ ${#addr[@]} -gt 0 ]; then
	both_ends "connected by rdma_cm" $((moves / 2)) SWIFTRDMA_MOVE=yes "MOVED_CM=${addr[1]}"
	moved_at_least "connected by rdma_cm" $((moves / 2)) $((moves / 16))
fi

# Each second move fails at the step, in each process.
for step in shadow connect drain receives; do
	rolls=20
	case $step in
	receives)
		# At the end that does not ask the step comes after the decision.
		both_ends "$step fails" --peer SWIFTRDMA_MOVE_FAIL=none $rolls SWIFTRDMA_MOVE=yes \
			SWIFTRDMA_MOVE_FAIL=$step
		;;
	*) both_ends "$step fails" $rolls SWIFTRDMA_MOVE=yes SWIFTRDMA_MOVE_FAIL=$step ;;
	esac
	note "$step fails: $(jq -sc '[.[].devices[].move]' "$stats")"
	check "... moves were refused or rolled back" test "$(undone)" -ge $((rolls / 2))
	check "... and others took place" test "$(move_figure moved)" -ge $((2 * rolls))
done

# A QP that was left and cannot be reset is in the way of nothing.
both_ends "reset fails" 20 SWIFTRDMA_MOVE=yes SWIFTRDMA_MOVE_FAIL=reset
check "... at both ends 20 times" test "$(move_figure moved)" -ge 40
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'

both_ends "a peer without the setting" --peer SWIFTRDMA_MOVE=no 1 SWIFTRDMA_MOVE=yes
is "... nothing moves" "$moved_line" "moved 0 failed 1 busy 0 error ECONNREFUSED"
is "... for a reason" "$(whys)" '["the peer'"'"'s process has no library that can"]'

both_ends "without the setting" 1
is "... nothing moves" "$moved_line" "moved 0 failed 1 busy 0 error EOPNOTSUPP"
is "... and nothing is told of moves" "$(jq -sc '[.[].devices[] | .move] | unique' "$stats")" '[null]'

check "the kernel did not complain" test -z "$(complaints)"
check "the module unloads" module_unload
ktap_end
