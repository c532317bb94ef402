#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma probe on the software ConnectX: each assumption is made untrue (falsify in debugfs), and
# probe reports that one and no other. On InfiniBand, then on Ethernet; without the module, then
# with it. The experiments under load are in probe_load.sh.
#
#   scripts/vm --nic softhca -- selftests/mlx5/full/probe.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/probe.sh
. selftests/lib/probe.sh

scale=2000
device() {
	wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=$scale "$@" && return
	echo "Bail out! no device with a model"
	exit 1
}
checks=(dbrec module-count uar-page module-uar wqe-counters dscp dscp-counted udp-sport
	udp-sport-counted lag-port lag-port-counted sched-bind sched-rate sched-weight congestion
	diag-counters commands)
# pair [CHECK]...
pair() {
	[ $# -gt 0 ] || set -- "${checks[@]}"
	probe mlx5_0 "$@" peer mlx5_1 ports hca0,hca0p2 scale $scale
}
falsify() { echo "$1 $2" >$hca_debug/hca0/falsify; }
objects() { cat $hca_debug/hca*/objects; }

# only_differs CHECK FALSITY: probe finds CHECK to differ, and it alone, while FALSITY holds.
only_differs() {
	falsify "$2" 1
	pair
	falsify "$2" 0
	is "$2: differs" "$(checks_with differs)" "$1"
	is "... in its status" "$ended" 2
	note "$(words_of "$1")"
}

ktap_begin
dmesg -C

# --- InfiniBand, without the module -------------------------------------------------

device
check "its driver's own objects" hca_warm_up
before=$(objects)
pair
note_findings
is "nothing differs" "$(checks_with differs)" ""
is "without the module, on InfiniBand: cannot" "$(checks_with cannot)" \
	"module-count module-uar dscp dscp-counted udp-sport udp-sport-counted lag-port lag-port-counted"
like "... for a reason" "$(words_of module-count)" 'module not loaded'
like "... and another" "$(words_of dscp)" 'InfiniBand'
is "its status" "$ended" 1
is "it is simulated, and says so" "$(jq '.simulated' <<<"$found")" true
like "... to people as well" "$(swiftrdma probe mlx5_0 uar-page)" 'SIMULATED'
is "nothing is left" "$(objects)" "$before"

for falsity in dbrec uar-page wqe-counters sched-rate sched-weight congestion diag-counters commands; do
	only_differs $falsity $falsity
done
# RTS2RTS_QP is refused once, as a bad parameter.
echo "505 3 1" >$hca_debug/hca0/fail_command
pair
is "a QP that is not let into an element differs" "$(checks_with differs)" sched-bind
pair
is "again nothing differs" "$(checks_with differs)" ""

same_objects() { [ "$(objects)" = "$before" ]; }
kill_probes mlx5_0 sched-bind sched-rate sched-weight congestion peer mlx5_1 scale $scale
check "killed, it leaves no scheduling element" wait_for 60 same_objects

# --- with the module -------------------------------------------------------------------

check "load" both_load
pair dbrec module-count module-uar
is "the module counts and knows UARs as assumed" "$(checks_with 'as assumed')" \
	"dbrec module-count module-uar"
is "... and that is the status" "$ended" 0
only_differs module-uar uar-number
check "unload" both_unload
check "without its sampler" eval "srdma_load && mlx5_load sampler=0"
pair dbrec module-count module-uar
is "nothing is counted: cannot" "$(checks_with cannot)" module-count
check "unload" both_unload

# --- Ethernet -----------------------------------------------------------------------------------

is "nothing in the log" "$(mlx5_complaints)" ""
device link=eth lag_netdev=1
dmesg -C
check "its driver's own objects" hca_warm_up
check "load" both_load
pair
note_findings
is "nothing differs" "$(checks_with differs)" ""
is "all can be tried" "$(checks_with cannot)" ""
like "the module received the event" "$(figure congestion 'events that the module received')" '^[1-9]'
is "its status" "$ended" 0
for falsity in udp-sport lag-port; do
	only_differs $falsity $falsity
	like "... what is not set is not counted" "$(words_of $falsity-counted)" "see $falsity\$"
done
only_differs udp-sport-counted wire-sport
only_differs lag-port-counted wire-lag
only_differs dscp-counted priority
probe mlx5_0 dscp-counted scale $scale
like "without a peer no packet is counted" "$(words_of dscp-counted)" 'peer DEV'
probe mlx5_0 lag-port-counted peer mlx5_1 scale $scale
like "without a bond nobody knows the LAG's interfaces" "$(words_of lag-port-counted)" 'ports NETDEV,NETDEV'
probe mlx5_0 lag-port-counted peer mlx5_1 ports hca0,lo scale $scale
like "... and one without such counters is named" "$(words_of lag-port-counted)" '^lo: .*not supported'
probe mlx5_0 lag-port-counted peer mlx5_1 ports hca0,nope scale $scale
like "... and one that is not there" "$(words_of lag-port-counted)" '^nope: there is no such'
for ports in hca0 hca0,hca0 ,hca0; do
	like "two interfaces make a LAG: not $ports" "$(swiftrdma probe mlx5_0 ports $ports 2>&1)" "'$ports' is not NETDEV,NETDEV"
done
without_raw() { setpriv --bounding-set=-net_raw --inh-caps=-net_raw swiftrdma "$@"; }
like "a flow counter needs a capability" \
	"$(without_raw probe mlx5_0 udp-sport-counted peer mlx5_1 scale $scale)" 'CAP_NET_RAW'
before=$(objects)
kill_amid_rule() {
	local i

	for i in 1 2 3 4; do
		swiftrdma probe mlx5_0 udp-sport-counted peer mlx5_1 scale $scale >/dev/null 2>&1 &
		until grep -qx 'flow_counter 1' $hca_debug/hca0/objects; do
			kill -0 $! || return
		done
		kill -9 $!
		wait $! 2>/dev/null
		wait_for 60 same_objects || return
	done
}
check "killed while its rule counts, it leaves no rule and no counter" kill_amid_rule
check "unload" both_unload
only_differs dscp dscp
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
