# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the ends of connections say of each other, and counts of their messages. Needs module.sh,
# and qpsh.sh for connections.

# connect_here: connects new QPs of the processes a at rxe0 and b at rxe1, with traffic classes 8
# and 16. $a and $b are their numbers.
connect_here() { connect_ends 8 10.1.0.2 16 10.1.0.1; }

# connect_ends TCLASS ADDRESS TCLASS ADDRESS: connects new QPs of the processes a and b, each with its
# traffic class and the address of its peer.
# shellcheck disable=SC2154 # qpsh.sh's
connect_ends() {
	qp a create
	a=$last
	qp b create
	b=$last
	qp a "take $a rts $1 0 $b $2"
	[ "$answer" = ok ] || return
	qp b "take $b rts $3 0 $a $4"
	[ "$answer" = ok ]
}

# peer_of DEV QPN [N]: status, traffic class that the peer's application asked for and that it
# has, and its level; "-" for what is not known. With N, "again" if more than N messages were sent.
peer_of() {
	swiftrdma -j qp peer dev "$1" qpn "$2" | jq -r --argjson n "${3:-0}" \
		'.[] | [.status, .tclass_asked // "-", .tclass // "-", .level // "-",
			if $n > 0 and .tries > $n then "again" else empty end] | map(tostring) | join(" ")'
}

# count DEV WHAT: a column of the port's line in debugfs.
# shellcheck disable=SC2154
count() {
	awk -v what="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == what) at = i; next }
		{ print $at }' "$srdma_debugfs/$1/peers"
}

# Unloads the module while others go on asking, whose requests keep it in use now and then.
srdma_unload_asked() {
	echo 1 >"$srdma_debugfs/disarm" || return
	wait_for 30 rmmod swiftrdma 2>/dev/null
}

# counted DEV WHAT N: has the count come to N?
counted() { [ "$(count "$1" "$2")" -ge "$3" ]; }

# forged DEV NAME WHAT CMD...: CMD sends a message, and DEV's port counts one more as WHAT.
forged() {
	local dev=$1 name=$2 what=$3 before

	shift 3
	before=$(count "$dev" "$what")
	"$@" >/dev/null || return
	wait_for 10 counted "$dev" "$what" $((before + 1))
	point $? "$name"
}
