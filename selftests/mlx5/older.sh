#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs that are older than the module: what they are is found out when a level is wanted
# of them, and until then it is unknown, not done. With the mlx5 provider, and without.
#
#   scripts/vm --nic softhca -- selftests/mlx5/older.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
# shellcheck source=selftests/lib/standing.sh
. selftests/lib/standing.sh

param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
kinds() { reasons | cut -d' ' -f3- | sort | uniq -c | sed 's/^ *//'; }
connected="the class of such a QP is set when it is connected, not later"
datagram="a QP of this type has no class: each of its work requests has its own"
unknown="not known yet: the QP is older than the module"

ktap_begin
dmesg -C
qpsh_start old qpsh --dev mlx5_0 --comm mix && qp old 'create 7'
point $? "QPs before the module"
read -ra numbers <<<"${answer//qp /}"
for qpn in "${numbers[@]:0:4}"; do
	qp old "take $qpn rts 0 2"
done
for qpn in "${numbers[@]:4}"; do
	qp old "take $qpn init"
done
qp old ud
is "four connected, three not, a UD QP" "$(rdma -j res show qp link mlx5_0/1 pid "${qpsh_pid[old]}" |
	jq -r '[.[] | "\(.type)-\(.state)"] | sort | join(" ")')" \
	"RC-INIT RC-INIT RC-INIT RC-RTS RC-RTS RC-RTS RC-RTS UD-RTS"

# Nobody reads: that a level is wanted is enough. On InfiniBand it comes too late.
mlx5_ko=build/kmod/$(uname -r)-debug/swiftrdma_mlx5.ko
check "load, and no command may be sent" srdma_load_debug no_commands=1
is "who reads before the provider is there causes none" "$(dev mlx5_0 provider)" generic
check "the provider, without what else a reading may ask of the device" mlx5_load detail=0
swiftrdma job set mix match comm=mix >/dev/null
is "as long as no command may be sent they are not known" "$(level mix 3)" "failed 8 0 0 1 0 7"
is "... which the list says, too" "$(listed)" "8 0 0 1 0 7"
is "... and why" "$(kinds)" "$(printf '%s\n' "1 $datagram" "7 $unknown")"
is "... and debugfs" "$(in_debugfs mlx5_0)" "1 cannot 7 unknown"
qp old "take ${numbers[6]} rts 0 2"
asked() { swiftrdma -j qp show dev mlx5_0 qpn "$1" | jq -c '.[0] | [.sl_asked, .sl]'; }
is "one connects meanwhile, and has the level" "$(asked "${numbers[6]}")" "[2,3]"
is "... which is known of it" "$(listed)" "8 1 0 1 0 6"
is "... and its port, without a question to the driver" \
	"$(swiftrdma -j qp show dev mlx5_0 qpn "${numbers[6]}" | jq '.[0].port')" 1
param no_commands 0
found() { [ "$(listed)" = "8 1 0 5 2 0" ]; }
check "then they are found out: four cannot, two will have it later" wait_for 30 found
is "... and why" "$(kinds)" "$(printf '%s\n' "1 $datagram" "4 $connected")"
is "... and debugfs" "$(in_debugfs mlx5_0)" "3 - 5 cannot"
is "what the one that connected meanwhile asked for is still known" "$(asked "${numbers[6]}")" "[2,3]"
is "their class is known, as their application asked for it" \
	"$(swiftrdma -j qp show comm mix state RTS type RC |
		jq -c 'map(select(.qpn != '"${numbers[6]}"') | [.sl_asked, .sl, .dest_qpn == .qpn]) | unique')" \
	'[[2,2,true]]'
qp old "take ${numbers[4]} rts"
is "one connects, and has it" "$(listed)" "8 2 0 5 1 0"
is "... as it says" "$(asked "${numbers[4]}")" '[0,3]'
swiftrdma action clear all >/dev/null
check "unload" rmmod swiftrdma_mlx5
echo force >$srdma_debugfs/disarm
check "... all, with a class left behind" rmmod swiftrdma

# Without the provider the driver is asked.
mlx5_ko=${mlx5_ko/-debug/}
qp old "take ${numbers[5]} init"
check "load without the provider" srdma_load
swiftrdma job set mix match comm=mix >/dev/null
is "provider" "$(dev mlx5_0 provider)" generic
is "it asks the driver: five cannot, one cannot for it has none, one will have it later" \
	"$(level mix 3 >/dev/null; wait_for 30 eval '[ "$(listed | cut -d" " -f6)" = 0 ]'; listed)" "8 2 0 5 1 0"
swiftrdma action clear all >/dev/null
is "two that were asked about then, and never again: what they ask for is known" \
	"$(swiftrdma -j qp show comm mix state RTS type RC | jq -c 'map(.sl_asked) | sort')" '[2,2,2,2,3,3]'

# A level that changes nothing: these QPs have no GRH, and so no traffic class.
nothing="the level has no value that this QP's link uses"
swiftrdma job set lid match comm=lid >/dev/null
qpsh_start lid qpsh --dev mlx5_0 --comm lid --no-grh && qp lid 'create 2'
read -ra lids <<<"${answer//qp /}"
for qpn in "${lids[@]}"; do
	qp lid "take $qpn rts 0 2"
done
nlreq LEVEL_SET doit 'level{level=6 dscp=48}' >/dev/null
is "a DSCP alone: no QP without a GRH can have it" "$(level lid 6)" "failed 2 0 0 2 0 0"
is "... the list has the same" "$(listed)" "2 0 0 2 0 0"
is "... and why" "$(kinds)" "2 $nothing"
is "... and debugfs" "$(awk '/ lid / && / cannot / { n++ } END { print n + 0 }' $srdma_debugfs/mlx5_0/qps)" 2
swiftrdma level set 6 dscp 48 sl 2
is "with the SL that they have they have it" "$(listed)" "2 2 0 0 0 0"
swiftrdma action clear all >/dev/null
qpsh_stop lid

check "the provider comes later" mlx5_load detail=0
is "it knows the same" "$(swiftrdma -j qp show comm mix state RTS type RC | jq -c 'map(.sl_asked) | sort')" '[2,2,2,2,3,3]'
qpsh_stop old
check "unload" both_unload
is "nothing else in the log" "$(mlx5_complaints | grep -v '2 QPs keep a class')" ""
ktap_end
