#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the device tells by itself: doorbell congestion, with the UARs that were busy;
# diagnostic counters; and that nothing is asked of it while nobody reads. Against a
# model: what is shown is that figures arrive whole, not what a NIC would say.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/events.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

heard() { jq -s "[.[] | select(.event == \"congestion\")$1] | length" "$work/heard"; }
has_heard() { [ "$(heard "$1")" -ge 1 ]; }
posted() { [ "$(swiftrdma -j uar show mlx5_0 "$1" | jq '.[0].wrs')" -gt "$2" ]; }

ktap_begin
dmesg -C
check "load" both_load
check "loading sends few commands" sent_few mlx5_0
like "the device tells of congestion" "$(cat $srdma_debugfs/mlx5_0/summary)" 'yes +congestion'
like "it has no counters without a model" "$(summary mlx5_0 mtt_hits)" '^$'
swiftrdma -j monitor congestion >"$work/heard" 2>"$work/monitor" & monitor=$!
check "a listener" wait_for 60 listens_to_events $monitor

# Two processes on a UAR each; the one that posts is named.
wq_start busy --qps 16 --domains 1
wq_start idle --qps 16 --domains 1
uar=$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[busy]}" | jq '.[0].uar')
wq idle post 1 >/dev/null
echo "post 20000" >&"${wq_in[busy]}"
check "one of them posts" wait_for 60 posted "$uar" 5000
echo "1a 0 3" >$hca_debug/hca0/event
check "the event arrives" wait_for 20 has_heard
is "its device, its level, its UAR" \
	"$(jq -sc '[.[] | select(.event == "congestion")][0] | [.dev, .level, .uar, .uar_qps]' "$work/heard")" \
	"[\"mlx5_0\",3,$uar,16]"
like "how much was posted there" "$(jq -s '.[0].uar_recent_wrs' "$work/heard")" '^[1-9]'
is "counted" "$(awk '$1 == "congestions" { print $2 }' $srdma_debugfs/mlx5_0/summary)" 1
wq_answer busy posted >/dev/null
wq_end idle

# Together in one sweep: many QPs of one UAR. One at a time: never.
row() { awk -v u="$uar" '$1 == u { print $10, $11 }' $srdma_debugfs/mlx5_0/uars; }
read -r active coactive < <(row)
is "16 busy QPs were active together ($coactive of $active sweeps)" $((coactive > 0)) 1
wq_end busy
wq_start one --qps 1
uar=$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[one]}" | jq '.[0].uar')
wq one post 5000 >/dev/null
read -r active coactive < <(row)
is "a lonely QP was active ($active sweeps), never together" "$((active > 0)) $coactive" "1 0"
wq_end one
kill $monitor
both_unload

# With a model: its own events, and its counters.
check "a device with a model" eval "wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=2000"
check "load" both_load
crowd --registers 4 --duration 5 >"$work/crowd" & pid=$!
wait $pid
counters() { echo "$(summary mlx5_0 mtt_hits) $(summary mlx5_0 mtt_misses)"; }
is "counters are the model's hits and misses" "$(counters)" \
	"$(hca_gauge 0 cache mtt 2) $(hca_gauge 0 cache mtt 3)"
vport() { echo $(($(<"/sys/class/infiniband/mlx5_$1/ports/1/counters/port_$2_data") * 4)); }
is "bytes of the port are the driver's own" \
	"$(swiftrdma -j port show mlx5_0 | jq -r '.[0] | "\(.tx_bytes) \(.rx_bytes)"')" \
	"$(vport 0 xmit) $(vport 0 rcv)"
like "the port has bytes" "$(swiftrdma -j port show mlx5_0 | jq '.[0].tx_bytes')" '^[1-9]'
all_told() {
	[ "$(summary mlx5_0 congestions)" = \
		$(($(hca_gauge 0 time congestion_raised) + $(hca_gauge 0 time congestion_cleared))) ]
}
is "priorities are Ethernet's" "$(swiftrdma -j port show mlx5_0 | jq '.[0] | has("prios") or has("cnp_sent")')" false
stalls() { swiftrdma -j dev show mlx5_0 | jq -c '.[0] | [.pcie_stalled_reads, .pcie_stalled_writes, .pcie_stalled_read_seconds, .pcie_stalled_write_seconds]'; }
# MPCNT, group 0, as the device answers it to somebody else.
told_stalls() {
	local r

	mapfile -t r < <(hca_command 272 08050000 00000001 00009051 00000000 "$(printf '%0512d' 0)")
	echo "[$((16#${r[18]})),$((16#${r[19]})),$((16#${r[20]})),$((16#${r[21]}))]"
}
same_stalls() { [ "$(stalls)" = "$(told_stalls)" ]; }
check "stalls of PCIe are the device's" wait_for 30 same_stalls
check "events are the model's, raised and cleared" wait_for 60 all_told
is "and there were some" $(($(summary mlx5_0 congestions) > 0)) 1
like "commands are measured" "$(summary mlx5_0 command_mean_ns)" '^[1-9]'
# Two commands once its counters are on.
summary mlx5_1 commands >/dev/null
was=$(summary mlx5_1 commands)
crowd --registers 4 --duration 3 >"$work/crowd"
is "nobody read mlx5_1: no command but the last reading's" \
	$(($(summary mlx5_1 commands) - was <= 2)) 1
check "unload" both_unload
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
