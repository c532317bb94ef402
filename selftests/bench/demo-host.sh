#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The demo in a VM, and beside it, on this host, Debian's Prometheus, which scrapes the guest's
# swiftrdma-exporter through a forwarded port. In the end it is asked what each panel of the
# dashboard asks, over the time of the demo. The exporter's page is looked at in Chromium, where
# that is installed: pictures of it, the results and a recording are in build/demo.
#
#   [PAGE=1] selftests/bench/demo-host.sh [DEMO-OPTION]...
#
# PAGE=1: in the end the page shows the recording of the demo, at the same address, until Ctrl-C.
# Exit status: the demo's own (demo.sh), or 1 if Prometheus has no data for a panel, or the page
# did not show what happened.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/prometheus.sh
. selftests/lib/prometheus.sh
# shellcheck source=selftests/lib/browser.sh
. selftests/lib/browser.sh

guest_port=9891
interval=5	# s; the guest is slow
out=build/demo
work=$(mktemp -d /tmp/demo-host.XXXXXX)
cleanup() {
	[ -z "${prometheus:-}" ] || kill "$prometheus" 2>/dev/null
	[ -z "${viewer:-}" ] || kill "$viewer" 2>/dev/null
	wait
	rm -rf "$work"
}
trap cleanup EXIT

# free_port FROM: the first that nobody listens at.
free_port() {
	local port=$1

	while (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port + 1))
	done
	echo "$port"
}

# Does each panel of the dashboard have data of the demo's time? Panels of what rxe does not report
# are asked by selftests/host/prometheus.sh.
ask_panels() {
	local title query got scrapes asked=0 missing=0

	while IFS=$'\t' read -r title query; do
		got=$(ask_since "$began" "$query")
		asked=$((asked + 1))
		[ "${got:-0}" -gt 0 ] && continue
		printf "  NO   panel '%s' has no data: %s\n" "$title" "$query"
		missing=$((missing + 1))
	done < <(dashboard_queries $((4 * interval)) 'Where the NIC reports them.')
	scrapes=$(ask_since "$began" 'up{job="swiftrdma"} == 1')
	if [ "$asked" -eq 0 ] || [ "${scrapes:-0}" -eq 0 ]; then
		echo '  NO   Prometheus did not scrape the guest'
		return 1
	fi
	[ $missing -eq 0 ] || return 1
	printf '  yes  Prometheus on the host scraped the guest: each of %d queries of the dashboard has data\n' $asked
}

port=$(free_port 9891)
prometheus_port=$(free_port 19090)
prometheus_url=http://127.0.0.1:$prometheus_port
prometheus_start "127.0.0.1:$port" $interval || exit 1
rm -rf $out
mkdir -p $out
echo "Prometheus scrapes the guest: $prometheus_url, and http://127.0.0.1:$port/metrics"
echo "the page, once the guest has booted: http://127.0.0.1:$port/"
blind=$(browser_why)
if [ -n "$blind" ]; then
	echo "the page is not looked at: $blind"
else
	nice node "$(browser_script demo.js)" "http://127.0.0.1:$port/" $out >"$work/seen" 2>&1 & viewer=$!
fi

began=$EPOCHSECONDS
scripts/vm --nic rxe --forward "$port:$guest_port" --timeout 900 --share $out -- \
	selftests/bench/demo.sh --exporter "0.0.0.0:$guest_port" --record "$@"
status=$?

failed=0
if [ -n "${viewer:-}" ]; then
	wait "$viewer" || failed=1
	viewer=''
	cat "$work/seen"
	echo "       pictures of it: $out/*.png"
fi
if [ $status -ne 0 ]; then
	echo 'the demo did not come to its end, so Prometheus is not asked'
	failed=$status
else
	ask_panels || failed=1
fi
if [ -n "${PAGE:-}" ]; then
	echo "The page now shows the recording of the demo, until Ctrl-C: http://127.0.0.1:$port/"
	# A recording has neither the speed of a shaped port nor targets of policies.
	policy=$out/demo/slo.yaml
	[ -e $policy ] || policy=selftests/bench/demo.yaml
	trap : INT
	build/bin/swiftrdma-exporter --replay $out/recording --replay-speed 0 --policy $policy \
		--web.listen-address "127.0.0.1:$port"
fi
exit $failed
