#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Messages between the two processes that hold the ends of a connection, where both are on this
# host: who may send to whom, lost messages, full inboxes, floods, and ends of processes, of QPs
# and of the module. selftests/pair has the same between two hosts.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters

# answers NAME ID COMMAND WANTED
answers() {
	qp "$2" "$3"
	is "$1" "$answer" "$4"
}

ktap_begin
mark_dmesg
check "the debug module loads" srdma_load_debug
qpsh_start a qpsh --dev rxe0 --comm near
qpsh_start b qpsh --dev rxe1 --comm far
connect_here
point $? "two QPs are connected, of rxe0 and rxe1"
answers "a process that is not attached tells nothing" a "tell $a x" "error ENXIO"
qp a attach
qp b attach
answers "one that is attached is told that nobody listens" a "tell $a x" "error ECONNREFUSED"
answers "without an inbox there is nothing to hear" b hear "error ENXIO"
answers "the other end listens" b listen ok
answers "an inbox is empty at first" b hear "error ENOMSG"
answers "it is not woken" b "wait 0" "error ETIMEDOUT"
answers "a message" a "tell $a hello" "told 1"
answers "... wakes its receiver" b "wait 5000" "woken 1"
answers "... and says by which QP it came" b hear "heard $b hello dropped 0"
answers "... once" b hear "error ENOMSG"
answers "the way back, to one that does not listen" b "tell $b x" "error ECONNREFUSED"
qp a listen
answers "... and that does" b "tell $b back" "told 1"
answers "... arrives" a hear "heard $a back dropped 0"
answers "several messages" a "tell $a m 20" "told 20"
heard=''
for _ in {1..20}; do
	qp b hear
	heard+="${answer#heard } "
done
is "... arrive in order" "$heard" "$(for i in {1..20}; do printf '%s' "$b m$i dropped 0 "; done)"
answers "an inbox that is full takes no more" a "tell $a f 33" "error ENOBUFS"
answers "... and keeps what it has" b hear "heard $b f1 dropped 1"
answers "... with room for the next" a "tell $a g" "told 1"
answers "... which comes last" b hear "heard $b f2 dropped 1"
for _ in {1..29}; do qp b hear; done
answers "... but one" b hear "heard $b f32 dropped 1"
answers "... and is the last" b hear "heard $b g dropped 1"
is "nothing of it left a port" "$(count rxe0 sent) $(count rxe1 sent)" "0 0"
check "the counts say so" counted rxe1 delivered 54
qp b "wait 0"
answers "an eventfd takes the place of another" b listen ok
answers "... and is not signalled for what was heard" b "wait 0" "error ETIMEDOUT"

# Who may send by which QP.
answers "a QP that is not there" a "tell 16777214 x" "error ENOENT"
qp a create
answers "one that is not connected" a "tell $last x" "error ENOTCONN"
answers "QP 1" a "tell 1 x" "error ENOENT"
qpsh_start c qpsh --dev rxe0 --comm third
qp c attach
answers "another process of the same device may not" c "tell $a x" "error ENOENT"
qp c create
c=$last
qp c "take $c rts 0 0 $b 10.1.0.2"
answers "a QP whose peer is connected to another one" c "tell $c x" "error ETIMEDOUT"
answers "... tells it nothing" b hear "error ENOMSG"
qpsh_stop c

# Over the wire, with each message lost once.
echo 1 >$param/peer_wire
answers "over the wire a message arrives, too" a "tell $a wire" "told 1"
answers "... once" b hear "heard $b wire dropped 1"
for type in 1:HELLO 2:WELCOME 8:TELL 9:TOLD; do
	echo $((1 << ${type%:*})) >$param/peer_lose_once
	answers "with a lost ${type#*:} a message arrives" a "tell $a ${type#*:}" "told 1"
	answers "... once" b hear "heard $b ${type#*:} dropped 1"
	answers "... and not twice" b hear "error ENOMSG"
done
echo $((1 << 9)) >$param/peer_lose
answers "without any TOLD the sender does not know" a "tell $a maybe" "error ETIMEDOUT"
answers "... though the message is there" b hear "heard $b maybe dropped 1"
answers "... once" b hear "error ENOMSG"
echo $((1 << 8)) >$param/peer_lose
answers "without any TELL it does not know either" a "tell $a never" "error ETIMEDOUT"
answers "... and the message is not" b hear "error ENOMSG"
echo 0 >$param/peer_lose
echo 1 >$param/peer_deaf
answers "a module that is older is told as such" a "tell $a x" "error EOPNOTSUPP"
echo 0 >$param/peer_deaf

# Forged messages reach nobody.
forged() {
	local name=$1 what=$2 before

	shift 2
	before=$(count rxe0 "$what")
	forge "$@" >/dev/null || return
	wait_for 10 counted rxe0 "$what" $((before + 1))
	point $? "$name"
}
between="from=$b to=$a"
# shellcheck disable=SC2086 # words
{
	forged "a TELL of a raw socket without the nonce is forged" forged \
		raw 10.1.0.2 10.1.0.1 1 type=8 $between mine=7 yours=9
	forged "one from another QP than QP 1, too" forged raw 10.1.0.2 10.1.0.1 17 type=8 $between mine=7 yours=9
	forged "one from another address is a stranger's" strange raw 10.1.0.77 10.1.0.1 1 type=8 $between mine=7 yours=9
	forged "a TOLD to nobody's message is not taken" unasked raw 10.1.0.2 10.1.0.1 1 type=9 $between mine=7 yours=9
}
answers "none of these is heard" a hear "error ENOMSG"

# More messages than one process may send at once, or a port.
echo 0 >$param/peer_wire
qp a "flood $a 100"
like "the other end hears nothing of a flood but what its inbox holds" "$answer" '^flooded 32 '
for _ in {1..32}; do qp b hear; done
qp a 'flood 1 20000'
like "a process that sends without end is held" "$answer" '^flooded 0 again [1-9][0-9]*$'
sleep 1
answers "... for a short time" a "tell $a more" "told 1"
qp b hear
like "... and is heard" "$answer" "^heard $b more "
qp b 'wait 0'

# Ends of processes, of QPs, of attachments, and of the module.
answers "a process that attaches anew has no inbox" b attach ok
answers "... is woken by the end of the old one" b "wait 5000" "woken 1"
answers "... and hears nothing" b hear "error ENXIO"
sleep 1
answers "... of what is sent to it" a "tell $a x" "error ECONNREFUSED"
qp b listen
answers "until it listens again" a "tell $a again" "told 1"
answers "... and hears" b hear "heard $b again dropped 0"
qp b leave
child=$last
nobody() { qp a "tell $a x"; [ "$answer" = "error ECONNREFUSED" ]; }
check "if the peer's process has gone, nobody listens at its QP, which a child has" wait_for 10 nobody
kill -9 "$child"
gone() { qp a "tell $a x"; [ "$answer" = "error ETIMEDOUT" ]; }
check "the peer's QP has gone, too" wait_for 20 gone
qpsh_start b qpsh --dev rxe1 --comm far
qp b attach
qp b listen
connect_here
answers "another peer hears" a "tell $a new" "told 1"
answers "... what it is told" b hear "heard $b new dropped 0"
qp b 'wait 0'

tells() { while :; do qp b "tell $b x"; qp b hear; sleep .02; done; }
rounds=0
for _ in 1 2 3; do
	tells & teller=$!
	srdma_unload && rounds=$((rounds + 1))
	kill $teller
	wait $teller 2>/dev/null
	qpsh_stop b
	srdma_load_debug
	qpsh_start b qpsh --dev rxe1 --comm far
	qp b attach
	qp b listen
	qp a attach
	qp a listen
	connect_here
done
is "the module was unloaded and loaded under messages" $rounds 3
answers "after it a message arrives" a "tell $a last" "told 1"
answers "... once" b hear "heard $b last dropped 0"
qp b 'wait 0'
check "the module unloads" srdma_unload
answers "a process that listens is woken by it" b "wait 5000" "woken 1"
answers "... and has no inbox" b hear "error ENOENT"
qpsh_stop a
qpsh_stop b
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
ktap_end
