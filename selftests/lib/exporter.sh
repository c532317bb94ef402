# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Starts swiftrdma-exporter and reads its metrics. $work is a directory of the suite.

exporter_port=${EXPORTER_PORT:-19891}
exporter_url=http://127.0.0.1:$exporter_port

# exporter_start OPTION...: $exporter is its process id. 1: it does not answer.
exporter_start() {
	swiftrdma-exporter --web.listen-address "127.0.0.1:$exporter_port" "$@" \
		>"${work:?}/exporter" 2>&1 & exporter=$!
	wait_for 20 exporter_answers || { sed 's/^/# /' "$work/exporter"; return 1; }
}

# True also if it wants a certificate or a password.
exporter_answers() { (: <>"/dev/tcp/127.0.0.1/$exporter_port") 2>/dev/null; }

# exporter_stop: its exit status.
exporter_stop() {
	kill "$exporter" 2>/dev/null
	wait "$exporter"
}

# scrape [CURL-OPTION]...
# shellcheck disable=SC2120
scrape() { curl -sS --max-time 30 "$@" "$exporter_url/metrics"; }

# metric NAME [FILE]: the value of a sample, as it stands there; nothing: there is none.
metric() {
	if [ $# -gt 1 ]; then
		cat "$2"
	else
		scrape
	fi | awk -v name="$1" 'substr($0, 1, length(name) + 1) == name " " { print substr($0, length(name) + 2) }'
}

# page_event NAME [CURL-OPTION]...: the data of an event of the page, as a new viewer gets it.
page_event() {
	curl -sN --max-time 3 "${@:2}" "$exporter_url/events" 2>/dev/null |
		awk -v e="$1" '$1 == "event:" { is = $2 == e } $1 == "data:" && is { print substr($0, 7); exit }'
}

# start_clients KIND N: clients of slow_clients.py until end_clients.
start_clients() {
	[ -p "$work/end" ] || mkfifo "$work/end"
	: >"$work/clients"
	selftests/host/slow_clients.py "$1" "$2" "$exporter_port" <"$work/end" >"$work/clients" & clients=$!
	exec {hold}>"$work/end"
	wait_for 30 grep -q ready "$work/clients"
}

end_clients() {
	exec {hold}>&-
	wait "$clients"
	clients=''
}

resident_kb() { awk '/^VmRSS/ { print $2 }' "/proc/$exporter/status"; }
