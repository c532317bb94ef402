#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Firmware that is busy for a moment: what it did not tell is asked for again. What it
# refuses to tell is absent, and not asked for again.
#
#   scripts/vm --nic softhca-eth -- selftests/mlx5/busy.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh

QUERY_QP=50b QUERY_VPORT=770 ACCESS_REG=805 SET_DIAG=820 QUERY_DIAG=821 QUERY_CONG=826
BAD_PARAM=3 BUSY=6
answer() { echo "$1 $2 ${3:-1000000}" >$hca_debug/hca0/fail_command; }
obey() { answer $QUERY_QP $BUSY 0; }
served() { awk -v op="0x$1" '$1 == op { print $2 }' $hca_debug/hca0/commands; }
states() { swiftrdma -j qp show comm mix | jq -c 'map(.state) | unique'; }
known() { [ "$(states)" = '["RTS"]' ]; }
counted() { [ "$(swiftrdma -j qp show comm mix | jq -c 'map(.wrs != null) | unique')" = '[true]' ]; }
port() { swiftrdma -j port show mlx5_0/1 | jq -c ".[0] | $1"; }
device() { swiftrdma -j dev show mlx5_0 | jq -c ".[0] | $1"; }
# newer WHAT KEY THAN: a reading of the port or the device later than THAT.
newer() { [ "$("$1" ".$2 > $3")" = true ]; }

ktap_begin
# With a model, for diagnostic counters tell what it did.
check "a device with a model" \
	eval "wait_for 60 rmmod softhca && hca_load link=eth preset=cx5 time_scale=2000"
dmesg -C
qpsh_start old qpsh --dev mlx5_0 --comm mix && qp old 'create 4'
read -ra numbers <<<"${answer//qp /}"
for qpn in "${numbers[@]}"; do
	qp old "take $qpn rts"
done

# The driver asks the device.
check "load without the provider" srdma_load
is "the port's netdev does not count RDMA, so there are no bytes" \
	"$(port '[.netdev, .tx_bytes, .rx_bytes, .tx_packets, .rx_packets]')" '["hca0",null,null,null,null]'
answer $QUERY_QP $BUSY
is "a device that is busy does not tell the states of QPs" "$(states)" '[null]'
obey
check "they are asked for again" wait_for 20 known
check "unload" srdma_unload
check "load again" srdma_load
answer $QUERY_QP $BAD_PARAM
is "a device that refuses does not tell, either" "$(states)" '[null]'
obey
was=$(served $QUERY_QP)
sleep 1
is "... and is not asked again" "$(states) $(($(served $QUERY_QP) - was))" '[null] 0'
check "unload" srdma_unload

# The provider asks it.
check "load both" both_load
answer $QUERY_QP $BUSY
is "the same with the provider" "$(states)" '[null]'
obey
check "they are asked for again" wait_for 20 known
check "... and their work requests are counted" wait_for 20 counted

answer $SET_DIAG $BUSY
is "diagnostic counters that are not switched on" "$(device .mtt_hits)" null
obey
has_diag() { [ "$(device '.mtt_hits != null')" = true ]; }
check "... are at another reading" wait_for 20 has_diag
at=$(device .pcie_time)
sleep 1
answer $ACCESS_REG $BUSY
is "stalls of PCIe that are not told are those of before" "$(device .pcie_time)" "$at"
obey
check "... until they are told" wait_for 20 newer device pcie_time "$at"
port . >/dev/null
at=$(port .detail_time)
for op in $ACCESS_REG $QUERY_CONG; do
	sleep 1
	answer "$op" $BUSY
	port . >/dev/null
	obey
	check "$op: what was not told of the port is asked for again" wait_for 20 newer port detail_time "$at"
	is "... all of it" "$(port '[(.prios | length), (.cnp_sent != null)]')" '[8,true]'
	at=$(port .detail_time)
done

answer $QUERY_CONG $BAD_PARAM
check "congestion that it refuses to tell" wait_for 20 newer port detail_time "$at"
obey
was=$(served $QUERY_CONG)
sleep 2
is "... is absent, and not asked for again" "$(port .cnp_sent) $(($(served $QUERY_CONG) - was))" "null 0"
answer $QUERY_DIAG $BAD_PARAM
device . >/dev/null
obey
was=$(served $QUERY_DIAG)
is "diagnostic counters, the same" "$(device .mtt_hits) $(($(served $QUERY_DIAG) - was))" "null 0"
check "unload" both_unload

# Its driver asks for the port's bytes, too, so the commands that are ours are counted.
check "load, without what else a reading may ask" both_load detail=0 diag=0
like "the port has bytes" "$(port .tx_bytes)" '^[0-9]'
answer $QUERY_VPORT $BAD_PARAM
is "bytes that it refuses to tell are absent, not the netdev's" \
	"$(port '[.netdev, .tx_bytes, .rx_packets]')" '["hca0",null,null]'
obey
was=$(commands mlx5_0)
for _ in {1..20}; do
	port . >/dev/null
done
asked=$(($(commands mlx5_0) - was))
check "... and not asked for again ($asked commands)" [ $asked -lt 10 ]
is "nobody has them" "$(port .tx_bytes)" null
qpsh_stop old
check "unload" both_unload
is "nothing else in the log" "$(mlx5_complaints | grep -vE 'failed, status|mlx5_cmd_out_err: [0-9]+ callbacks suppressed')" ""
ktap_end
