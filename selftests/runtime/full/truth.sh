#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Are the latencies of a job true? Programs measure every request; the library in them takes
# samples, as many as it chooses. What the signals say of an interval is compared with all
# that the program measured in it: p50 within 5 %, p99 within 10 %, under three loads. Then
# how long small reads wait behind a large write on their QP, within 10 %.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/runtime/full/truth.sh
#   scripts/vm --nic rxe -- env FULL=1 selftests/runtime/full/truth.sh	longer

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
PATH=$PWD/build/progs:$PATH

agent=
trap '[ -z "$agent" ] || kill "$agent" 2>/dev/null; rm -rf "$work"' EXIT
unset SWIFTRDMA_SAMPLE SWIFTRDMA_MODE

# How long a load lasts at first, s, and how many samples a p99 takes at least.
shortest=12
[ -z "${FULL-}" ] || shortest=60
least_samples=1000

run=(swiftrdma run --job kv --)
figure_of_job() { jq -r ".[0] | $1 // \"absent\"" "$work/shown"; }
reported() { swiftrdma -j job show kv | jq '[.[0].devs[].reported_wrs // 0] | add'; }
uptime_ns() { awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime; }

# A load lasts for $lasts seconds and leaves "TIME NS" of each of its requests in $work/own.

# perftest prints the time from each post to the next. It has one request under way, and
# posts the next one as soon as it has polled the completion.
read_lat() {
	pair -p 20001 ib_read_lat -d "${dev[1]}" "${perf[@]}" -p 20001 -s 4096 -n "$1" -- \
		"${run[@]}" ib_read_lat -d "${dev[0]}" "${perf[@]}" -p 20001 -s 4096 -n "$1" \
		--report-unsorted localhost >"$work/out" 2>"$work/err" || return
	awk -F ', ' '/^[0-9]+, [0-9.e+]+$/ { printf "0 %.0f\n", $2 * 1000 }' "$work/out" >"$work/own"
}
# How many of them fit a second.
read_rate() {
	read_lat 1000 && awk '{ ns += $2 } END { printf "%d", NR * 1e9 / ns + 1 }' "$work/own"
}
# On the software ConnectX a read may take less than 20 us, and what the library and the
# program do between two reads, which only the program counts, would be a part of that.
hold() { [ $nic = rxe ] || echo "$1" >$hca_debug/hca0/hold_us; }
load_reads() { read_lat $((lasts * per_second)); }

# bursts N OPTION...: N requests at once, each with a completion, of which the next burst waits
# for all; the program sleeps until there is one.
bursts() {
	"${run[@]}" lat --client-dev "${dev[0]}" --server-dev "${dev[1]}" --outstanding "$1" \
		--interval 200 "${@:2}" --log "$work/own" >"$work/out" 2>"$work/err"
}
load_bursts() { bursts 8 --duration "$lasts"; }

# Four QPs, of whose requests one in four has a completion; the program polls every 500 us.
load_queued() {
	local pid

	: >"$work/out"
	"${run[@]}" queued --dev "${dev[0]}" --qps 4 --depth 16 --signal 4 --log "$work/own" \
		>"$work/out" 2>"$work/err" & pid=$!
	wait_for 60 grep -q ^ready "$work/out" && nap "$lasts"
	kill -TERM "$pid"
	wait "$pid"
}

# within LOAD: figures of an interval in which LOAD began and ended. Status 2: it did not.
within() {
	local s=$((lasts * 3 / 2 + 20)) reader began ended to

	before=$(reported)
	swiftrdma -j -i ${s}s job show kv >"$work/shown" & reader=$!
	nap 2
	began=$(uptime_ns)
	"$1" || return 1
	ended=$(($(uptime_ns) + 10000000))
	wait "$reader" || return 1
	to=$(figure_of_job .time)
	# The reading with which the interval began is older than this.
	[ "$began" -ge $((to - s * 1000000000)) ] && [ $ended -le "$to" ] && return
	note "it took $(((ended - began) / 1000000)) ms, too long for an interval of $s s"
	return 2
}

# What the program measured, sorted, in awk's v[1..n], and q(p), the quantile.
own() {
	awk '{ print $2 }' "$work/own" | sort -n | awk "${@:2}" '
		function q(p, i) { i = n * p; if (i > int(i)) i = int(i) + 1; return v[i < 1 ? 1 : i > n ? n : i] }
		{ v[++n] = $1 }
		END { if (!n) exit 1; '"$1"' }'
}

# Would p99 by so many samples of weights from 1 to twice their mean be within 10 %, at twice
# the standard error? Quantiles of what the program measured tell, whatever the signals say.
samples_suffice() {
	[ "$1" -ge $least_samples ] && own 'sd = sqrt(0.99 * 0.01 * 4 / 3 * (k < n ? 1 - k / n : 0) / k)
		exit !(q(.99 - 2 * sd) >= .9 * q(.99) && q(.99 + 2 * sd) <= 1.1 * q(.99))' -v k="$1"
}

# near NAME GOT OWN PERCENT DETAIL
near() {
	local off

	off=$(awk -v a="$2" -v b="$3" 'BEGIN { if (a + 0 == a && b > 0) printf "%.1f", (a / b - 1) * 100; else print "unknown" }')
	awk -v a="$off" -v p="$4" 'BEGIN { exit !(a + 0 == a && a <= p && a >= -p) }'
	point $? "$1: $2 ns, its own $3 ns: $off % off, of $4 % ($5)"
}

all_requests=0 all_samples=0
# true_of NAME LOAD [SECONDS]: the load lasts for so many at least
true_of() {
	local n p50 p99 samples left status

	lasts=$shortest
	[ "${3:-0}" -le $lasts ] || lasts=$3
	for _ in 1 2 3; do
		within "$2"
		status=$?
		[ $status -ne 1 ] || break
		samples=$(figure_of_job .p99_samples)
		if [ $status -eq 0 ]; then
			# None would not become more.
			[ "$samples" = 0 ] || samples_suffice "$samples" && break
			note "$1: $samples samples are too few for this p99"
		fi
		lasts=$((lasts * 2))
	done
	[ $status -eq 0 ] || note "$(tail -n 5 "$work/err")"
	is "$1: ran within an interval" $status 0
	[ $status -eq 0 ] || return
	read -r n p50 p99 < <(own 'printf "%d %.0f %.0f\n", n, q(.5), q(.99)')
	left=$(($(reported) - before - n))
	[ $left -ge 0 ] && [ $left -le 64 ]
	point $? "$1: the interval has its $n requests, and $left without a completion"
	[ "$samples" -ge $least_samples ]
	point $? "$1: enough of them were sampled: $samples"
	near "$1: p50" "$(figure_of_job .p50)" "$p50" 5 "$samples samples of $n"
	near "$1: p99" "$(figure_of_job .p99)" "$p99" 10 "$samples samples of $n"
	all_requests=$((all_requests + n)) all_samples=$((all_samples + samples))
}

# behind BYTES: reads behind a write of so many. Leaves in $delay what the signal says.
behind() {
	local name="a write of $1 bytes before reads of 64" s=$((shortest * 2)) pid to n mean

	: >"$work/out"
	"${run[@]}" behind --dev "${dev[0]}" --peer "${dev[1]}" --reads 3 --large "$1" \
		--log "$work/own" >"$work/out" 2>"$work/err" & pid=$!
	wait_for 60 grep -q ^ready "$work/out"
	swiftrdma -j -i ${s}s qp show dev "${dev[0]}" qpn "$(awk '/^ready/ { print $3 }' "$work/out")" >"$work/qp"
	kill -TERM "$pid"
	wait "$pid"
	point $? "$name: works"
	delay=$(jq '.[0].queue_delay' "$work/qp")
	to=$(jq '.[0].time' "$work/qp")
	# Those whose wait ended in the interval.
	read -r n mean < <(awk -v from=$((to - s * 1000000000)) -v to="$to" \
		'$1 + $2 >= from && $1 + $2 <= to { n++; sum += $2 } END { printf "%d %.0f\n", n, n ? sum / n : 0 }' "$work/own")
	note "all of its life: $(tail -n 1 "$work/out")"
	near "$name: qp.queue_delay" "$delay" "$mean" 10 "$n requests in the interval"
}

# The first p99 that the agent decides by. Its window of 5 s opens with its first reading; a
# load of fewer requests than would close it before, all of them samples, begins and ends in it.
# Status 2: this one did not; 1: the agent did not decide.
agent_window() {
	local began ended status=2

	began=$(uptime_ns)
	swiftrdma-agent --dry-run --config "$work/policy.yaml" --log-json >"$work/json" 2>"$work/agent" & agent=$!
	nap 1
	SWIFTRDMA_SAMPLE=1 bursts 8 --count 896
	ended=$(($(uptime_ns) + 10000000))
	wait_for 20 grep -q '"event": *"decision"' "$work/json" || status=1
	kill "$agent"
	wait "$agent"
	agent=
	grep decision "$work/json" | head -n 1 >"$work/decision"
	[ $status -ne 1 ] || return 1
	# Its first reading is younger than its start.
	[ $((ended - began)) -lt 5000000000 ] && [ "$(jq .time "$work/decision")" -gt $ended ] && return
	note "the load took $(((ended - began) / 1000000)) ms of the agent's first 5 s"
	return 2
}

agent_says() {
	local n p50 p99 status

	policy_by_p99 "job.p99 > job.slo_p99 and job.p50 > 1ns" >"$work/policy.yaml"
	for _ in 1 2 3 4 5; do
		agent_window
		status=$?
		[ $status -eq 2 ] || break
	done
	is "a load within the agent's first window" $status 0
	note "$(cat "$work/decision")"
	read -r n p50 p99 < <(own 'printf "%d %.0f %.0f\n", n, q(.5), q(.99)')
	near "the p50 that the agent decided by" "$(jq '.signals."job.p50"' "$work/decision")" "$p50" 5 "all $n requests"
	near "the p99 that the agent decided by" "$(jq '.signals."job.p99"' "$work/decision")" "$p99" 10 "all $n requests"
}

ktap_begin
mark_dmesg
check "the module is loaded" module_load
check "a job" swiftrdma job set kv class latency match cgroup=/kv
link_works() { pingpong rc >/dev/null 2>&1; }
check "the devices reach each other" wait_for 60 link_works
# Else the device, which polls, would take a CPU away from its programs.
[ $nic = rxe ] || echo 1000 >/sys/module/softhca/parameters/nap_us
# From now on the job has totals on both devices, of which intervals are differences.
check "a first program" "${run[@]}" lat --client-dev "${dev[0]}" --server-dev "${dev[1]}" --count 50
hold 200
per_second=$(read_rate)
like "a second one, which makes so many reads a second" "$per_second" '^[1-9]'

# Half as many again, because the machine may become slower.
true_of "ib_read_lat" load_reads $((least_samples * 3 / 2 / per_second + 1))
hold 0
true_of "bursts" load_bursts
true_of "four QPs, 1 in 4 signalled" load_queued
note "in all $all_samples samples of $all_requests requests"
check "not every request was a sample" [ $all_samples -lt $all_requests ]
agent_says

behind 1048576
large=$delay
behind 64
check "behind 1 MiB they wait longer than behind 64 B: $large ns, $delay ns" \
	awk -v a="$large" -v b="$delay" 'BEGIN { exit !(b > 0 && a > 2 * b) }'

check "the job is gone" swiftrdma job del kv
is "the kernel complains of nothing" "$(complaints)" ""
check "the module is unloaded" module_unload
ktap_end
