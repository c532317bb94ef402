#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The policy "migrate to lightest uar" moves the QPs of a program that crowds them on one register, until
# no UAR has two QPs at work, while every byte of their traffic is checked. A QP is moved once for each
# wish; without an agent nothing moves; a library that may not move QPs is told of once. On rxe, which has
# no registers, nothing can be moved, and the answers say so.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/full/migrate.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh

qps=6
rate=1
over=$work/over
d=${dev[0]}

# policy [LINE]: the policy file, with a line more.
policy() {
	cat >"$work/policy.yaml" <<-EOF
	agent: {interval: 200ms, lease: 3s}
	levels: [{level: 1, dscp: 8, sl: 1}]
	jobs: [{name: kv, class: latency, match: [{cgroup: /kv}]}]
	policies:
	  - name: spread
	    for: job kv
	    cause: uar
	    when: uar.active_qps >= 2
	    do: migrate to lightest uar
	    cooldown: 200ms
	    rate: $rate/s
	    undo: {when: uar.active_qps < 2, hold: 600s}
	    ${1-}
	EOF
}

# traffic N [VAR=VALUE]...: not in a subshell, which would wait for the ends. N connections on one register at either end, until $over exists. The end that
# connects is of the job.
traffic() {
	local n=$1

	shift
	rm -f "$stats" "$over"
	env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" MLX5_SHUT_UP_BF=1 MOVED_QPS="$n" MOVED_UNTIL="$over" "$@" \
		build/progs/moved "${dev[1]}" 18600 0 >"$work/end.b" 2>&1 & far=$!
	(in_cgroup kv env LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" MLX5_SHUT_UP_BF=1 MOVED_QPS="$n" \
		MOVED_UNTIL="$over" "$@" build/progs/moved "$d" 18600 0 127.0.0.1) >"$work/end.a" 2>&1 & near=$!
	wait_for 60 at_work "$n"
}
at_work() { [ "$(kv_qps 'map(select(.state == "RTS")) | length')" -eq "$1" ]; }
kv_qps() { swiftrdma -j qp show dev "$d" job kv | jq -c "$1"; }
both_right() { [ "$(tail -qn 1 "$work/end.a" "$work/end.b" | paste -sd ' ')" = "right right" ]; }
# traffic_ends NAME: points that all is right.
traffic_ends() {
	touch "$over"
	wait "$near" "$far"
	check "$1: every byte, sequence and sum is right, at both ends" both_right
	both_right || sed 's/^/# /' "$work/end.a" "$work/end.b"
}
agent() {
	swiftrdma-agent --log-json --config "$work/policy.yaml" >"$work/agent" 2>"$work/agent.err" & agent=$!
}
# event NAME FILTER: of the agent's log.
event() { jq -cs "map(select(.event == \"$1\")) | $2" "$work/agent"; }
moved_qps() { kv_qps 'map(select(.now)) | length'; }
# The most QPs that are at work on a UAR of the job's process, over a second.
most_active() {
	swiftrdma -j -i 1 uar show "$d" | jq --argjson pid "$(kv_qps '.[0].pid')" \
		'[.[] | select(.pid == $pid) | .active_qps // 0] | max'
}
has_moved() { [ "$(moved_qps)" -ge "$1" ]; }
is_spread() { [ "$(most_active)" -lt 2 ]; }
# Counted by the library of the end that connects.
counted() { jq -cs "map(.devices[] | select(.dev == \"$d\"))[0] | $1" "$stats"; }
# A QP as the program knows it.
look() { kv_qps "map(select(.qpn == $q))[0] | [.now, .now_uar, .state]"; }
decisions() { event decision 'map([.tick, .reason])' | sed 's/^/# /'; }

ktap_begin
mark_dmesg
policy
check "the module loads" module_load
check "a job" swiftrdma job set kv class latency match cgroup=/kv

# --- A library that may not move QPs ---

traffic 2
point $? "traffic without SWIFTRDMA_MOVE"
q=$(kv_qps '.[0].qpn')
like "by hand: cannot, and why" "$(swiftrdma action set dev "$d" qpn "$q" uar lightest for 30s 2>&1)" \
	'SWIFTRDMA_MOVE=yes'
like "no other UAR can be named" "$(swiftrdma action set dev "$d" qpn "$q" uar 7 for 30s 2>&1)" 'lightest'
if [ $nic = softhca ]; then
	agent
	cannot() { grep -q 'SWIFTRDMA_MOVE=yes' "$work/agent.err"; }
	check "the agent says why it moves nothing" wait_for 10 cannot
	nap 3
	is "... once" "$(grep -c 'SWIFTRDMA_MOVE=yes' "$work/agent.err")" 1
	kill $agent
	wait $agent
	note "$(cat "$work/agent.err")"
else
	like "the policy is idle on $d" "$(swiftrdma policy check "$work/policy.yaml" 2>&1)" 'nothing (enforces|measures)'
fi
is "nothing has moved" "$(moved_qps)" 0
traffic_ends "without SWIFTRDMA_MOVE"

# --- QPs that can never move ---

traffic 2 SWIFTRDMA_MOVE=yes SWIFTRDMA_CHUNK=yes
point $? "traffic of QPs whose requests may be split"
q=$(kv_qps '.[0].qpn')
like "by hand: it cannot change, and that is said at once" \
	"$(swiftrdma action set dev "$d" qpn "$q" uar lightest for 30s 2>&1)" 'qps_unsupported 1 .*EOPNOTSUPP'
is "... in the results, too: nothing is to be tried again" \
	"$(swiftrdma -j action show | jq -c 'map(select(.knob == "uar") | [.qps_pending // 0, .qps_unsupported])')" '[[0,1]]'
is "nothing has moved" "$(moved_qps)" 0
check "it is taken back" swiftrdma action clear all
if [ $nic = softhca ]; then
	is "QPs that can never move say so" \
		"$(kv_qps 'map(select((.library_flags // []) | index("fixed"))) | length')" 2
	agent
	passes_over() { grep -q '2 stay on their UARs' "$work/agent.err"; }
	check "an agent says that it passes them over" wait_for 20 passes_over
	nap 3
	is "... once, and decides nothing" \
		"$(grep -c 'stay on their UARs' "$work/agent.err") $(event decision length)" "1 0"
	kill $agent
	wait $agent
	note "$(cat "$work/agent.err")"
fi
traffic_ends "QPs that can never move"

# --- Moves by hand ---

traffic $qps SWIFTRDMA_MOVE=yes
point $? "traffic of QPs that can move"
q=$(kv_qps '.[0].qpn')
swiftrdma action set dev "$d" qpn "$q" uar lightest for 600s >"$work/set" 2>&1
note "$(cat "$work/set")"
if [ $nic != softhca ]; then
	like "on $d the library has no registers to move to" "$(cat "$work/set")" 'qps_unsupported 1 .*EOPNOTSUPP'
	is "... so nothing has moved" "$(moved_qps)" 0
	traffic_ends "on $d"
	check "the kernel did not complain" test -z "$(complaints)"
	check "the module unloads" module_unload
	ktap_end
	exit
fi
check "a QP moves by hand" wait_for 20 has_moved 1 || note "$(swiftrdma action show)"
now=$(look)
like "it has another number and UAR, and its first one is in RESET" "$now" '^\[[0-9]+,[0-9]+,"RESET"\]$'
is "... and the other one says whose requests it carries" \
	"$(kv_qps "map(select(.carries))[0] | [.qpn, .carries, .state]")" "[$(jq '.[0]' <<<"$now"),$q,\"RTS\"]"
is "rdma res shows the first one in RESET, and the other one in RTS" \
	"$(rdma -j res show qp link "$d" | jq -c --argjson qpns "[$q, $(jq '.[0]' <<<"$now")]" \
		'INDEX(.lqpn) as $at | $qpns | map($at[tostring].state)')" '["RESET","RTS"]'
set_again() { swiftrdma action set dev "$d" qpn "$1" uar lightest for 600s >>"$work/set"; }
check "set again" set_again "$q"
check "set by its other number, which has a UAR for itself" set_again "$(jq '.[0]' <<<"$now")"
nap 2
is "... nothing moves" "$(look)" "$now"
release_all() {
	local id

	for id in $(sed -n 's/^lease \([0-9]*\) .*/\1/p' "$work/set"); do
		swiftrdma action release "$id" || return
	done
	[ -z "$(swiftrdma action show | grep override)" ]
}
check "all is taken back" release_all
nap 1
is "... and nothing moves back" "$(look)" "$now"

# --- The policy ---

like "the QPs are crowded" "$(most_active)" '^[2-9]'
policy "max_steps: 1"
agent
check "a policy moves a QP" wait_for 20 has_moved 2
note "$(tail -n 5 "$work/agent.err")"
kill -KILL $agent
nap 5
is "... one, as its bound says; the agent is killed: nothing moves further" "$(moved_qps)" 2
decisions
policy
agent
check "another agent moves the rest, until no UAR has two QPs at work" wait_for 40 is_spread
note "$(swiftrdma qp show dev "$d" job kv)"
note "$(swiftrdma -i 1 uar show "$d")"
decided() { event decision 'map(select(.policy == "spread")) | length'; }
all_done() {
	local n

	n=$(decided)
	[ "$(swiftrdma -j action show | jq -c 'map(select(.knob == "uar")) | [length, (map(.qps_done) | add)]')" = "[$n,$n]" ]
}
check "... all that was decided is done" wait_for 10 all_done
note "$(swiftrdma action show)"
decisions
# The last QP may stay. On a slow host the policy decides about it while the move before is under way:
# then it moves, or the library finds it alone on its UAR.
n=$(moved_qps) decided=$(decided)
like "... at most one QP is left where it was" "$n" "^($((qps - 1))|$qps)$"
is "... each has a UAR of its own" "$(kv_qps 'map(.now_uar // empty) | unique | length')" "$n"
like "... by a decision each, and at most one about the last" "$decided" "^($((n - 2))|$((qps - 2)))$"
is "... at most as the rate says, 1/s" \
	"$(event decision '[.[].time] | . as $t | [range(1; length) | $t[.] - $t[. - 1]] | all(. >= 990000000)')" true
nap 3
is "calm: nothing else is decided" "$(event decision length)" "$decided"
kill $agent
wait $agent
reported() { swiftrdma -j job show kv | jq --arg d "$d" '[.[0].devs[] | select(.dev == $d) | .reported_wrs] | add'; }
by_module() { swiftrdma -j job show kv | jq --arg d "$d" '[.[0].devs[] | select(.dev == $d) | .wrs] | add'; }
was=$(reported) was_by_module=$(by_module)
goes_on() { [ "$("$1")" -gt "$2" ]; }
check "the figures of the job go on, as its libraries count" wait_for 10 goes_on reported "$was"
check "... and as the module counts in the QPs that carry the requests now" wait_for 10 goes_on by_module "$was_by_module"
traffic_ends "the policy"
# On a slow host a move may take too long, and is tried again.
is "the library has counted as many moves, and refused none" \
	"$(counted '[.move.moved, .move.refused, .move.why - ["requests did not complete in time"]]')" "[$n,0,[]]"
is "... and every request once" "$(counted '.wrs == .done + .dropped and .errors == 0')" true
note "$(counted .move)"

check "the kernel did not complain" test -z "$(complaints)"
check "the module unloads" module_unload
ktap_end
