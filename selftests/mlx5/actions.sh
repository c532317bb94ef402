#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What is changed on a device and its QPs, and that it is taken back: the class when
# a QP connects, rates and weights of jobs on live QPs, under leases. Against a model:
# it shows the commands' form and that the model obeys, not that a NIC would.
#
#   scripts/vm --nic softhca -- selftests/mlx5/actions.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

elements() { hca_gauge 0 objects sched_element; }
no_element() { [ "$(elements)" = 0 ]; }
# The rates of leaves, as the device has them, and how often the one of that many
# Mbit/s held QPs up.
rates() { awk 'NR > 1 && $1 && $3 { print $3 }' $hca_debug/hca0/elements | sort -n | xargs; }
weights() { awk 'NR > 1 && $1 && $2 > 1 { print $2 }' $hca_debug/hca0/elements | sort -n | xargs; }
waits() { awk -v mbps="$1" 'NR > 1 && $3 == mbps { print $5 }' $hca_debug/hca0/elements; }
rates_are() { [ "$(rates)" = "$1" ]; }
held_up() { [ "$(waits "$1")" -gt "$2" ]; }
act() { swiftrdma action set "$@" 2>&1; }
release() { swiftrdma action clear all; }
classes() { swiftrdma -j qp show dev mlx5_0 pid "$1" | jq -c '[.[] | [.sl_asked, .sl]] | unique'; }
param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
refused() { ! "$@"; }
# The module logs each disarm that it refuses.
other_complaints() { mlx5_complaints | grep -v " not disarmed: "; }
disarm_refused() { ! echo 1 >$srdma_debugfs/disarm; } 2>/dev/null

# bulk NAME: QPs that send 4 KiB for a long time, in the cgroup NAME; $pid.
bulk() {
	in_cgroup "$1" crowd --from mlx5_0 --to mlx5_1 --qps 8 --size 4096 --duration 300 \
		>"$work/$1" 2>&1 & pid=$!
	wait_for 30 at_work "$pid"
}
at_work() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$1" | jq '[.[] | select(.wrs > 0)] | length')" -ge 8 ]; }
end_bulk() { kill -9 "$pid"; wait "$pid" 2>/dev/null; }

ktap_begin
dmesg -C
check "load without a model" both_load
swiftrdma job set bulk match cgroup=/bulk >/dev/null
like "no rates without elements" "$(act job bulk bit_rate 1Gbit/s)" 'no scheduling elements|scheduling'
swiftrdma job set wq match comm=wqebbs >/dev/null

# Class, when a QP connects.
check "a level for a job" act job wq level 3 for 60s
wq_start class --qps 4
is "service level asked and programmed" "$(classes "${wq_pid[class]}")" "[[0,3]]"
release >/dev/null
is "a connected QP keeps it" "$(classes "${wq_pid[class]}")" "[[0,3]]"
check "connected anew" wq class reset
is "it has its own again" "$(classes "${wq_pid[class]}")" "[[0,0]]"
wq class class 2 >/dev/null
wq class reset >/dev/null
like "a live change is not supported, and that is said" "$(act job wq level 5 for 60s; sleep 1
	swiftrdma -j action show)" 'set when it is connected|UNSUPP|unsupported'
release >/dev/null
like "there are no UDP ports" "$(act dev mlx5_0 qpn "$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[class]}" |
	jq '.[0].qpn')" udp_sport 50000)" 'InfiniBand port'
wq_end class

# Both ends of a connection, found by their LIDs.
swiftrdma job set raised match cgroup=/raised >/dev/null
act job raised level 3 for 300s >/dev/null
in_cgroup raised ib_write_bw -d mlx5_0 -p 20300 -D 60 >/dev/null 2>&1 & server=$!
wait_for 60 listening 20300
in_cgroup plain ib_write_bw -d mlx5_1 -p 20300 -D 60 localhost >/dev/null 2>&1 & client=$!
audit() {
	swiftrdma -j qp audit pid $server |
		jq -c '[.count.alike, .count.differ, (.pairs | map([.kind, .asked, .forced,
			.programmed, .peer_pid, .peer_asked, .peer_forced, .peer_programmed]))]'
}
audit_is() { [ "$(audit)" = "$1" ]; }
check "a service level at one end only is flagged" wait_for 30 audit_is \
	"[0,1,[[\"sl\",0,3,3,$client,0,null,0]]]"
like "they are connected without a GRH" "$(swiftrdma -j qp show pid $client | jq -c 'map([.dlid, .dgid])')" \
	'^\[\[1,null\]\]$'
kill -9 $server $client
wait $server $client 2>/dev/null
release >/dev/null
check "unload" both_unload

check "a device with a model" eval "wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=2000"
check "load" eval "srdma_load_debug && mlx5_load"
swiftrdma job set bulk match cgroup=/bulk >/dev/null
swiftrdma job set other match cgroup=/other >/dev/null
is "no elements" "$(elements)" 0
bulk bulk
refused() { build/progs/nlreq ACT doit "lease{origin=t} action{knob=$1 value=$2 job=bulk}"; }
like "a rate below the least is refused" "$(refused 2 999999)" '^ERANGE .*bit_rate is 1000000 to'
like "... and a weight above the most" "$(refused 4 101)" '^ERANGE .*a weight is 1 to 100'
check "a rate for a live job" act job bulk bit_rate 1Gbit/s for 300s
check "the device has it" wait_for 60 rates_are 1000
is "a node and a leaf" "$(elements)" 2
was=$(waits 1000)
check "and obeys" wait_for 30 held_up 1000 "$was"
is "shown" "$(swiftrdma -j job show bulk | jq '.[0].devs | length > 0')" true
check "another rate" act job bulk bit_rate 2Gbit/s for 300s
check "changed live" wait_for 60 rates_are 2000
is "with the same element" "$(elements)" 2
check "a weight" act job bulk weight 7 for 300s
weight_is() { [ "$(weights)" = 7 ]; }
check "has come" wait_for 60 weight_is
release >/dev/null
check "taken back: no element is left" wait_for 60 no_element

check "a rate for a moment" act job bulk bit_rate 1Gbit/s for 10s
check "it is there" wait_for 60 rates_are 1000
check "and runs out" wait_for 20 no_element

first=$pid
bulk other
check "two jobs" eval "act job bulk bit_rate 1Gbit/s for 300s && act job other bit_rate 3Gbit/s for 300s"
check "two leaves" wait_for 60 rates_are "1000 3000"
end_bulk
pid=$first
check "one process dies: its job's element stays, others too" rates_are "1000 3000"
bulk other
was=$(waits 3000)
check "a new process is bound when it connects" wait_for 30 held_up 3000 "$was"
end_bulk
# A pass that comes while it goes still finds its rate.
param delay_ms 500
param delay_at 128
check "a job is deleted" swiftrdma job del other
param delay_at 0
check "a job that goes takes its element along" wait_for 60 rates_are 1000

pid=$first
note "$(cat "$work/bulk")"
is "the first process is still at work" "$(alive "$pid" && echo yes)" yes
check "the provider goes" rmmod swiftrdma_mlx5
is "no element is left" "$(elements)" 0
is "the device still has its QPs" "$(alive "$pid" && echo yes)" yes
check "and comes: what is under a lease holds again" mlx5_load
check "the rate is back" wait_for 60 rates_are 1000
end_bulk
check "killed under a lease" wait_for 60 eval '[ "$(elements)" = 2 ]'

# A device may unbind a QP that is reset, or may not. The module binds the QP anew in either case.
bound() { awk 'NR > 1 && $1 { n += $6 } END { print n + 0 }' $hca_debug/hca0/elements; }
binds() { awk '$1 == "0x505" { print $2 }' $hca_debug/hca0/commands; }
for keep in N Y; do
	echo $keep >/sys/module/softhca/parameters/keep_element
	swiftrdma job set wq match comm=wqebbs >/dev/null
	wq_start rate --qps 4
	act job wq bit_rate 5Gbit/s for 300s >/dev/null
	all_bound() { [ "$(bound)" = 4 ]; }
	check "four QPs are in their job's element (keep_element=$keep)" wait_for 60 all_bound
	check "they are reset, and connected anew" wq rate reset
	check "... and are in it again" wait_for 60 all_bound
	was=$(binds)
	wq rate reset >/dev/null
	bound_anew() { all_bound && [ "$(binds)" -ge $((was + 4)) ]; }
	check "... by commands, whatever the device has kept" wait_for 60 bound_anew
	# A busy device does not unbind them, so a disarm is refused.
	echo "505 6 1000000" >$hca_debug/hca0/fail_command
	release >/dev/null
	check "a disarm is refused while the device is busy" disarm_refused
	like "... and says so" "$(<$srdma_debugfs/disarm)" "^armed: 4 QPs .*, 0 of them not before .*busy with the QP"
	echo "505 6 0" >$hca_debug/hca0/fail_command
	none_bound() { [ "$(bound)" = 0 ]; }
	check "then they leave" wait_for 60 none_bound
	wq_end rate
done
echo N >/sys/module/softhca/parameters/keep_element
act job bulk bit_rate 1Gbit/s for 300s >/dev/null
check "a rate again" wait_for 60 eval '[ "$(elements)" = 2 ]'

# QPs on their way out are in no table any more, and in their element still.
bulk bulk
was=$(waits 1000)
check "there is a rate again" wait_for 30 held_up 1000 "$was"
param delay_ms 60000
param delay_at 512
kill -9 "$pid"
leaving() { [ "$(swiftrdma -j qp show job bulk | jq length)" -lt 16 ]; }
check "its process is killed, and slow to go" wait_for 30 leaving
release >/dev/null
both_are() { [ "$(elements) + $(hca_gauge 1 objects sched_element)" = "$1" ]; }
held_by_one() { both_are "2 + 0" || both_are "0 + 2"; }
check "what it is still in stays" wait_for 30 held_by_one ||
	note "$(elements) + $(hca_gauge 1 objects sched_element), $(swiftrdma qp show job bulk)"
is "... and the device is not asked for it" "$(other_complaints)" ""
param delay_at 0
wait "$pid" 2>/dev/null
check "then it goes" wait_for 60 both_are "0 + 0"

# Which QP is in a state of error, the device knows first.
act job bulk bit_rate 1Gbit/s for 300s >/dev/null
ib_write_bw -d mlx5_1 -p 20301 -D 300 >/dev/null 2>&1 & server=$!
wait_for 60 listening 20301
in_cgroup bulk ib_write_bw -d mlx5_0 -p 20301 -D 300 localhost >/dev/null 2>&1 & pid=$!
one_at_work() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '[.[] | select(.wrs > 0)] | length')" = 1 ]; }
check "one QP is at work" wait_for 60 one_at_work
check "it is in an element" wait_for 30 rates_are 1000
kill -STOP "$pid"
kill -9 "$server"
wait "$server" 2>/dev/null
in_error() { [ "$(rdma -j res show qp link mlx5_0/1 pid "$pid" | jq -r '.[0].state')" = ERR ]; }
check "its peer goes, and it fails" wait_for 60 in_error
release >/dev/null
sleep 1
is "it cannot leave its element, and that is no error" "$(elements) $(other_complaints)" "2 "
check "a disarm is refused, for the rate may come back with the QP" disarm_refused
like "... and says so" "$(<$srdma_debugfs/disarm)" \
	"^armed: 1 QPs cannot get their application's class or rate back, 1 of them not before .*not in RTS"
end_bulk
check "until its process ends" wait_for 60 no_element
check "a rate for who comes" act job bulk bit_rate 1Gbit/s for 300s
bulk bulk
check "mlx5_ib goes under a lease, under traffic" eval "end_bulk; modprobe -r mlx5_ib"
is "no element is left" "$(elements)" 0
check "mlx5_ib comes" eval "modprobe mlx5_ib && hca_active"
release >/dev/null
check "unload" both_unload
check "unload the device" rmmod softhca
like "it has no objects left" "$(dmesg | grep ' objects left' | grep -vc ' 0 objects left')" '^0$'
is "nothing in the log" "$(other_complaints)" ""
ktap_end
