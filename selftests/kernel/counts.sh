#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's counters against the programs' own, and against probes on the
# driver's functions. Equal means equal: no tolerance anywhere. TOTAL is the
# number of QPs that come and go.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

total=${TOTAL:-4000}

# figures DEV KEY...: of one dump, on one line.
figures() {
	local keys=("${@:2}")

	swiftrdma -j dev show "$1" | jq -r ".[0] | [$(IFS=,; echo "${keys[*]/#/.}")] | map(tostring) | join(\" \")"
}

# Both devices' doorbells: by their jobs, by their UARs, by their QPs.
sums() {
	local now

	now=$(swiftrdma -j "$1" show)
	case $1 in
	job) jq '[.[].devs[].doorbells] | add' <<<"$now" ;;
	*) jq '[.[].doorbells] | add' <<<"$now" ;;
	esac
}

killed_children() { ps -o pid= --ppid "$1"; }

ktap_begin
mark_dmesg
check "the driver's functions can be watched" \
	probes_on rxe_create_qp rxe_destroy_qp rxe_modify_qp rxe_post_send
check "the module loads" srdma_load
check "a job for churn" swiftrdma job set churning match comm=churn
check "a job for conversations" swiftrdma job set talking match comm=lat
check "a job for what is killed" swiftrdma job set dying match cgroup=/dying order 50

# --- Everything is destroyed by its program ---

start churn churn --dev rxe0 --procs 4 --total "$total"
wait "$pid"
is "churn ran to its end" $? 0
is "churn's $total QPs" "$(field created "$work/churn") $(field failed "$work/churn")" "$total 0"
is "created, modified, destroyed are what the programs counted" \
	"$(figures rxe0 created modified destroyed)" \
	"$(field created "$work/churn") $(field modified "$work/churn") $(field destroyed "$work/churn")"
is "... and what the driver was asked for" \
	"$(figures rxe0 created modified destroyed)" \
	"$(probe_hits rxe_create_qp) $(probe_hits rxe_modify_qp) $(probe_hits rxe_destroy_qp)"
is "no QP is left, none was lost or refused" \
	"$(figures rxe0 qps adopted untracked rejected create_failed)" "1 1 0 0 0"
is "the other device saw nothing" "$(figures rxe1 created modified destroyed)" "0 0 0"
is "the job's totals stay when its QPs are gone" \
	"$(job churning created) $(job churning destroyed) $(job churning qps)" "$total $total 0"
is "... and so do its own calls: create, modify, all three" \
	"$(job churning creates) $(job churning modifies) $(job churning commands)" \
	"$total $(field modified "$work/churn") $((2 * $(probe_hits rxe_create_qp) + $(probe_hits rxe_modify_qp)))"
check "... which took time" test "$(job churning command_time)" -gt $((total * 1000))
is "its rule says how often it matched" \
	"$(swiftrdma -j job show churning | jq '.[0].rules[0].matches')" "$total"
is "the contexts are gone too" "$(figures rxe0 uars)" 1

# --- By the end of its process ---

before=$(dev rxe0 created)
start abandon churn --dev rxe0 --procs 4 --total 400 --live 20 --abandon
wait "$pid"
left=$(field abandoned "$work/abandon")
like "some QPs were left to the end of their process" "$left" '^[1-9]'
is "... which destroys them" "$(figures rxe0 created destroyed qps)" \
	"$((before + 400)) $((before + 400)) 1"

before=$(dev rxe0 created)
start killed in_cgroup dying churn --dev rxe0 --procs 4 --total 1000000
enough() { [ "$(dev rxe0 created)" -ge $((before + 200)) ]; }
check "churn is at it" wait_for 60 enough
# shellcheck disable=SC2046
kill -9 $(killed_children "$pid")
wait "$pid"
is "its processes were killed at work" \
	"$(($(field created "$work/killed") - $(field destroyed "$work/killed") > 0))" 1
is "created and destroyed are what the driver was asked for" \
	"$(figures rxe0 created destroyed modified)" \
	"$(probe_hits rxe_create_qp) $(probe_hits rxe_destroy_qp) $(probe_hits rxe_modify_qp)"
is "nothing of the killed is left" "$(figures rxe0 qps uars untracked) $(rdma_qps rxe0)" "1 1 0 1"
is "their job has as many destroyed as created" \
	"$(job dying destroyed) $(job dying qps)" "$(job dying created) 0"
# A process may be killed after it got a QP and before it counted it.
made=$(job dying created) said=$(field created "$work/killed")
is "... as many as they counted, or one more each" "$((made >= said && made <= said + 4))" 1

# --- A process that forks and ends before its QPs ---

start forked forked --dev rxe0 --count 5 --more 3
check "a child goes on with its parent's context" wait_for 30 grep -q ^ready "$work/forked"
parent=$(field parent "$work/forked") child=$(field child "$work/forked")
is "the dead parent's QPs are still its own" "$(qps dev rxe0 pid "$parent")" 4
is "the child's are the child's" "$(qps dev rxe0 pid "$child")" 3
is "RDMA core has as many" "$(rdma_qps rxe0)" 8
kill "$child"
gone() { [ "$(dev rxe0 qps)" = 1 ]; }
check "they go with the context's last user" wait_for 30 gone
is "and are counted once each" "$(figures rxe0 created destroyed)" \
	"$(probe_hits rxe_create_qp) $(probe_hits rxe_destroy_qp)"

# --- Doorbells ---

is "no doorbell so far" "$(sums job) $(probe_hits rxe_post_send)" "0 0"
check "a conversation of 200 messages" lat --count 200 --interval 100
is "rang 200 doorbells" "$(job talking doorbells) $(probe_hits rxe_post_send)" "200 200"

lat_start a && lat_start b
point $? "two conversations at once"
enough() { [ "$(job talking doorbells)" -ge 300 ]; }
check "... are at it" wait_for 30 enough
kill -STOP "${lat_pid[a]}" "${lat_pid[b]}"
is "the QPs' doorbells are the UARs'" "$(sums qp)" "$(sums uar)"
is "... the jobs', less those of QPs that are gone" "$(sums qp)" "$(($(sums job) - 200))"
is "... and what the driver was asked for" "$(sums job)" "$(probe_hits rxe_post_send)"
kill -CONT "${lat_pid[a]}" "${lat_pid[b]}"
lat_stop a && lat_stop b
point $? "they end without an error"
is "each message was a doorbell" "$(job talking doorbells)" \
	$((200 + $(field samples "$work/a") + $(field outstanding "$work/a") +
	   $(field samples "$work/b") + $(field outstanding "$work/b")))

# perftest posts one WR a call unless told --post_list. With -q 4 and -n 25 that
# is 25 on each of 4 QPs; the receiver posts no send at all, for both ends
# exchange what they have to say over TCP.
before=$(job unassigned doorbells)
check "ib_send_bw -q 4 -n 25" perftest ib_send_bw -e -q 4 -n 25 -s 64
is "the sender rang 100 doorbells" "$(($(dev_jobs rxe0 doorbells) - $(job talking doorbells)))" \
	$((before + 100))
is "the receiver none" "$(dev_jobs rxe1 doorbells)" 0
is "the driver was asked for as many" "$(sums job)" "$(probe_hits rxe_post_send)"

# --- And all of it once more ---

is "in the end, the driver's calls are the module's counts" \
	"$(($(dev rxe0 created) + $(dev rxe1 created))) $(($(dev rxe0 destroyed) + $(dev rxe1 destroyed))) $(($(dev rxe0 modified) + $(dev rxe1 modified)))" \
	"$(probe_hits rxe_create_qp) $(probe_hits rxe_destroy_qp) $(probe_hits rxe_modify_qp)"
for d in rxe0 rxe1; do
	is "$d: jobs add up to the device" \
		"$(dev_jobs $d created) $(dev_jobs $d destroyed) $(dev_jobs $d qps)" \
		"$(($(dev $d created) + $(dev $d adopted))) $(figures $d destroyed qps)"
done
probes_off
check "the module unloads" srdma_unload
is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
