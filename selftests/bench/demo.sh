#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The port experiment, on real packets, in the VM with --nic rxe:
#
#   selftests/bench/demo.sh [--by-hand] [--capture] [--exporter ADDRESS] [--record] [--slo-factor N]
#
# A latency job (cgroup /kv) shares a port of 10 Mbit/s with a bulk job (cgroup
# /bulk). Five phases: the latency job alone; both, with an agent that only
# says what it would do; both, with the agent acting on the live QPs; the latency
# job alone again, with a target for its p99, which libswiftrdma measures in its
# process; and both, with the agent acting by the target. The target comes from the
# first run alone, for time under emulation has no scale; the second run alone must
# meet it.
#
#   --by-hand   without module and agent: for phase three the latency job is
#               started again with the raised class. What the port can do.
#   --capture   also find when the first packet of another class was sent
#   --exporter  also serve metrics and the page, at this address
#   --record    also record all of it (swiftrdma record), in $VM_OUT/recording
#   --slo-factor N
#               the target is N times (3) what the run alone gives; a large N
#               makes the run void
#
# Exit status 0: the effect is there; 1: it is not, or something failed; 77: the
# run was void twice, so nothing was shown: the port was not full while it should
# have been, or the latency job alone was about as slow as beside the bulk job.
# Results go to $VM_OUT/demo.json, logs to $VM_OUT/demo/.

set -uo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=selftests/lib/port.sh
. "$top/selftests/lib/port.sh"
# shellcheck source=selftests/lib/proc.sh
. "$top/selftests/lib/proc.sh"
bench=$top/build/bench
PATH=$top/build/bin:$PATH

# A queue of 26 ms behind one bulk message, at a rate that emulation can keep up
# even while the host has other work.
rate=10000000
bulk_bytes=32768
config=$top/selftests/bench/demo.yaml
raised=104		# level 1 is DSCP 26 in demo.yaml
bulk_seconds=120	# at most; it is ended when all is measured
n_alone=600 n_dry=200 n_act=300 n_again=300 n_slo=300
# Of the p99 alone, and one bulk packet: it may be on the wire, and no class overtakes it.
slo_factor=3
packet_us=$((4200 * 8 * 1000000 / rate))
least_util=80

by_hand='' capture='' exporter='' record=''
while [ $# -gt 0 ]; do
	case $1 in
	--by-hand) by_hand=1 ;;
	--capture) capture=1 ;;
	--exporter) exporter=$2; shift ;;
	--record) record=$VM_OUT/recording ;;
	--slo-factor) slo_factor=$2; shift ;;
	*) sed -n 's/^# \{0,1\}//; 4,29p' "$0" >&2; exit 2 ;;
	esac
	shift
done

dir=$(mktemp -d /tmp/demo.XXXXXX)
pids=()
say() { printf '%6.1f s  %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }
fail() { printf 'demo: %s\n' "$*" >&2; exit 1; }

stop_all() {
	[ ${#pids[@]} -gt 0 ] || return 0
	kill "${pids[@]}" 2>/dev/null
	# Not for all there are: the exporter and the recording go on.
	wait "${pids[@]}" 2>/dev/null
	pids=()
}

finish() {
	stop_all
	[ -z "${exporter_pid:-}" ] || kill "$exporter_pid"
	[ -z "${record_pid:-}" ] || kill -INT "$record_pid"
	if [ -n "${VM_OUT:-}" ]; then
		mkdir -p "$VM_OUT/demo"
		cp -r "$dir/." "$VM_OUT/demo/"
	fi
	rm -rf "$dir"
}
trap finish EXIT

# --- The jobs ---

samples() { grep -c . "$dir/lat"; }
has_samples() { [ "$(samples)" -ge "$1" ]; }

start_kv() {
	: >"$dir/kv"
	# As "swiftrdma run" starts it.
	in_cgroup kv env LD_PRELOAD="$top/build/lib/libswiftrdma.so.1" "$bench/lat" --client-dev rxe0 --server-dev rxe1 \
		--log "$dir/lat" "$@" >"$dir/kv" 2>&1 & kv=$!
	pids+=("$kv")
	wait_for 10 grep -q ^ready "$dir/kv" || fail "the latency job did not start: $(cat "$dir/kv")"
}

# Both ends' traffic classes, as ibv_query_qp tells them to the application.
kv_classes() {
	local before

	before=$(grep -c ^query "$dir/kv")
	kill -USR2 "$kv"
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(grep -c ^query "$dir/kv")" -gt "$before" ] && break
		sleep 0.02
	done
	awk '/^query/ { c = $3 " " $7 } END { print c }' "$dir/kv"
}
kv_has_class() { [ "$(kv_classes)" = "$1 $1" ]; }

# perftest's default QP timeout is shorter than this port's queue. $1: of its logs' names.
start_bulk() {
	local args=(-s "$bulk_bytes" -q 1 -t 2 -u 18 -D "$bulk_seconds" -f 1 -F)

	bulk_log=$dir/bulk$1
	in_cgroup bulk ib_write_bw -d rxe1 "${args[@]}" >"$dir/bulk-server$1" 2>&1 &
	pids+=($!)
	wait_for 10 listening 18515 || fail "ib_write_bw does not listen: $(cat "$dir/bulk-server$1")"
	in_cgroup bulk ib_write_bw -d rxe0 "${args[@]}" 127.0.0.1 >"$bulk_log" 2>&1 & bulk=$!
	pids+=("$bulk")
}

# perftest's own timer ends its measurement by SIGALRM and, one margin later, the
# run: so it ends early but as it always does, with all its completions checked.
end_bulk() {
	alive "$bulk" || fail "the bulk job ended early: $(tail -5 "$bulk_log")"
	say "the bulk job ends"
	kill -ALRM "$bulk"
	wait "$bulk" || fail "the bulk job failed: $(tail -5 "$bulk_log")"
}

listening() { ss -Hltn "sport = :$1" | grep -q .; }

# The port was full for the second that ends now.
port_is_full() {
	now_ms
	port_util "$dir/port" "$rate" $((now - 1300)) "$now" |
		awk '{ exit !($2 >= 90) }'
}

# --- Phases: from and to in ms, the samples between them ---

# The bulk job's messages so far, and when that was (ns); nothing while it has no QP.
# On rxe each message posted is a doorbell. Without the module nobody counts them.
bulk_posted() {
	[ -z "$by_hand" ] || return 0
	swiftrdma -j qp show dev rxe0 cgroup /bulk |
		jq -r '.[] | "\(.doorbells) \(.time)"'
}

declare -A from to bulk_from bulk_to
phase_starts() { bulk_from[$1]=$(bulk_posted); now_ms; from[$1]=$now; say "phase: $2"; }
phase_ends() { now_ms; to[$1]=$now; bulk_to[$1]=$(bulk_posted); }

# bulk_rate PHASE: bit/s of its messages, without headers; -: not known
bulk_rate() {
	awk -v size="$bulk_bytes" '{ if (NF == 4 && $4 > $2) printf "%.0f", ($3 - $1) * size * 8e9 / ($4 - $2); else printf "-" }' \
		<<<"${bulk_from[$1]} ${bulk_to[$1]}"
}

# phase_lasts N SECONDS: so many samples more, and so long at least.
phase_lasts() {
	local goal=$(($(samples) + $1))

	sleep "$2"
	wait_for 25 has_samples "$goal" || fail "only $(samples) samples of $goal came"
}

# quantiles PHASE: p50, p99 in us, samples
quantiles() {
	awk -v from="${from[$1]}" -v to="${to[$1]}" \
		'$1 >= from * 1e6 && ($1 + $2) <= to * 1e6 { print $2 }' "$dir/lat" | sort -n |
	awk '
		{ v[NR] = $1 }
		function q(p, i) { i = NR * p; if (i > int(i)) i = int(i) + 1; return v[i] / 1000 }
		END { if (NR) printf "%.0f %.0f %d\n", q(.5), q(.99), NR; else print "0 0 0" }'
}

# --- The agent ---

# start_agent LOG CONFIG OPTION...
start_agent() {
	local log=$dir/agent-$1 config=$2

	shift 2
	swiftrdma-agent "$@" --log-json --config "$config" \
		>"$log.json" 2>"$log" & agent=$!
	pids+=("$agent")
	sleep 0.3
	alive "$agent" || fail "the agent did not start: $(cat "$log")"
}

stop_agent() {
	kill "$agent"
	wait "$agent"
}

act() {
	if [ -n "$by_hand" ]; then
		kill "$kv"; wait "$kv"
		mv "$dir/lat" "$dir/lat-plain"
		start_kv --tclass "$raised"
		return
	fi
	now_ms
	from[act]=$now
	start_agent act "$config"
	wait_for 10 kv_has_class "$raised" && return
	# An agent that sees an idle port does right not to act.
	phase_ends act
	full_in act || return 1
	cat "$dir/agent-act" >&2
	fail "the latency job's classes are $(kv_classes), not $raised at both ends"
}

# Do the signals of 5 s say that the target is met?
meets_target() {
	swiftrdma -j -i 5s job show kv | jq -e '.[0].slo_met | . == "yes" or . == true' >/dev/null
}

# Sets $slo, the target for the p99 in us. Returns 1 if the latency job meets it beside the bulk job, too: then
# other work on this host made the run alone slow, and nothing can be shown.
choose_target() {
	local beside

	slo=$(quantiles alone | awk -v f="$slo_factor" -v packet="$packet_us" \
		'{ print int(($2 + packet) * f) }')
	beside=$(quantiles dry | cut -d' ' -f1)
	[ "$slo" -ge "$beside" ] || return 0
	say "this run is void: the target from the run alone, $slo us, is above the median beside the bulk job, $beside us"
	return 1
}

# The latency job alone again, under an agent with a target; then the bulk job comes back.
act_by_target() {
	wait_for 20 kv_has_class 0 || fail "the class did not come back: $(kv_classes)"
	sed "s/name: kv,/name: kv, slo: {p99: ${slo}us},/" "$config" >"$dir/slo.yaml"
	start_agent slo "$dir/slo.yaml"
	wait_for 60 meets_target || fail "the target of $slo us is missed alone: $(swiftrdma -i 5s job show kv)"
	phase_starts again "the latency job alone again, with a target of $slo us"
	phase_lasts "$n_again" 3
	phase_ends again
	start_bulk -again
	say "the bulk job starts again"
	wait_for 10 port_is_full || {
		say "this run is void: the port does not fill up"
		return 1
	}
	now_ms
	from[slo]=$now
	wait_for 40 kv_has_class "$raised" && return
	phase_ends slo
	full_in slo || return 1
	cat "$dir/agent-slo" >&2
	swiftrdma job show kv >&2
	fail "the target of $slo us was missed, and the classes are $(kv_classes)"
}

start_capture() {
	[ -n "$capture" ] || return 0
	# tcpdump's clock is the wall's, the agent's is CLOCK_MONOTONIC.
	now_ms
	echo "$EPOCHREALTIME $now" >"$dir/clock"
	tcpdump -i v0 -Q out --immediate-mode -tt -nn -c 1 \
		"udp dst port 4791 and ip[1] & 0xfc != 0" >"$dir/capture" 2>"$dir/capture-log" &
	pids+=($!)
	wait_for 10 grep -q listening "$dir/capture-log" || fail "tcpdump does not listen"
}

# full_in PHASE: the port was, in every second of it.
full_in() {
	local u

	u=$(port_util "$dir/port" "$rate" "${from[$1]}" "${to[$1]}" | cut -d' ' -f2)
	awk -v u="$u" -v least="$least_util" 'BEGIN { exit !(u >= least) }' && return
	say "this run is void: the port fell to $u % for a second while it should have been full"
	return 1
}

# 1: the run is void.
attempt() {
	: >"$dir/lat"
	port_watch v0 "$dir/port" & pids+=($!)

	start_kv
	phase_starts alone "the latency job alone"
	phase_lasts "$n_alone" 0.5
	phase_ends alone

	start_bulk ""
	say "the bulk job starts"
	wait_for 10 port_is_full || {
		say "this run is void: the port does not fill up"
		return 1
	}
	[ -n "$by_hand" ] || start_agent dry "$config" --dry-run
	phase_starts dry "colocated, the agent says what it would do"
	phase_lasts "$n_dry" 2
	phase_ends dry
	full_in dry || return 1
	if [ -z "$by_hand" ]; then
		stop_agent
		choose_target || return 1
	fi

	start_capture
	say "colocated, now with action"
	act || return 1
	phase_starts act "colocated, the class is raised on the live QPs"
	phase_lasts "$n_act" 3
	phase_ends act
	full_in act || return 1
	kv_has_class "$raised" || fail "the class did not stay raised: $(kv_classes)"

	end_bulk
	if [ -z "$by_hand" ]; then
		stop_agent
		act_by_target || return 1
		phase_starts slo "colocated, the class is raised because the target was missed"
		# A p99 is of 5 s: one of them should lie within this phase, for those who watch the page.
		phase_lasts "$n_slo" 8
		phase_ends slo
		full_in slo || return 1
		end_bulk
		stop_agent
	fi
	kill "$kv"; wait "$kv" || fail "the latency job failed: $(tail -3 "$dir/kv")"
	stop_all
	[ -z "$by_hand" ] || cat "$dir/lat" >>"$dir/lat-plain"
	[ -z "$by_hand" ] || mv "$dir/lat-plain" "$dir/lat"
}

# --- What came of it ---

# All there were, also between the phases. perftest says so, and its client fails.
count_errors() {
	kv_errors=$(awk '$3 != 0' "$dir/lat" | wc -l)
	bulk_errors=$(cat "$dir"/bulk* | grep -c 'Completion with error')
}

mbit() { awk -v v="$1" 'BEGIN { if (v == "-") print v; else printf "%.2f", v / 1e6 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b ? a / b : 0 }'; }

table() {
	local p name

	printf '\n%-32s %9s %9s %8s %14s %14s %10s\n' '' 'p50 (us)' 'p99 (us)' samples \
		'bulk (Mbit/s)' 'port (Mbit/s)' 'util (min)'
	for p in $phases; do
		case $p in
		alone) name='latency job alone' ;;
		dry) name='colocated, dry run' ;;
		act) name='colocated, SwiftRDMA acting' ;;
		again) name='latency job alone, with a target' ;;
		slo) name='colocated, acting by a target' ;;
		esac
		printf '%-32s %9d %9d %8d %14s %14s %5.1f (%.0f) %%\n' "$name" "${p50[$p]}" "${p99[$p]}" "${n[$p]}" \
			"$(mbit "${bulk[$p]}")" "$(mbit "${bps[$p]}")" "${util[$p]}" "${least[$p]}"
	done
	printf '\nbulk: its messages, without headers; its own figure over the run: %s\n' "$bulk_average"
	printf 'p50 ratios: dry/alone %s, acting/alone %s, dry/acting %s; p99 dry/acting %s\n' \
		"$r_dry" "$r_act" "$r_gain" "$r_p99"
	printf 'error completions: %d of the latency job, %d of the bulk job\n' "$kv_errors" "$bulk_errors"
}

decisions() {
	[ -z "$by_hand" ] || return 0
	printf '\nthe agent, dry run:\n'; sed 's/^/  /' "$dir/agent-dry"
	printf '\nthe agent, acting:\n'; sed 's/^/  /' "$dir/agent-act"
	printf '\nthe agent, acting by a target of %s us for the p99:\n' "$slo"
	sed 's/^/  /' "$dir/agent-slo"
}

json() {
	local p sep=''

	printf '{"phases":{'
	for p in $phases; do
		printf '%s"%s":{"p50_us":%d,"p99_us":%d,"samples":%d,"bulk_bit_s":%s,"port_bit_s":%s,"port_util":%s,"port_util_min":%s,"from_ms":%d,"to_ms":%d}' \
			"$sep" "$p" "${p50[$p]}" "${p99[$p]}" "${n[$p]}" "${bulk[$p]/#-/null}" "${bps[$p]}" \
			"${util[$p]}" "${least[$p]}" "${from[$p]}" "${to[$p]}"
		sep=,
	done
	printf '},"dry_alone":%s,"act_alone":%s,"dry_act":%s,"p99_dry_act":%s,"errors":%d}\n' \
		"$r_dry" "$r_act" "$r_gain" "$r_p99" $((kv_errors + bulk_errors))
}

# holds WORDS VALUE OP BOUND
holds() {
	if awk -v a="$2" -v b="$4" "BEGIN { exit !(a $3 b) }"; then
		printf '  yes  %s: %s\n' "$1" "$2"
	else
		printf '  NO   %s: %s\n' "$1" "$2"
		bad=1
	fi
}

# How often the policy raised the class for the p99 that was measured.
decided_by_p99() {
	jq -s 'map(select(.event == "decision" and .new == 1 and .signals."job.p99" != null
		and (.reason | test("p99") and (test("fallback") | not)))) | length' "$dir/agent-slo.json"
}

conclude() {
	local p bad='' phases='alone dry act'
	declare -A p50 p99 n util least bps bulk
	local kv_errors bulk_errors r_dry r_act r_gain r_p99 bulk_average

	[ -n "$by_hand" ] || phases+=' again slo'
	for p in $phases; do
		read -r p50[$p] p99[$p] n[$p] < <(quantiles "$p")
		bulk[$p]=$(bulk_rate "$p")
		read -r util[$p] least[$p] bps[$p] < <(port_util "$dir/port" "$rate" "${from[$p]}" "${to[$p]}")
	done
	count_errors
	r_dry=$(ratio "${p50[dry]}" "${p50[alone]}")
	r_act=$(ratio "${p50[act]}" "${p50[alone]}")
	r_gain=$(ratio "${p50[dry]}" "${p50[act]}")
	r_p99=$(ratio "${p99[dry]}" "${p99[act]}")
	bulk_average=$(awk -v size="$bulk_bytes" '$1 == size { print $4 " MB/s" }' "$dir/bulk")

	decisions
	table
	[ -z "${VM_OUT:-}" ] || json >"$VM_OUT/demo.json"
	printf '\n'
	holds 'colocation hurts: p50 at least 10 times alone' "$r_dry" '>=' 10
	holds 'acting helps: p50 at most 3 times alone' "$r_act" '<=' 3
	holds 'acting helps: p50 at least 10 times better than without' "$r_gain" '>=' 10
	holds 'acting helps: p99 at least halved' "$r_p99" '>=' 2
	if [ -z "$by_hand" ]; then
		holds "the target of $slo us, from the first run alone, is met by the second: p99" "${p99[again]}" '<=' "$slo"
		holds '... missed beside the bulk job: p99' "${p99[dry]}" '>' "$slo"
		holds '... met when SwiftRDMA acts by it: p99' "${p99[slo]}" '<=' "$slo"
		holds '... and the decision was made by the p99, not by the load of the port' "$(decided_by_p99)" '>=' 1
	fi
	holds 'no QP of the latency job had an error completion' "$kv_errors" '==' 0
	holds 'nor one of the bulk job, by what perftest says' "$bulk_errors" '==' 0
	[ -n "${bulk_average}" ] || { echo '  NO   the bulk job gave no result'; bad=1; }
	[ -z "$bad" ]
}

# The module and the port stay as they were found.
if [ -z "$by_hand" ]; then
	module=$top/build/kmod/$(uname -r)/swiftrdma.ko
	[ -d /sys/module/swiftrdma ] || insmod "$module" || fail "cannot load $module"
fi
port_shape v0 "${rate}bit" $raised
# Not of $pids, which end with each attempt. The speed of the port is that of the file, also before
# there is an agent.
if [ -n "$exporter" ]; then
	nice -n 19 swiftrdma-exporter --web.listen-address "$exporter" --policy "$config" >"$dir/exporter" 2>&1 & exporter_pid=$!
fi
if [ -n "$record" ]; then
	nice -n 19 swiftrdma -i 1s record "$record" >"$dir/record" 2>&1 & record_pid=$!
fi

attempt || {
	say "trying once more"
	stop_all
	rm -f "$dir"/*
	attempt || exit 77
}
conclude
