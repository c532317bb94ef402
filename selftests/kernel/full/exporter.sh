#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma-exporter against the real module, with an agent and a job that has libswiftrdma:
# what it tells is what swiftrdma -j tells; decisions, leases, and what is in force; and what
# it tells when the agent dies, the module goes, or a job begins anew.

cd "$(dirname "$0")/../../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/exporter.sh

work=$(mktemp -d /tmp/exporter.XXXXXX)
policy=$work/policy.yaml
# Nobody meets a target of 1 us here, and a lease outlives most slow ticks.
cat >"$policy" <<'EOF'
agent: {interval: 200ms, lease: 10s}
levels: [{level: 3, dscp: 24, sl: 3}]
jobs:
  - {name: kv, class: latency, slo: {p99: 1us}, match: [{cgroup: /kv}]}
policies:
  - name: up
    for: job of class latency
    when: job.qps > 0
    do: job.level = 3
    undo: {when: job.qps == 0}
EOF

# told NAME: a sample of the last text.
told() { metric "$1" "$work/text"; }
# tells NAME VALUE: it comes.
tells() { wait_for 30 is_told "$@" || note "$1 is: $(told "$1")"; }
is_told() { scrape >"$work/text" && [ "$(told "$1")" = "$2" ]; }

# What the command says, as samples. Absent figures are null, and no samples.
expected() {
	swiftrdma -d -j dev show | jq -r '
		def s($name; $v): select($v != null) | "swiftrdma_device_\($name){device=\"\(.dev)\"} \($v)";
		.[] | s("qps"; .qps), s("uars"; .uars), s("cqs"; .cqs), s("mrs"; .mrs), s("mr_bytes"; .mr_bytes),
			s("qps_limit"; .qp_limit), s("qp_creations_total"; .created),
			s("qp_destructions_total"; .destroyed), s("qp_modifications_total"; .modified),
			s("qps_rejected_total"; .rejected), s("qps_adopted_total"; .adopted),
			s("live_changes_total"; .live_changed)'
	swiftrdma -d -j job show | jq -r '
		def s($job; $name; $v): select($v != null) | "swiftrdma_job_\($name){device=\"\(.dev)\",job=\"\($job)\"} \($v)";
		.[] | .job as $j | .devs[] |
			s($j; "qps"; .qps), s($j; "qp_creations_total"; .created),
			s($j; "qp_destructions_total"; .destroyed), s($j; "qps_moved_total"; .moved),
			s($j; "qps_rejected_total"; .rejected), s($j; "doorbells_total"; .doorbells),
			s($j; "level"; .level), s($j; "mrs"; .mrs), s($j; "mr_bytes"; .mr_bytes),
			s($j; "library_processes"; .library_processes),
			s($j; "library_work_requests_total"; .reported_wrs),
			s($j; "library_bytes_total"; .reported_bytes),
			s($j; "library_completions_total"; .done)'
	swiftrdma -d -j uar show | jq -r '.[] | select(.doorbells > 0) | (.cgroup // "") as $c |
		(if $c != "" then ",owner=\"cgroup:\($c)\"" else ",owner=\"kernel:\(.kernel)\"" end) as $o |
		"swiftrdma_uar_qps{device=\"\(.dev)\",uar=\"\(.uar)\"\($o)} \(.qps)",
		"swiftrdma_uar_doorbells_total{device=\"\(.dev)\",uar=\"\(.uar)\"\($o)} \(.doorbells)"'
	swiftrdma -d -j qp show job kv | jq -r '.[] | select(.doorbells > 0) |
		"swiftrdma_qp_doorbells_total{device=\"\(.dev)\",port=\"\(.port)\",qpn=\"\(.qpn)\",job=\"kv\",owner=\"cgroup:/kv\"} \(.doorbells)"'
}

compare() {
	local want missing

	want=$(expected)
	scrape >"$work/text"
	missing=$(grep -vxFf "$work/text" <<<"$want")
	note "$(wc -l <<<"$want") figures are compared"
	[ "$(wc -l <<<"$want")" -gt 40 ] && [ -z "$missing" ] && return
	note "not told: $missing"
	return 1
}

ktap_begin
check "the module loads" srdma_load
exporter_start --interval 300ms
point $? "the exporter starts"
check "it reads the module" tells swiftrdma_up 1
is "without an agent it says so" "$(told swiftrdma_agent_up)" 0
is "it sees everything" "$(told swiftrdma_exporter_privileged)" 1
is "what speaks HTTP has no capability, and what reads has one" \
	"$(for pid in "$exporter" "$(pgrep -P "$exporter")"; do
		awk '/^Cap(Eff|Prm|Bnd)|^NoNewPrivs/ { printf "%s ", $2 }' "/proc/$pid/status"; done)" \
	"$(printf '0000000000000000 %.0s' 1 2 3)1 $(printf '0000000000001000 %.0s' 1 2 3)1 "

swiftrdma-agent --config "$policy" >"$work/agent" 2>&1 & agent=$!
check "an agent comes" tells swiftrdma_agent_up 1
in_cgroup kv env LD_PRELOAD="$PWD/build/lib/libswiftrdma.so.1" lat --client-dev rxe0 --server-dev rxe1 \
	--log "$work/lat" >"$work/kv" 2>&1 & kv=$!
wait_for 30 grep -q ^ready "$work/kv"
point $? "a job with the library starts"

decided='policy="up",job="kv",knob="job.level"'
check "the agent decides" tells "swiftrdma_decisions_total{$decided,act=\"set\"}" 1
check "... and it is done" tells "swiftrdma_decision_results_total{$decided,result=\"done\"}" 1
read -r lease rank < <(swiftrdma -j action show | jq -r '.[] | select(.knob == "level") | "\(.lease) \(.rank)"')
override="job=\"kv\",knob=\"job.level\",origin=\"agent\",rank=\"$rank\",lease=\"$lease\""
is "it is in force" "$(told "swiftrdma_override_in_force{$override}")" 1
is "... with its value" "$(told "swiftrdma_override_value{$override}")" 3
# One of decisions, and one of what the policy file sets for jobs with a library.
has_leases() { [ "$(leases)" = 2 ]; }
leases() { swiftrdma -j action show | jq '[.[] | select(.kind == "override") | .lease] | unique | length'; }
wait_for 20 has_leases
check "... under one of the agent's $(leases) leases" tells "swiftrdma_leases{origin=\"agent\",rank=\"$rank\"}" "$(leases)"
left=$(told "swiftrdma_lease_remaining_seconds{origin=\"agent\",rank=\"$rank\"}")
is "... for at most its life" "$(awk -v l="$left" 'BEGIN { print (l > 0 && l <= 10) }')" 1

# A target that cannot be met.
check "the target is told" tells 'swiftrdma_job_slo_p99_seconds{job="kv"}' 0.000001
check "... is missed" tells 'swiftrdma_job_slo_met{job="kv"}' 0
is "... by all requests that were measured" \
	"$(awk -v n="$(told 'swiftrdma_job_slo_requests_total{job="kv"}')" 'BEGIN { print (n > 0) }') $(told 'swiftrdma_job_slo_requests_met_total{job="kv"}')" "1 0"
is "... of which there is a histogram" \
	"$(awk -v n="$(told 'swiftrdma_job_latency_seconds_count{device="rxe0",job="kv"}')" 'BEGIN { print (n >= 100) }')" 1
is "requests that wait are told" "$(grep -c '^swiftrdma_job_wait_seconds_count{device="rxe0",job="kv"} [1-9]' "$work/text")" 1
is "promtool finds nothing wrong" "$(promtool check metrics <"$work/text" 2>&1)" ""

# What the page is told. It may know a class that is about to be changed.
page_event state >"$work/page"
page_event trend >"$work/trend"
is "the page is told what is in force, by whom, and for how long" \
	"$(jq -r '.state.overrides[] | select(.knob == "job.level") | "\(.job) \(.value) \(.origin) \(.policy) \(.in_force) \(.left_ms > 0 and .left_ms <= 10000)"' "$work/page")" \
	"kv 3 agent up true true"
is "... that the target is missed" "$(jq -r '.state.jobs[] | select(.name == "kv") | "\(.slo_p99) \(.met)"' "$work/page")" "1000 false"
is "... and the decision with its values" \
	"$(jq -r '[.events[] | select(.policy == "up")][0] | "\(.job) \(.knob) \(.value): \(.values[0].signal)"' "$work/trend")" "kv job.level 3: job.qps"
is "... at the time of day" "$(jq -r --argjson now "$EPOCHSECONDS" '.events[0].t / 1000 | $now - . > -5 and $now - . < 600' "$work/trend")" true
qpn=$(curl -sS "$exporter_url/qps?job=kv" | jq -r '[.qps[] | select(.dev == "rxe0")][0].qpn')
same() { jq -c '.says | [.qp, .class, .pieces]'; }
explained_alike() {
	[ "$(curl -sS "$exporter_url/explain?dev=rxe0&qpn=$qpn" | same)" = "$(swiftrdma -j qp explain rxe0 "$qpn" | same)" ]
}
check "a click explains a QP as the command does" wait_for 20 explained_alike

# Both stand still, so that all read the same.
mapfile -t both < <(echo "$kv"; pgrep -P "$kv")
kill -STOP "${both[@]}"
check "what the exporter tells is what the command tells" wait_for 20 compare
kill -CONT "${both[@]}"

# A second user sees what is theirs.
(EXPORTER_PORT=19893; . selftests/lib/exporter.sh
	setpriv --reuid 1234 --regid 1234 --clear-groups --inh-caps=-all --bounding-set=-all \
		"$PWD/build/bin/swiftrdma-exporter" --web.listen-address 127.0.0.1:19893 >"$work/other" 2>&1 & pid=$!
	wait_for 20 exporter_answers
	scrape >"$work/unprivileged"
	kill $pid; wait $pid)
is "without the privilege it says that it sees its own only" "$(metric swiftrdma_exporter_privileged "$work/unprivileged")" 0
is "... and tells no job" "$(grep -c '^swiftrdma_job_' "$work/unprivileged")" 0
is "... nor how much is in force, which it does not know" "$(grep -cE '^swiftrdma_(qp_overrides|leases|override_)' "$work/unprivileged")" 0

# A job that begins anew.
swiftrdma job set other match cgroup=/other
check "a job is told" tells 'swiftrdma_job_info{job="other",class="none"}' 1
first=$(told 'swiftrdma_job_start_time_seconds{job="other"}')
is "... with its start, which is now" "$(awk -v t="$first" -v now="$EPOCHSECONDS" 'BEGIN { print (now - t < 60 && t <= now + 1) }')" 1
swiftrdma job del other
swiftrdma job set other match cgroup=/other
later() {
	scrape >"$work/text"
	awk -v was="$first" -v is="$(told 'swiftrdma_job_start_time_seconds{job="other"}')" 'BEGIN { exit !(is > was) }'
}
check "one that is deleted and set again has a later start" wait_for 20 later

# An agent that dies: its lease runs out.
# On a busy host an earlier one may have run out, too.
scrape >"$work/text"
ends=$(($(told 'swiftrdma_lease_ends_total{cause="expired"}') + $(leases)))
kill -KILL "$agent"
wait "$agent" 2>/dev/null
check "an agent that was killed is gone" tells swiftrdma_agent_up 0
check "... its leases run out" tells 'swiftrdma_lease_ends_total{cause="expired"}' "$ends"
check "... and what it changed is not in force any more" tells "swiftrdma_override_in_force{$override}" ""
kill "$kv"
wait "$kv" 2>/dev/null

# The module goes, and comes back.
swiftrdma module disarm
check "a disarmed module is told" tells swiftrdma_module_armed 0
wait_for 10 srdma_unused
rmmod swiftrdma
point $? "the module unloads beside the exporter"
check "it is gone" tells swiftrdma_up 0
is "... and nothing of it is told" "$(grep -c '^swiftrdma_device_' "$work/text")" 0
check "it comes back" srdma_load
check "... and is told again" tells swiftrdma_up 1
exporter_stop
is "the exporter ends well" $? 0
check "the module unloads" srdma_unload
rm -rf "$work"
ktap_end
