#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma doctor on the software ConnectX: the provider, virtual lanes on
# InfiniBand, then DCB on Ethernet. What is wrong is found, the command that it
# prints is run, and then it finds it well; and that a level of no effect has one
# then, the device's own counters of each priority say.
#
#   scripts/vm --nic softhca -- selftests/mlx5/doctor.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/doctor.sh
. selftests/lib/doctor.sh

# Both are the guest's, gone with it. The file says which levels are judged.
file=/etc/swiftrdma/policy.yaml
mkdir -p "${file%/*}"

ktap_begin
dmesg -C

# --- the provider -----------------------------------------------------------------

check "the module alone" srdma_load
look module
finds "a ConnectX without its provider" error provider mlx5_0 'swiftrdma_mlx5.ko is not loaded'
check "the modules are installed" install_modules "$srdma_ko" "$mlx5_ko"
look module
mends "a provider that is not loaded" provider mlx5_0 module
finds "... has the other device, too" ok provider mlx5_1 'has it'
is "... and all is fine" "$ended" 0
look kernel
finds "kernel probes show DEVX" ok kprobes mlx5_0 'DEVX'
rmmod swiftrdma_mlx5
modprobe swiftrdma_mlx5 devx=0
look kernel
finds "a provider that does not watch" warning kprobes mlx5_0 'probes are off'
mends "a provider that does not watch" kprobes mlx5_0 kernel
look device
finds "which function it is" ok function mlx5_0 'PF\) at 10000:00:00.0, driver mlx5_core, firmware'

# Of all that order.yaml has, only what nobody can do here is idle: weights take a device with QoS,
# no library merges QPs, and no ConnectX is known to count the misses that scale asks for.
is "idle policies of order.yaml" \
	"$(swiftrdma -j policy check user/policies/order.yaml 2>/dev/null |
		jq -c 'map(select(.runs == "idle") | .do | split(" ")[0]) | unique')" \
	'["job.weight","merge","scale"]'

# --- InfiniBand --------------------------------------------------------------------

echo 'levels: [{level: 1, dscp: 8, sl: 1}, {level: 2, dscp: 16, sl: 2}, {level: 3, dscp: 24, sl: 3}]' >$file
swiftrdma level set 1 dscp 8 sl 1 2 dscp 16 sl 2 3 dscp 24 sl 3
table() { echo "0x$1" >$hca_debug/hca0/sl2vl; }
look qos
finds "each service level has a lane of its own" ok levels mlx5_0/1 'VL of its own'
finds "... as the port says" ok level mlx5_0/1 'level 3: SL 3, VL 3'
table 0000000000000000
look qos
finds "all in one lane" error no_effect mlx5_0/1 'level 1: SL 1 is VL 0'
like "... which only the subnet manager can change" "$(of no_effect mlx5_0/1 .mend | head -n 1)" \
	'/etc/opensm/opensm.conf'
table 0f22456700000000
look qos
finds "an SL without a lane" error no_vl mlx5_0/1 'level 1: SL 1 has no VL'
finds "two in one lane" warning alike mlx5_0/1 'level 3: SL 3 is VL 2'
mends "an SL without a lane" no_vl mlx5_0/1 qos
mends "two in one lane" alike mlx5_0/1 qos
finds "... and each has its own" ok levels mlx5_0/1 'VL of its own'
table 0123456701234567
looked=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$(realpath build/bin/swiftrdma)" -j doctor device 2>&1)
point $? "a user looks at what there is"
like "... which is the same" "$looked" 'PF\) at 10000:00:01.0'
rm $file
check "the modules unload" both_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""
check "the device goes" wait_for 60 rmmod softhca

# --- Ethernet -----------------------------------------------------------------------

check "it comes again, with Ethernet" hca_load link=eth
dmesg -C
check "the modules load" modprobe swiftrdma_mlx5
if ! dcb app show dev hca0 >/dev/null 2>&1; then
	skip "trust, priorities, PFC and classes" "this kernel has no CONFIG_DCB"
	both_unload
	ktap_end
fi
at='mlx5_0/1 hca0'
swiftrdma level set 1 dscp 10 2 dscp 18 3 dscp 26 4 dscp 34 5 dscp 42 6 dscp 50 7 dscp 58
look qos
finds "each DSCP has a class of its own" ok levels "$at" 'DSCPs are trusted, and each of 7 levels'
finds "... at the other device, too" ok levels 'mlx5_1/1 hca1' 'each of 7 levels'
finds "... with all that it comes to" ok level "$at" \
	'level 3: DSCP 26, priority 3, traffic class 3, strict'
is "all is fine" "$ended" 0

# A job whose QPs ask for DSCP 26, and two levels above, by the file.
cat >$file <<-EOF2
	levels: [{level: 5, dscp: 42}, {level: 4, dscp: 34}]
	jobs:
	  - {name: kv, class: latency, match: [{cgroup: /kv}]}
EOF2
sent() { hca_ppcnt 0 10 "$1" 18; }
more_sent() { [ "$(sent "$1")" -gt "$2" ]; }
goes_in() { wait_for 60 more_sent "$1" $(($(sent "$1") + 50)); }
swiftrdma job set kv match cgroup=/kv >/dev/null
in_cgroup kv build/bench/lat --client-dev mlx5_0 --server-dev mlx5_1 --tclass 104 \
	--duration 900 >"$work/lat" 2>&1 & pid=$!
check "traffic of DSCP 26 is priority 3" goes_in 3

# ill NAME RULE VERDICT PATTERN CMD...: CMD makes it so.
ill() {
	local name=$1 rule=$2 verdict=$3 pattern=$4

	shift 4
	"$@" || note "$*: $?"
	look qos
	finds "$name" "$verdict" "$rule" "$at" "$pattern"
	mends "$name" "$rule" "$at" qos
	is "... and nothing else there" \
		"$(jq -r --arg o "$at" '.[] | select(.object == $o and .verdict != "ok") | .rule' <<<"$found")" ""
}
look qos
finds "the file's levels are what is judged" ok levels "$at" 'each of 2 levels'
ill "raised traffic leaves the lossless class" pfc error \
	'4 \(DSCP 34, priority 4, .*\), 5 \(DSCP 42, priority 5, .*\): no PFC .*DSCP 26, priority 3, lossless, .*applications ask for it' \
	dcb pfc set dev hca0 prio-pfc 3:on
is "... nothing but that" "$(dcb pfc show dev hca0 prio-pfc)" \
	"prio-pfc 0:off 1:off 2:off 3:on 4:on 5:on 6:off 7:off "
ill "all in one class" no_effect error '4 \(DSCP 34, .*\), 5 .*: no effect .*traffic class 3' \
	dcb ets set dev hca0 prio-tc all:3
ill "what is not raised goes first" served_last error \
	'4 \(DSCP 34, .* 4, strict\), 5 .*: served after .*traffic class 7, strict' \
	dcb ets set dev hca0 prio-tc 3:7
ill "a step of no effect" alike warning '4 and 5 \(traffic class [0-7]\)' \
	eval 'dcb ets set dev hca0 prio-tc 3:3 4:4 5:4'
ill "a higher level after a lower" order warning '5 after 4' \
	dcb ets set dev hca0 prio-tc 3:3 4:5 5:4
ill "a small share" share warning '4 \(DSCP 34, .* 4, 10 %\): a smaller share .*90 %' \
	dcb ets set dev hca0 prio-tc 3:3 4:4 5:5 tc-tsa all:strict 3:ets 4:ets tc-bw all:0 3:90 4:10
ill "a DSCP without a priority" unmapped error '5 \(DSCP 42\)' \
	dcb app del dev hca0 dscp-prio 42:5
ill "firmware that settles it" dcbx warning DCBX dcb dcbx set dev hca0 ieee

# What the device does, before and after.
raise() { swiftrdma action set job kv level 4 for 300s >/dev/null; }
lower() { swiftrdma action clear all >/dev/null; }
raise
check "a level has an effect: priority 4" goes_in 4
lower
check "... until it is taken back" goes_in 3
dcb app flush dev hca0 dscp-prio
look qos
finds "a port that trusts PCPs" error trust "$at" 'PCP.* no effect of levels 4 \(DSCP 34\), 5 \(DSCP 42\)'
raise
before=$(sent 4)
check "... where a level has no effect" goes_in 0
is "... none at all" "$(sent 4)" "$before"
mends "a port that trusts PCPs" trust "$at" qos
check "... and then the level has one" goes_in 4
lower
# The rest of the map went with it.
for ((i = 0; i < 64; i++)); do echo "$i:$((i / 8))"; done | xargs dcb app replace dev hca0 dscp-prio
kill $pid
wait $pid 2>/dev/null

sed -i 's/dscp: 42/dscp: 48/' $file
swiftrdma level set 5 dscp 48
look qos
finds "a level in the class of CNPs" warning cnp "$at" 'level 5 is DSCP 48, .*default'
mends "a level in the class of CNPs" cnp "$at" qos
is "... at both devices" "$(of cnp '')" ""

echo 0 >$hca_debug/hca0/link
look device
finds "a port that is down" warning port mlx5_0/1 'down'
echo 1 >$hca_debug/hca0/link
rm "$file"
uninstall_modules
check "the modules unload" both_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
