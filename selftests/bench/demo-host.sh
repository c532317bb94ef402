#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The demo in a VM, and beside it, on this host, Debian's Prometheus, which scrapes the guest's
# swiftrdma-exporter through a forwarded port. In the end it is asked what each panel of the
# dashboard asks, over the time of the demo.
#
#   selftests/bench/demo-host.sh [DEMO-OPTION]...
#
# Exit status: the demo's own (demo.sh), or 1 if Prometheus has no data for a panel.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/prometheus.sh
. selftests/lib/prometheus.sh

guest_port=9891
interval=5	# s; the guest is slow
work=$(mktemp -d /tmp/demo-host.XXXXXX)
cleanup() {
	[ -z "${prometheus:-}" ] || kill "$prometheus" 2>/dev/null
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

port=$(free_port 9891)
prometheus_port=$(free_port 19090)
prometheus_url=http://127.0.0.1:$prometheus_port
prometheus_start "127.0.0.1:$port" $interval || exit 1
echo "Prometheus scrapes the guest: $prometheus_url, and http://127.0.0.1:$port/metrics"

began=$EPOCHSECONDS
scripts/vm --nic rxe --forward "$port:$guest_port" --timeout 900 -- \
	selftests/bench/demo.sh --exporter "0.0.0.0:$guest_port" "$@"
status=$?

if [ $status -ne 0 ]; then
	echo 'the demo did not come to its end, so Prometheus is not asked'
	exit $status
fi
# Panels of what rxe does not report are asked by selftests/host/prometheus.sh.
failed=0 asked=0
while IFS=$'\t' read -r title query; do
	got=$(ask_since "$began" "$query")
	asked=$((asked + 1))
	[ "${got:-0}" -gt 0 ] && continue
	printf "  NO   panel '%s' has no data: %s\n" "$title" "$query"
	failed=$((failed + 1))
done < <(dashboard_queries $((4 * interval)) 'Where the NIC reports them.')
scrapes=$(ask_since "$began" 'up{job="swiftrdma"} == 1')
if [ "$asked" -eq 0 ] || [ "${scrapes:-0}" -eq 0 ]; then
	echo '  NO   Prometheus did not scrape the guest'
	failed=$((failed + 1))
elif [ $failed -eq 0 ]; then
	printf '  yes  Prometheus on the host scraped the guest: each of %d queries of the dashboard has data\n' $asked
fi
[ $failed -eq 0 ]
