#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# scripts/vm --pair: two guests that reach each other, whose outputs are told apart, and of
# which neither is left alone when the other one fails.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

# pair NAME ARG...
pair() {
	local name=$1

	shift
	scripts/vm --pair --mem 1G "$@" >"$work/$name.out" 2>"$work/$name.err"
	echo $? >"$work/$name.status"
}
said() { grep "^$2: " "$work/$1.out" | sed 's/^..: *//; s/^.: //'; }

refused() {
	local words=$1

	shift
	is "refused: $words" "$(scripts/vm --pair "$@" 2>&1 >/dev/null; echo " $?")" "vm: $words
 126"
}

ktap_begin
refused "a pair runs two commands: -- CMD1 -- CMD2" -- true
refused "a pair runs two commands: -- CMD1 -- CMD2" -- true --
refused "--icount is not for pairs: scripts/vm --help" --icount -- true -- true
refused "--nic softhca is for one guest, which has two of them" --nic softhca -- true -- true

# The server waits for the client to be done, which its own output need not tell.
# shellcheck disable=SC2016 # the guests' variables
pair both --nic rxe --share "$work/share" -- bash -c '
	echo "guest $VM_GUEST of a pair"; echo "to stderr" >&2
	echo one >"$VM_OUT/file"
	[ "$(vm-meet begin first)" = second ] || exit 1
	ibv_rc_pingpong -d rxe0 -g 1 -n 100 >/tmp/server & server=$!
	until ss -Hltn | grep -q :18515; do sleep 0.1; done
	vm-meet listening >/dev/null || exit 1
	wait $server && tail -n 1 /tmp/server' -- bash -c '
	echo "guest $VM_GUEST of a pair"
	echo two >"$VM_OUT/file"
	[ "$(vm-meet begin second)" = first ] || exit 1
	vm-meet listening >/dev/null || exit 1
	ibv_rc_pingpong -d rxe0 -g 1 -n 100 10.3.0.1 >/tmp/client || exit 1
	vm-meet other '' 5 2>&1 || echo "they do not meet again"
	exit 5' &
# Guest 2 waits for guest 1, which fails.
# shellcheck disable=SC2016
pair fails --timeout 100 -- sh -c 'vm-meet here >/dev/null; exit 3' -- sh -c 'vm-meet here >/dev/null; sleep 4321' &
wait

like "each guest knows which it is" "$(said both 1)" '^guest 1 of a pair$'
like "... and the other one does" "$(said both 2)" '^guest 2 of a pair$'
check "stderr is labelled, too" grep -qx '1: to stderr' "$work/both.err"
is "nothing comes without a label" "$(grep -cv '^[12]: ' "$work/both.out")" 0
is "each guest has its own share" "$(cat "$work/share/1/file" "$work/share/2/file" | xargs)" "one two"
like "they meet, and their rxe devices reach each other" "$(said both 1)" '^100 iters in '
like "who meets nobody is told" "$(said both 2)" "they do not meet again"
is "the status is guest 2's, as guest 1's is 0" "$(cat "$work/both.status")" 5
check "... and both are told" grep -qx 'vm: guest 1: status 0, guest 2: status 5' "$work/both.err"
is "the status of guest 1 comes first" "$(cat "$work/fails.status")" 3
check "a guest whose other one failed is ended" \
	grep -qx 'vm: guest 2 is ended, because guest 1 failed' "$work/fails.err"
is "no guest is left" "$(pgrep -fc "qemu-system-x86_64.*$work")" 0
is "... nor its sockets" "$(find "$work" -name 'vm-pair.*' | wc -l)" 0
ktap_end
