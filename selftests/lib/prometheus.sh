# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Starts Debian's Prometheus with the rules that are shipped, and asks it what the dashboard
# asks. $work is a directory of the caller.

prometheus_port=${PROMETHEUS_PORT:-19090}
prometheus_url=http://127.0.0.1:$prometheus_port
shipped=user/exporter/prometheus

# prometheus_start TARGET SECONDS: scrapes TARGET each SECONDS. $prometheus is its process id.
prometheus_start() {
	mkdir -p "${work:?}/prometheus"
	cp $shipped/*.yml "$work/prometheus/"
	sed -i "s/localhost:9891/$1/; s/_interval: 15s/_interval: $2s/; s/^  evaluation_interval.*/&\n  scrape_timeout: $2s/" \
		"$work/prometheus/prometheus.yml"
	prometheus --config.file="$work/prometheus/prometheus.yml" \
		--storage.tsdb.path="$work/prometheus/data" --log.level=warn \
		--web.listen-address="127.0.0.1:$prometheus_port" >"$work/prometheus/log" 2>&1 & prometheus=$!
	wait_for 30 prometheus_ready || { sed 's/^/# /' "$work/prometheus/log"; return 1; }
}

prometheus_ready() { curl -sf -o /dev/null --max-time 5 "$prometheus_url/-/ready"; }

prometheus_stop() {
	kill "$prometheus"
	wait "$prometheus"
}

# ask EXPR: how many samples its answer has now.
ask() {
	curl -sS --max-time 10 --data-urlencode "query=$1" "$prometheus_url/api/v1/query" |
		jq '.data.result | length'
}

# ask_since TIME EXPR: how many series its answer has between TIME and now.
ask_since() {
	curl -sS --max-time 20 --data-urlencode "query=$2" -d "start=$1" -d "end=$EPOCHSECONDS" -d step=3 \
		"$prometheus_url/api/v1/query_range" | jq '.data.result | length'
}

# dashboard_queries SECONDS [DESCRIPTION]: the title of each panel, but for those with this
# description, a tab, and what it asks, with all of its variables chosen; rates are of SECONDS.
dashboard_queries() {
	# shellcheck disable=SC2016 # Grafana's variables
	jq -r --arg not "${2:-}" '.panels[] | select(.targets and ($not == "" or .description != $not)) | .title as $t | .targets[] | "\($t)\t\(.expr)"' \
		$shipped/dashboard.json |
		sed "s/\\\$__rate_interval/$1s/g; s/\\\$[a-z]*/.*/g"
}
