#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Rules and dashboard: promtool's unit tests, and Debian's Prometheus, which scrapes the
# exporter of a recording and is asked what each panel asks. What a recording does not have
# is asked in the demo (selftests/bench/demo-host.sh), which has a module and an agent.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/exporter.sh
. selftests/lib/exporter.sh
# shellcheck source=selftests/lib/prometheus.sh
. selftests/lib/prometheus.sh
PATH=$PWD/build/bin:$PATH
work=$(mktemp -d /tmp/prometheus.XXXXXX)
cleanup() {
	[ -z "${exporter:-}" ] || kill "$exporter" 2>/dev/null
	[ -z "${prometheus:-}" ] || kill "$prometheus" 2>/dev/null
	wait
	rm -rf "$work"
}
trap cleanup EXIT
# Events, leases and the agent are not in a recording.
live='swiftrdma_(agent_up|decisions_total|override_|lease_remaining)'

ktap_begin
for file in recording alerts; do
	check "the rules in $file.yml are valid" promtool check rules $shipped/$file.yml
done
check "the example of a configuration is valid" promtool check config $shipped/prometheus.yml
ln -s "$PWD/$shipped" "$work/shipped"
cp selftests/host/prometheus/rules.yml "$work/"
check "the rules do what they say" promtool test rules "$work/rules.yml"
check "the dashboard is JSON" jq -e '.panels | length > 20' $shipped/dashboard.json
is "every metric of rules and dashboard is one of the exporter" \
	"$(cat $shipped/recording.yml $shipped/alerts.yml $shipped/dashboard.json |
		grep -oE '\b(swiftrdma|process)_[a-z0-9_]+[({]' | tr -d '({' | sed -E 's/_(bucket|sum|count)$//' | sort -u |
		grep -vxFf <(swiftrdma-exporter --list-metrics | cut -d' ' -f1))" ""

build/bench/scrape_10k --record "$work/rec" 200 50 8 300
point $? "a recording of 300 seconds is made"
exporter_start --replay "$work/rec"
point $? "it is served"
prometheus_start "127.0.0.1:$exporter_port" 1
point $? "Prometheus starts"
scraped() { [ "$(ask 'count_over_time(up{job="swiftrdma"}[1m]) > 20')" = 1 ]; }
check "it scrapes" wait_for 60 scraped
is "... without a fault, in OpenMetrics" "$(ask 'min_over_time(up{job="swiftrdma"}[1m]) == 1')" 1
is "... start times with it" "$(ask 'swiftrdma_job_wqebbs_created{job="job-of-tenant-1"}')" 1
is "no rule fails" "$(curl -s "$prometheus_url/api/v1/rules" | jq '[.data.groups[].rules[] | select(.health != "ok")] | length')" 0
recorded() { [ "$(ask '{__name__=~"(job|port|device):swiftrdma_.*"}')" -gt 0 ]; }
check "rules record" wait_for 20 recorded
while IFS=$'\t' read -r title query; do
	if grep -qE "$live" <<<"$query"; then
		skip "panel '$title' has data" "a recording has none of it"
		continue
	fi
	got=$(ask "$query")
	[ "${got:-0}" -gt 0 ] || note "asked: $query"
	[ "${got:-0}" -gt 0 ]
	point $? "panel '$title' has data: $got series"
done < <(dashboard_queries 15)
is "targets that are missed are about to alert" \
	"$(curl -s "$prometheus_url/api/v1/alerts" | jq '[.data.alerts[] | select(.labels.alertname == "SwiftRDMATargetMissed")] | length > 0')" true
prometheus_stop
exporter_stop
ktap_end
