#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the library in a process measures becomes signals: the latencies that job show, a
# recording and the agent have are the program's own, from a log of each of its requests.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/runtime/full/signals.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh

agent=
trap '[ -z "$agent" ] || kill "$agent" 2>/dev/null; rm -rf "$work"' EXIT

# Every request is a sample, so that a slow machine has enough of them in a window of 5 s.
export SWIFTRDMA_SAMPLE=1
depth=8
uptime_ns() { awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime; }

# start NAME [OPTION]... -- [LAT OPTION]...: lat in job kv, with OPTIONs of run.
start() {
	local name=$1 run=()

	shift
	while [ "$1" != -- ]; do
		run+=("$1")
		shift
	done
	shift
	: >"$work/$name.out"
	swiftrdma run --job kv "${run[@]}" -- \
		lat --client-dev "${dev[0]}" --server-dev "${dev[1]}" --interval 200 --outstanding $depth \
		--log "$work/$name.log" "$@" >"$work/$name.out" 2>"$work/$name.err" & pid=$!
	wait_for 20 grep -q ^ready "$work/$name.out" || note "$(cat "$work/$name.err")"
}

# finish NAME: ends it; what it says of itself is in $work/NAME.out.
finish() {
	kill -TERM "$pid"
	wait "$pid"
}

# of JOB KEY, with what was shown last.
shown() { jq -r ".[] | select(.job == \"$1\") | (.$2) | if . == null then \"absent\" else . end" "$work/shown"; }
# of_dev KEY: the same of the job kv on the first device.
of_dev() { shown kv "devs[] | select(.dev == \"${dev[0]}\") | $1"; }
show_job() { swiftrdma -j "$@" job show kv >"$work/shown"; }

# own NAME Q [FROM TO]: the quantile of the program's own log, ns, of what was complete between.
own() {
	awk -v from="${3:-0}" -v to="${4:-1e30}" '$1 + $2 >= from && $1 + $2 <= to { print $2 }' "$work/$1.log" |
		sort -n | awk -v q="$2" '{ v[NR] = $1 } END { i = int(NR * q + 0.999999); print v[i < 1 ? 1 : i] }'
}

# near NAME GOT WANTED PERCENT
near() {
	awk -v a="$2" -v b="$3" -v p="$4" 'BEGIN { exit !(a + 0 == a && b > 0 && a >= b * (1 - p / 100) && a <= b * (1 + p / 100)) }'
	point $? "$1: $2 ns, by its own log $3 ns"
}

# near_since NAME GOT Q EARLIEST LATEST TO PERCENT: the quantile Q of program one's log, of an
# interval that began between EARLIEST and LATEST.
near_since() {
	local a b

	a=$(own one "$3" "$4" "$6") b=$(own one "$3" "$5" "$6")
	awk -v got="$2" -v a="$a" -v b="$b" -v p="$7" 'BEGIN {
		lo = a < b ? a : b; hi = a < b ? b : a
		exit !(got + 0 == got && lo > 0 && got >= lo * (1 - p / 100) && got <= hi * (1 + p / 100)) }'
	point $? "$1: $2 ns, by its own log $a to $b ns"
}

qp_of() { awk -v "end=$2" '/^ready/ { print end == "client" ? $4 : $8 }' "$work/$1.out"; }
qp_says() { swiftrdma -j "${@:2}" qp show dev "${dev[0]}" qpn "$(qp_of "$1" client)" | jq -r '.[0]'; }
# debugfs FILE KEY VALUE COLUMN: of the line of the first device's table in which KEY has that value.
debugfs() {
	awk -v key="$2" -v value="$3" -v column="$4" '
		$0 == "" { delete at }
		key in at && $at[key] == value { print column in at ? $at[column] : ""; next }
		!length(at) { for (i = 1; i <= NF; i++) at[$i] = i }' "$srdma_debugfs/${dev[0]}/$1"
}
# The same of what top prints of the job.
top_prints() {
	swiftrdma top jobs batch n 1 interval 1s | awk -v column="$1" '
		$1 == "JOB" { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == "kv" { print $at[column] }'
}
latencies_read() { show_job && [ "$(shown kv p99_samples)" != absent ] && [ "$(shown kv p99_samples)" -ge "$1" ]; }

# What the kernel counts: calls that post on rxe, and WQEBBs, of which a request has one, on mlx5.
rates_unreported='^absent absent$' unseen=0 size_off=0.1
[ $nic = rxe ] || rates_unreported='^absent [1-9][0-9.]*$' unseen=null size_off=10

ktap_begin
mark_dmesg
check "the module is loaded" module_load
# Else the device, which polls, would take a CPU away from its programs.
[ $nic = rxe ] || echo 1000 >/sys/module/softhca/parameters/nap_us
check "a job" swiftrdma job set kv class latency match cgroup=/kv

# --- without the library nothing is told, and not 0 ---
start bare --no-library --
show_job -i 1s
is "without the library a job has no latency" "$(shown kv p50) $(shown kv p99) $(shown kv p99_samples)" "absent absent absent"
like "... and no rate of bytes, nor of work requests where the device has none" \
	"$(shown kv byte_rate) $(shown kv wr_rate)" "$rates_unreported"
is "... nor has its QP" "$(qp_says bare -i 1s | jq -r '[.outstanding, .latency, .library] | map(. == null) | all')" true
like "qp explain says that it is not in the process" "$(swiftrdma qp explain "${dev[0]}" "$(qp_of bare client)")" \
	'libswiftrdma would tell them, and is not in its process'
finish bare

# --- the whole life of a program ---
start one -- --count 500000
like "the library is attached" "$(wait_for 20 latencies_read 1000 && shown kv 'devs | map(.library_processes) | add')" '^[1-9]'
check "enough is sampled for a window" wait_for 60 latencies_read 3000
# An interval begins with a reading, which is late on a busy machine.
from=$(uptime_ns)
show_job -i 5s
to=$(shown kv time)
note "in $(((to - from) / 1000000)) ms: $(shown kv p99_samples) samples"
near_since "p50 of an interval" "$(shown kv p50)" 0.5 "$from" $((to - 5000000000)) "$to" 10
near_since "p99 of an interval" "$(shown kv p99)" 0.99 "$from" $((to - 5000000000)) "$to" 20
like "... says how many samples it is from" "$(shown kv p99_samples)" '^[1-9][0-9]{3,}$'
like "the rate of work requests is the library's" "$(shown kv wr_rate)" '^[1-9]'
# On mlx5 the kernel counts requests, and not when the library counts bytes.
size=$(jq '.[0] | .byte_rate / .wr_rate / 8' "$work/shown")
check "... of 64 bytes each: $size" awk -v size="$size" -v off=$size_off 'BEGIN { exit !(size > 64 - off && size < 64 + off) }'
posted=$(qp_says one | jq .reported_wrs)
like "qp show counts its requests" "$posted" '^[1-9]'
check "... has a latency and what is outstanding" \
	jq -e ".latency > 0 and .queue_delay > 0 and .latency_max >= .latency and .outstanding <= $depth and .library" \
	<<<"$(qp_says one -i 1s)"
is "no doorbell rang past the library, where doorbells are requests" \
	"$(qp_says one -i 1s | jq -c '[.doorbells_unseen, .reported_calls > 0]')" "[$unseen,true]"
out=$(swiftrdma qp explain "${dev[0]}" "$(qp_of one client)")
like "qp explain says what the library saw" "$out" 'libswiftrdma in its process saw requests take'
like "... and the quantile of its job, or what it takes" "$out" 'p99 of its job( is|: [0-9]+ latencies)'
from=$(uptime_ns)
swiftrdma -j top jobs batch n 1 interval 4s | jq '[{job: "kv", time, p50: (.jobs[] | select(.job == "kv").p50)}]' >"$work/shown"
to=$(shown kv time)
near_since "top has its p50" "$(shown kv p50)" 0.5 "$from" $((to - 4000000000)) "$to" 10
like "... in its table, too" "$(top_prints P50)" '^[0-9.]+[um]s$'
qpn=$(qp_of one client)
before=$(qp_says one | jq .reported_wrs)
told=$(debugfs qp_reports qpn "$qpn" wrs)
after=$(qp_says one | jq .reported_wrs)
in_order() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }
check "debugfs counts the QP's requests: $before, $told, $after" in_order "$before" "${told:--1}" "$after"
check "... and has what is outstanding" [ "$(debugfs qp_reports qpn "$qpn" outstanding)" -le $depth ]
like "... its latency and what it waits behind others" \
	"$(debugfs qp_reports qpn "$qpn" latency_mean_ns) $(debugfs qp_reports qpn "$qpn" hol_mean_ns)" '^[1-9][0-9]* [1-9][0-9]*$'
is "... its process" "$(debugfs qp_reports qpn "$qpn" pid)" "$(qp_says one | jq .pid)"
check "a recording" swiftrdma -i 100ms record "$work/rec" count 80
finish one
show_job
near "p50 of the whole life" "$(shown kv p50)" "$(own one 0.5)" 5
near "p99 of the whole life" "$(shown kv p99)" "$(own one 0.99)" 10
is "... of as many requests as the program had" "$(shown kv 'devs | map(.reported_wrs // 0) | add')" \
	"$(awk '/^samples/ { print $2 + $NF }' "$work/one.out")"
is "no process is attached any more" "$(shown kv 'devs | map(.library_processes // 0) | add')" 0
near "debugfs has the p50 of the job" "$(debugfs reports name kv p50_ns)" "$(shown kv p50)" 1
near "... and the p99" "$(debugfs reports name kv p99_ns)" "$(shown kv p99)" 1
is "job show has what debugfs has: requests that are done, dropped, failed and received" \
	"$(of_dev '"\(.done) \(.dropped) \(.errors) \(.recv_wrs)"')" \
	"$(for of in 'done' dropped errors recv_wrs; do debugfs reports name kv $of; done | xargs)"
near "... and the mean wait behind others" "$(of_dev '.queue_delay')" \
	"$(debugfs reports name kv hol_mean_ns)" 1
is "... and the longest" "$(of_dev '.hol_max')" "$(debugfs reports name kv hol_max_ns)"
is "no QP of it is left in debugfs" "$(debugfs qp_reports qpn "$qpn" wrs)" ""

# --- a library that only counts measures nothing, and that is told ---
export SWIFTRDMA_MODE=count
start counted --
counts() { [ "$(qp_says counted | jq '.reported_wrs // 0')" -gt 100 ]; }
check "a program that is only counted" wait_for 60 counts
is "the QP is only counted" "$(qp_says counted -i 1s | jq -c '[.library_flags, .latency, .outstanding, .library]')" \
	'[["no-order"],null,null,true]'
qpn=$(qp_of counted client)
is "... and not measured, in debugfs" \
	"$(for of in flags outstanding latency_max_ns hol_max_ns latency_mean_ns hol_mean_ns; do debugfs qp_reports qpn "$qpn" $of; done | xargs)" \
	"no_order - - - - -"
finish counted
unset SWIFTRDMA_MODE

# --- knobs that the library enforces ---
start held --
check "rates and credits" swiftrdma action set job kv wr_rate 50/s bit_rate 100Mbit/s credits 4 for 60s
held_back() { show_job && [ "$(shown kv 'devs | [.[].held[]? | select(.knob == "wr_rate" and .posts > 0)] | length')" -gt 0 ]; }
check "posts are held" wait_for 60 held_back
is "job show has the knob that held them" "$(shown kv 'devs | [.[].held[]? | select(.knob == "wr_rate")][0] | "\(.state) \(.processes) \(.in_force)"')" "in_force 1 1"
is "debugfs: the job's knobs" "$(for of in wr_rate bit_rate credits; do debugfs jobs name kv $of; done | xargs)" "50 100000000 4"
is "debugfs: the actions' knobs" "$(awk '/ job kv / { print $5, $6 }' "$srdma_debugfs/${dev[0]}"/actions | sort | xargs)" \
	"bit_rate 100000000 credits 4 wr_rate 50"
like "debugfs: what was held" "$(grep -E ' kv +wr_rate ' "$srdma_debugfs/${dev[0]}"/reports)" ' wr_rate +1 +1 +[1-9][0-9]* +[1-9][0-9]* +[1-9][0-9]* +[0-9]+$'
check "the knobs go" swiftrdma action clear all
finish held

# --- policies decide by it, live and on the recording ---
policy_by_p99 "job.p99 > job.slo_p99" >"$work/policy.yaml"
like "what runs where" "$(swiftrdma -j policy check "$work/policy.yaml" 2>/dev/null | jq -r '.[0].runs')" '^library$'
out=$(swiftrdma policy simulate "$work/policy.yaml" replay "$work/rec" 2>&1)
like "the recording has the latencies: a policy would have acted by p99" "$out" 'would: job kv: slow: job.p99 > job.slo_p99 \(job kv p99 [0-9.]+ [mu]s, job kv slo_p99 1 us\)'
swiftrdma-agent --config "$work/policy.yaml" --log-json >"$work/json" 2>"$work/agent" & agent=$!
start two --
check "the agent decides" wait_for 60 grep -q '"event": *"decision"' "$work/json"
note "$(grep decision "$work/json" | head -n 1)"
like "... by p99, which the log says" "$(grep decision "$work/json" | head -n 1)" 'slow: job.p99 > job.slo_p99 \(job kv p99 [0-9.]+ [mu]s'
check "... with its value" jq -e 'select(.event == "decision") | .signals["job.p99"] > 1000' "$work/json"
like "the command judges by the agent's target" "$(show_job; shown kv slo_p99) $(shown kv slo_met)" '^1000(\.0)? false$'
like "... and says so in words" "$(swiftrdma job show kv)" ' no( |$)'
kill "$agent"
wait "$agent"
agent=

# --- a process of the job without it: no rate, and nothing counted twice ---
first=$pid
start three --no-library --
show_job -i 3s
like "with a process that has no library the job has no rate but the kernel's" \
	"$(shown kv byte_rate) $(shown kv wr_rate)" "$rates_unreported"
like "... but the latency of those that have it" "$(shown kv p50)" '^[1-9]'
finish three
pid=$first
finish two
check "the job is gone" swiftrdma job del kv
is "the kernel complains of nothing" "$(complaints)" ""
check "the module is unloaded" module_unload
ktap_end
