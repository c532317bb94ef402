# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Levels at both ends of connections, and an agent that follows. Needs module.sh.

# ends_of DEV QPN: level in force, wish of the peer, whether both ends are raised, why not, and
# the level that the peer said it has; "-" for what is not known.
ends_of() {
	swiftrdma -j qp show dev "$1" qpn "$2" | jq -r '.[] | [.level, .peer_wish, .ends,
		.ends_why, .peer_level] | map(. // "-" | tostring) | join(" ")'
}

# class_of DEV QPN: traffic class that is programmed.
class_of() { swiftrdma -j qp show dev "$1" qpn "$2" | jq '.[].tclass'; }

# ends_become DEV QPN WANTED: waits for it, and prints what there is. Wishes are repeated every 2 s.
ends_become() {
	# shellcheck disable=SC2317 # by wait_for
	ends_are() { [ "$(ends_of "$1" "$2")" = "$3" ]; }
	wait_for 15 ends_are "$@"
	ends_of "$1" "$2"
}

# follow_policy FILE JOB PROPERTY: job JOB, of programs of that name, goes before another.
follow_policy() {
	cat >"$1" <<-EOF
		agent: {interval: 100ms, lease: 2s}
		levels: [{level: 1, dscp: 8, sl: 1}, {level: 3, dscp: 24, sl: 3}]
		jobs:
		  - {name: $2, class: balanced, match: [{comm: $2}]${3:+, $3}}
		  - {name: between, class: latency, match: [{comm: between}]}
		  - {name: bulk, class: throughput, match: [{comm: bulk}]}
		order: $2 > between > bulk
	EOF
}

# agent_start FILE LOG: an agent, whose pid is in $agent. agent_kill [SIGNAL]: ends it.
agent_start() {
	swiftrdma-agent --config "$1" >"$2" 2>&1 &
	agent=$!
}
agent_kill() {
	kill "-${1:-TERM}" "$agent"
	wait "$agent" 2>/dev/null
}
