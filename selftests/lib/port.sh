# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Makes a port a bottleneck, and measures its traffic. For scripts in the VM.

# port_shape NETDEV RATE TOS: one rate, behind which one TOS has strict priority over all
# others. The burst lets the wire catch up after the emulator stood still for some 50 ms; a
# port with a queue has used it up. Every priomap entry is the same band, because rxe gives
# its packets no priority; only the filter separates them.
port_shape() {
	tc qdisc replace dev "$1" root handle 1: tbf rate "$2" burst 64kb limit 8mb
	tc qdisc replace dev "$1" parent 1: handle 10: prio bands 3 \
		priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
	tc filter replace dev "$1" parent 10: prio 1 protocol ip u32 \
		match ip protocol 17 0xff match ip dport 4791 0xffff \
		match ip tos "$3" 0xfc flowid 10:1
}

# CLOCK_MONOTONIC in ms, with a resolution of 10 ms, without a fork.
now_ms() {
	local up

	read -r up _ </proc/uptime
	now=$((10#${up/./} * 10))
}

# port_watch NETDEV FILE: until killed, a line "ms bytes" four times a second.
# The qdisc passed on all that the device has sent.
port_watch() {
	local bytes never

	exec {never}<> <(:)
	while :; do
		now_ms
		read -r bytes <"/sys/class/net/$1/statistics/tx_bytes"
		echo "$now $bytes"
		read -r -t 0.25 -u "$never"
	done >"$2"
}

# port_util FILE BIT/S FROM TO: mean and least utilisation in windows of one
# second, in percent, and mean bit/s, over FROM to TO (ms).
port_util() {
	awk -v rate="$2" -v from="$3" -v to="$4" '
		BEGIN { n = k = 0 }
		$1 < from || $1 > to + 250 { next }
		{ t[n] = $1; b[n++] = $2 }
		END {
			least = 1e9
			for (i = 0; i < n; i++) {
				for (; t[i] - t[k] >= 1250; k++) ;
				if (t[i] - t[k] < 1000)
					continue
				u = (b[i] - b[k]) * 8000 / (t[i] - t[k]) / rate * 100
				if (u < least)
					least = u
			}
			dt = n > 1 ? t[n - 1] - t[0] : 0
			bps = dt ? (b[n - 1] - b[0]) * 8000 / dt : 0
			if (least == 1e9)
				least = 0
			printf "%.1f %.1f %.0f\n", bps / rate * 100, least, bps
		}' "$1"
}
