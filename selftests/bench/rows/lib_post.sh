#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# lib_post_insns: what counting by libswiftrdma adds to a post and to the poll that finds its
# completion, over libmlx5, in instructions; "latency": what the default mode adds, which
# also matches each completion with its request. In a VM with --icount, where an instruction
# takes 4 ns of guest time, over the software ConnectX.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh

insn_ns=4
rounds=${ROW_ROUNDS:-6}
lib=$PWD/build/lib/libswiftrdma.so.1

# cost KEY=VALUE...: of a post and a poll, with such an environment.
cost() {
	env "$@" setarch -R build/bench/postcost --dev mlx5_0 --posts 1000 >"$row_tmp/cost" || return
	echo $(($(json_field median_ns <"$row_tmp/cost") + $(json_field poll_ns <"$row_tmp/cost")))
}

added() { awk -v a="$1" -v b="$2" -v i=$insn_ns 'BEGIN { printf "%.0f", (a - b) / i }'; }

[ -e "$lib" ] || row_die "no $lib"
for ((i = 0; i < rounds; i++)); do
	cost NONE=1 >>"$row_tmp/without" || row_die "without: it failed"
	cost LD_PRELOAD="$lib" SWIFTRDMA_STATS="$row_tmp/stats" >>"$row_tmp/with" || row_die "with: it failed"
	cost LD_PRELOAD="$lib" SWIFTRDMA_MODE=count >>"$row_tmp/count" || row_die "count: it failed"
done
seen=$(jq -s 'map(.devices[].wrs) | unique | join(",")' "$row_tmp/stats")
[ "$seen" = '"1000"' ] || row_die "the library saw $seen requests, not 1000"
without=$(median <"$row_tmp/without")
with=$(median <"$row_tmp/with")
count=$(median <"$row_tmp/count")
row lib_post_insns "$(added "$count" "$without")" insns null null '<=' 80 \
	of "$(added "$without" 0)" latency "$(added "$with" "$without")" simulated true
