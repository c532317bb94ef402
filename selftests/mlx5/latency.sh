#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The mean time of work requests in send queues, of programs that know nothing of it, by
# Little's law. And where it cannot be known it is absent.
#
# The device counts exactly, for each request, the time from its doorbell until a completion covered
# it; for a request without a completion that is the one of the next request that has one. This is the
# reference. Where the kernel cannot read a send queue, the signal is the time until the device was
# done with the request itself, which it counts as well. What the program measured itself is printed
# beside them.
#
#   scripts/vm --nic softhca -- selftests/mlx5/latency.sh
#   scripts/vm --nic softhca -- env FULL=1 selftests/mlx5/latency.sh	all loads

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

SECONDS_READ=15 LOOKS_LEAST=200
QUERY_QP=50b BAD_PARAM=3
param() { echo "$2" >"/sys/module/swiftrdma_mlx5/parameters/$1"; }
hold() { echo "$1" >$hca_debug/hca0/hold_us; }
sent() { summary mlx5_0 commands; }
looks() { swiftrdma -i "$1s" -j qp show dev mlx5_0 pid "$pid"; }
# The latency of the only QP and of the job, "null" where there is none.
qp_latency() { looks "${1:-4}" | jq '.[0].queue_latency'; }
job_latency() { swiftrdma -i 4s -j job show load | jq '.[0].queue_latency'; }

has_latency() { [ "$(qp_latency 8)" != null ]; }

# queued_start US ARG...: a program of that load, and a device that takes US for each request
queued_start() {
	local us=$1

	shift
	: >"$work/queued"
	queued --dev mlx5_0 --chance 80 --step 5000 "$@" >"$work/queued" 2>&1 & queued=$!
	pid=$queued
	wait_for 60 grep -q ready "$work/queued" || cat "$work/queued"
	hold "$us"
}
queued_end() {
	hold 0
	kill -TERM "$queued"
	wait "$queued"
}

# device: "QPN WQEBBS OWN_NS COVERED COVERED_NS" of each QP, as the device counts.
device() { awk 'NR > 1' $hca_debug/hca0/latency | sort; }
# reference COUNT SUM: mean of two columns' growth, over the program's QPs
reference() {
	join "$work/before" "$work/after" | join - <(sort "$work/qpns") |
		awk -v n="$1" -v s="$2" '{ c += $(n + 4) - $n; t += $(s + 4) - $s } END { printf "%.0f", t / c }'
}
near() { awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { exit !(a > b * (1 - p / 100) && a < b * (1 + p / 100)) }'; }
# near_to NAME GOT WANTED PERCENT
near_to() { check "$1: $2 ns, the device says $3 ns" near "" "$2" "$3" "$4"; }

# Looks end 10 s after the last reader that asked for them, so that in the middle of a long
# interval somebody must ask.
keep_asking() {
	while :; do
		swiftrdma -i 1s -j qp show dev mlx5_0 >/dev/null
		nap 4
	done
}

# measure US QPS DEPTH SIGNAL [SGES]: the device takes US for each request of a QP
measure() {
	local name="$2 QPs, depth $3, signalled 1 in $4, ${5:-1} SGEs" qp job own covered was looked s asks

	queued_start "$1" --qps "$2" --depth "$3" --signal "$4" --sges "${5:-1}"
	swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '.[].qpn' >"$work/qpns"
	sleep 3
	# With fewer looks their own error is too near to 10 %. A machine that is busy with others
	# takes longer for them.
	for s in $SECONDS_READ $((2 * SECONDS_READ)) $((4 * SECONDS_READ)); do
		was=$(sent)
		device >"$work/before"
		keep_asking & asks=$!
		looks "$s" >"$work/qp" & qp=$!
		swiftrdma -i "${s}s" -j job show load >"$work/job"
		wait $qp
		kill $asks
		device >"$work/after"
		looked=$(($(sent) - was))
		wait $asks 2>/dev/null
		[ $looked -ge $LOOKS_LEAST ] && jq -e '.[0].queue_latency' "$work/job" >/dev/null && break
		note "$name: $looked looks in $s s are too few"
	done
	queued_end
	is "$name: the program ended without an error" $? 0
	# Without a reference all that follows is void.
	is "$name: the device counts all QPs of the program" \
		"$(join "$work/before" "$work/after" | join - <(sort "$work/qpns") | wc -l)" "$2"
	own=$(reference 2 3)
	covered=$(reference 4 5)
	job=$(jq '.[0].queue_latency' "$work/job")
	near_to "$name: the job" "$job" "$covered" 10
	[ "$4" = 1 ] || check "$name: the device was done earlier, after $own ns" [ "$own" -lt "$covered" ]
	# Of each of many there are few looks, so each is less exact than their middle.
	[ "$2" -gt 4 ] || near_to "$name: the QPs' median" \
		"$(jq 'map(.queue_latency | values) | sort | .[length / 2 | floor]' "$work/qp")" "$covered" 10
	note "$looked commands in $s s; the device was done after $own ns; the program: $(sed -n 's/.*mean_ns //p' "$work/queued") ns; QPs with a value: $(jq 'map(.queue_latency | values) | length' "$work/qp")"
	check "$name: commands are within the share" test "$looked" -le $((s * 275 + 250))
}

ktap_begin
dmesg -C
# The device polls: let it sleep between two looks, or the commands of the kernel's normal
# threads would wait for it while queues are full, and not while they are empty.
echo 1000 >/sys/module/softhca/parameters/nap_us
# No program here posts so much, and a QP with an ambiguous count has no latency: then a guest
# may stand still for half a minute.
check "load" both_load max_rate=2000 detail=0
swiftrdma job set load match comm=queued >/dev/null

# Slow enough for what a busy machine does to the guest: where its CPUs stand still, and that
# is for some 10 ms, the device catches up first, and whoever looks sees the queue after that.
measure 200000 1 1 1
measure 50000 1 8 1
measure 10000 1 64 16
measure 50000 64 16 1
measure 20000 64 64 16
measure 50000 4 16 4 6
if [ -n "${FULL-}" ]; then
	measure 100000 1 4 1
	measure 50000 1 16 1
	measure 10000 1 64 1
	measure 20000 1 16 16
	measure 50000 4 8 1
	measure 200000 64 1 1
	measure 100000 64 4 1
	measure 20000 64 64 1
	measure 50000 64 16 16
fi

# Only while somebody wants it.
queued_start 50000 --depth 8
sleep 11
was=$(sent)
is "who does not ask for an interval gets none" "$(swiftrdma -j qp show pid "$pid" | jq '.[0].queue_latency')" null
sleep 2
is "... and has no command sent" "$(sent)" "$was"
as_nobody swiftrdma -i 2s -j qp show >/dev/null
is "nor has a reader without privileges" "$(sent)" "$was"
qp_latency 2 >/dev/null
check "a reader who asks has" test "$(sent)" -gt "$was"
qpn=$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '.[0].qpn')
explained() { swiftrdma -i 4s qp explain mlx5_0 "$qpn" | tr -s ' \n' ' '; }
says_latency() { explained | grep -qE 'a request is in the send queue for [0-9.]+ m?s on average, as the kernel measured'; }
check "qp explain says it" wait_for 60 says_latency
says_job_latency() { explained | grep -qE 'a request of its job is in a send queue for [0-9.]+ m?s on average, as the kernel measured'; }
check "... and that of the job" wait_for 60 says_job_latency
top_has() {
	swiftrdma -j top batch n 1 interval 4s | jq -e --argjson qpn "$qpn" '
		(.qps[] | select(.dev == "mlx5_0" and .qpn == $qpn).queue_latency > 0) and
		(.jobs[] | select(.job == "load").queue_latency > 0)' >/dev/null
}
check "top has both" wait_for 60 top_has
top_prints() { swiftrdma top "$1" batch n 1 interval 4s | grep -qE ' Q-LATENCY( |$)'; }
check "... in its table of QPs, too" wait_for 60 top_prints qps
check "... and in that of jobs" wait_for 60 top_prints jobs
cat >"$work/policy.yaml" <<-EOF
	levels: [{level: 1, sl: 1}]
	jobs: [{name: load, class: latency, match: [{comm: queued}]}]
	policies:
	  - {name: slow, for: job load, when: job.latency > 1ms, do: job.level = 1, undo: {when: job.latency < 500us}}
EOF
check "a recording" swiftrdma -i 500ms record "$work/rec" count 20
replayed=$(swiftrdma policy simulate "$work/policy.yaml" replay "$work/rec" 2>&1)
like "a recording has it, and a policy would have acted by it" "$replayed" 'would: job load: slow: job load latency [0-9.]+ ms > 1 ms'
is "... so it is not without latencies" "$(grep -c 'this recording has none' <<<"$replayed")" 0
sleep 11
was=$(sent)
sleep 2
is "and none any more, 10 s after the last" "$(sent)" "$was"

# Where it cannot be known.
param outstanding_share 0
is "no looks, no latency of a QP" "$(qp_latency)" null
is "... nor of its job" "$(job_latency)" null
is "... and no commands" "$(sent)" "$was"
param outstanding_share 25
check "with looks there is" wait_for 60 has_latency
sleep 11
echo "$QUERY_QP $BAD_PARAM 1000000" >$hca_debug/hca0/fail_command
was=$(sent)
is "a device that refuses the command: none" "$(qp_latency 8)" null
check "... and it is not asked again at once: $(($(sent) - was)) commands" test $(($(sent) - was)) -le 20
echo "$QUERY_QP $BAD_PARAM 0" >$hca_debug/hca0/fail_command
sleep 2
check "and when it answers again there is" wait_for 60 has_latency
param max_rate 1000000000
sleep 1
param max_rate 2000
is "the count is ambiguous" "$(swiftrdma -j qp show pid "$pid" | jq '.[0].wrs_ambiguous')" true
is "so there is none" "$(qp_latency)" null
is "... nor of its job" "$(job_latency)" null
queued_end

queued_start 50000 --depth 8 --sges 6 --mixed
sleep 3
is "requests of one and of two WQEBBs: no latency of the QP" "$(qp_latency 8)" null
is "... nor of its job" "$(job_latency)" null
explained_mixed() { swiftrdma -i 4s qp explain mlx5_0 "$1" | tr -s ' \n' ' ' | grep -q 'do not all take the same number of blocks'; }
check "... which qp explain says" explained_mixed \
	"$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '.[0].qpn')"
check "... and looks have seen" \
	test "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '.[0].request_changes')" -gt 0
queued_end

queued_start 1000 --depth 1 --step 1000000
is "a QP that does nearly nothing has none" "$(qp_latency)" null
queued_end

# QPs that are older than the provider.
rmmod swiftrdma_mlx5
queued_start 50000 --depth 8
check "the provider comes" mlx5_load max_rate=2000 detail=0
swiftrdma qp show >/dev/null
swiftrdma -j qp show pid "$pid" | jq '.[].qpn' >"$work/qpns"
device >"$work/before"
got=$(qp_latency $SECONDS_READ)
device >"$work/after"
near_to "a QP that is older than the provider" "$got" "$(reference 2 3)" 10
queued_end
rmmod swiftrdma_mlx5
queued_start 50000 --depth 8
echo "$QUERY_QP $BAD_PARAM 1000000" >$hca_debug/hca0/fail_command
check "it comes again, and the device does not tell of a QP" mlx5_load max_rate=2000 detail=0
swiftrdma qp show >/dev/null
echo "$QUERY_QP $BAD_PARAM 0" >$hca_debug/hca0/fail_command
is "its requests are not counted" "$(swiftrdma -j qp show pid "$pid" | jq '.[0].wrs')" null
is "so its latency is unknown" "$(qp_latency)" null
is "... and its job's" "$(job_latency)" null
rmmod swiftrdma_mlx5
check "without a sampler" mlx5_load max_rate=2000 detail=0 sampler=0
is "none at all" "$(qp_latency)" null
queued_end

check "unload" both_unload
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
