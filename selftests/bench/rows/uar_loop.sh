#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# uar_loop: a key-value store's gets, 512 bytes, by 16 threads over 64 QPs, one at a time each, of an unmodified program
# that libmlx5 crowds on 10, 4 and 1 registers. An agent that knows jobs, levels and their order, and
# nothing of registers, has the QPs moved while the program works. Rates are in the time of the
# contention model of a ConnectX-5, to which a device's threads are its QPs; beside each is the rate
# with a register for each QP from the start.
#
# A program that has put the QPs of each thread in a thread domain says itself on which register they
# are: nothing is moved, no placement of new QPs is decided, and the log says why.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

seconds=${ROW_SECONDS:-10}
ticks=100
qps=64
threads=16
scale=$(<"$hca_debug/hca0/time_scale")
lib=$PWD/build/lib/libswiftrdma.so.1
export SWIFTRDMA_MOVE=yes
mkdir -p /sys/fs/cgroup/kv

# The criterion, 500,000/s by default, is a rate of real time, and the model's time is slower.
least=$(awk -v scale="$scale" 'BEGIN { print 500000 / scale }')
cat >"$row_tmp/policy.yaml" <<-EOF
	agent: {interval: 1s, lease: 10s}
	levels: [{level: 1, dscp: 8, sl: 1}]
	jobs:
	  - {name: kv, class: latency, match: [{cgroup: /kv}]}
	  - {name: batch, class: best-effort, match: [{cgroup: /batch}]}
	order: kv > batch
	criteria: {uar_wr_rate: $least/s}
EOF

kv_qps() { swiftrdma -j qp show dev mlx5_0 job kv | jq -c "$1"; }
gets() { swiftrdma -j job show kv | jq '[.[0].devs[] | select(.dev == "mlx5_0") | .reported_wrs // 0] | add // 0'; }
now() { cut -d ' ' -f 1 /proc/uptime; }
# More gets than are under way at first are done by this store. The figure of the job has those of earlier stores, too.
warm() { [ $(($(gets) - gets_before)) -gt $((8 * qps)) ]; }
# rate SECONDS: gets a second of the model's time, over so long, and at least 1000 of them.
rate() {
	local from began=$SECONDS start

	from=$(gets) start=$(now)
	nap "$1"
	while [ $(($(gets) - from)) -lt 1000 ] && [ $((SECONDS - began)) -lt 120 ]; do nap 1; done
	awk -v n=$(($(gets) - from)) -v s="$start" -v e="$(now)" -v scale="$scale" \
		'BEGIN { printf "%.0f", n / (e - s) * scale }'
}
# store NAME [VAR=VALUE]... [-- ARG...]: the program at work, in its job.
store() {
	local name=$1 env=()

	shift
	gets_before=$(gets)
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		env+=("$1")
		shift
	done
	(
		echo $BASHPID >/sys/fs/cgroup/kv/cgroup.procs
		exec env LD_PRELOAD="$lib" "${env[@]}" build/bench/kv --threads $threads --depth 1 --poll 2000 \
			--duration 3600 "${@:2}"
	) >"$row_tmp/$name" 2>"$row_tmp/$name.err" & store=$!
	wait_for 120 warm || row_die "$name: no traffic: $(cat "$row_tmp/$name.err")"
}
# finish NAME: every value was that of its key.
finish() {
	kill "$store"
	wait "$store" || row_die "$1: $(cat "$row_tmp/$1.err")"
	row_say "$1: $(cat "$row_tmp/$1")"
	[ "$(json_field wrong <"$row_tmp/$1")" = 0 ] || row_die "$1: values of other keys"
}
# agent [--dry-run]
agent() {
	swiftrdma-agent "$@" --log-json -c "$row_tmp/policy.yaml" >"$row_tmp/agent" 2>"$row_tmp/agent.err" & agent=$!
}
end_agent() {
	kill "$agent"
	wait "$agent"
	cat "$row_tmp/agent.err" >&2
}
decisions() { jq -cs "map(select(.event == \"decision\")) | $1" "$row_tmp/agent"; }
moved() { kv_qps 'map(select(.now)) | length'; }
# Registers, and the most QPs on one, that carry requests of the program.
registers() { kv_qps '[.[] | select(.carries == null) | .now_uar // .uar] | group_by(.) | [length, (map(length) | max)]'; }

# predicted REGISTERS: messages/s of such a program before and after the same policies have acted, by the
# simulator. Each tick is a millisecond of the model.
predicted() {
	cat >"$row_tmp/scenario.yaml" <<-EOF
		name: uar_loop
		device: mlx5-library
		nic: {preset: cx5}
		time: 140ms
		warmup: 100ms
		interval: 1ms
		jobs:
		  - {name: kv, class: latency, arrival: batch, threads: $qps, qps: $qps, depth: 1, size: 512,
		     uars: $1, spare_uars: $qps}
	EOF
	grep -v '^criteria:' "$row_tmp/policy.yaml" >"$row_tmp/simulated.yaml"
	swiftrdma -j policy simulate "$row_tmp/simulated.yaml" scenario "$row_tmp/scenario.yaml" without hurry 1000 |
		jq -r 'map(.wr_rate) | @tsv'
}

srdma_load || row_die "the module does not load"
# How often QPs advance together is seen in the model's time, too.
insmod "build/kmod/$(uname -r)/swiftrdma_mlx5.ko" period_us=$((25 * scale)) max_rate=100000 max_commands=8 ||
	row_die "the provider does not load"
swiftrdma job set kv class latency match cgroup=/kv || row_die "no job"

# Both rates have an agent that reads; this one does nothing.
store alone MLX5_TOTAL_UUARS=512
agent --dry-run
alone=$(rate "$seconds")
row_say "a register for each QP: $alone/s, $(registers)"
end_agent
finish alone

# loop REGISTERS VAR=VALUE...
loop() {
	local uars=$1 name before after from to took start_then after_then value ratio in_time=true

	name="$uars register$([ "$uars" = 1 ] || echo s)"
	read -r start_then after_then < <(predicted "$uars")
	row_say "$name: the simulator says $start_then/s, then $after_then/s; a register for each QP: $alone_then/s"
	shift
	store start "$@"
	before=$(rate "$seconds")
	from=$(registers)
	row_say "$name: $before/s, $from"
	agent
	spread() { ! alive "$agent" || [ "$(registers | jq '.[1] < 2')" = true ]; }
	wait_for $ticks spread && alive "$agent" || in_time=false
	took=$(decisions 'map(.tick) | (max // 0) - (min // 0) + 1')
	# wait_for waits for longer than $ticks ticks on a slow host.
	[ "$took" -le $ticks ] || in_time=false
	to=$(registers)
	after=$(rate "$seconds")
	row_say "$name: $after/s, $to, after $took ticks; $(moved) QPs have moved; $(decisions length) decisions"
	swiftrdma -i 2 uar show mlx5_0 sort qps top 4 >&2
	end_agent
	finish start
	# Of a program that does nothing at first there is no gain, and the row is void.
	value=$after
	awk -v n="$before" 'BEGIN { exit !(n > 0) }' || value=none
	ratio=$(quotient "$after" "$alone")
	# Whatever the rate is by now: the QPs were not spread in time.
	$in_time || row_say "$name: not spread in $ticks ticks, so the row misses; the ratio is $ratio"
	$in_time || ratio=0
	row uar_loop "$value" messages/s "$alone" "$ratio" '>=' 0.9 in_time $in_time \
		placement "\"$name\"" start "$before" gain "$(quotient "$after" "$before")" \
		uars_before "$(jq '.[0]' <<<"$from")" most_before "$(jq '.[1]' <<<"$from")" \
		uars_after "$(jq '.[0]' <<<"$to")" most_after "$(jq '.[1]' <<<"$to")" \
		predicted_start "$(quotient "$start_then" "$alone_then")" \
		start_ratio "$(quotient "$before" "$alone")" \
		predicted "$(quotient "$after_then" "$alone_then")" \
		ticks "$took" decisions "$(decisions length)" \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}
alone_then=$(predicted $qps | cut -f1)
loop 10 MLX5_TOTAL_UUARS=9 MLX5_NUM_LOW_LAT_UUARS=0
loop 4 MLX5_TOTAL_UUARS=4 MLX5_NUM_LOW_LAT_UUARS=0
loop 1 MLX5_SHUT_UP_BF=1

store domains -- --domains
from=$(registers)
agent
nap 20
n=$(decisions length)
# Of how many QPs, by knob; as many as the state was true for at that time.
passed_over=$(jq -cs 'map(select(.event == "passed_over") | {(.knob): .qps}) | add' "$row_tmp/agent")
row_say "a thread domain for each thread: $from, then $(registers); $n decisions; passed over: $passed_over"
end_agent
[ "$n" = 0 ] || row_die "$n decisions about QPs that can never move"
jq -e '."job.place" > 0 and ."qp.uar" > 0' <<<"$passed_over" >/dev/null || row_die "the log does not say why nothing is done"
[ "$(moved)" = 0 ] || row_die "QPs of a program that has placed them itself were moved"
finish domains
