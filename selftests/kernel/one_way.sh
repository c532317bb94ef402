#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What only answers stays in RTR, and its class cannot be changed there on a kernel that
# has to drain the send queue first: result, list, audit and explanation say so, and it
# has the class when it is connected.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH

not_yet='cannot yet: not in RTS'

raise() { swiftrdma action set job oneway level 3 for 600s 2>&1; }
# A result comes after a bounded time. On a busy host a QP may not have been tried by then.
says() {
	[[ $result =~ $1 ]] || { swiftrdma action clear all >/dev/null; result=$(raise); }
	[[ $result =~ $1 ]] || { note "$result"; return 1; }
}
has() { qp a "class $1" && [ "$answer" = "class $2" ]; }
audited() { swiftrdma -j qp audit all qpn "$1" | jq -r '.pairs[] | "\(.verdict) \(.why // "-")"'; }
waiting() {
	swiftrdma -j action show |
		jq -r '.[] | select(.kind == "pending") | "\(.qpn) \(.error) \(.reason)"' | sort -n
}

ktap_begin
check "the module loads" srdma_load
swiftrdma job set oneway match comm=oneway >/dev/null
qpsh_start a qpsh --comm oneway
qp a 'create 2'
read -r _ client _ server <<<"$answer"
qp a "take $server rtr 0 0 $client"
qp a "take $client rts 0 0 $server"
is "one sends, its peer only answers" \
	"$(swiftrdma -j qp show job oneway | jq -c "map({(.qpn | tostring): .state}) | add")" \
	"{\"$client\":\"RTS\",\"$server\":\"RTR\"}"
result=$(raise)
has "$client" 96
point $? "the one that sends is raised"
if rxe_at_once; then
	like "so is the other" "$result" 'qps 2 qps_done 2 qps_pending 0'
	has "$server" 96
	point $? "... as the device says, too"
	is "the audit finds nothing" "$(audited "$server")" "alike -"
else
	check "the result says of the other that it cannot be yet, and why" \
		wait_for 20 says "qps 2 qps_done 1 qps_pending 1 .* error EBUSY why $not_yet"
	has "$server" 0
	point $? "... which the device confirms"
	is "the list says it of the QP" "$(waiting)" "$server -16 $not_yet"
	is "... and of the override" \
		"$(swiftrdma -j action show | jq -r '.[] | select(.kind == "override") | .why')" "$not_yet"
	is "the audit says why the two differ" "$(audited "$server")" "differ $not_yet"
	like "so does the explanation" "$(swiftrdma -i 0.1 qp explain rxe0 "$server" | tr -s ' \n' ' ')" \
		"and cannot be changed yet: $not_yet"
fi
qp a "take $server rts"
check "in RTS it is raised" wait_for 10 has "$server" 96
is "... and nothing waits" "$(waiting)" ''
is "... nor differs" "$(audited "$server")" "alike -"

# Connected after the level: at once, in RTR.
qp a create
late=$last
qp a "take $late rtr 0 0 $client"
has "$late" 96
point $? "who is connected while the level is in force has it in RTR"
is "... and does not wait for it" "$(waiting)" ''
result=$(swiftrdma action clear all 2>&1)
if ! rxe_at_once; then
	like "its own class it cannot have back yet, which is said" "$result" \
		"qps 3 qps_done 2 qps_pending 1 .* error EBUSY why $not_yet"
	is "... and listed" "$(waiting)" "$late -16 $not_yet"
	qp a "take $late rts"
fi
check "its own class comes back" wait_for 10 has "$late" 0
qpsh_stop a
check "the module unloads" srdma_unload
ktap_end
