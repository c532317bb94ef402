#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# qp_create, qp_rts: what a QP's way through the kernel costs with the module
# and without, while 10,000 others are tracked. In a VM with --icount, where ns
# stand for executed instructions. Both are measured in turn, several times, in
# one guest, and what drifts is taken out: a round with the module is compared with
# the mean of those before and after it, and the middle one of the rounds stands for
# all: one in four is some 1 % off, with the module or without. Each has the same
# addresses (setarch -R): where the queues of a QP are mapped decides how many page
# tables that takes.
#
#   cost.sh qp_create|qp_rts

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh

case $1 in
qp_create) modify=none ;;
qp_rts) modify=rts ;;
*) row_die "qp_create or qp_rts?" ;;
esac
rounds=8

cost() {
	local out

	out=$(setarch -R qpcost --dev rxe0 --modify "$modify" --iterations 200 --repeats 15 --warmup 100) || exit 1
	json_field median_ns <<<"$out"
}

hold_qps --dev rxe0
srdma_loaded && row_die "the module is loaded already"
without=$(cost) || exit 1
for ((i = 0; i < rounds; i++)); do
	srdma_load || row_die "insmod failed"
	tracked=$(dev rxe0 qps)
	[ "$tracked" -ge "$row_qps" ] || row_die "only $tracked QPs are tracked"
	with=$(cost) || exit 1
	srdma_unload || row_die "unload failed"
	before=$without
	without=$(cost) || exit 1
	row_say "$1: round $i: $before ns before, $with ns with, $without ns after, $tracked tracked"
	echo $(((before + without) / 2)) >>"$row_tmp/without"
	echo "$with" >>"$row_tmp/with"
done
without=$(median <"$row_tmp/without")
with=$(median <"$row_tmp/with")
row "$1" "$with" ns "$without" "$(quotient "$with" "$without")" '<=' 1.04 qps "$row_qps"
