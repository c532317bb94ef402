# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Runs programs of bench/fleet/, which print the classes of their QPs. Starts as few
# processes as possible, because a fork takes up to a second in the VM. Needs ktap.sh,
# module.sh and proc.sh.

# shellcheck disable=SC2154 # slowness, patience: of proc.sh
fleet_dir=$(mktemp -d /tmp/fleet.XXXXXX)
declare -A fleet_pid

# $now: CLOCK_MONOTONIC in ms, with a resolution of 10 ms.
# shellcheck disable=SC2034
now_ms() {
	local up

	read -r up _ </proc/uptime
	now=$((10#${up/./} * 10))
}

# fleet NAME OPTION...: starts one in the cgroup /fleet and waits for its QPs.
fleet() {
	local name=$1 out=$fleet_dir/$1

	shift
	: >"$out"
	in_cgroup fleet fleet "$@" >"$out" 2>"$out.err" & fleet_pid[$name]=$!
	fleet_says "$name" '^ready ' 30 || {
		note "fleet $name did not start: $(cat "$out" "$out.err")"
		return 1
	}
}

# fleet_lines NAME PATTERN: its lines that match, the last in $line.
fleet_lines() {
	local all l

	line='' lines=()
	mapfile -t all <"$fleet_dir/$1"
	for l in "${all[@]}"; do
		[[ $l =~ $2 ]] || continue
		lines+=("$l")
		line=$l
	done
	[ -n "$line" ]
}

# fleet_says NAME PATTERN SECONDS: waits for a line that matches.
fleet_says() {
	local end=$((SECONDS + $3 * slowness * patience + 1))

	until fleet_lines "$1" "$2"; do
		[ $SECONDS -lt $end ] && alive "${fleet_pid[${1}]}" || return 1
		nap 0.05
	done
	return 0
}

# fleet_has NAME PATTERN SECONDS: waits until the last classes match. They are then in
# $classes, and their time in $classes_ms.
fleet_has() {
	local end=$((SECONDS + $3 * slowness * patience + 1))

	while :; do
		if fleet_lines "$1" '^classes '; then
			classes=${line#classes * } classes_ms=${line#classes }
			classes_ms=${classes_ms%% *}
			[[ ! $classes =~ $2 ]] || return 0
		fi
		[ $SECONDS -lt $end ] || break
		nap 0.05
	done
	note "fleet $1 has: $classes; wanted: $2"
	tail -n 5 "$fleet_dir/$1.err" | sed 's/^/#   /'
	return 1
}

fleet_signal() { kill "-$2" "${fleet_pid[${1}]}"; }

# fleet_end NAME WORDS: stops the fleet; its own verdict is a point, its summary is $line.
fleet_end() {
	local status

	fleet_signal "$1" TERM
	wait "${fleet_pid[${1}]}"
	status=$?
	unset "fleet_pid[$1]"
	fleet_lines "$1" '^posted ' || line="nothing: $(tail -n 3 "$fleet_dir/$1.err")"
	note "fleet $1: $line"
	[ $status -eq 0 ] || tail -n 5 "$fleet_dir/$1.err" | sed 's/^/#   /'
	point $status "$2"
}

# sum NAME: a figure of $line.
sum() {
	local rest=${line#* "$1" }

	rest=${rest%% *}
	[[ $rest =~ ^[0-9]+$ ]] && echo "$rest" || echo -1
}

job_fleet() { swiftrdma job set fleet class latency match cgroup=/fleet; }

# level N TIME: sets a level for all fleets, and prints the result.
level() { swiftrdma action set job fleet level "$1" for "$2"; }

# rehearse_level NAME RAISED OWN: sets level 3 by hand and takes it back, and waits for the
# classes of fleet NAME each time. $rehearsed_ms is the time of that. A lease during which
# a test must see a level has to be longer by that time, or it ends too soon on a busy
# machine.
rehearse_level() {
	local began

	now_ms
	began=$now
	level 3 300s >/dev/null
	fleet_has "$1" "$2" 30 || return
	swiftrdma action clear all >/dev/null
	fleet_has "$1" "$3" 30 || return
	now_ms
	rehearsed_ms=$((now - began))
	note "to raise a class and to give it back by hand takes $rehearsed_ms ms"
}

# flip N: changes levels N times; some leases are replaced by the next, some expire.
flip() {
	local i said

	for ((i = 0; i < $1; i++)); do
		said=$(level $((i % 7 + 1)) $((i % 3 * 300 + 100))ms 2>&1) || {
			echo "$said"
			return 1
		}
	done
}

srdma_trace=/sys/kernel/tracing
trace_class() { echo "$1" >$srdma_trace/events/swiftrdma/srdma_class/enable; }
