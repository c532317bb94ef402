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

moves=${MOVES:-150}
both_ends "both ends move" "$moves" SWIFTRDMA_MOVE=yes
moved_at_least "both ends move" "$moves"
is "... none was refused but for a move of the peer's" "$(whys)" '[]'
note "posts were held with nothing outstanding for $(pauses)"

both_ends "without the setting" 1
is "... nothing moves" "$moved_line" "moved 0 failed 1 busy 0 error EOPNOTSUPP"
is "... and nothing is told of moves" "$(jq -sc '[.[].devices[] | .move] | unique' "$stats")" '[null]'

check "the kernel did not complain" test -z "$(complaints)"
check "the module unloads" module_unload
ktap_end
