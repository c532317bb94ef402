#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma-agent and swiftrdma-exporter under a real systemd: the units as they are installed,
# in process, mount and cgroup namespaces of their own, with no other units about. And a service
# with libswiftrdma, by the drop-in that is installed as an example.

cd "$(dirname "$0")/../../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/traffic.sh
. selftests/lib/fleet.sh
. selftests/lib/systemd.sh

pairs=2
unit=swiftrdma-agent.service
policy=/etc/swiftrdma/policy.yaml	# the guest's, gone with it
own="client 0:$pairs server 0:$pairs"
has() { echo "client $1:$pairs server $1:$pairs"; }

# write_policy LEVEL [LEASE]
write_policy() {
	mkdir -p "${policy%/*}"
	cat >"$policy" <<-EOF
		agent: {interval: 100ms, lease: ${2:-1s}}
		levels: [{level: 3, dscp: 24}, {level: 5, dscp: 40}]
		jobs:
		  - {name: fleet, class: latency, match: [{cgroup: /fleet}]}
		policies:
		  - name: up
		    for: job of class latency
		    when: job.qps > 0
		    do: job.level = $1
		    undo: {when: job.qps == 0}
	EOF
}

# The programs are where none of the unit's protections hides them, and what the agent writes
# where this test can read it.
cat >"$fleet_dir/prepare" <<'EOF'
mkdir /run/bin
cp "$1/build/bin/swiftrdma-agent" "$1/build/bin/swiftrdma-exporter" "$1/build/lib/libswiftrdma.so.1" /run/bin/
cd /run/systemd/system || exit 1
sed 's,=/usr/local/sbin/,=/run/bin/,' "$1/user/agent/swiftrdma-agent.service" >swiftrdma-agent.service
sed 's,=/usr/local/sbin/,=/run/bin/,' "$1/user/exporter/swiftrdma-exporter.service" >swiftrdma-exporter.service
mkdir swiftrdma-agent.service.d
printf '[Service]\nStandardError=append:%s\nWatchdogSec=2s\n' "$2" >swiftrdma-agent.service.d/test.conf
printf '[Service]\nExecStart=/usr/bin/ibv_rc_pingpong -d rxe0 -g 1 -n 500\n' >kv.service
mkdir kv.service.d
sed 's,=/usr/local/lib/,=/run/bin/,' "$1/user/lib/service-swiftrdma.conf" >kv.service.d/swiftrdma.conf
EOF

show() { ctl show "$unit" --value -p "$1"; }
# The agent's id out here.
main_pid() { pgrep -x swiftrdma-agent; }
shows() { [ "$(show "$1")" = "$2" ]; }
knows() { grep -qE -- "$1" <<<"$(show StatusText)"; }
says() { wait_for 10 grep -qE -- "$1" "$fleet_dir/agent"; }
why() { tail -n 8 "$systemd_dir/log" "$fleet_dir/agent" | sed 's/^/#   /'; }

ktap_begin
if [ ! -x /lib/systemd/systemd ]; then
	skip "the agent under systemd" "no systemd here"
	ktap_end
fi
check "the module loads" srdma_load
: >"$fleet_dir/agent"
start_systemd "" bash "$fleet_dir/prepare" "$PWD" "$fleet_dir/agent"
point $? "systemd runs"

write_policy 3
sed -i 's/job.level/job.levle/' "$policy"
ctl start $unit >/dev/null 2>&1
[ $? -ne 0 ] && says 'policy.yaml:[0-9]+:[0-9]+: .*levle'
point $? "with a bad policy file the unit does not start, and says why"
nap 3
is "... and is not tried again and again" "$(show ActiveState) $(show NRestarts)" "failed 0"

fleet job --pairs $pairs --both --watch 50 --rate 100
write_policy 3
check "the unit starts" ctl start $unit
is "... and is active" "$(show ActiveState)/$(show SubState)" active/running
fleet_has job "^$(has 96) " 10
point $? "the agent acts"
is "it has CAP_NET_ADMIN, a system call filter and no more, and is not root" \
	"$(awk '/^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):/ { printf "%s ", $2 } /^Uid/ { printf "%s ", $2 != 0 }' \
		"/proc/$(main_pid)/status")" \
	"1 $(printf '0000000000001000 %.0s' 1 2 3)1 2 "
wait_for 5 knows '2 devices, .* 1 overrides held'
point $? "systemd knows how things stand: $(show StatusText)"

write_policy 5
check "it reloads" ctl reload $unit
fleet_has job "^$(has 160) " 10
point $? "... and goes by the new file"
echo oops >>"$policy"
ctl reload $unit
says 'the old policies stay'
point $? "of a bad file it says so"
nap 1
fleet_has job "^$(has 160) " 1 && shows ActiveState active
point $? "... and goes on"
write_policy 5

pid=$(main_pid)
nap 5
is "the watchdog is fed" "$(main_pid) $(show NRestarts)" "$pid 0"
kill -STOP "$pid"
fleet_has job "^$own " 5
point $? "while it hangs its lease runs out"
wait_for 20 shows NRestarts 1
point $? "the watchdog ends it, and it is started anew"
fleet_has job "^$(has 160) " 15
point $? "... and acts again"
kill -KILL "$(main_pid)"
wait_for 10 shows NRestarts 2 && fleet_has job "^$(has 160) " 15
point $? "so it does when it is killed"

# The exporter beside it.
watch=swiftrdma-exporter.service
exporter_is() { [ "$(ctl show $watch --value -p "$1")" = "$2" ]; }
tells() { curl -s --max-time 10 http://localhost:9891/metrics | grep -qx "$1"; }
check "the exporter's unit starts" ctl start $watch
wait_for 20 tells 'swiftrdma_up 1'
point $? "... and it tells what it reads"
check "... that an agent runs, too" wait_for 20 tells 'swiftrdma_agent_up 1'
# Without CAP_SETPCAP the bounding set stays; with NoNewPrivs nothing can be had of it.
is "... as two processes with a system call filter, not root, one with CAP_NET_ADMIN" \
	"$(for pid in $(pgrep -x 'swiftrdma-expor|srdma-reader'); do
		awk '/^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):/ { printf "%s ", $2 } /^Uid/ { printf "%s ", $2 != 0 }' \
			"/proc/$pid/status"; echo; done | sort | tr '\n' ';')" \
	"1 $(printf '0000000000000000 %.0s' 1 2)0000000000001000 1 2 ;1 $(printf '0000000000001000 %.0s' 1 2 3)1 2 ;"
check "it reloads" ctl reload $watch
kill -KILL "$(pgrep -x srdma-reader)"
check "without its reader it is started anew" wait_for 30 exporter_is NRestarts 1
check "... and reads" wait_for 30 tells 'swiftrdma_up 1'
check "it stops" ctl stop $watch
check "... well" exporter_is Result success

# A service that knows nothing of the library.
swiftrdma job set kv match cgroup=/systemd/system.slice/kv.service >/dev/null
check "a service starts with the example of a drop-in" ctl start kv.service
wait_for 20 listening 18515 && ibv_rc_pingpong -d rxe1 -g 1 -n 500 localhost >/dev/null
point $? "... and works"
reported() { [ "$(swiftrdma -j job show kv | jq '.[0].devs[0].reported_wrs')" = 500 ]; }
check "... its job has what the library counted" wait_for 20 reported
is "... it ends well" "$(ctl show kv.service --value -p Result)" success

# To start a program takes more than a second here.
write_policy 5 20s
check "it reloads for a restart" ctl reload $unit
fleet_lines job '^classes '
changes=${#lines[@]}
pid=$(main_pid)
check "the unit restarts" ctl restart $unit
says 'an agent left 1 overrides in force: 1 go on'
point $? "... with another agent, which goes on ($pid, $(main_pid))"
nap 3
fleet_lines job '^classes '
is "... and no QP had another class in between" "${#lines[@]}" "$changes"

check "the unit stops" ctl stop $unit
is "... well" "$(show ActiveState)/$(show Result)" inactive/success
fleet_has job "^$own " 5
point $? "... and the QPs have their own class back"

fleet_end job "the application noticed nothing"
[ $ktap_failed -eq 0 ] || why
stop_systemd
check "the module unloads" srdma_unload
ktap_end
