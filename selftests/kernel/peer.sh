#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The channel between the two ends of a connection, where both are on this host: what each
# end hears of the other, lost messages, and what forged messages achieve. selftests/pair
# has the same between two hosts.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/peer.sh
PATH=$PWD/build/progs:$PATH
param=/sys/module/swiftrdma/parameters

# What the end at rxe0 hears of the one at rxe1, and the other way round.
hears_a() { peer_of rxe0 "$a" "$@"; }
hears_b() { peer_of rxe1 "$b"; }

counts() { echo "$(count rxe0 sent) $(count rxe0 received) $(count rxe1 sent) $(count rxe1 received)"; }

# The messages that one question of rxe0 takes. On a busy machine one may be sent again, and a wish
# may be told meanwhile; then the question is asked again.
messages_of_one() {
	local before after i try

	for try in {1..20}; do
		read -r -a before < <(counts)
		hears_a >/dev/null
		read -r -a after < <(counts)
		for i in 0 1 2 3; do
			after[i]=$((after[i] - before[i]))
		done
		[ "${after[*]}" != "2 2 2 2" ] || break
		note "question $try took ${after[*]}"
	done
	echo "${after[*]}"
}

ktap_begin
mark_dmesg
check "the debug module loads" srdma_load_debug
qpsh_start a qpsh --dev rxe0 --comm peer-a
qpsh_start b qpsh --dev rxe1 --comm peer-b
connect_here
point $? "two QPs are connected, of rxe0 and rxe1"
is "one end hears what the other asked for and has" "$(hears_a)" "answered 16 16 -"
is "... and the other way round" "$(hears_b)" "answered 8 8 -"
swiftrdma job set peer-b match comm=peer-b >/dev/null
swiftrdma action set job peer-b level 3 for 600s >/dev/null
is "a level that one end has is heard" "$(hears_a)" "answered 16 96 3"
is "... by the other end alone" "$(hears_b)" "answered 8 8 -"
swiftrdma action clear all >/dev/null
is "... as long as it is in force" "$(hears_a)" "answered 16 16 -"
is "nothing of it left a port" "$(count rxe0 sent) $(count rxe1 sent)" "0 0"

echo 1 >$param/peer_wire
is "both hear each other over the wire, too" "$(hears_a) $(hears_b)" "answered 16 16 - answered 8 8 -"
is "... by two messages each way" "$(messages_of_one)" "2 2 2 2"
# A message that the port holds back is tried again and again until the rate lets it pass, and not only after
# the time in which a reply may come: then each of the two of a question would be held at most once.
held=$(count rxe0 held)
echo 10 >$param/peer_rate
for _ in {1..5}; do hears_a; done >/dev/null
echo 500 >$param/peer_rate
check "what the rate holds back is tried again soon" counted rxe0 held $((held + 11))
echo 0 >$param/peer_wire

# Lost messages, each once, then for good.
for type in 1:HELLO 2:WELCOME 3:ASK 4:ANSWER; do
	echo $((1 << ${type%:*})) >$param/peer_lose_once
	is "the ${type#*:} that was lost is sent again" "$(hears_a 2)" "answered 16 16 - again"
done
# A nonce changes every 8 s. Questions take half a second each around such a change.
into_8s() { local up; read -r up _ </proc/uptime; echo $((${up%.*} % 8)); }
late() { [ "$(into_8s)" -ge 6 ]; }
asked=0 said=''
for ((change = 0; change < 10 && asked < 4; change++)); do
	wait_for 20 late
	while late; do
		echo $((1 << 4)) >$param/peer_lose_once
		said+="$(hears_a) "
		asked=$((asked + 1))
	done
done
check "questions are asked when nonces change" test $asked -ge 4
is "... each is answered" "$(tr -s ' ' '\n' <<<"$said" | grep -c answered)" $asked
echo 0 >$param/peer_lose_once
echo $((1 << 4)) >$param/peer_lose
is "without answers the peer is silent" "$(hears_a)" "silent - - -"
echo 0 >$param/peer_lose

# Who may ask, and of what.
like "without CAP_NET_ADMIN nobody asks" "$(nlreq --drop-to 1000 PEER_GET doit "dev_name=rxe0 qpn=$a")" '^EPERM 0'
like "QP 1 has no peer" "$(nlreq PEER_GET doit 'dev_name=rxe0 qpn=1')" '^EINVAL .*no peer'
like "a QP that is not there has none" "$(nlreq PEER_GET doit 'dev_name=rxe0 qpn=16777214')" '^ENOENT'
qp a create
like "one that is not connected is asked about" "$(nlreq PEER_GET doit "dev_name=rxe0 qpn=$last")" '^0 1'
is "... and not listed" "$(swiftrdma -j qp peer qpn "$last")" '[]'

# Forged messages. Each counts as what it is, and changes nothing.
between="from=$b to=$a"
served=$(count rxe0 served)
# shellcheck disable=SC2086 # words
{
	forged rxe0 "a HELLO of a raw socket, with the peer's address, is answered" served \
		forge raw 10.1.0.2 10.1.0.1 1 type=1 $between mine=7
	check "... to the peer, which asked for nothing" wait_for 10 counted rxe1 unasked 1
	forged rxe0 "an ASK without the nonce is forged" forged forge raw 10.1.0.2 10.1.0.1 1 type=3 $between mine=7 yours=9
	forged rxe0 "so is one from another QP than QP 1" forged forge raw 10.1.0.2 10.1.0.1 17 type=1 $between mine=7
	forged rxe0 "so is one of a user's UD QP with QP 1's Q_Key" forged forge ud rxe1 10.1.0.1 type=1 $between mine=7
	forged rxe0 "a HELLO from another address is a stranger's" strange forge raw 10.1.0.77 10.1.0.1 1 type=1 $between mine=7
	forged rxe0 "so is one for a QP that is not connected to the sender's" strange \
		forge raw 10.1.0.2 10.1.0.1 1 type=1 from=$((b + 1)) to="$a" mine=7
	forged rxe0 "a WELCOME to nobody's question is not taken" unasked forge raw 10.1.0.2 10.1.0.1 1 type=2 $between mine=7 yours=9
	forged rxe0 "nor is an ANSWER" unasked forge raw 10.1.0.2 10.1.0.1 1 type=4 $between mine=7 yours=9
	forged rxe0 "a HELLO of another version is refused" served forge raw 10.1.0.2 10.1.0.1 1 version=9 type=1 $between mine=7
}
is "two of all these were answered" "$(count rxe0 served)" $((served + 2))
is "the ends hear each other as before" "$(hears_a) $(hears_b)" "answered 16 16 - answered 8 8 -"

# More than the rate is dropped, and no longer than it lasts.
echo 10 >$param/peer_rate
# shellcheck disable=SC2086
check "a flood is sent" forge raw 10.1.0.2 10.1.0.1 1 n=2000 type=1 $between mine=7
check "most of it is not looked at" wait_for 10 counted rxe0 flooded 100
echo 500 >$param/peer_rate
is "the ends hear each other after it" "$(hears_a) $(hears_b)" "answered 16 16 - answered 8 8 -"

# The module goes and comes while it is asked and flooded. QPs that are older than it cannot.
# shellcheck disable=SC2086
flood() { while :; do forge raw 10.1.0.2 10.1.0.1 1 n=200 type=1 $between mine=7; done >/dev/null 2>&1; }
asking() { while :; do swiftrdma qp peer; done >/dev/null 2>&1; }
flood & floods=$!
asking & asks=$!
rounds=0
for _ in 1 2 3; do
	srdma_unload_asked && srdma_load_debug && rounds=$((rounds + 1))
done
kill $floods $asks
wait $floods $asks 2>/dev/null
is "the module was unloaded and loaded under this" $rounds 3
is "a QP that is older than the module cannot ask" "$(hears_a)" "no_address - - -"
connect_here
is "a newer one can" "$(hears_a)" "answered 16 16 -"
qp b "destroy $b"
is "a peer that is gone is silent" "$(hears_a)" "silent - - -"
srdma_unload
srdma_load_debug peer=0
connect_here
is "with peer=0 there is no channel" "$(hears_a)" "no_channel - - -"
is "... and no counts" "$(wc -l <$srdma_debugfs/rxe0/peers)" 1
qpsh_stop a
qpsh_stop b
check "the module unloads" srdma_unload
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
ktap_end
