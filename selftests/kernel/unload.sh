#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The way out: refused while armed, clean under load, with QPs that live on. The
# debug build holds callers at each place where a missing step of the way out
# would let the module go under them.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

rounds=${ROUNDS:-1}

refcount() { cat /sys/module/swiftrdma/refcnt; }
param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
lines() { wc -l <"$work/log"; }
more_lines() { [ "$(lines)" -gt "$1" ]; }

ktap_begin
mark_dmesg

# A caller can be preempted anywhere, and what should not be is the end.
preempt=/sys/kernel/debug/sched/preempt
mode=$(grep -o '(.*)' $preempt 2>/dev/null | tr -d '()')
[ -z "$mode" ] || echo full >$preempt
echo 1 >/proc/sys/kernel/panic_on_warn

# --- Refused, allowed ---

lat_start talk --log "$work/log"
point $? "a conversation"
check "the module loads" srdma_load
is "it is armed and holds itself" "$(armed) $(refcount)" "armed 1"
like "rmmod is refused" "$(rmmod swiftrdma 2>&1)" 'in use'
is "... and changes nothing" "$(armed) $(refcount)" "armed 1"
like "what is not 1 or force does not disarm" \
	"$( (echo 2 >$srdma_debugfs/disarm) 2>&1; armed)" 'Invalid argument'
is "it is armed still" "$(armed)" armed
check "it is disarmed" eval "echo 1 >$srdma_debugfs/disarm"
is "... and does not hold itself" "$(armed) $(refcount)" "disarmed 0"
check "... also if told again" eval "echo 1 >$srdma_debugfs/disarm"
is "... without effect" "$(armed) $(refcount)" "disarmed 0"
is "it has no device" "$(swiftrdma -j dev show | jq -c .)" '[]'
at=$(lines)
check "the conversation goes on when it is disarmed" wait_for 30 more_lines $((at + 10))
check "rmmod" rmmod swiftrdma
at=$(lines)
check "the conversation goes on when it is gone" wait_for 30 more_lines $((at + 10))
check "it loads again" srdma_load
is "it takes the conversation's QP in" "$(swiftrdma -j qp show comm lat dev rxe0 | jq -c 'map(.adopted)')" '[true]'
lat_stop talk
point $? "the conversation ends without an error"
is "both its ends are gone" "$(settled rxe0), $(settled rxe1)" "1 1 1 1 1, 1 1 1 1 1"
check "the module unloads" srdma_unload

# --- Callers held before, in and after the wrappers ---

start churn churn --dev rxe0 --procs 4 --live 16 --total 1000000
churn=$pid
lat_start talk
point $? "churn and a conversation"
for at in 1 2 4 7; do
	for ((i = 1; i <= rounds; i++)); do
		check "held at $at: load $i" srdma_load_debug delay_at=$at delay_ms=20
		some() { [ "$(dev rxe0 created)" -ge 12 ]; }
		check "held at $at: they pass through it" wait_for 60 some
		check "held at $at: unload $i" srdma_unload
	done
done
kill -TERM $churn
wait $churn
is "churn had no error" "$? $(field failed "$work/churn")" "0 0"
lat_stop talk
point $? "the conversation had none"

# --- QPs that end while the hook is taken out ---
#
# Their class was changed live, so the module's event filter is on them. Callers
# held inside the wrappers make the way out long; the conversations are killed
# all along it.

start churn churn --dev rxe0 --procs 2 --total 1000000
churn=$pid
for ((i = 1; i <= rounds; i++)); do
	check "end $i: the module loads" srdma_load_debug
	for n in 1 2 3 4 5 6; do
		lat_start "talk$n" || break
	done
	is "end $i: six conversations" "$n" 6
	check "end $i: a job for them" swiftrdma job set talk match comm=lat
	check "end $i: a class is put on them" swiftrdma action set job talk level 3 for 600s
	all() { [ "$(swiftrdma -j qp show job talk | jq 'map(select(.tclass == 96)) | length')" = 12 ]; }
	check "end $i: they have it" wait_for 60 all
	param delay_ms 150
	param delay_at 2
	(
		sleep 0.3
		for n in 1 2 3 4 5 6; do
			kill -9 "${lat_pid[talk$n]}"
			sleep 0.15
		done
	) &
	killer=$!
	out=$(echo force 2>&1 >$srdma_debugfs/disarm)
	is "end $i: disarmed while they are killed" "$out$(armed)" disarmed
	wait $killer
	for n in 1 2 3 4 5 6; do
		wait "${lat_pid[talk$n]}" 2>/dev/null
	done
	check "end $i: unloaded" rmmod swiftrdma
done
kill -TERM $churn
wait $churn
is "churn had no error" "$? $(field failed "$work/churn")" "0 0"
only_gsi() { [ "$(rdma_qps)" = 2 ]; }
check "no QP is left" wait_for 30 only_gsi

# --- What a suite that died left loaded, the next one takes out ---

check "it is left loaded" srdma_load
# shellcheck source=selftests/lib/module.sh
(. selftests/lib/module.sh)
check "who comes next starts without it" eval '! srdma_loaded'

echo 0 >/proc/sys/kernel/panic_on_warn
[ -z "$mode" ] || echo "$mode" >$preempt
# A queue whose other end has just been killed does not drain. The module that is
# forced off says that it keeps its class; it goes with its process, as shown above.
is "the kernel did not complain" \
	"$(dmesg_complaints | grep -v "QPs keep a class that is not their application's")" ""
ktap_end
