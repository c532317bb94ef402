#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# libswiftrdma holds a hundred processes back in a post, by the rate of their job. The processes get signals,
# fork, and are killed and stopped; the agent that asked for the rate is stopped and killed; the module is
# unloaded. The processes that live go on each time, and no post fails.
#
#   scripts/vm --nic rxe -- selftests/runtime/full/blocked.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH

n=100
# Each process may send a hundredth of a request a second, so the library holds each post for its longest, 1 s.
rate=1
window=4
cat >"$work/policy.yaml" <<-EOF
	agent: {interval: 200ms, lease: 3s}
	jobs: [{name: many, class: throughput, huge_pages: no, match: [{comm: posters}]}]
	policies:
	  - name: pace
	    for: job many
	    when: job.qps > 0
	    do: job.wr_rate = $rate/s
	    undo: {when: job.qps == 0, hold: 600s}
EOF
agent() { swiftrdma-agent --config "$work/policy.yaml" >"$work/agent" 2>&1 & agent=$!; }

# count_posts: the fewest and the most posts of a process in $window seconds, in $least and $most.
count_posts() {
	qp many count
	nap $window
	qp many count
	read -r _ least most <<<"$answer"
}
# At most one a second, and one more at either end.
are_held() { count_posts && [ "$most" -le $((window + 2)) ]; }
# Each makes more than twice the posts of a held process. All of them share two CPUs.
go_on() { count_posts && [ "$least" -gt $((2 * (window + 2))) ]; }
# is_soon NAME CONDITION: a point, without a subshell, so that $least and $most stay.
is_soon() {
	wait_for 60 "$2"
	point $? "$1"
	note "posts of a process in $window s: $least to $most"
}
in_force() {
	[ "$(swiftrdma -j job show many | jq '[.[0].devs[].held[]? | select(.knob == "wr_rate").in_force] | add')" = "$n" ]
}
start_all() { qpsh_start many env LD_PRELOAD="$lib" posters "${dev[0]}" $n; }
qps_left() { rdma res show qp | grep -c 'comm posters'; }

ktap_begin
mark_dmesg
check "the module loads" module_load
start_all
point $? "a hundred processes"
is_soon "they post" go_on

# --- The agent ---

agent
check "an agent paces them: the rate is in force in each" wait_for 60 in_force
is_soon "... and each post is held" are_held
qp many signal
is "a signal reaches each thread that is held, or is at once held again" "$answer" "signal $n"
qp many fork
is "each forks while its thread is held" "$answer" "fork $n"
is_soon "they are held as before" are_held
kill -STOP $agent
is_soon "the agent is stopped: they go on when the lease has run out" go_on
kill -CONT $agent
is_soon "it runs again: they are held again" are_held
kill -KILL $agent
is_soon "it is killed: they go on" go_on
wait $agent

# --- The module ---

like "the same rate by hand" "$(swiftrdma action set job many wr_rate $rate for 600s 2>&1)" '^lease [0-9]+ '
is_soon "they are held" are_held
qp many "kill 4"
is "a quarter is killed" "$answer" "kill $((n / 4))"
gone() { [ "$(qps_left)" -eq $((n * 3 / 4)) ]; }
check "... their QPs are gone" wait_for 60 gone
qp many "stop 4"
is "another quarter is stopped" "$answer" "stop $((n / 4))"
check "the module goes" module_unload
qp many "cont 4"
is "the stopped ones run again" "$answer" "cont $((n / 4))"
is_soon "all go on" go_on
qp many end
is "and end, of which none has failed" "$answer" "end $((n * 3 / 4)) killed $((n / 4)) failed 0"
qpsh_stop many
is "no QP is left" "$(qps_left)" 0

# --- Their end ---

check "the module loads again" module_load
check "the job" swiftrdma job set many match comm=posters
start_all
point $? "a hundred other processes"
is_soon "they post" go_on
like "the rate" "$(swiftrdma action set job many wr_rate $rate for 600s 2>&1)" '^lease [0-9]+ '
is_soon "they are held" are_held
qp many end
is "they are told to end, and do so, though they are held" "$answer" "end $n killed 0 failed 0"
qpsh_stop many
note "$(tail -n 5 "$work/agent")"
is "the kernel complains of nothing" "$(complaints)" ""
check "the module unloads" module_unload
ktap_end
