#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An agent has the libraries of a job's processes split requests and put memory into huge pages, as the job's
# lines in the policy file say, and place new QPs on registers of their own, as a policy decides. The suite
# checks the effect of each, and that the effect ends when its line is removed or the agent is killed.
#
#   scripts/vm --nic softhca -- selftests/runtime/full/acts.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/hugemr.sh
. selftests/lib/hugemr.sh
PATH=$PWD/build/progs:$PATH

thp=/sys/kernel/mm/transparent_hugepage
size=$((64 << 20))
export SWIFTRDMA_CHUNK=yes SWIFTRDMA_HUGE_TIME=600

# policy BULK: the file, with properties of the job bulk.
policy() {
	cat >"$work/policy.yaml" <<-EOF
	agent: {interval: 200ms, lease: 3s}
	jobs:
	  - {name: bulk, class: throughput, match: [{comm: hugemr}], $1}
	  - {name: kv, class: latency, huge_pages: no, match: [{comm: crowd}]}
	policies:
	  - name: spread
	    for: job kv
	    cause: uar
	    when: uar.active_qps >= 2
	    do: place on lightest uar
	    undo: {when: uar.active_qps < 2, hold: 600s}
	EOF
}
agent() { swiftrdma-agent --config "$work/policy.yaml" >"$work/agent" 2>&1 & agent=$!; }
# is_set JOB KNOB VALUE: the job has the knob on one of its devices, at the least.
is_set() { swiftrdma -j job show "$1" | jq -e --argjson v "$3" ".[0].devs | any(.$2 == \$v)" >/dev/null; }
is_clear() { swiftrdma -j job show "$1" | jq -e ".[0].devs // [] | all(.$2 == null)" >/dev/null; }

# registered NAME KIB: a region of 64 MiB, of which so many KiB are in huge pages.
registered() {
	qp huge "reg plain $size"
	is "$1: KiB in huge pages" "$last" "$2"
	checked "$1"
}

ktap_begin
mark_dmesg
check "the module loads" module_load
# Memory gets huge pages only by madvise(), and the kernel's own thread collapses none.
echo madvise >$thp/enabled
echo 4294967295 >$thp/khugepaged/scan_sleep_millisecs

# --- Properties of a job ---

shell=huge
qpsh_start huge env LD_PRELOAD="$lib" hugemr "${dev[0]}" "${dev[1]}"
point $? "a program"
registered "no agent" 0
whole=$moved
qp huge dereg
policy "chunk: 4KiB"
agent
check "an agent has the library split" wait_for 30 is_set bulk chunk 4096
check "... and collapse, which is the default" wait_for 30 is_set bulk huge_pages 1
registered "an agent" $((size / 1024))
is "... the device gets 16 pieces of each message" "$moved" $((16 * whole))
qp huge dereg
policy "huge_pages: no"
kill -HUP $agent
check "another file: nothing is split" wait_for 30 is_clear bulk chunk
check "... nor collapsed" wait_for 30 is_clear bulk huge_pages
registered "another file" 0
is "... the device counts as before" "$moved" "$whole"
qp huge dereg
policy "chunk: 4KiB"
kill -HUP $agent
check "the first file again" wait_for 30 is_set bulk chunk 4096
check "... for huge pages, too" wait_for 30 is_set bulk huge_pages 1
kill -KILL $agent
wait $agent
check "the agent is killed: its lease ends" wait_for 30 is_clear bulk chunk
registered "the agent is killed" 0
is "... the device counts as before" "$moved" "$whole"
qpsh_stop huge

# --- Where new QPs go ---

qps=8
# qps_and_most PID: how many QPs the process has, and how many are on its fullest UAR, which has two registers.
qps_and_most() {
	swiftrdma -j uar show mlx5_0 | jq -r --argjson pid "$1" \
		'[.[] | select(.pid == $pid).qps] | "\(add) \(max)"'
}
is_spread() { [[ $(qps_and_most "$1") =~ ^$qps\ [12]$ ]]; }
# crowd SECONDS: in the background, on one register unless its QPs are placed.
crowd() {
	LD_PRELOAD=$lib SWIFTRDMA_STATS=$stats MLX5_SHUT_UP_BF=1 build/bench/crowd --qps $qps --duration "$1" \
		>"$work/crowd" 2>"$work/crowd.err" & crowd=$!
}
placed() { jq -cs 'map(.devices[] | select(.dev == "mlx5_0"))[0].placed' "$stats"; }
work_qps() { swiftrdma -j qp show dev mlx5_0 job kv | jq 'map(select(.state == "RTS")) | length'; }
all_work() { [ "$(work_qps)" -ge "$1" ]; }

agent
crowd 600
first=$crowd
check "a program works" wait_for 60 all_work $qps
is "... on one register" "$(qps_and_most "$first")" "$qps $qps"
check "a policy decides where the job's new QPs go" wait_for 60 is_set kv place '"lightest"'
rm -f "$stats"
crowd 20
check "another program of the job has at most two QPs on a UAR of two registers" wait_for 60 is_spread "$crowd"
wait $crowd
# One QP may stay alone on the register that libmlx5 gave it.
like "... of the library" "$(placed)" "^($((qps - 1))|$qps)\$"
kill -KILL $agent
wait $agent
check "the agent is killed: its lease ends" wait_for 30 is_clear kv place
rm -f "$stats"
crowd 5
wait $crowd
is "another program's QPs are where libmlx5 has them" "$(placed)" 0
kill $first
wait $first
note "$(tail -n 5 "$work/agent")"
is "the kernel complains of nothing" "$(complaints)" ""
check "the module unloads" module_unload
ktap_end
