#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma-agent against the real module, as a service manager runs it.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/fleet.sh

pairs=3
policy=$fleet_dir/policy.yaml
own="client 0:$pairs server 0:$pairs"
has() { echo "client $1:$pairs server $1:$pairs"; }

# write_policy LEVEL LEASE [MEANING]: of level 5.
write_policy() {
	cat >"$policy" <<-EOF2
		agent:
		  interval: 100ms
		  lease: $2
		ports: [{dev: rxe0, speed: 20Mbit/s}]
		levels:
		  - {level: 3, dscp: 24, sl: 3}
		  - {level: 5, ${3:-dscp: 40, sl: 5}}
		jobs:
		  - name: fleet
		    class: latency
		    match:
		      - cgroup: /fleet
		policies:
		  - name: up
		    for: job of class latency
		    when: job.qps > 0
		    do: job.level = $1
		    cooldown: 200ms
		    undo:
		      when: job.qps == 0
	EOF2
}

# What a service manager would hear, a line for each message.
listener='
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("listening", flush=True)
while True:
    for line in s.recv(4096).decode().splitlines():
        print(int(time.monotonic() * 1000), line, flush=True)
'

says() { wait_for 10 grep -qE -- "$1" "$fleet_dir/agent"; }
hears() { wait_for 10 grep -qE -- "$1" "$fleet_dir/notify"; }
count() { grep -cE -- "$1" "$fleet_dir/$2"; }
said() { tail -n 8 "$fleet_dir/agent" | sed 's/^/#   /'; }

# caps PID: effective, permitted, bounding, and whether more can be had.
caps() {
	awk '/^Cap(Eff|Prm|Bnd)|^NoNewPrivs/ { print $2 }' "/proc/$1/status" | sort | uniq -c |
		awk '{ printf "%s%s*%s", sep, $1, $2; sep = " " }'
}

# meaning LEVEL: what it is on the wire.
meaning() {
	swiftrdma -j level show | jq -r --argjson l "$1" '.[] | select(.level == $l) | "\(.dscp)/\(.sl)"'
}

jobs() { swiftrdma -j job show | jq -c '[.[].job]'; }

lease() { swiftrdma -j action show | jq -c '[.[] | select(.kind == "override") | .lease, .value]'; }

ktap_begin
check "the module loads" srdma_load
for file in user/policies/*.yaml selftests/bench/demo.yaml; do
	check "$file is sound" swiftrdma-agent --check --config "$file"
done
out=$(swiftrdma-agent --once --config user/policies/port.yaml 2>&1)
point $? "one of them decides once on an idle machine"
like "... and finds nothing to do" "$out" 'nothing to do'

fleet job --pairs $pairs --both --watch 50 --rate 100
write_policy 3 1s 'dscp: 46, sl: 2'

before=$(jobs)
out=$(swiftrdma-agent --dry-run --once --config "$policy" 2>&1)
point $? "a dry run ends well"
like "... says what it would do, and why" "$out" 'dry run, would act: job fleet: up: job fleet qps 6 > 0: level 0 -> 3 \[tick 1, next in 200 ms\]$'
like "... to jobs and levels, too" "$out" 'would set job fleet: class latency, 1 rules'
is "... does nothing" "$(lease) $(dev rxe0 live_changed) $(meaning 5) $(jobs)" "[] 0 40/5 $before"
fleet_has job "^$own " 1
point $? "... to no QP"

out=$(swiftrdma-agent --once --log-json --config "$policy" 2>"$fleet_dir/once")
point $? "--once ends well"
# On a busy host a QP may not drain in time at first, and is told as pending.
is "... has decided, and knows the result" \
	"$(jq -sc '[.[] | [.event, .job, .new // .value, .qps_done + .qps_pending]]' <<<"$out")" \
	'[["decision","fleet",3,null],["result","fleet",3,'$((2 * pairs))']]'
fleet_lines job "^classes .* $(has 96) "
point $? "... and the class was changed"
fleet_has job "^$own " 5
point $? "... for the time of one lease"
is "the file's levels are in force" "$(meaning 5)" 46/2

# As a service, with somebody who listens.
swiftrdma -j monitor action >"$fleet_dir/heard" & listens=$!
provoke() {
	swiftrdma action set job fleet max_qps 100000 for 100ms >/dev/null
	grep -q max_qps "$fleet_dir/heard"
}
nothing_held() { [ "$(lease)" = "[]" ]; }
wait_for 30 provoke && wait_for 10 nothing_held
point $? "somebody listens to the module"
told() { jq -c "select(.event == \"action\" and .knob == \"level\") | $1" "$fleet_dir/heard"; }
python3 -c "$listener" "$fleet_dir/socket" >"$fleet_dir/notify" 2>&1 & python=$!
hears ^listening
write_policy 3 1s
NOTIFY_SOCKET=$fleet_dir/socket WATCHDOG_USEC=1000000 \
	swiftrdma-agent --config "$policy" >"$fleet_dir/agent" 2>&1 & agent=$!
hears ' READY=1$'
point $? "the agent tells the service manager when it is ready"
fleet_has job "^$(has 96) " 10
point $? "it acts"
is "ports are as fast as its file says" \
	"$(swiftrdma -j port show rxe0 | jq -c '.[0] | [.speed, .device_speed > 20000000]')" "[20000000,true]"
qpn=$(swiftrdma -j qp show dev rxe0 job fleet | jq '.[0].qpn')
like "... as who explains a QP knows" "$(swiftrdma -i 0.1 qp explain rxe0 "$qpn" | tr -s ' \n' ' ')" \
	"busy, of 20 Mbit/s .* those of $policy, which the agent uses \(pid $agent\)"
is "it keeps CAP_NET_ADMIN and nothing else" "$(caps $agent)" "3*0000000000001000 1*1"
# A QP that the module was still busy with counts as one to be tried again.
says 'result .* job fleet: .* 6 QPs, [0-6] done, [0-6] to be tried again, 0 that cannot change'
point $? "it says how it went"
why='up: job fleet qps 6 > 0: level 0 -> 3$'
like "the decision is kept with what it did, and why" \
	"$(swiftrdma action show)" "override +fleet .* level +3 +yes .* agent .* $why"
is "... by which policy, when, and by which signals" \
	"$(swiftrdma -j action show | jq -c '.[] | select(.kind == "override") | [.policy, .tick > 0, .cooldown, .origin, .in_force, .signals]')" \
	'["up",true,200000000,"agent",true,{"job.qps":6}]'
like "... also in debugfs" "$(cat $srdma_debugfs/rxe0/actions)" " up +[1-9][0-9]* $why"
wait_for 10 grep -q '"tick"' "$fleet_dir/heard"
is "whoever listened to the module heard of it" \
	"$(told '[.job, .knob, .value, .policy, .tick > 0, .cooldown, .signals]' | head -n 1)" \
	'["fleet","level",3,"up",true,200000000,{"job.qps":6}]'
is "... in the same words" "$(told .reason | head -n 1)" \
	'"up: job fleet qps 6 > 0: level 0 -> 3"'
swiftrdma action set job fleet max_qps 100000 for 10s reason 'up: by me: level 0 -> 7 [tick 9]' >/dev/null
is "whoever writes so is not taken for a policy" \
	"$(swiftrdma -j action show | jq -c '.[] | select(.knob == "max_qps") | [.reason, .policy, .tick]')" \
	'["up: by me: level 0 -> 7 [tick 9]",null,null]'
swiftrdma action clear job fleet >/dev/null
kill $listens
first=$(lease)
like "it holds a lease" "$first" '^\[[0-9]+,3\]$'
nap 3
is "... the same one, long after its first second" "$(lease)" "$first"
hears ' WATCHDOG=1$'
[ "$(count ' WATCHDOG=1$' notify)" -ge 2 ]
point $? "it feeds the watchdog ($(count ' WATCHDOG=1$' notify) times)"
hears ' STATUS=2 devices, .* QPs, 1 overrides held'
point $? "it tells how things stand"

# Somebody tries another file meanwhile.
sed 's/name: fleet/name: other/' "$policy" >"$fleet_dir/other.yaml"
out=$(swiftrdma-agent --dry-run --once --config "$fleet_dir/other.yaml" 2>&1)
point $? "a dry run beside it, by another file, ends well"
like "... says what would become of its job" "$out" 'would remove job fleet: not in the policy file'
like "... and whose the QPs would be" "$out" \
	"would act: job other: up: job other qps $((2 * pairs)) > 0: level 0 -> 3"
is "... takes nothing from it" "$(lease) $(jobs)" "$first [\"unassigned\",\"fleet\"]"
fleet_has job "^$(has 96) " 1
point $? "... nor from the QPs"

# Somebody starts another one.
figures() { swiftrdma -j job show fleet | jq -c '.[0] | [.id, .since, (.devs | map(.created))]'; }
before=$(figures)
out=$(swiftrdma-agent --once --config "$fleet_dir/other.yaml" 2>&1)
is "a second agent does not run" $? 1
like "... and says which one does" "$out" \
	"another agent runs on this host: process $agent holds /var/lib/swiftrdma/agent.lock"
is "... which the lock says too" "$(cat /var/lib/swiftrdma/agent.lock)" "$agent"
is "... takes nothing from it" "$(lease) $(jobs) $(figures)" "$first [\"unassigned\",\"fleet\"] $before"

# Other policies, good and bad.
write_policy 5 10s
sed -i 's,cgroup: /fleet,cgroup: /flee?,' "$policy"
kill -HUP $agent
fleet_has job "^$(has 160) " 10
point $? "on SIGHUP it goes by the new file"
is "... a job that is in both goes on counting, by another rule" \
	"$(figures) $(swiftrdma -j job show fleet | jq -r '.[0].rules[].cgroup')" "$before /flee?"
is "... and by what its levels mean" "$(meaning 5)" 40/5
hears ' RELOADING=1$' && [ "$(count ' READY=1$' notify)" -eq 2 ]
point $? "... and tells the service manager"
sed -i 's/job.level = 5/job.levle = 6/' "$policy"
kill -HUP $agent
line=$(grep -n levle "$policy")
says "policy.yaml:${line%%:*}:[0-9]+: .*levle"
point $? "of a bad file it says file, line and what is wrong"
like "... and that the old policies stay" "$(<"$fleet_dir/agent")" 'old policies stay in force'
nap 1
alive $agent && fleet_has job "^$(has 160) " 1
point $? "... which they do"

# The module goes and comes.
check "the module can be disarmed under it" swiftrdma module disarm
says 'swiftrdma.ko is away.*disarmed'
point $? "it says that the module is disarmed"
nap 1
is "... and decides nothing by what a disarmed module says" \
	"$(sed '1,/is away/d' "$fleet_dir/agent")$(grep 'batch 0' "$fleet_dir/agent")" ""
check "the module can be taken out under it" rmmod swiftrdma
fleet_has job "^$own " 5
point $? "... and the QPs have their own class back"
check "... and come again" srdma_load
says 'swiftrdma.ko is back'
point $? "it says when it is back"
fleet_has job "^$(has 160) " 10
point $? "... and acts on the QPs that the module took in"
[ "$(count 'is away' agent)" -eq 1 ]
point $? "... and said so once, not with each try"

# It dies, and another takes over what it left.
kill -KILL $agent
wait $agent 2>/dev/null
is "an agent that dies leaves its rules" "$(jobs)" '["unassigned","fleet"]'
swiftrdma job set mine match cgroup=/mine >/dev/null
swiftrdma-agent --once --config "$fleet_dir/other.yaml" >/dev/null 2>&1
point $? "another takes its place, by another file"
is "... and takes back what is not in that, of its own kind" "$(jobs)" '["unassigned","mine","other"]'
write_policy 5 10s
NOTIFY_SOCKET=$fleet_dir/socket WATCHDOG_USEC=1000000 \
	swiftrdma-agent --config "$policy" >"$fleet_dir/agent" 2>&1 & agent=$!
fleet_has job "^$(has 160) " 10
point $? "the next one acts again"

# One that is replaced, as at an upgrade.
before=$(lease)
fleet_lines job '^classes '
changes=${#lines[@]}
kill -USR1 $agent
wait $agent
point $? "on SIGUSR1 it ends well"
like "... and leaves its overrides" "$(<"$fleet_dir/agent")" '1 overrides are left to the next agent, for 10 s'
NOTIFY_SOCKET=$fleet_dir/socket WATCHDOG_USEC=1000000 \
	swiftrdma-agent --config "$policy" >"$fleet_dir/agent" 2>&1 & agent=$!
says 'an agent left 1 overrides in force: 1 go on, 0 are released'
point $? "the next one goes on with them"
nap 5
is "... under the same lease, which it renews" "$(lease)" "$before"
fleet_lines job '^classes '
is "... and no QP had another class in between" "${#lines[@]}" "$changes"

now_ms; asked=$now
kill -TERM $agent
wait $agent
point $? "on SIGTERM it ends well"
is "... and nobody goes by its file any more" \
	"$(swiftrdma -j port show rxe0 | jq -c '.[0].speed > 20000000') $(ls /run/swiftrdma)" "true "
like "... giving up its lease" "$(<"$fleet_dir/agent")" 'lease ended'
fleet_has job "^$own " 20
point $? "... so that the QPs have their own class back"
[ $((classes_ms - asked)) -le 3000 ]
point $? "... long before the lease's 10 s are over ($((classes_ms - asked)) ms)"
hears ' STOPPING=1$'
point $? "... and tells the service manager"
kill $python

fleet_end job "the application noticed nothing"
[ $ktap_failed -eq 0 ] || said
check "the module unloads" srdma_unload
ktap_end
