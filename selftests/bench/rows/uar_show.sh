#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# uar_show_10k: who crowds on which UAR, asked of a device with 10,000 QPs of 20
# processes on some 1,500 UARs, against what there is without the module: rdma res
# show qp, which lists the QPs and has no UAR in it. With --icount, so that the ratio
# repeats; over the software ConnectX.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

procs=20
# All but 12 of the registers are for one QP each, two on a page: 80 pages a process.
registers=160

# The model's own thread looks at every UAR each time.
echo 300 >/sys/module/softhca/parameters/nap_us
srdma_load || row_die "insmod failed"
mlx5_load || row_die "insmod of the provider failed"
pids=()
each=$((row_qps / procs))
for ((p = 0; p < procs; p++)); do
	MLX5_TOTAL_UUARS=$registers hold --dev mlx5_0 --count "$each" --modify rts \
		--no-stdin --fast-exit >"$row_tmp/hold.$p" & pids+=($!)
	wait_for 300 grep -q ^ready "$row_tmp/hold.$p" || row_die "process $p has no $each QPs"
done

# Once: it asks the device for each QP, and is at that for minutes.
theirs=$(repeats=1 took rdma res show qp)
[ "$(grep -c 'link mlx5_0' "$row_tmp/out")" -ge "$row_qps" ] || row_die "rdma: too few QPs"
# What is to be asked of the device was asked by the one before.
swiftrdma uar show mlx5_0 >/dev/null
ours=$(took swiftrdma uar show mlx5_0)
cp "$row_tmp/out" "$row_tmp/uars"
# It must be the answer: as many QPs on as many UARs as the device itself has.
swiftrdma -j uar show mlx5_0 >"$row_tmp/json"
read -r uars qps < <(jq -r '[.[] | select(.kind != "kernel")] |
	"\(length) \(map(.qps) | add)"' "$row_tmp/json")
is=$(hca_uars 0 | awk '{ n++; qps += $2 } END { print n, qps }')
[ "$uars $qps" = "$is" ] || row_die "$uars UARs with $qps QPs; the device says $is"
[ "$qps" -ge "$row_qps" ] || row_die "only $qps QPs"
[ "$(wc -l <"$row_tmp/uars")" -ge "$uars" ] || row_die "too few lines"
row_say "sweeps $(summary mlx5_0 sweeps), records $(summary mlx5_0 records)"
row uar_show_10k "$ours" ms "$theirs" "$(quotient "$theirs" "$ours")" '>=' 10 \
	qps "$qps" uars "$uars" simulated true
kill "${pids[@]}"
wait "${pids[@]}"
both_unload || row_die "unload failed"
