#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Events: each kind, what a listener that cannot follow is told, and a module that
# is loaded anew meanwhile. (Only swiftrdma_mlx5.ko finds doorbells congested: mlx5/events.sh.)

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/qpsh.sh
. selftests/lib/proc.sh
PATH=$PWD/build/progs:$PATH

log=/tmp/events
# seen FILTER: there is an event for which it is true.
seen() { jq -es "any(.[]; $1)" $log >/dev/null 2>&1; }
count() { jq -s "[.[] | select($1)] | length" $log 2>/dev/null; }
start_monitor() {
	: >$log
	swiftrdma -j monitor >>$log &
	monitor=$!
	# Until it hears something, nothing that it misses counts.
	wait_for 30 provoke
}
provoke() {
	nlreq ACT doit "lease{id=$(nlreq --lease ACT doit 'lease{origin=provoke}') ttl_ms=0}" >/dev/null
	grep -q . $log
}
event() { check "event: $1" wait_for 30 seen "$2"; }

ktap_begin
check "the module loads" srdma_load
start_monitor
point $? "the monitor hears"

qpsh_start a qpsh
qp a create
qpn=$last
event "a QP is created" ".event == \"created\" and .qpn == $qpn and .pid == ${qpsh_pid[a]} and .dev == \"rxe0\""
serial=$(swiftrdma -j qp show qpn "$qpn" | jq '.[0].serial // .[0].id')
qp a "destroy $qpn"
event "it is destroyed, under its serial" \
	".event == \"destroyed\" and .qpn == $qpn and (.serial // .id) == $serial"
qpsh_stop a

swiftrdma job set test match comm=none >/dev/null
lease=$(nlreq --lease ACT doit 'lease{origin=test rank=3 ttl_ms=600000} action{knob=7 value=9 job=test reason=so} action{knob=1 value=2 job=test}')
event "an action is done" ".event == \"action\" and .knob == \"max_qps\" and .value == 9 and .job == \"test\" and .reason == \"so\" and .lease == $lease"
event "each item of a batch" ".event == \"action\" and .knob == \"level\" and .lease == $lease"
nlreq ACT doit "lease{id=$lease} action{knob=1 clear job=test}" >/dev/null
check "event: an override is cleared" wait_for 30 \
	seen "(.event == \"action\" or .event == \"done\") and .knob == \"level\" and .lease == $lease and (has(\"value\") | not)"
nlreq ACT doit "lease{id=$lease ttl_ms=0}" >/dev/null
event "a lease is ended" ".event == \"ended\" and .lease == $lease"
lease=$(nlreq --lease ACT doit 'lease{origin=test ttl_ms=1}')
event "a lease runs out" ".event == \"expired\" and .lease == $lease"
kill "$monitor"

# Recordings, of readings that are too far apart to see any of what happens here.
start_recording() {
	rm -f /tmp/recording
	swiftrdma -i 30 record /tmp/recording 2>/tmp/recorded &
	recorder=$!
	wait_for 30 begun
}
# Both listeners' sockets had to let go of events.
overflown() { [ "$(awk '$2 == 16 && $9 > 0' /proc/net/netlink | wc -l)" -ge 2 ]; }
# settled ID: of every QP its beginning and its end were told, once, but for that one.
settled() {
	[ "$(jq -sc '[.[] | select(.event == "created" or .event == "destroyed")] | group_by(.id) |
		map(select(map(.event) != ["created", "destroyed"]) | map([.event, .id]))' $log)" = "[[[\"created\",$1]]]" ]
}
begun() { [ "$(stat -c %s /tmp/recording 2>/dev/null || echo 0)" -gt 12 ]; }
# replayed FILTER: it is true of something in the replay of what there is by now.
replayed() {
	swiftrdma -j policy simulate user/policies/port.yaml replay /tmp/recording >/tmp/replayed 2>/dev/null &&
		jq -e ".events | any(.[]; $1)" /tmp/replayed >/dev/null
}

# Listeners that stand still while more happens than their sockets hold.
start_monitor
point $? "the monitor hears, once more"
start_recording
point $? "a recording begins"
qpsh_start d qpsh
qp d create
qpn=$last
serial=$(swiftrdma -j qp show qpn "$qpn" | jq '.[0].id')
event "of a QP it hears in time" ".event == \"created\" and .id == $serial"
kill -STOP "$monitor" "$recorder"
churn --dev rxe0 --procs 2 --total 4000 --modify none >/tmp/churned
# An event for each item: 256 of them cost one request, here of all that an item may have.
name31=$(printf 'n%.0s' {1..31})
items="action{knob=7 value=1000 job=test reason=$(printf 'x%.0s' {1..255}) decision{policy=$name31"
items+=" tick=1 cooldown=2 steps_left=3 acts_left=4 dev_index=5 port=6 uar=7 qpn=8"
items+=" reading{signal=$name31 value=9}@12}}@256"
lease=$(nlreq --lease ACT doit "lease{origin=test}")
for _ in {1..60}; do
	nlreq ACT doit "lease{id=$lease} $items" >/tmp/flood
done
is "the last of many batches" "$(cut -d' ' -f1 /tmp/flood)" 0
check "the listeners' sockets are full" wait_for 60 overflown
# What happens now nobody hears.
qp d "destroy $qpn"
qp d create
unheard=$(swiftrdma -j qp show qpn "$last" | jq '.[0].id')
unheard_qpn=$last
kill -CONT "$monitor" "$recorder"
event "it is told that it lost some" '.event == "lost"'
event "... and what it found by reading again" '.event == "lost" and .created >= 1 and .destroyed >= 1'
event "... a QP that is gone" ".event == \"destroyed\" and .id == $serial and .qpn == $qpn and .dev == \"rxe0\""
event "... and one that is there" \
	".event == \"created\" and .id == $unheard and .qpn == $unheard_qpn and .pid == ${qpsh_pid[d]}"
qpsh_start b qpsh
qp b create
event "and hears what comes after" ".event == \"created\" and .qpn == $last and .pid == ${qpsh_pid[b]}"
qpsh_stop b
check "every QP that it heard of has an end, once, but for the one that lives" wait_for 60 settled "$unheard"
qpsh_stop d
check "the flood was more than it saw" test "$(count '.event == "action"')" -lt $((60 * 256))
is "each action came whole, with all that it was decided by" \
	"$(jq -c 'select(.event == "action" and .policy) | [(.reason | length), .policy, .tick, .cooldown, .steps_left, .acts_left, .seen_port, .seen_uar, .seen_qpn, .signals]' "$log" | sort -u)" \
	"[255,\"$name31\",1,2,3,4,6,7,8,{\"$name31\":0.000009}]"
check "what it saw was real" test "$(count '.event == "created"')" -gt 0
check "a recording says so too" wait_for 60 \
	replayed '.event == "lost" and .reason == "events came faster than they were read"'
is "... in sum, and not how many" "$(jq -c '[.lost_events, .recorded_events > 0]' /tmp/replayed)" '[true,true]'
kill -TERM "$recorder"
wait "$recorder"
like "the flood itself went on" "$(cat /tmp/churned)" 'created 4000 .*destroyed 4000 failed 0'

# Recorded, and found again between the readings.
start_recording
point $? "another recording begins"
qpsh_start r qpsh
qp r create
qpn=$last
lease=$(nlreq --lease ACT doit 'lease{origin=test rank=3 ttl_ms=600000} action{knob=7 value=9 job=test reason=so}')
nlreq ACT doit "lease{id=$lease ttl_ms=0}" >/dev/null
qp r "destroy $qpn"
max_qps='.job == "test" and .knob == "job.max_qps"'
check "a QP's end is in the replay of what was written so far" wait_for 30 \
	replayed ".event == \"destroyed\" and .qpn == $qpn"
kill -TERM "$recorder"
wait "$recorder"
point $? "the recording ends when it is asked to"
like "... and says what it has" "$(cat /tmp/recorded)" '^[1-9][0-9]* readings, [1-9][0-9]* events$'
check "the QP's creation is in it" replayed \
	".event == \"created\" and .qpn == $qpn and .pid == ${qpsh_pid[r]} and .dev == \"rxe0\" and .seconds > 0"
check "an action is" replayed ".event == \"action\" and .job == \"test\" and .value == 9 and .reason == \"so\""
check "what it did was done" replayed ".event == \"done\" and $max_qps and .value == 9"
check "... until the lease ended" replayed ".event == \"done\" and $max_qps and (has(\"value\") | not)"
is "nothing was lost" "$(jq .lost_events /tmp/replayed)" false
qpsh_stop r

# The module goes and comes back.
check "it unloads below a listener" srdma_unload
check "the monitor stays" alive "$monitor"
check "the module loads again" srdma_load
qpsh_start c qpsh
again() {
	qp c create
	seen ".event == \"created\" and .pid == ${qpsh_pid[c]}"
}
check "the monitor hears the new one" wait_for 60 again
qpsh_stop c
kill "$monitor"
check "it unloads" srdma_unload
ktap_end
