#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A class at both ends of a connection between two hosts, each with its agent: this end's agent
# raises a job, and the other end's agent follows, or does not; agents that are killed, modules
# that are unloaded, messages that are lost, hosts that speak another version.
#
#   scripts/vm --pair --nic rxe -- selftests/pair/classes.sh -- selftests/lib/obey.sh

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
. selftests/lib/ends.sh
. selftests/lib/other.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters
dir=$(mktemp -d)

a_is() { is "$1" "$(ends_become rxe0 "$a" "$2")" "$2"; }
b_is() { is "$1" "$(other ends_become rxe0 "$b" "$2")" "$2"; }
other_set() { other eval "echo $2 >$param/$1"; }

# The agent here raises job near while QPs of it are there.
raiser_start() {
	cat >"$dir/policy" <<-EOF
		agent: {interval: 100ms, lease: 2s}
		levels: [{level: 1, dscp: 8, sl: 1}, {level: 3, dscp: 24, sl: 3}]
		jobs:
		  - {name: near, class: latency, match: [{comm: near}]}
		policies:
		  - {name: up, for: job near, when: job.qps > 0, do: job.level = $1, cooldown: 100ms,
		     undo: {when: job.qps == 0}}
	EOF
	agent_start "$dir/policy" "$dir/log"
}

# follow PROPERTY: the file of the agent there.
follow() {
	other follow_policy /tmp/policy far "$1"
	# shellcheck disable=SC2016 # $agent is the other guest's
	other eval '[ -z "${agent:-}" ] || kill -HUP $agent'
}
follower() { other agent_start /tmp/policy /tmp/follower.log; }
# shellcheck disable=SC2317 # by wait_for
class_there_is() { [ "$(other class_of rxe0 "$b")" = "$1" ]; }
# shellcheck disable=SC2317
class_here_is() { [ "$(class_of rxe0 "$a")" = "$1" ]; }

ktap_begin
mark_dmesg
other mark_dmesg
check "the debug module loads here" srdma_load_debug
check "... and there" other srdma_load_debug
other eval '. selftests/lib/peer.sh; . selftests/lib/ends.sh'
qpsh_start a qpsh --comm near
other qpsh_start b qpsh --comm far
connect_hosts
point $? "two QPs are connected, one of each host"
raiser_start 3
b_is "the agent here raises a job, of which the other end hears" "- 3 one-sided no_agent -"
a_is "... and has no agent" "3 - one-sided no_agent -"
follow ""
follower
a_is "an agent there that does not follow" "3 - one-sided not_followed -"
is "... changes nothing" "$(other class_of rxe0 "$b")" 16
follow "follow: 1"
a_is "one whose file allows less" "3 - one-sided refused 1"
b_is "... does what is allowed" "1 3 one-sided refused -"
follow "follow: peers"
a_is "one that follows raises the other end" "3 - both - 3"
b_is "... which says so" "3 3 both - -"
is "the classes at both ends" "$(class_of rxe0 "$a") $(other class_of rxe0 "$b")" "96 96"
like "its log says why" "$(other cat /tmp/follower.log)" 'job far: job.follow = 3: peer wishes level 3 for QP [0-9]+ of rxe0; the order allows 3'
is "the audit says that they are alike, and raised" \
	"$(swiftrdma -j qp audit all dev rxe0 qpn "$a" | jq -r '.pairs[] | .verdict + " " + .ends')" "alike both"
check "the messages crossed the network" counted rxe0 sent 4

# Agents are killed: both ends have what their applications asked for after the lease of 2 s.
agent_kill KILL
check "the agent here is killed: its lease ends" wait_for 3 class_here_is 8
check "... and with it what the other end followed" wait_for 1 class_there_is 16
b_is "... which hears no wish any more" "- - - - -"
raiser_start 3
b_is "the next agent raises both again" "3 3 both - -"
other agent_kill KILL
check "the agent there is killed: its lease ends" wait_for 3 class_there_is 16
a_is "... and this end is alone" "3 - one-sided no_agent -"
follower
a_is "the next agent there follows again" "3 - both - 3"
agent_kill
check "the agent here ends: at once, so does what the other end followed" wait_for 1 class_there_is 16

# Lost messages. A wish that is not repeated lapses after 20 s.
here_set() { echo "$2" >"$param/$1"; }
for lost in "here_set 1 HELLO" "other_set 2 WELCOME" "here_set 6 WISH" "other_set 7 HEARD"; do
	read -r by type name <<<"$lost"
	$by peer_lose_once $((1 << type))
	raiser_start 3
	b_is "a $name that is lost is sent again" "3 3 both - -"
	agent_kill
	b_is "... and the wish is taken back" "- - - - -"
done
raiser_start 3
b_is "the other end follows" "3 3 both - -"
echo $((1 << 1 | 1 << 6)) >$param/peer_lose
a_is "if no message leaves, the peer is silent" "3 - one-sided silent -"
check "... and the wish lapses there" wait_for 25 class_there_is 16
echo 0 >$param/peer_lose
b_is "once they leave, the other end follows" "3 3 both - -"

# Other modules there, and none.
other_set peer_wishless 1
other_set peer_version 2
a_is "a module of another version" "3 - one-sided version -"
other_set peer_version 0
other_set peer_wishless 0
connect_hosts
a_is "the same version follows" "3 - both - 3"
check "the module there is unloaded while its end is raised" other srdma_unload
connect_hosts
a_is "a host without the module" "3 - one-sided no_module -"
check "the module there loads, under its agent" other srdma_load_debug
connect_hosts
a_is "... and the other end follows" "3 - both - 3"
check "the module here is unloaded while both ends are raised" srdma_unload
check "... and the other end is as its application asked for, at once" wait_for 2 class_there_is 16
b_is "... because the wish was taken back" "- - - - -"
check "the module here loads, under its agent" srdma_load_debug
connect_hosts
a_is "both are raised again" "3 - both - 3"
other eval 'qp b "destroy '"$b"'"'
a_is "a peer that is gone does not answer" "3 - one-sided silent -"

# 200 QPs at once.
n=200
for ((i = 0; i < n; i++)); do connect_hosts || break; done
is "200 QPs more are connected" "$i" $n
both() { swiftrdma -j qp show comm near | jq -e --argjson n $n '[.[] | select(.ends == "both")] | length >= $n' >/dev/null; }
check "all of them are raised at both ends" wait_for 20 both
agent_kill
none() { [ "$(other eval "swiftrdma -j qp show comm far | jq '[.[] | select(.level)] | length'")" = 0 ]; }
check "the agent here ends, and all are as before" wait_for 5 none
is "no message was held back" "$(count rxe0 held) $(other count rxe0 flooded)" "0 0"

other agent_kill
qpsh_stop a
other qpsh_stop b
check "the module unloads" srdma_unload
check "... and there" other srdma_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
is "... nor does the one there" "$(other dmesg_complaints)" ""
ktap_end
