#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ethernet links: the DSCP of live QPs, changed under traffic and taken back when its
# lease ends, as the device's counters of each priority see it; and the path of one, as
# QUERY_QP has it; and the DSCP of QPs that are older than the module. Against a model: it
# shows the command's form and that the model obeys, not that a NIC would.
#
#   scripts/vm --nic softhca-eth -- selftests/mlx5/eth.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

# Frames that left HCA 0 in a priority, which is its DSCP / 8: group 10 of PPCNT.
sent() { hca_ppcnt 0 10 "$1" 18; }
more_sent() { [ "$(sent "$1")" -gt "$2" ]; }
goes_on() { wait_for 60 more_sent "$1" $(($(sent "$1") + 200)); }
# What traffic there is goes in $1 and not in $2, but for the frames of the netdev, in
# priority 0, by which neighbours ask for each other now and then.
only_in() {
	local was

	goes_on "$1" || return
	was=$(sent "$2")
	goes_on "$1" && [ $(($(sent "$2") - was)) -le 20 ]
}
classes() {
	swiftrdma -j qp show job bulk |
		jq -c '[.[] | [.tclass_asked, .tclass]] | unique'
}
classes_are() { [ "$(classes)" = "$1" ]; }
act() { swiftrdma action set job bulk "$@"; }
bulk() {
	in_cgroup bulk crowd --from mlx5_0 --to mlx5_1 --qps 8 --size 4096 --duration 300 \
		>"$work/bulk" 2>&1 & pid=$!
	wait_for 30 at_work
}
at_work() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '[.[] | select(.wrs > 0)] | length')" -ge 8 ]; }
end_bulk() { kill -9 "$pid"; wait "$pid" 2>/dev/null; }

# QP $qpn as the device has it, in dwords. Its address, the ads of mlx5_ifc.h, begins at 12.
context() {
	mapfile -t out < <(hca_command 280 050b0000 00000000 "$(printf %08x "$qpn")" 00000000)
}
# UDP source port and LAG port.
path() {
	local out

	context
	echo "$((16#${out[20]:4})) ${out[6]:1:1}"
}
# The address without the DSCP, then the DSCP.
address() {
	local out

	context
	echo "${out[*]:12:8} $(printf %08x $((16#${out[20]} & ~(63 << 16)))) ${out[*]:21:2}" \
		"DSCP $((16#${out[20]} >> 16 & 63))"
}
path_is() { [ "$(path)" = "$1" ]; }
set_path() { swiftrdma action set dev mlx5_0 qpn "$qpn" "$@" 2>&1; }

ktap_begin
dmesg -C
check "load" both_load
is "the device can" "$(swiftrdma -j dev show mlx5_0 | jq '.[0].caps | index("live-class") != null')" true

# Raw packet QPs, whose send queues have doorbell records of their own.
swiftrdma job set raw match comm=raw_ethernet_la >/dev/null
raw_wrs() { swiftrdma -j job show raw | jq '[.[0].devs[].wrs] | add'; }
hca_raw_lat 5000 >"$work/raw" 2>&1 & raw=$!
raw_qps() { swiftrdma -j qp show type RAW_PACKET | jq -c 'map([.job, .state]) | sort'; }
raw_qps_are() { [ "$(raw_qps)" = "$1" ]; }
check "raw packet QPs are listed by their type" wait_for 60 raw_qps_are '[["raw","RTS"],["raw","RTS"]]'
wait $raw
point $? "they end well"
is "each of their requests is counted, of 3 WQEBBs" "$(raw_wrs)" 30000
is "... and their QPs" "$(swiftrdma -j job show raw | jq '[.[0].devs[] | .created, .destroyed] | add')" 4
swiftrdma job del raw >/dev/null

swiftrdma job set bulk match cgroup=/bulk >/dev/null
bulk
is "as the application asked" "$(classes)" '[[0,0]]'
check "its traffic is in priority 0" only_in 0 3

check "a level for the live job" act level 3 for 300s
check "every QP has it, at both ends" wait_for 30 classes_are '[[0,96]]'
is "all of them are reported done" \
	"$(swiftrdma -j action show | jq -c '.[0] | [.qps, .qps_done, .qps_pending, .qps_unsupported]')" '[16,16,0,0]'
is "live, without a pause" "$(dev mlx5_0 live_changed) $(dev mlx5_0 drain_max)" "8 0"
check "the device sends it in priority 3, and nothing in 0" only_in 3 0
check "another level" act level 5 for 300s
check "priority 5" only_in 5 3
check "taken back" swiftrdma action clear all
check "the application's class again" wait_for 30 classes_are '[[0,0]]'
check "priority 0" only_in 0 5

check "a level for a moment" act level 4 for 5s
check "it is there" goes_on 4
check "it runs out" wait_for 30 classes_are '[[0,0]]'
check "priority 0 again" only_in 0 4

# The path of a QP.
wq_start path --qps 1
qpn=$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[path]}" | jq '.[0].qpn')
own=$(path)
own_lag=${own#* }
other_lag=$((3 - own_lag))
note "QP $qpn has UDP source port and LAG port $own"
check "a UDP source port for a QP" set_path udp_sport 50000 for 300s
check "the device has it" wait_for 20 path_is "50000 $own_lag"
check "a LAG port, under another lease" set_path lag_port $other_lag for 300s rank 50
check "the device has that, too" wait_for 20 path_is "50000 $other_lag"
is "both are shown" "$(swiftrdma -j qp show dev mlx5_0 qpn "$qpn" | jq -c '.[0] | [.udp_sport, .lag_port]')" \
	"[50000,$other_lag]"
is "... in debugfs, too" \
	"$(awk -v n="$qpn" '$1 == n { print $(NF - 2), $(NF - 1) }' "$srdma_debugfs/mlx5_0/qps")" \
	"50000 $other_lag"
is "and reported done" "$(swiftrdma -j action show | jq -c 'map([.knob, .qps, .qps_done]) | sort')" \
	'[["lag_port",1,1],["udp_sport",1,1]]'
check "the QP works on" wq path post 10
check "one is taken back, the other stays" eval \
	"swiftrdma action clear dev mlx5_0 qpn $qpn udp_sport && wait_for 20 path_is '${own% *} $other_lag'"
check "a port for a moment" set_path udp_sport 50002 for 15s
check "it is there" wait_for 10 path_is "50002 $other_lag"
check "it runs out" wait_for 40 path_is "${own% *} $other_lag"
check "a higher rank wins" eval "set_path lag_port $own_lag for 300s rank 60 && wait_for 20 path_is '$own'"
check "all taken back" eval "swiftrdma action clear all && wait_for 20 path_is '$own'"
# Its driver then gives it a LAG port anew.
sport_is() { [[ $(path) == "$1 "* ]]; }
check "connected anew it has what is in force" eval \
	"set_path udp_sport 51000 for 300s && wq path reset && wait_for 20 sport_is 51000"
own="${own% *} $(path | cut -d' ' -f2)"
own_lag=${own#* }
check "taken back" eval "swiftrdma action clear all && wait_for 20 path_is '$own'"
is "nothing is shown" "$(swiftrdma -j qp show dev mlx5_0 qpn "$qpn" | jq -c '.[0] | [.udp_sport, .lag_port]')" \
	'[null,null]'
like "a port out of the device's range is refused" "$(set_path udp_sport 5)" 'of its range only'
like "a LAG port that is not there is refused" "$(set_path lag_port 3)" 'fewer ports'
like "that of a job is refused" "$(act lag_port 1 2>&1)" 'of a single QP'
ibv_ud_pingpong -d mlx5_0 -g 1 >/dev/null 2>&1 & ud=$!
has_qp() { [ "$(qps dev mlx5_0 pid $ud)" = 1 ]; }
check "a UD QP" wait_for 20 has_qp
like "its port is refused: it has no path" "$(qpn=$(swiftrdma -j qp show pid $ud | jq '.[0].qpn')
	set_path udp_sport 50000)" 'only RC and UC QPs'
kill $ud
wait $ud 2>/dev/null
check "another" eval "set_path udp_sport 50001 for 300s && wait_for 20 path_is '50001 $own_lag'"
check "the provider goes: it is taken back" eval "rmmod swiftrdma_mlx5 && path_is '$own'"
like "without it that is refused" "$(set_path udp_sport 50000)" 'on this device'
check "it comes again: the lease holds" eval "mlx5_load && wait_for 20 path_is '50001 $own_lag'"
check "the QP works on" wq path post 10

# Of a QP that connects, of a process that dies, of a provider that goes.
check "a level" act level 2 for 300s
end_bulk
bulk
is "a new process has it from the first packet on" "$(classes)" '[[0,64]]'
check "priority 2" only_in 2 0
check "the provider goes under a lease" rmmod swiftrdma_mlx5
check "what it changed is taken back" only_in 0 2
check "it comes again" mlx5_load
check "the lease holds again" wait_for 30 classes_are '[[0,64]]'
check "priority 2 again" only_in 2 0
check "unload under a lease" both_unload
check "the application's class again" only_in 0 2
check "and path" path_is "$own"
check "the QP works on" wq path post 10
wq_end path
end_bulk

# QPs that are older than the module. Their application has asked for DSCP 8, ECN bits and
# a priority, all of which are known from the device alone.
in_cgroup bulk crowd --from mlx5_0 --to mlx5_1 --qps 8 --size 4096 --duration 300 \
	--tclass 33 --sl 2 >"$work/bulk" 2>&1 & pid=$!
check "traffic without the module is in priority 1" only_in 1 3
qpn=$(rdma -j res show qp link mlx5_0/1 pid $pid | jq '.[0].lqpn')
own=$(address)
note "QP $qpn has the address $own"
check "the module comes later" both_load
swiftrdma job set bulk match cgroup=/bulk >/dev/null
check "a level for the job" act level 3 for 300s
check "every older QP has it, at both ends" wait_for 30 classes_are '[[33,97]]'
is "all of them are reported done" \
	"$(swiftrdma -j action show | jq -c '.[0] | [.qps, .qps_done, .qps_pending, .qps_unsupported, .qps_unknown]')" \
	'[16,16,0,0,0]'
is "live" "$(dev mlx5_0 live_changed) $(dev mlx5_1 live_changed)" "8 8"
is "the priority that it asked for is known, and stays" \
	"$(swiftrdma -j qp show job bulk | jq -c 'map([.sl_asked, .sl]) | unique')" '[[2,2]]'
check "the device sends it in priority 3, and nothing in 1" only_in 3 1
is "the address is what it was, but for the DSCP" "$(address)" "${own% *} 24"
check "taken back" swiftrdma action clear all
check "the application's class again" wait_for 30 classes_are '[[33,33]]'
check "priority 1" only_in 1 3
is "the address is what it was" "$(address)" "$own"
is "no completion failed" "$(cat "$work/bulk")" ""
check "a level again" act level 5 for 300s
check "priority 5" only_in 5 1
check "unload under the lease" both_unload
check "the application's class again" only_in 1 5
is "... and the address" "$(address)" "$own"
end_bulk
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
