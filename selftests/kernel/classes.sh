#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A class at both ends of a connection, where both are on this host: what one end wishes, what
# the other end's agent makes of it, and what ends it. selftests/pair has the same between two
# hosts, each with its agent.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
. selftests/lib/ends.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters
dir=$(mktemp -d)

a_is() { is "$1" "$(ends_become rxe0 "$a" "$2")" "$2"; }
b_is() { is "$1" "$(ends_become rxe1 "$b" "$2")" "$2"; }
raise() { swiftrdma action set job near level "$1" for "${2:-600s}" >/dev/null; }
lower() { swiftrdma action clear job near >/dev/null; }
says() { wait_for 10 grep -qE -- "$1" "$dir/log"; }

ktap_begin
mark_dmesg
check "the debug module loads" srdma_load_debug
qpsh_start a qpsh --dev rxe0 --comm near
qpsh_start b qpsh --dev rxe1 --comm far
connect_here
point $? "two QPs are connected, of rxe0 and rxe1"
swiftrdma job set near match comm=near >/dev/null
is "without a level no end wishes anything" "$(ends_of rxe0 "$a") $(ends_of rxe1 "$b")" "- - - - - - - - - -"
raise 3
b_is "the other end hears of a level" "- 3 one-sided no_agent -"
a_is "... and has no agent" "3 - one-sided no_agent -"
is "a wish changes nothing" "$(class_of rxe0 "$a") $(class_of rxe1 "$b")" "96 16"

# The agent decides, by its file.
follow_policy "$dir/policy" far ""
agent_start "$dir/policy" "$dir/log"
a_is "an agent whose file says nothing does not follow" "3 - one-sided not_followed -"
b_is "... which the other end shows, too" "- 3 one-sided not_followed -"
is "... and changes nothing" "$(class_of rxe1 "$b")" 16
follow_policy "$dir/policy" far "follow: 1"
kill -HUP "$agent"
b_is "it follows as far as its file allows" "1 3 one-sided refused -"
a_is "... which is not far enough" "3 - one-sided refused 1"
follow_policy "$dir/policy" far "follow: peers"
kill -HUP "$agent"
b_is "it follows as far as its order allows" "3 3 both - -"
a_is "... so both ends are raised" "3 - both - 3"
is "... on the wire" "$(class_of rxe0 "$a") $(class_of rxe1 "$b")" "96 96"
check "its log says why" says "job far: job.follow = 3: peer wishes level 3 for QP $b of rxe1; the order allows 3"
like "so does the override" "$(swiftrdma action show)" 'follow .*agent.* peer wishes level 3'
like "explain says it of this end" "$(swiftrdma -i 0.2 qp explain rxe0 "$a")" 'both ends are raised'
like "... and of the other" "$(swiftrdma -i 0.2 qp explain rxe1 "$b")" 'its peer wishes level 3, which it has'
is "so does the job" "$(swiftrdma -j job show far | jq -c '.[].devs[] | select(.dev == "rxe1") | [.follow, .both_ends, .one_sided]')" "[3,1,null]"
is "so does the audit" "$(swiftrdma -j qp audit all dev rxe0 qpn "$a" | jq -r '.pairs[] | .verdict + " " + .ends')" "alike both"

# What was raised by a wish is not wished in turn, so it ends with the wish.
is "the end that follows wishes nothing" "$(ends_of rxe0 "$a")" "3 - both - 3"
raise 1
b_is "a lower level is followed as well" "1 1 both - -"
lower
b_is "what is taken back here is taken back there" "- - - - -"
is "... on the wire" "$(class_of rxe0 "$a") $(class_of rxe1 "$b")" "8 16"
check "... and the agent lets go" says 'job.follow released: no peer wishes'
raise 3 3s
b_is "the wish is heard again" "3 3 both - -"
b_is "... and ends with the lease here" "- - - - -"

# Another override of the other end: the stronger one, and no lower level.
raise 3
b_is "the other end follows" "3 3 both - -"
swiftrdma action set job far level 1 for 600s >/dev/null
b_is "a level of a higher rank there holds alone" "1 3 one-sided refused 3"
swiftrdma action set job far level 7 for 600s >/dev/null
b_is "a higher level there is not lowered, and wished in turn" "7 3 one-sided not_followed 3"
swiftrdma action clear job far >/dev/null
b_is "without it the other end follows" "3 3 both - -"

# The agent is killed.
agent_kill KILL
gone() { [ "$(class_of rxe1 "$b")" = 16 ]; }
check "the agent is killed: its lease ends, and the class with it" wait_for 3 gone
a_is "... which this end hears" "3 - one-sided no_agent -"
agent_start "$dir/policy" "$dir/log"
b_is "its next one follows again" "3 3 both - -"

# Messages that are lost, over the wire.
echo 1 >$param/peer_wire
echo $((1 << 6)) >$param/peer_lose_once
raise 1
b_is "a level is wished although a WISH is lost" "1 1 both - -"
echo $((1 << 7)) >$param/peer_lose_once
raise 3
b_is "... or a HEARD" "3 3 both - -"
a_is "... of which this end hears, too" "3 - both - 3"
echo 0 >$param/peer_wire
echo 1 >$param/peer_wishless
lower
raise 3
a_is "a module that takes no wishes is told as such" "3 - one-sided version -"
echo 0 >$param/peer_wishless
lower
b_is "nothing is wished" "- - - - -"

# Forged wishes: from one who does not receive what is sent to the peer's address.
between="from=$a to=$b"
# shellcheck disable=SC2086 # words
{
	forged rxe1 "a WISH without the nonce is forged" forged forge raw 10.1.0.1 10.1.0.2 1 type=6 $between mine=7 yours=9 wish=3
	forged rxe1 "so is one from another QP than QP 1" forged forge raw 10.1.0.1 10.1.0.2 17 type=6 $between mine=7 yours=9 wish=3
	forged rxe1 "one from another address is a stranger's" strange forge raw 10.1.0.77 10.1.0.2 1 type=6 $between mine=7 yours=9 wish=3
	forged rxe1 "one without wishes is, too" strange forge raw 10.1.0.1 10.1.0.2 1 type=6 $between mine=7 yours=9
	forged rxe1 "a HEARD to nobody's wish is not taken" unasked forge raw 10.1.0.1 10.1.0.2 1 type=7 $between mine=7 yours=9 wish=3
}
is "none of them is heard" "$(ends_of rxe1 "$b")" "- - - - -"

# A QP that goes, and one that is connected under a level.
raise 3
b_is "a level is wished" "3 3 both - -"
connect_here
b_is "a QP that is connected under a level has it at both ends" "3 3 both - -"
qp b "destroy $b"
a_is "without its peer it is one-sided" "3 - one-sided unknown -"
connect_here
b_is "the module is unloaded while wishes are in force" "3 3 both - -"
agent_kill
check "... at once" srdma_unload
check "it loads" srdma_load_debug
swiftrdma job set near match comm=near >/dev/null
raise 3
a_is "of a QP that is older the address is not known" "3 - one-sided no_address -"
qpsh_stop a
qpsh_stop b
check "the module unloads" srdma_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
ktap_end
