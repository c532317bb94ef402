#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A connected QP moves thousands of times while it works, as both ends will, and every byte of its traffic
# is checked.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/full/move.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/move.sh
. selftests/lib/move.sh

case $nic in rxe) moves=10000 ;; *) moves=1000 ;; esac
# 10,000 moves take 25 minutes. Other kernels than Debian 12's run a fifth, and slow kernels still fewer.
case $(uname -r) in 6.1.*) ;; *) moves=$((moves / 5)) ;; esac
moves=${MOVES:-$((moves / (slowness * slowness)))}

ktap_begin
mark_dmesg
check "the module loads" module_load

# $moves of the moves must have 8 requests outstanding at both ends. On rt, which has the fewest, 94 % have, so the
# programs ask for a tenth more.
both_ends "both ends move" $((moves * 11 / 10)) SWIFTRDMA_MOVE=yes
moved_at_least "both ends move" "$moves" "$moves"
is "... none was refused but for a move of the peer's, or for time" "$(whys_but_time)" '[]'
note "posts were held with nothing outstanding for $(pauses)"

check "the kernel did not complain" test -z "$(complaints)"
check "the module unloads" module_unload
ktap_end
