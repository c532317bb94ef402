#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# mlx5_create, mlx5_post, mlx5_sampler: what the mlx5 provider costs, in instructions.
# In a VM with --icount, where an instruction takes 4 ns of guest time, over the
# software ConnectX: what is measured is our code and the drivers', no NIC's.
#
#   mlx5.sh create|post|sampler
#
# The row of the sampler has the instructions of a look at a QP, and as "a_second" all that
# its thread executes in a second while these QPs are connected and idle.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

insn_ns=4
rounds=${ROW_ROUNDS:-20}

# in_turn CMD MIDDLE: runs CMD without the module and then with it, in each round, and applies MIDDLE, median or
# mean, to the rounds: the results are in $without and $with. The first rounds are faster in both, so $difference
# is MIDDLE of the differences of the rounds.
in_turn() {
	local i out before

	for ((i = 0; i < rounds; i++)); do
		out=$($1) || row_die "measurement failed"
		echo "$out" >>"$row_tmp/without"
		before=$out
		srdma_load || row_die "insmod failed"
		mlx5_load || row_die "insmod of the provider failed"
		# Without a reader of QPs: what that sets going (the sampler, for the kernel's
		# own QPs) costs so much a second, whoever makes QPs meanwhile.
		grep -q '^provider *mlx5$' $srdma_debugfs/mlx5_0/summary || row_die "no provider"
		out=$($1) || row_die "measurement failed"
		echo "$out" >>"$row_tmp/with"
		awk -v a="$out" -v b="$before" 'BEGIN { printf "%.1f\n", a - b }' >>"$row_tmp/difference"
		# The data path of users is not hooked, and that is what is measured.
		grep -q '^hook *in place$' $srdma_debugfs/mlx5_0/summary || row_die "post_send is hooked"
		both_unload || row_die "unload failed"
		row_say "round $i: $(tail -n 1 "$row_tmp/without") ns without, $out ns with"
	done
	without=$($2 <"$row_tmp/without")
	with=$($2 <"$row_tmp/with")
	difference=$($2 <"$row_tmp/difference")
}

insns() { awk -v a="$1" -v n=$insn_ns 'BEGIN { printf "%.0f", a / n }'; }

# All that the kernel does for a QP, but for the model's thread, which stands for the
# device. That is made to look at its registers seldom: each look interrupts the
# program, and who computes for longer is interrupted more often. Each program has
# the same addresses (setarch -R).
create_cost() {
	setarch -R qpcost --dev mlx5_0 --modify none --iterations 200 --repeats 5 --warmup 20 \
		--less "$(pgrep -x softhca)" | json_field median_ns
}
post_cost() { postcost --dev mlx5_0 --posts 1000 | json_field median_ns; }

case $1 in
create)
	echo 300 >/sys/module/softhca/parameters/nap_us
	in_turn create_cost median
	row mlx5_create "$(insns "$difference")" insns null null '<=' 4500 \
		of "$(insns "$without")" added "$(quotient "$with" "$without")" simulated true
	;;
post)
	in_turn post_cost median
	row mlx5_post "$(insns "$difference")" insns \
		null null '<=' 0 of "$(insns "$without")" simulated true
	;;
sampler)
	qps=${ROW_QPS:-1000}
	srdma_load || row_die "insmod failed"
	mlx5_load || row_die "insmod of the provider failed"
	wq_start many --dev mlx5_0 --qps "$qps"
	swiftrdma qp show >/dev/null
	thread=$(grep -lx swiftrdma/mlx5_0 /proc/[0-9]*/comm) || row_die "no thread of the sampler"
	# Its CPU time and the clock, ns.
	times() { awk '{ printf "%.0f ", FNR == NR ? $1 : $1 * 1e9 }' "${thread%comm}schedstat" /proc/uptime; }
	figures() {
		awk '$1 == "sweeps" { n = $2 } $1 == "sweep_mean_ns" { m = $2 }
		     $1 == "records" { r = $2 } END { print n, n * m, r }' $srdma_debugfs/mlx5_0/summary
	}
	read -r sweeps ns _ < <(figures)
	read -r cpu now < <(times)
	enough() { [ "$(figures | cut -d' ' -f1)" -ge $((sweeps + 200)) ]; }
	wait_for 120 enough || row_die "the sampler does not sweep"
	read -r cpu1 now1 < <(times)
	read -r sweeps1 ns1 records1 < <(figures)
	[ "$records1" -ge "$qps" ] || row_die "only $records1 records"
	row_say "$((sweeps1 - sweeps)) sweeps over $records1 records"
	row mlx5_sampler "$(awk -v d=$((ns1 - ns)) -v n=$((sweeps1 - sweeps)) -v r="$records1" \
		-v i=$insn_ns 'BEGIN { printf "%.1f", d / n / r / i }')" insns null null '<=' 50 \
		qps "$qps" a_second "$(awk -v d="$cpu $cpu1 $now $now1" -v i=$insn_ns \
			'BEGIN { split(d, t); printf "%.0f", (t[2] - t[1]) / (t[4] - t[3]) * 1e9 / i }')" \
		simulated true
	wq_end many
	both_unload || row_die "unload failed"
	;;
*) row_die "create, post or sampler?" ;;
esac
