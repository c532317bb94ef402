#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What it costs a NIC that somebody reads, who may cause that, and when the figures are
# of: the device counts the commands it served.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/figures.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

served() { awk '{ n += $2 } END { print n + 0 }' "$hca_debug/hca$1/commands"; }
served_op() { awk -v op="$2" '$1 == op { print $2 }' "$hca_debug/hca$1/commands"; }
read_all() {
	"$@" swiftrdma -j dev show >/dev/null && "$@" swiftrdma -j port show >/dev/null &&
		"$@" swiftrdma -j uar show >/dev/null && "$@" swiftrdma -j qp show >/dev/null
}
# count_both CMD...: commands that both NICs served meanwhile, and that we say.
count_both() {
	local was0 was1 we0 we1

	was0=$(served 0) was1=$(served 1) we0=$(commands mlx5_0) we1=$(commands mlx5_1)
	"$@" >"$work/counted" 2>&1 || echo "failed: $(tail -n 3 "$work/counted")"
	echo "$(($(served 0) - was0)) $(($(served 1) - was1))" \
		"$(($(commands mlx5_0) - we0)) $(($(commands mlx5_1) - we1))"
}
# The same of all since the provider came.
all_counted() { echo "$(commands mlx5_0) $(commands mlx5_1)"; }
equal() {
	local name=$1 s0 s1 w0 w1

	shift
	read -r s0 s1 w0 w1 < <(count_both "$@")
	is "$name: all that were served are counted ($s0, $s1)" "$w0 $w1" "$s0 $s1"
}

ktap_begin
check "a device with a model" eval "wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=2000"
dmesg -C
check "load" srdma_load
# What RDMA core asked of it at its beginning is over.
sleep 2
was0=$(served 0) was1=$(served 1)
check "the provider" mlx5_load
settled() { [ "$(all_counted)" = "$(($(served 0) - was0)) $(($(served 1) - was1))" ]; }
check "commands of its beginning are counted ($(all_counted))" wait_for 10 settled

# A reader without privileges.
is "... causes none" "$(count_both read_all as_nobody)" "0 0 0 0"
is "... and switches no counters on" "$(served_op 0 0x820)" ""
is "... but sees the ports, as they were at the beginning" \
	"$(as_nobody swiftrdma -j port show | jq -c '[.[] | .state, (.tx_bytes != null), (.time > 0)] | unique')" \
	'[true,"ACTIVE"]'
is "diagnostic counters are not known yet" "$(as_nobody swiftrdma -j dev show mlx5_0 | jq '.[0].mtt_hits')" null

# One with.
equal "all there is" read_all
is "its counters are on" "$(served_op 0 0x820)" 1
like "and known" "$(swiftrdma -j dev show mlx5_0 | jq -c '.[0] | [.mtt_hits >= 0, .diag_time > 0, .pcie_time > 0]')" \
	'^\[true,true,true\]$'
equal "it again" read_all
equal "jobs" swiftrdma job show
# The link is asked for by the driver's own commands, when it is old.
sleep 11
equal "a port with its link" swiftrdma port show
is "what was read last is there for others, with its time" \
	"$(as_nobody swiftrdma -j dev show mlx5_0 | jq -c '.[0] | [.mtt_hits >= 0, .diag_time < .time]')" '[true,true]'
equal "nothing, for names" swiftrdma job set bulk match cgroup=/bulk

# An agent without policies reads what takes no command.
printf 'jobs:\n  - {name: bulk, class: throughput, match: [{cgroup: /bulk}]}\n' >"$work/policy.yaml"
in_cgroup bulk crowd --from mlx5_0 --to mlx5_1 --qps 8 --size 4096 --duration 300 >"$work/bulk" 2>&1 & pid=$!
at_work() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '[.[] | select(.wrs > 0)] | length')" -ge 8 ]; }
check "traffic" wait_for 30 at_work
agent_for() {
	timeout -s TERM "$1" swiftrdma-agent --config "$work/policy.yaml" --interval 100ms >"$work/agent" 2>&1
	[ $? -eq 124 ]
}
seconds=8
[ -z "${FULL:-}" ] || seconds=20
read -r s0 s1 w0 w1 < <(count_both agent_for $seconds)
is "an agent without policies: all commands are counted" "$w0 $w1" "$s0 $s1"
check "... and there are next to none ($s0, $s1 in $seconds s)" [ $((s0 + s1)) -le 6 ]
cat >>"$work/policy.yaml" <<-EOF2
	policies:
	  - name: full
	    for: job of class throughput
	    when: port.util > 80 %
	    do: job.max_qps = 100
	    undo:
	      when: port.util < 10 %
EOF2
read -r s0 s1 w0 w1 < <(count_both agent_for $seconds)
is "one that looks at ports: all are counted" "$w0 $w1" "$s0 $s1"
check "... and it has them read ($s0, $s1 in $seconds s)" [ "$s0" -ge $seconds -a "$s1" -ge $seconds ]
check "unload" both_unload

# A figure bears the time at which it was read, here once a second.
check "few commands a second" both_load max_commands=1 detail=0
look_at_port() { swiftrdma -j port show mlx5_0/1 | jq -c '.[0] | [.time, .tx_bytes]' >>"$work/ports"; }
looks_differ() { look_at_port && [ "$(sort -u "$work/ports" | wc -l)" -gt 1 ]; }
for ((i = 0; i < 12; i++)); do
	look_at_port
done
note "$(uniq -c <"$work/ports")"
is "what was not read anew has the time at which it was read" \
	"$(jq -s 'group_by(.[1]) | map([.[][0]] | unique | length) | max' "$work/ports")" 1
check "some was not" [ "$(sort -u "$work/ports" | wc -l)" -lt 12 ]
check "and some was" wait_for 20 looks_differ
kill -9 $pid
wait $pid 2>/dev/null
check "unload" both_unload

# Readers that are about to ask a provider, which goes meanwhile.
param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
check "load, with delays" eval "srdma_load_debug && mlx5_load"
param delay_ms 60000
param delay_at 8192
cat $srdma_debugfs/mlx5_0/summary >"$work/summary" & first=$!
swiftrdma -j dev show mlx5_0 >"$work/dev" & second=$!
sleep $((4 * slowness))
rmmod swiftrdma_mlx5 & remover=$!
sleep 2
check "the provider waits for them" alive $remover
param delay_at 0
wait $first && wait $second && wait $remover
point $? "they come to their end, and so does it"
like "one has the provider's figures" "$(cat "$work/summary")" '^commands +[0-9]'
like "the other, too" "$(jq '.[0].commands' "$work/dev")" '^[0-9]'
is "then it is another's" "$(dev mlx5_0 provider)" generic
check "unload" srdma_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""

# A virtual function tells of itself alone.
check "a device with a virtual function, on Ethernet" \
	eval "wait_for 60 rmmod softhca && hca_load link=eth vfs=2"
dmesg -C
check "load" both_load
is "which is which" "$(swiftrdma -j dev show | jq -c 'map([.dev, .function])')" '[["mlx5_0","pf"],["mlx5_1","vf"]]'
like "in debugfs, too" "$(summary mlx5_1 function)" '^VF$'
crowd --from mlx5_0 --to mlx5_1 --qps 4 --size 4096 --duration 3 >"$work/crowd"
vport() { echo $(($(<"/sys/class/infiniband/mlx5_1/ports/1/counters/port_$1_data") * 4)); }
# The port comes last: what arrives in between makes its figure larger.
rdma_bytes() {
	local netdev vport rx

	netdev=$(</sys/class/net/hca1/statistics/rx_bytes)
	vport=$(vport rcv)
	rx=$(swiftrdma -j port show mlx5_1/1 | jq -r '.[0].rx_bytes')
	[ $((rx - netdev)) -ge "$vport" ]
}
check "its port's bytes are its own" wait_for 20 rdma_bytes
tells() { swiftrdma -j port show "mlx5_$1/1" | jq -c '.[0] | [has("prios"), has("cnp_sent")]'; }
is "the physical function tells of the NIC's port" "$(tells 0)" '[true,true]'
is "the virtual one does not" "$(tells 1)" '[false,false]'
check "unload" both_unload

# The netdev of a representor may count the whole port of the NIC.
mlx5_ko=${mlx5_ko/"$(uname -r)"/"$(uname -r)-debug"}
check "load, and take the physical function for a representor" eval \
	"srdma_load_debug representor=1 && mlx5_load"
is "which is which" "$(swiftrdma -j dev show | jq -c 'map([.dev, .function])')" \
	'[["mlx5_0","representor"],["mlx5_1","vf"]]'
bytes() {
	swiftrdma -j port show "mlx5_$1/1" |
		jq -c '.[0] | [.netdev, .tx_bytes != null, .rx_bytes != null, .tx_packets != null, .rx_packets != null]'
}
is "a representor has a netdev, but no bytes" "$(bytes 0)" '["hca0",false,false,false,false]'
like "... in debugfs, too" "$(cat $srdma_debugfs/mlx5_0/ports)" ' hca0 +- +- +- +- '
is "... and tells nothing of the NIC's port" "$(tells 0)" '[false,false]'
is "the virtual function still has bytes" "$(bytes 1)" '["hca1",true,true,true,true]'
like "doctor says which it is" "$(swiftrdma doctor device)" 'mlx5_0: a physical function \(PF\) in switchdev mode'
check "unload" both_unload

# The kernel knows a scalable function by its name on the auxiliary bus alone.
check "the physical function gets the name of a scalable one" \
	insmod "build/above/$(uname -r)/above.ko" dev=mlx5_0 parent=mlx5_core.sf.4
check "load" srdma_load
is "it is one" "$(swiftrdma -j dev show mlx5_0 | jq -r '.[0].function')" sf
like "in debugfs, too" "$(summary mlx5_0 function)" '^SF$'
check "unload" srdma_unload
check "it has its own name again" eval 'rmmod above && [ -e /sys/bus/pci/devices/*/infiniband/mlx5_0 ]'
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
