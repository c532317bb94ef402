# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the ends of connections say of each other, and counts of their messages. Needs module.sh.

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
