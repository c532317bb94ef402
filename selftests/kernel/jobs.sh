#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Which rule has which QP, what a change of the rules does to QPs that exist, and
# admission.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/qpsh.sh
. selftests/lib/proc.sh
PATH=$PWD/build/progs:$PATH

# The jobs that the QPs of processes a and b are in.
jobs_of_a() { swiftrdma -j qp show pid "${qpsh_pid[a]}" | jq -r '[.[].job] | unique | join(",")'; }
jobs_of_both() {
	swiftrdma -j qp show dev rxe0 |
		jq -r --argjson a "${qpsh_pid[a]}" --argjson b "${qpsh_pid[b]}" \
			'def of($p): [.[] | select(.pid == $p).job] | unique | join(","); of($a) + " " + of($b)'
}
# job NAME EXPRESSION: of what is known of a job; rxe0's figures are .devs[0].
job() { swiftrdma -j job show "$1" | jq -c ".[0] | $2"; }
set_job() { swiftrdma job set "$@" >/dev/null; }
# agent_job NAME RULES: as the agent sets it.
agent_job() { nlreq JOB_SET doit "job_obj{name=$1 origin=agent $2}" >/dev/null; }

ktap_begin
check "the module loads" srdma_load
cp build/progs/qpsh /tmp/alpha
ln build/progs/qpsh /tmp/beta 2>/dev/null || cp build/progs/qpsh /tmp/beta
qpsh_start a in_cgroup jobs/a /tmp/alpha --comm first && qp a 'create 2'
qpsh_start b in_cgroup jobs/b setpriv --reuid 4321 --regid 4321 --clear-groups /tmp/beta --comm second &&
	qp b 'create 3'
is "without rules all are unassigned" "$(jobs_of_both)" 'unassigned unassigned'

# Each kind of condition, on QPs that exist.
kind() {
	set_job k match "$2"
	is "$1" "$(jobs_of_both)" "$3"
}
kind "comm" comm=first 'k unassigned'
kind "comm is no exe" comm=alpha 'unassigned unassigned'
kind "exe" exe=beta 'unassigned k'
kind "uid" uid=4321 'unassigned k'
kind "pid" "pid=${qpsh_pid[a]}" 'k unassigned'
kind "cgroup" cgroup=/jobs/a 'k unassigned'
kind "cgroup, by glob" 'cgroup=/jobs/*' 'k k'
kind "cgroup, by a glob in the middle" 'cgroup=/j*s/[bc]' 'unassigned k'
kind "a cgroup's path as a whole" 'cgroup=/jobs' 'unassigned unassigned'
kind "two conditions that hold" comm=second,uid=4321 'unassigned k'
kind "two of which one does not" comm=first,uid=4321 'unassigned unassigned'
kind "all five" "cgroup=/jobs/*,comm=first,exe=alpha,uid=0,pid=${qpsh_pid[a]}" 'k unassigned'
set_job k match comm=first match uid=4321
is "two rules, either of which may hold" "$(jobs_of_both)" 'k k'
is "each has its matches counted" "$(job k '[.rules[].matches]')" '[2,3]'
qp a create
is "a new QP is matched and counted" "$(jobs_of_a) $(job k '[.rules[].matches]')" 'k [3,3]'

qp a "destroy $last"
set_job other match uid=77
is "what a rule counted stays, whoever goes and whatever becomes of others" \
	"$(job k '[.rules[].matches]')" '[3,3]'
set_job churned match comm=churn order 5
churn --dev rxe0 --procs 2 --live 16 --total 2000 --modify none >/tmp/churned & churner=$!
while alive "$churner"; do
	set_job other match uid=$RANDOM
done
wait "$churner"
is "each QP is counted once, though rules change meanwhile" \
	"$(job churned '[.rules[].matches]')" "[$(grep -oP 'created \K\d+' /tmp/churned)]"
swiftrdma job del churned
swiftrdma job del other
qp a create

# First match wins, by order; the older one among equals.
set_job late match 'cgroup=/jobs/*' order 50
is "a rule of lower order wins" "$(jobs_of_both)" 'late late'
set_job k match comm=first order 10
is "... and of a still lower one" "$(jobs_of_both)" 'k late'
set_job same match comm=first order 10
is "among equals the older one" "$(jobs_of_a)" k
is "the one that loses matches nothing" "$(job same '[.rules[].matches]')" '[0]'
set_job k match comm=first order 10
is "set anew, it is the younger one" "$(jobs_of_a)" same
swiftrdma job del same

# Two origins.
agent_job k 'rule{order=1 uid=4321}'
is "another origin adds its rules" "$(job k '[.rules[] | .origin] | sort')" '["agent","cli"]'
is "... and they hold" "$(jobs_of_both)" 'k k'
agent_job k 'rule{order=1 uid=1111}'
is "it replaces its own only" "$(job k '[.rules[] | .origin + (.uid // 0 | tostring)] | sort')" \
	'["agent1111","cli0"]'
like "it takes back its own only" \
	"$(nlreq JOB_DEL doit 'job_obj{name=k origin=agent}'; job k '[.rules[].origin]')" '^\["cli"\]$'
is "the other's still hold" "$(jobs_of_a)" k

# Figures: they move with the QPs and never go back.
figures() { job "$1" '.devs[0] | [.qps, .created, .destroyed, .moved]'; }
swiftrdma job del late
swiftrdma job del k
set_job k match comm=first
before=$(figures k)
set_job k match comm=none
is "QPs that are taken away" "$before $(figures k) $(jobs_of_a)" '[3,3,0,0] [0,3,0,3] unassigned'
set_job k match comm=first
is "... and come back" "$(figures k)" '[3,6,0,3]'
qp a create && qp a "destroy $last"
is "QPs created and destroyed" "$(figures k)" '[3,7,1,3]'
is "... of which its processes created one, by two calls" \
	"$(job k '.devs[0] | [.creates, .modifies, .commands]')" '[1,0,2]'
swiftrdma job del k
is "without its job a QP is unassigned" "$(jobs_of_a)" unassigned
like "the job is gone" "$(nlreq JOB_GET doit job=k)" '^ENOENT'

# Admission: exactly as many as there may be, counted from those that exist.
set_job k match comm=first match comm=third
lease=$(swiftrdma -j action set job k max_qps 5 for 300s reason test | jq -r 'select(.ttl_ms).lease')
is "the limit is shown" "$(job k '.devs[0].max_qps')" 5
qp a create && qp a create
like "up to the limit" "$answer" '^qp '
qp a create
is "beyond it" "$answer" 'error EDQUOT'
qpsh_start c /tmp/beta --comm third && qp c create
is "beyond it, another process of the job" "$answer" 'error EDQUOT'
qp b create
like "another job" "$answer" '^qp '
is "both were counted" "$(job k '.devs[0] | [.qps, .rejected]') $(dev rxe0 rejected)" '[5,2] 2'
qpsh_start d /tmp/beta --comm third --dev rxe1 && qp d create
like "another device has a limit of its own" "$answer" '^qp '
swiftrdma action set job k max_qps 0 for 300s rank 200 reason test >/dev/null
qp d create
is "a limit of none" "$answer" 'error EDQUOT'
swiftrdma -j action show | jq -r '.[].lease' | sort -u | while read -r id; do
	swiftrdma action release "$id"
done
is "without a lease there is no limit" "$(job k '.devs[0] | has("max_qps")') $lease" "false $lease"
qp a 'create 10'
is "... nor is one enforced" "$(wc -w <<<"$answer")" 20

# A bucket of one second's worth: what it holds at once, and no more after that than
# comes in meanwhile, by the guest's own time.
swiftrdma action set job k create_rate 4 for 300s reason test >/dev/null
is "the rate is shown" "$(job k '.devs[0].create_rate')" 4
read -r from _ </proc/uptime
qp a 'create 200'
read -r to _ </proc/uptime
like "the rate holds" "$answer" 'error EDQUOT$'
n=$(grep -o 'qp [0-9]' <<<"$answer" | wc -l)
# Hundredths of a second, rounded up to a whole QP.
most=$((4 + (10#${to/./} - 10#${from/./}) * 4 / 100 + 1))
check "a second's worth at once, and what came in meanwhile: $n, at most $most" \
	test "$n" -ge 4 -a "$n" -le $most
swiftrdma action clear all >/dev/null
qp a 'create 20'
is "and it ends" "$(wc -w <<<"$answer")" 40

# Names.
for name in 'a b' '' 'a/b' aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa unassigned; do
	like "'$name' is no job's name" \
		"$(swiftrdma job set "$name" match uid=1 2>&1 && echo accepted)" '^swiftrdma: '
done
name=aZ0_.-aaaaaaaaaaaaaaaaaaaaaaaaa
check "the longest there can be" set_job $name match uid=1
is "is kept whole" "$(job $name .job)" "\"$name\""

for id in a b c d; do
	qpsh_stop $id
done
is "QPs that are gone are still in a job's figures" "$(figures k | jq -c '.[0], .[1] == .[2]' | xargs)" '0 true'

# A nest has a length of 16 bits: four times 64 long rules are more than one holds.
glob=$(printf '/%0240d' 0)
for origin in a b c d; do
	nlreq JOB_SET doit "job_obj{name=long origin=$origin rule{cgroup=$glob}@64}" >/dev/null
done
like "a job that no answer holds is refused" "$(nlreq JOB_GET doit job=long)" \
	'^EMSGSIZE 0 - more rules than one message holds'
like "a dump has it, counted once" "$(nlreq JOB_GET dump job=long)" '^0 [2-9] 1 -$'
is "with all its rules" "$(job long '.rules | length')" 256
check "it unloads" srdma_unload

# A job that is set again while its limit is reached: at no moment is a QP nobody's.
param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
check "the debug build loads" srdma_load_debug
set_job full match comm=full
check "a limit" nlreq ACT doit \
	'lease{origin=test ttl_ms=600000} action{knob=7 value=2 job=full}'
qpsh_start full qpsh --comm full && qp full 'create 2'
point $? "it is reached"
param delay_ms 60000
param delay_at 1024
swiftrdma job set full match comm=full order 7 >/dev/null & setter=$!
# It computes, in the kernel, for half a second: there is nothing else that takes so long.
held_up() { [ "$(awk '{ print $15 }' /proc/$setter/stat)" -ge 50 ]; }
check "the job gets other rules, and is held up in the middle" wait_for 60 held_up
qp full create
like "a new QP is refused meanwhile" "$answer" EDQUOT
is "... and was not before or after it" "$(alive $setter && echo meanwhile)" meanwhile
param delay_at 0
wait $setter
point $? "then the job has them"
is "its QPs are those that it had" "$(job full '[.devs[0].qps, .rules[0].order, .rules[0].matches]')" \
	'[2,7,2]'
qp full create
like "and its limit holds" "$answer" EDQUOT
qpsh_stop full
check "it unloads" srdma_unload
ktap_end
