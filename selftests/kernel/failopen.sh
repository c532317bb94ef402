#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Whatever becomes of who changed the classes, within a lease and a second every
# QP that drains has its application's class back; the others are listed.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/fleet.sh

pairs=20
watch_ms=50
own="client 0:$pairs server 0:$pairs .* wire 0:$((2 * pairs))"
raised="client 96:$pairs server 96:$pairs .* wire 96:$((2 * pairs))"

# write_policy: with a lease of $lease_ms.
write_policy() {
	cat >"$fleet_dir/policy" <<-EOF2
	agent:
	  interval: 200ms
	  lease: ${lease_ms}ms
	levels: [{level: 3, dscp: 24}]
	jobs:
	  - name: fleet
	    class: latency
	    match:
	      - cgroup: /fleet
	policies:
	  - name: up
	    for: job fleet
	    when: job.qps > 0
	    do: job.level = 3
	    undo:
	      when: job.qps == 0
	EOF2
}

agent() {
	swiftrdma-agent --config "$fleet_dir/policy" >"$fleet_dir/agent" 2>&1 & agent=$!
}

# A look at the classes that was under way counts no earlier than the next one's end; and
# changes take their time on a slow machine, which the rehearsal has shown.
in_time() {
	note "given back $((classes_ms - $1)) ms after that"
	[ $((classes_ms - $1)) -le $((lease_ms + 1000 + 2 * watch_ms + rehearsed_ms)) ]
	point $? "... within the lease and a second"
}

above_ko=build/above/$(uname -r)/above.ko
disarm() { echo "$1" >$srdma_debugfs/disarm; }

# enter_verb: an application, $app, stays in a verb, so a disarm waits. leave_verb: it goes on.
params=/sys/module/swiftrdma/parameters
enter_verb() {
	local delays

	delays=$(<$params/delays)
	echo 60000 >$params/delay_ms
	echo 2 >$params/delay_at
	ibv_rc_pingpong -d rxe0 -g 1 >/dev/null 2>&1 & app=$!
	in_verb() { [ "$(<$params/delays)" -gt "$delays" ]; }
	wait_for 20 in_verb
}
leave_verb() { echo 0 >$params/delay_at; }
end_app() {
	kill -9 $app
	wait $app 2>/dev/null
}

ktap_begin
check "the module loads" srdma_load drain_ms=20
fleet many --pairs $pairs --both --wire v0 --watch $watch_ms --rate 400
job_fleet
rehearse_level many "$raised" "$own"
point $? "by hand the class of $((2 * pairs)) live QPs is raised, and given back"
# The agent has to keep its lease on a machine that is busy, too.
lease_ms=$((2000 + 2 * rehearsed_ms))
write_policy

agent
fleet_has many "$raised" 20
point $? "the agent raises the class of $((2 * pairs)) live QPs"
# Three leases long: it has to keep its own.
nap $((3 * lease_ms / 1000))
fleet_has many "$raised" 1
point $? "... and keeps it there"

now_ms
kill -9 $agent
fleet_has many "$own" 20
point $? "agent killed: all QPs have their own class back, queried and on the wire"
in_time "$now"
{ wait $agent; } 2>/dev/null

agent
fleet_has many "$raised" 20
point $? "a new agent raises it again"
now_ms
kill -STOP $agent
fleet_has many "$own" 20
point $? "agent stopped: all QPs have their own class back"
in_time "$now"
kill -CONT $agent
fleet_has many "$raised" 20
point $? "... and once it goes on, what it decided holds again"
like "... which it says" "$(<"$fleet_dir/agent")" 'issued anew'

now_ms
# On a busy host not all QPs drain in the time that a disarm takes. The disarm is refused then, all
# leases hold as before, and an operator tries again. The bound on the time stays.
check "the module is disarmed under it" wait_for 20 disarm 1
wait_for 10 srdma_unused
check "... and unloaded" rmmod swiftrdma
fleet_has many "$own" 20
point $? "all QPs have their own class back, and keep it without the module"
in_time "$now"
check "the agent says that the module is away" wait_for 10 grep 'is away' "$fleet_dir/agent"
kill -TERM $agent
wait $agent
point $? "... and ends well without it"
fleet_end many "no message was lost in all this, no error, no event"

# A disarm waits for an application that stays in a verb; QPs of others do not wait with it.
check "the module loads" srdma_load_debug drain_ms=20
job_fleet
level 3 300s >/dev/null
fleet others --pairs 4 --both --watch 50 --rate 200
fleet_has others 'client 96:4 server 96:4' 20
point $? "QPs are in a raised class"
enter_verb
point $? "an application stays in a verb"
disarm 1 2>/dev/null & disarming=$!
fleet_has others 'client 0:4 server 0:4' 20
point $? "they have their own class back"
check "... while the disarm waits for that application" kill -0 $disarming
leave_verb
wait $disarming
point $? "it is disarmed when the verb has ended"
end_app
wait_for 10 srdma_unused
check "... and unloaded" rmmod swiftrdma
fleet_end others "they were not disturbed"

# Stuck ones: none is ever seen drained.
check "the module loads" srdma_load_debug drain_ms=1 never_drain=1
job_fleet
level 3 300s >/dev/null
fleet stuck --pairs 8 --watch 50 --rate 200
fleet_has stuck 'client 96:8 server 96:8' 20
point $? "QPs are connected in a raised class"
swiftrdma action clear all >/dev/null
pending() { [ "$(swiftrdma -j action show | jq '[.[] | select(.kind == "pending")] | length')" = 16 ]; }
check "when it is over they are stuck in it" wait_for 30 pending
like "... they are listed, with the reason" \
	"$(swiftrdma -j action show | jq -c '[.[] | select(.kind == "pending")][0].reason')" 'did not drain'
say=$(disarm 1 2>&1)
like "to disarm is refused" "$say" 'busy'
like "... with the reason" "$(<$srdma_debugfs/disarm)" \
	"^armed: 16 QPs cannot get their application's class or rate back, 0 of them not before .* did not drain in time"
# No lease expires while a disarm is tried. This disarm waits for an application that stays in a verb.
enter_verb
point $? "an application stays in a verb"
lease_there() { [ "$(swiftrdma -j action show | jq '[.[] | select(.kind == "override")] | length')" = 1 ]; }
swiftrdma action set job fleet max_qps 5000 for $((4 * slowness))s >/dev/null
check "there is a lease" lease_there
(sleep $((8 * slowness)); leave_verb) & leaves=$!
now_ms
began=$now
disarm 1 2>/dev/null
now_ms
note "the disarm was tried for $((now - began)) ms"
check "a disarm that is refused after longer than the lease leaves it in force" \
	eval "[ $((now - began)) -gt $((4000 * slowness)) ] && lease_there"
lease_over() { ! lease_there; }
check "... and then it runs out" wait_for $((20 * slowness)) lease_over
wait $leaves
end_app
rmmod swiftrdma 2>/dev/null
srdma_loaded
point $? "... and the module stays"
check "by force it is disarmed" disarm force
check "... and unloaded" rmmod swiftrdma
fleet_has stuck 'client 96:8 server 96:8' 5
point $? "... which leaves those QPs as they are, as said"
fleet_signal stuck USR1
fleet_end stuck "they work without the module: every message was delivered"

# The module, and UC QPs that connect in a raised class.
raised_uc_fleet() {
	check "the module loads" srdma_load
	job_fleet
	level 3 300s >/dev/null
	fleet uc --type uc --pairs 3 --watch 50 --rate 100
	fleet_has uc 'client 96:3 server 96:3' 5
	point $? "UC QPs are connected in a raised class"
}

# UC QPs, which can be changed while they are connected where that takes no drain.
if rxe_at_once; then
	raised_uc_fleet
	swiftrdma action clear all >/dev/null
	check "the module unloads" srdma_unload
	fleet_has uc 'client 0:3 server 0:3' 5
	point $? "... and they have their own class back"
	fleet_end uc "... without noticing"
fi

# QPs that nobody can change while they are connected: UC where that takes a drain, and
# elsewhere those of a device whose modify another module has wrapped before ours came. The
# module says so, and waits for none. $cannot is their number, $can that of others on rxe1.
if rxe_at_once; then
	check "another module wraps the modify of rxe0" insmod "$above_ko" dev=rxe0 hold=0
	cannot=5 where=rxe0 can=5
else
	cannot=6 where='rxe[01]' can=2
fi
raised_uc_fleet
fleet rc --pairs 2 --watch 50 --rate 100
fleet_has rc 'client 96:2 server 96:2' 5
point $? "so are RC QPs"
held() { swiftrdma -j action show | jq -c '[.[] | select(.kind == "override") | [.lease, .value, .in_force]]'; }
before=$(held)
changed() { [ "$(dev rxe1 live_changed)" -ge "$1" ]; }
is "... none by a change" "$(dev rxe1 live_changed)" 0
like "to disarm is refused under a lease" "$(disarm 1 2>&1)" 'busy'
like "... with the reason, and for which QP" "$(<$srdma_debugfs/disarm)" \
	"^armed: $cannot QPs cannot .*, $cannot of them not before they are connected anew \(QP [0-9]+ of $where: the class of such a QP is set when it is connected.*leases hold"
is "... and the lease goes on" "$(held)" "${before:-none}"
check "... in force: QPs that had their own class back have its class again" \
	wait_for 10 changed $((2 * can))
fleet_has rc 'client 96:2 server 96:2' 10
point $? "... as they say"
fleet_end rc "they end well"
swiftrdma action clear all >/dev/null
like "to disarm is refused without a lease, too" "$(disarm 1 2>&1)" 'busy'
fleet_end uc "they end well"
check "with them the reason is gone: the module unloads" srdma_unload
! rxe_at_once || check "... and the other" rmmod above
ktap_end
