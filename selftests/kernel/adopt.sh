#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs that are older than the module: taken in, all of them, as they are; while
# others come and go; and what happens if there is no memory for them.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH

rounds=${ROUNDS:-1}

# What both sides can say of a device's QPs, sorted.
core_says() {
	rdma -j res show qp link "$1" | jq -c 'map([.lqpn, .type, .state,
		(if .type == "GSI" or .state == "RESET" or .state == "INIT" then 0 else .rqpn end),
		.pid // 0, .comm]) | sort'
}
we_say() {
	swiftrdma -j qp show dev "$1" | jq -c 'map([.qpn, .type, .state, .dest_qpn // 0,
		.pid // 0, .kernel // .comm]) | sort'
}

# hold_start NAME CMD...: a hold, until hold_stop NAME.
declare -A hold_pid
hold_start() {
	start "$1" "${@:2}"
	hold_pid[$1]=$pid
	wait_for 60 grep -q ^ready "$work/$1"
}
hold_stop() {
	kill -TERM "${hold_pid[$1]}"
	wait "${hold_pid[$1]}"
}
changed() { wait_for 30 grep -q "^changed $2" "$work/$1"; }

# Only the numbers, for what is in the middle of something.
numbers_core() { rdma -j res show qp link rxe0 | jq -c 'map(.lqpn) | sort'; }
numbers_ours() { swiftrdma -j qp show dev rxe0 | jq -c 'map(.qpn) | sort'; }
# All of churn's processes that live.
stopped() {
	local states
	states=$(ps -C churn -o stat= | cut -c 1 | grep -v Z | sort -u)
	[ "$states" = T ]
}

ktap_begin
mark_dmesg

# --- All that there is ---

hold_start connected in_cgroup adopt setpriv --reuid=1234 --clear-groups \
	hold --dev rxe0 --dev2 rxe1 --count 60 --modify rts --no-stdin
point $? "60 connected QPs, of another user in a cgroup"
hold_start reset hold --dev rxe0 --count 5 --no-stdin --change 100
point $? "5 that are not"
hold_start init hold --dev rxe0 --count 3 --modify init --no-stdin
point $? "3 in INIT"
lat_start talk
point $? "a conversation that goes on"
core0=$(core_says rxe0) core1=$(core_says rxe1)
check "the module loads" srdma_load
is "rxe0: number, type, state, destination, process and name of all its QPs" \
	"$(we_say rxe0)" "$core0"
is "rxe1: the same" "$(we_say rxe1)" "$core1"
is "all were adopted" "$(dev rxe0 adopted) $(dev rxe1 adopted)" \
	"$(rdma_qps rxe0) $(rdma_qps rxe1)"
is "... and say so" "$(swiftrdma -j qp show | jq 'map(.adopted) | all')" true
is "none was created or lost" \
	"$(dev rxe0 created) $(dev rxe0 untracked) $(dev rxe1 created) $(dev rxe1 untracked)" "0 0 0 0"
is "... nor created by a job" "$(dev_jobs rxe0 creates) $(dev_jobs rxe0 qps)" "0 $(rdma_qps rxe0)"
is "owner, cgroup and address of the connected" \
	"$(swiftrdma -j qp show uid 1234 | jq -r '.[] | [.pid, .comm, .exe, .cgroup, .dgid] | map(tostring) | join(" ")' | sort | uniq -c | sed 's/^ *//')" \
	"30 ${hold_pid[connected]} hold hold /adopt ::ffff:10.1.0.1
30 ${hold_pid[connected]} hold hold /adopt ::ffff:10.1.0.2"
is "jobs and UARs count them" "$(dev_jobs rxe0 qps) $(swiftrdma -j uar show rxe0 | jq 'map(.qps) | add')" \
	"$(qps dev rxe0) $(qps dev rxe0)"
is "a context for each process, and the kernel's" "$(swiftrdma -j uar show rxe0 | jq length)" 5

talking() { swiftrdma -j qp show comm lat dev rxe0 | jq '.[0].doorbells'; }
more() { [ "$(talking)" -gt "$seen" ]; }
seen=$(talking)
check "the conversation's doorbells are counted from now on" wait_for 30 more

kill -USR1 "${hold_pid[reset]}"
check "the old ones can be modified" changed reset 5
lat_stop talk
point $? "the conversation ends without an error"
like "... that its program saw" "$(cat "$work/talk")" 'errors 0 '
for name in connected reset init; do
	hold_stop $name
	point $? "$name: destroyed without an error"
done
is "nothing is left of them on rxe0" "$(settled rxe0)" "1 1 1 1 1"
is "nor on rxe1" "$(settled rxe1)" "1 1 1 1 1"
is "each was destroyed once" "$(dev rxe0 destroyed) $(dev rxe1 destroyed)" \
	"$(($(dev rxe0 adopted) - 1)) $(($(dev rxe1 adopted) - 1))"
check "the module unloads" srdma_unload

# --- Made by threads that have ended ---

qpsh_start threads qpsh --threads --comm threads
qp threads 'create 2'
like "QPs of threads that have ended" "$answer" '^qp [0-9]+ qp [0-9]+$'
check "the module loads" srdma_load
swiftrdma job set threads match exe=qpsh >/dev/null
qp threads create
is "their owner is the process, with all that is to be known of it" \
	"$(swiftrdma -j qp show comm threads | jq -c 'map([.pid, .exe, .adopted // false, .job])')" \
	"[[${qpsh_pid[threads]},\"qpsh\",true,\"threads\"],[${qpsh_pid[threads]},\"qpsh\",true,\"threads\"],[${qpsh_pid[threads]},\"qpsh\",false,\"threads\"]]"
qpsh_stop threads
check "the module unloads" srdma_unload

# --- While others come and go ---
#
# The debug build waits before it takes each old QP in. A QP that is destroyed
# meanwhile must not be taken in, one that is created must not be counted twice.

for ((i = 1; i <= rounds; i++)); do
	start churn churn --dev rxe0 --procs 4 --live 24 --total 1000000 --seed $i
	busy() { [ "$(rdma_qps rxe0)" -ge 30 ]; }
	check "round $i: churn is at it" wait_for 60 busy
	check "round $i: the module loads" srdma_load_debug delay_at=8 delay_ms=3
	some() { [ "$(dev rxe0 created)" -ge 100 ]; }
	check "round $i: it sees new QPs" wait_for 60 some
	is "round $i: it took old ones in" "$(($(dev rxe0 adopted) > 1))" 1
	# Of 2^24. It did not go on for those that had gone.
	looked=$(cat /sys/module/swiftrdma/parameters/adopt_looked)
	note "$looked numbers looked at"
	is "round $i: the scan ended when there were no more" "$((looked < 1 << 20))" 1
	pkill -STOP churn
	check "round $i: churn stands still" wait_for 30 stopped
	is "round $i: every QP there is is known" "$(numbers_ours)" "$(numbers_core)"
	pkill -CONT churn
	kill -TERM "$pid"
	wait "$pid"
	is "round $i: the programs noticed nothing" "$? $(field failed "$work/churn")" "0 0"
	is "round $i: nothing is left" "$(settled rxe0)" "1 1 1 1 1"
	created=$(dev rxe0 created) destroyed=$(dev rxe0 destroyed) adopted=$(dev rxe0 adopted)
	note "$((destroyed - created - (adopted - 1))) of those alive before were not met"
	is "round $i: nothing was lost" "$(dev rxe0 untracked)" 0
	is "round $i: the job was left as often as joined" \
		"$(dev_jobs rxe0 created) $(dev_jobs rxe0 destroyed)" \
		"$((created + adopted)) $((created + adopted - 1))"

	start after churn --dev rxe0 --total 200
	wait "$pid"
	is "round $i: and from then on every one is counted" \
		"$(dev rxe0 created) $(dev rxe0 destroyed) $(dev rxe0 untracked)" \
		"$((created + 200)) $((destroyed + 200)) 0"
	check "round $i: the module unloads" srdma_unload
done

# --- No memory ---

param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }

hold_start held hold --dev rxe0 --count 10 --modify rts --no-stdin --change 100
point $? "10 QPs before the module"
check "it loads though every second finds no memory" srdma_load_debug fail_alloc=2
is "5 of the 10 and a GSI, or the other half" "$(($(dev rxe0 qps) + $(dev rxe0 untracked)))" 11
looked=$(cat /sys/module/swiftrdma/parameters/adopt_looked)
note "$looked numbers looked at"
is "the scan does not look for what it has met" "$((looked < 1 << 20))" 1
like "what was not taken in is counted" "$(dev rxe0 untracked)" '^[56]$'
param fail_alloc 0
kill -USR1 "${hold_pid[held]}"
check "its program may modify all" changed held 10
hold_stop held
point $? "... and destroy them"
is "nothing is left" "$(settled rxe0)" "1 1 1 1 1"

lost=$(dev rxe0 untracked) created=$(dev rxe0 created) destroyed=$(dev rxe0 destroyed)
# The count of allocations goes on where it was: with 1, all are refused.
param fail_alloc 1
start blind churn --dev rxe0 --procs 2 --total 300 --modify none
wait "$pid"
is "churn does not notice that nothing is tracked" \
	"$? $(field created "$work/blind") $(field failed "$work/blind")" "0 300 0"
is "the module says how many it lost track of" "$(($(dev rxe0 untracked) - lost))" 300
is "... and counted them nevertheless" \
	"$(($(dev rxe0 created) - created)) $(($(dev rxe0 destroyed) - destroyed))" "300 300"
is "nothing is left of them" "$(settled rxe0)" "1 1 1 1 1"
param fail_alloc 0
check "the module unloads" srdma_unload
is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
