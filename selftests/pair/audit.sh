#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The class of both ends of a connection between two hosts, asked for over the network: qp audit
# at both ends, levels at one and at both, a host without the module or with another version,
# lost messages, QPs that are older than a module.
#
#   scripts/vm --pair --nic rxe -- selftests/pair/audit.sh -- selftests/lib/obey.sh

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
. selftests/lib/other.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters

hears_a() { peer_of rxe0 "$a" "$@"; }
hears_b() { other peer_of rxe0 "$b"; }
# audited ID QPN: the line of the connection at this end, by "qp audit"; theirs QPN: at the other.
pairs='.pairs[] | [.asked, .forced // "-", .programmed, .peer_address, .peer_qpn, .peer_asked // "-",
	.peer_forced // "-", .peer_programmed // "-", .verdict, .why // "-"] | map(tostring) | join(" ")'
ours() { swiftrdma -j qp audit all dev rxe0 qpn "$a" | jq -r "$pairs"; }
theirs() { other swiftrdma -j qp audit all dev rxe0 qpn "$b" | jq -r "$pairs"; }
there=::ffff:10.3.0.2 here=::ffff:10.3.0.1
other_lose() { other eval "echo $2 >$param/$1"; }

ktap_begin
mark_dmesg
other mark_dmesg
check "the debug module loads here" srdma_load_debug
check "... and there" other srdma_load_debug
other eval '. selftests/lib/peer.sh'
qpsh_start a qpsh --comm peer
other qpsh_start b qpsh --comm peer
connect_hosts
point $? "two QPs are connected, one of each host"
is "this end hears what the other asked for and has" "$(hears_a)" "answered 16 16 -"
is "... and the other way round" "$(hears_b)" "answered 8 8 -"
is "the audit here shows both ends" "$(ours)" "8 - 8 $there $b 16 - 16 differ -"
is "... and so does the one there" "$(theirs)" "16 - 16 $here $a 8 - 8 differ -"
like "the sum says where the other end is" "$(swiftrdma qp audit)" \
	'^1 pair with an end on another host: 1 differs, 0 alike$'
is "the messages crossed the network" "$(($(count rxe0 sent) >= 8)) $(($(other count rxe0 received) >= 8))" "1 1"

# A level at one end, then at both. On each host a level has its own meaning.
swiftrdma job set peer match comm=peer >/dev/null
swiftrdma action set job peer level 3 for 600s >/dev/null
is "a level at this end alone" "$(ours)" "8 96 96 $there $b 16 - 16 differ -"
is "... is seen from there" "$(theirs)" "16 - 16 $here $a 8 96 96 differ -"
other swiftrdma job set peer match comm=peer >/dev/null
other swiftrdma action set job peer level 3 for 600s >/dev/null
is "with the same level there both are alike" "$(ours)" "8 96 96 $there $b 16 96 96 alike -"
other swiftrdma level set 3 dscp 26 >/dev/null
check "if it means something else there" wait_for 20 eval '[[ "$(hears_a)" == "answered 16 104 3" ]]'
is "... they differ" "$(ours)" "8 96 96 $there $b 16 104 104 differ -"
other swiftrdma action clear all >/dev/null
swiftrdma action clear all >/dev/null

# Lost messages: those of this end, and those of the other.
for type in 1:HELLO 3:ASK; do
	echo $((1 << ${type%:*})) >$param/peer_lose_once
	is "the ${type#*:} that was lost is sent again" "$(hears_a 2)" "answered 16 16 - again"
done
for type in 2:WELCOME 4:ANSWER; do
	other_lose peer_lose_once $((1 << ${type%:*}))
	is "the ${type#*:} that was lost is asked for again" "$(hears_a 2)" "answered 16 16 - again"
done
other_lose peer_lose 4
is "without any WELCOME the peer is silent" "$(hears_a)" "silent - - -"
like "... which the audit says" "$(ours)" "^8 - 8 $there $b - - - unknown cannot: peer \(no answer\)\$"
other_lose peer_lose 0

# More questions than the other end takes in.
other_lose peer_rate 10
n=0
for _ in 1 2 3 4 5 6; do
	[ "$(hears_a)" != "answered 16 16 -" ] || n=$((n + 1))
done
is "a peer that takes in few messages answers all the same" $n 6
other_lose peer_rate 500

# Another version, no module, no channel.
other_lose peer_version 2
is "a peer of another version is told as such" "$(hears_a)" "version - - -"
like "... which the audit says" "$(ours)" "unknown cannot: peer \(another version\)\$"
other_lose peer_version 0
is "the same version answers" "$(hears_a)" "answered 16 16 -"
check "the module there unloads" other srdma_unload
is "a host without the module is told as such, at once" "$(hears_a)" "no_module - - -"
like "... which the audit says" "$(ours)" "unknown cannot: peer \(no module\)\$"
check "the module there loads" other srdma_load_debug
is "a QP that is older than the module there is silent" "$(hears_a)" "silent - - -"
is "... and cannot ask" "$(hears_b)" "no_address - - -"
connect_hosts
is "a newer one answers" "$(hears_a)" "answered 16 16 -"
is "... and asks" "$(hears_b)" "answered 8 8 -"
other srdma_unload
other srdma_load_debug peer=0
is "a host with peer=0 is one without the module" "$(hears_a)" "no_module - - -"
other srdma_unload
other srdma_load_debug
connect_hosts
other eval "qp b 'destroy $b'"
is "a peer that is gone is silent" "$(hears_a)" "silent - - -"
is "... and counted there" "$(($(other count rxe0 strange) >= 4))" 1

# Both modules go and come while the ends ask each other.
connect_hosts
asking() { while :; do swiftrdma qp peer; done >/dev/null 2>&1; }
asking & asks=$!
other eval 'while :; do swiftrdma qp peer; done >/dev/null 2>&1 & asks=$!'
rounds=0
for _ in 1 2 3; do
	srdma_unload_asked && srdma_load_debug && rounds=$((rounds + 1))
	other srdma_unload_asked && other srdma_load_debug && rounds=$((rounds + 1))
done
kill $asks
wait $asks 2>/dev/null
other eval 'kill $asks; wait $asks'
is "both modules were unloaded and loaded under this" $rounds 6
connect_hosts
is "the ends hear each other after it" "$(hears_a) $(hears_b)" "answered 16 16 - answered 8 8 -"

qpsh_stop a
other qpsh_stop b
check "the module unloads" srdma_unload
check "... and there" other srdma_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
is "... nor does the one there" "$(other dmesg_complaints)" ""
ktap_end
