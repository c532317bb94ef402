#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Messages between the two processes that hold the ends of a connection between two hosts: both
# directions, lost messages, a flood, forged messages, and a host without the module, with one that is older or of
# another version, or with peer=0.
#
#   scripts/vm --pair --nic rxe -- selftests/pair/relay.sh -- selftests/lib/obey.sh

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
. selftests/lib/other.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters

other_set() { other eval "echo $2 >$param/$1"; }
qp_b() { other eval "qp b '$1'; echo \$answer"; }
tells() { qp a "tell $a $2"; is "$1" "$answer" "$3"; }
hears_b() { is "$1" "$(qp_b hear)" "$2"; }
# begin: new processes at both ends, that listen, and a connection of theirs.
begin() {
	qpsh_start a qpsh --comm near
	other qpsh_start b qpsh --comm far
	qp a attach
	qp a listen
	qp_b attach
	qp_b listen
	connect_hosts
} >/dev/null
end() {
	qpsh_stop a
	other qpsh_stop b
}

ktap_begin
mark_dmesg
other mark_dmesg
check "the debug module loads here" srdma_load_debug
check "... and there" other srdma_load_debug
other eval '. selftests/lib/peer.sh'
begin
point $? "two QPs are connected, one of each host"
tells "a message crosses the network" hello "told 1"
is "... and wakes its receiver" "$(qp_b 'wait 5000')" "woken 1"
hears_b "... which hears it" "heard $b hello dropped 0"
is "so does one back" "$(qp_b "tell $b back")" "told 1"
qp a hear
is "... which is heard" "$answer" "heard $a back dropped 0"
check "the messages left by the port" counted rxe0 sent 4
is "those of others are refused there" "$(qp_b "tell $a x" | grep -v told)" "$([ "$a" = "$b" ] || echo error ENOENT)"
qp a hear

for type in 1:HELLO 8:TELL; do
	echo $((1 << ${type%:*})) >$param/peer_lose_once
	tells "with a lost ${type#*:} a message arrives" "${type#*:}" "told 1"
	hears_b "... once" "heard $b ${type#*:} dropped 0"
	hears_b "... and not twice" "error ENOMSG"
done
for type in 2:WELCOME 9:TOLD; do
	other_set peer_lose_once $((1 << ${type%:*}))
	tells "with a lost ${type#*:} a message arrives" "${type#*:}" "told 1"
	hears_b "... once" "heard $b ${type#*:} dropped 0"
	hears_b "... and not twice" "error ENOMSG"
done
other_set peer_lose $((1 << 9))
tells "without any TOLD the sender does not know" maybe "error ETIMEDOUT"
hears_b "... though the message is there" "heard $b maybe dropped 0"
hears_b "... once" "error ENOMSG"
other_set peer_lose 0

# A flood fills the inbox there, takes at most half of the port's rate, and stops nothing else.
qp a "flood $a 200"
like "a flood fills the inbox, and no more" "$answer" '^flooded 32 '
is "the modules ask each other all the same" "$(peer_of rxe0 "$a")" "answered 16 16 -"
other eval 'for _ in {1..32}; do qp b hear; done'
hears_b "the inbox was emptied" "error ENOMSG"
tells "a message after it" after "told 1"
hears_b "... arrives" "$(printf 'heard %s after dropped 168' "$b")"

# Messages that are forged on another host. Each counts as what it is, and changes nothing.
between="from=$b to=$a"
# shellcheck disable=SC2086 # words
{
	forged rxe0 "a message of a raw socket there, with the peer's address and without its nonce, is forged" forged \
		other forge raw 10.3.0.2 10.3.0.1 1 type=8 $between mine=7 yours=9
	forged rxe0 "so is one from another QP than QP 1" forged \
		other forge raw 10.3.0.2 10.3.0.1 17 type=1 $between mine=7
	forged rxe0 "so is one of a user's UD QP there with QP 1's Q_Key" forged \
		other forge ud rxe0 10.3.0.1 type=1 $between mine=7
	forged rxe0 "one from another address is a stranger's" strange \
		other forge raw 10.3.0.77 10.3.0.1 1 type=1 $between mine=7
	forged rxe0 "so is one for a QP that is not connected to the sender's" strange \
		other forge raw 10.3.0.2 10.3.0.1 1 type=1 from=$((b + 1)) to="$a" mine=7
	forged rxe0 "a TOLD of what was not told is not taken" unasked \
		other forge raw 10.3.0.2 10.3.0.1 1 type=9 $between mine=7 yours=9
}
qp a hear
is "... none is heard" "$answer" "error ENOMSG"
tells "a message after them" unharmed "told 1"
hears_b "... arrives" "heard $b unharmed dropped 168"

# Other modules there, and none.
other_set peer_deaf 1
tells "a host whose module is older cannot" x "error EOPNOTSUPP"
other_set peer_deaf 0
other_set peer_version 2
tells "nor can one of another version" x "error EOPNOTSUPP"
other_set peer_version 0
tells "the same version can" again "told 1"
other srdma_unload
tells "a host without the module cannot" x "error EOPNOTSUPP"
is "the process there was woken" "$(qp_b 'wait 5000' | cut -d' ' -f1)" woken
other srdma_load_debug
tells "its module is newer than the QP there" x "error ETIMEDOUT"
is "... which cannot send either" "$(qp_b attach) $(qp_b "tell $b x")" "ok error EADDRNOTAVAIL"
end
begin
tells "new connections can" new "told 1"
hears_b "... and hear" "heard $b new dropped 0"
other eval "kill -9 \${qpsh_pid[b]}; wait \${qpsh_pid[b]}"
tells "a peer whose process was killed is silent" x "error ETIMEDOUT"
qpsh_stop a
other eval 'exec {qpsh_in[b]}>&- {qpsh_out[b]}<&-' 2>/dev/null
other srdma_unload
other srdma_load_debug peer=0
begin
tells "a host with peer=0 cannot" x "error EOPNOTSUPP"
is "... nor can its processes" "$(qp_b "tell $b x")" "error ENODEV"
end
check "the module unloads" srdma_unload
check "... and there" other srdma_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
is "... nor does the one there" "$(other dmesg_complaints)" ""
ktap_end
