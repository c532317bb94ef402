#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# act_latency: the agent's ticks from the one that found a policy's state true
# to the first packet on the wire with the new class. From a run of demo.sh
# with a capture, whose void runs it repeats.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh

interval_ms=100		# demo.yaml
logs=$VM_OUT/demo

selftests/bench/demo.sh --capture >&2
status=$?
# A demo that missed one of its own bounds still shows when it acted.
[ $status -le 1 ] || row_die "the demo was void"
first=$(grep -m1 '"event":"decision"' "$logs/agent-act.json" | json_field time)
packet=$(awk '{ print $1; exit }' "$logs/capture")
if [ -z "$first" ] || [ -z "$packet" ]; then
	row_die "no decision, or no packet"
fi
read -r wall mono <"$logs/clock"
late_ms=$(awk -v p="$packet" -v w="$wall" -v m="$mono" -v f="$first" \
	'BEGIN { printf "%.0f", (p - w) * 1000 + m - f / 1e6 }')
[ "$late_ms" -ge 0 ] || late_ms=0	# the two clocks are compared to 10 ms
ticks=$(awk -v l="$late_ms" -v i=$interval_ms 'BEGIN { printf "%.2f", l / i }')
row act_latency "$ticks" ticks null null '<=' 1 ms "$late_ms" interval_ms $interval_ms
