# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=sh
#
# complaints FILE: print what a kernel log holds of the kinds of message that a
# correct kernel and a correct module never print, each with a few lines of
# context. Status 0 if there were any. What known.awk, in $parts, knows is none.

complaints() {
	awk -f "${parts:?}/known.awk" "$1" |
	grep -a -m 8 -A 24 -E \
		-e 'WARNING: ' \
		-e '(^|[^-])BUG: ' \
		-e 'kernel BUG at ' \
		-e 'Oops: ' \
		-e 'Kernel panic - ' \
		-e 'general protection fault' \
		-e 'INFO: task .* blocked for more than' \
		-e 'INFO: (possible|trying to register|suspicious|inconsistent)' \
		-e 'rcu: INFO: .*(stall|detected)' \
		-e 'rcu_tasks.*(stall|detected)' \
		-e 'UBSAN: ' \
		-e 'ODEBUG: ' \
		-e 'refcount_t: ' \
		-e 'list_(add|del) corruption' \
		-e 'kmemleak: [0-9]+ new suspected' \
		-e 'unregister_netdevice: waiting for' \
		-e 'Unable to handle kernel'
}
