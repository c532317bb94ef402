#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# qp_memory: bytes the module takes for each QP it tracks. The QPs are there
# before the module, which adopts them: so what grows as it is loaded is its
# own, and not the driver's. The same with few QPs tells what it takes at all.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh

few=100

# Bytes of live objects in the caches the module can take from: its own, the
# general ones, and the nodes of its indexes.
used() {
	awk '/^(swiftrdma|srdma|kmalloc-(cg-)?[0-9]|radix_tree_node)/ { sum += $2 * $4 } END { printf "%d\n", sum }' /proc/slabinfo
}
cache() { awk '/^(swiftrdma|srdma)/ { printf "%s\"%s\":{\"objects\":%d,\"bytes\":%d}", sep, $1, $2, $4; sep = "," }' /proc/slabinfo; }

# Objects that wait in the CPUs' own lists count as live until flushed.
settle() {
	sleep 1
	echo 3 >/proc/sys/vm/drop_caches
	for f in /sys/kernel/slab/*/shrink; do echo 1 >"$f"; done 2>/dev/null
}

# growth N: bytes that loading takes with N QPs there
growth() {
	local before after

	row_qps=$1 hold_qps --dev rxe0 --modify rts
	settle
	before=$(used)
	srdma_load || row_die "insmod failed"
	settle
	after=$(used)
	[ "$(dev rxe0 qps)" -ge "$1" ] || row_die "only $(dev rxe0 qps) QPs are tracked"
	row_say "$1 QPs: $((after - before)) bytes; own caches: $(cache)"
	srdma_unload || row_die "unload failed"
	kill "$held"; wait "$held"; held=
	echo $((after - before)) >"$row_tmp/growth"
}

srdma_loaded && { srdma_unload || row_die "unload failed"; }
growth $few
least=$(cat "$row_tmp/growth")
growth "$row_qps"
most=$(cat "$row_tmp/growth")
each=$(awk -v a="$most" -v b="$least" -v n=$((row_qps - few)) 'BEGIN { printf "%.1f", (a - b) / n }')
row qp_memory "$each" bytes null null '<=' 256 qps "$row_qps"
