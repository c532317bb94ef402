#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# swiftrdma-exporter on the host: what it serves of a recording, TLS and passwords, and that
# clients that hang, are slow or many do not keep it from serving others.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/exporter.sh
. selftests/lib/exporter.sh
PATH=$PWD/build/bin:$PATH
work=$(mktemp -d /tmp/exporter.XXXXXX)
cleanup() {
	[ -z "${exporter:-}" ] || kill "$exporter" 2>/dev/null
	[ -z "${clients:-}" ] || kill "$clients" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
openmetrics='Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5'
# Of "tenants secret", by bcrypt at its least cost.
hash=$(python3 -W ignore -c 'import crypt; print(crypt.crypt("tenants secret", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))')

status() { curl -s -o /dev/null --max-time 10 -w '%{http_code}' "$@"; }
# A scrape is whole. Prometheus would not wait so long, but this machine may be busy.
answers() {
	curl -sf -o "$work/answer" --max-time 30 "$exporter_url/metrics" &&
		grep -q '^process_start_time_seconds ' "$work/answer"
}

# --- What is served ---

ktap_begin
build/bench/scrape_10k --record "$work/rec" 500 100 20 30
point $? "a recording is made"
exporter_start --replay "$work/rec" --replay-speed 0
point $? "it is served"
scrape >"$work/text"
scrape -H "$openmetrics" >"$work/open"
is "promtool finds nothing wrong" "$(promtool check metrics <"$work/text" 2>&1)" ""
is "a figure of the last reading" "$(metric 'swiftrdma_port_transmit_bytes_total{device="mlx5_0",port="1"}' "$work/text")" 270000000000
is "every family of the answer is listed" \
	"$(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' "$work/text" | grep -vxFf <(swiftrdma-exporter --list-metrics | cut -d' ' -f1))" ""
is "metrics.rst has exactly what is listed" \
	"$(grep -oE '^``(swiftrdma|process)_[a-z0-9_]+``' Documentation/metrics.rst | tr -d '`' | sort)" \
	"$(swiftrdma-exporter --list-metrics | cut -d' ' -f1 | sort)"
like "OpenMetrics is negotiated" "$(scrape -o /dev/null -D - -H "$openmetrics")" '^Content-Type: application/openmetrics-text; version=1.0.0'
is "... and ends as it has to" "$(tail -n 1 "$work/open")" '# EOF'
like "... with start times" "$(grep ^swiftrdma_job_wqebbs_ "$work/open")" '^swiftrdma_job_wqebbs_created\{device="mlx5_0",job="job-of-tenant-0"\} [0-9]'
is "... of which the text format has none" "$(grep -c '_created' "$work/text")" 0
is "no series of a QP beyond the 20, in both formats" \
	"$(grep -oE 'qpn="[0-9]+"' "$work/text" "$work/open" | sort -u | wc -l)" 40
is "the others are one series" "$(metric 'swiftrdma_rest_qps{device="mlx5_0"}' "$work/text")" 480
like "owners are named by their cgroups" "$(grep ^swiftrdma_owner_qps "$work/text")" 'owner="slurm:5"'
is "another page there is not" "$(status "$exporter_url/other")" 404
is "nothing can be posted" "$(status -d x=1 "$exporter_url/metrics")" 405
is "health is told" "$(status "$exporter_url/-/healthy")" 200
like "a browser gets a page that can load nothing" "$(curl -s -D - "$exporter_url/")" "^Content-Security-Policy: default-src 'none'"
is "it has no capability, and can get none" \
	"$(awk '/^Cap(Eff|Prm|Bnd)|^NoNewPrivs/ { print $2 }' "/proc/$exporter/status" | xargs)" \
	'0000000000000000 0000000000000000 0000000000000000 1'
exporter_stop
is "it ends well" $? 0

check "it listens on this host only, unless told otherwise" \
	bash -c 'swiftrdma-exporter --replay "$1" 2>/dev/null & p=$!; for _ in {1..50}; do
		got=$(ss -Hltn "sport = :9891"); [ -z "$got" ] || break; sleep 0.1; done
		kill $p; wait $p; [ "$(awk "{ print \$4 }" <<<"$got")" = 127.0.0.1:9891 ]' sh "$work/rec"
exporter_start --replay "$work/rec" --replay-speed 0 --web.listen-address ":$exporter_port"
is "without a host it listens for both families" \
	"$(status "http://127.0.0.1:$exporter_port/-/healthy") $(status "http://[::1]:$exporter_port/-/healthy")" "200 200"
exporter_stop

exporter_start --replay "$work/rec" --replay-speed 0 --max-series 1000
scrape >"$work/text"
is "the bound on series holds" "$(($(grep -vc '^#' "$work/text") <= 1000))" 1
is "... is told" "$(metric swiftrdma_exporter_series_limit "$work/text")" 1000
like "... with what it dropped" "$(grep dropped_series "$work/text")" '^swiftrdma_exporter_dropped_series\{metric="swiftrdma_owner_qps"\} 20$'
is "... and promtool finds nothing wrong" "$(promtool check metrics <"$work/text" 2>&1)" ""
exporter_stop

exporter_start --replay "$work/rec" --replay-speed 10 --interval 100ms
first=$(metric swiftrdma_exporter_readings_total)
more_readings() { [ "$(metric swiftrdma_exporter_readings_total)" -gt "$first" ]; }
check "a recording is played in its own time" wait_for 10 more_readings
exporter_stop

# said PATTERN N: the log has N lines that match.
said() { [ "$(grep -c "$1" "$work/exporter")" = "$2" ]; }
head -c -3 "$work/rec" >"$work/cut"
exporter_start --replay "$work/cut" --replay-speed 0 --interval 100ms
check "the log says where a recording is cut off" wait_for 10 said 'cut: byte [0-9]*: the last record is cut off' 1
is "... and the readings before that are served" "$(metric swiftrdma_exporter_readings_total)" 29
nap 1
check "... once" said 'cut: byte' 1
exporter_stop

# --- Options, and files that are wrong ---

wrong() {
	out=$(swiftrdma-exporter --web.listen-address "127.0.0.1:$exporter_port" "${@:3}" 2>&1)
	is "$1: exit status" $? "$2"
}
wrong "an unknown option" 2 --nonsense
wrong "an interval that is too short" 2 --interval 1ms
like "... says what is right" "$out" "it is a time from 100ms to 60s"
wrong "a bound that is too small" 2 --max-series 5
wrong "a word" 2 word
wrong "no recording" 1 --replay /nowhere/rec
like "... says why" "$out" '/nowhere/rec: No such file'
wrong "another file" 1 --replay /bin/true
like "... says why" "$out" 'not a recording'
head -c 30 "$work/rec" >"$work/cut"
wrong "a recording without a whole reading" 1 --replay "$work/cut"
like "... says why" "$out" 'cut: byte 12: the last record is cut off'
out=$(swiftrdma-exporter --replay "$work/rec" --web.listen-address here 2>&1)
like "an address without a port" "$out" 'localhost:9891'
printf 'basic_auth_users:\n  prometheus: secret\n' >"$work/web.yml"
wrong "a password that is not hashed" 1 --replay "$work/rec" --web.config.file "$work/web.yml"
like "... is named with its line" "$out" 'web.yml:2:.*not hashed by bcrypt'

# --- Passwords ---

printf 'basic_auth_users:\n  prometheus: %s\n' "$hash" >"$work/web.yml"
exporter_start --replay "$work/rec" --replay-speed 0 --web.config.file "$work/web.yml"
is "without a password nothing" "$(status "$exporter_url/metrics")" 401
is "with a wrong one, too" "$(status -u prometheus:wrong "$exporter_url/metrics")" 401
is "another user's, too" "$(status -u other:'tenants secret' "$exporter_url/metrics")" 401
is "with the right one all" "$(status -u prometheus:'tenants secret' "$exporter_url/metrics")" 200
# A hundred wrong ones, of which each takes a while, do not delay who was right before.
for _ in {1..100}; do
	curl -s -o /dev/null -u prometheus:guess "$exporter_url/metrics" & guesses+=" $!"
done
is "... also among a hundred wrong ones" "$(status --max-time 5 -u prometheus:'tenants secret' "$exporter_url/metrics")" 200
# shellcheck disable=SC2086
wait $guesses
# More requests at once than may wait: each answer says whether the password was checked.
curl -s -u prometheus:guess -o /dev/null -w '%{http_code}\n' --parallel --parallel-immediate --parallel-max 200 \
	"$exporter_url/metrics?[1-200]" | sort | uniq -c >"$work/guesses"
note "$(xargs <"$work/guesses")"
is "wrong ones are refused, and those that were not checked may come again" \
	"$(awk '{ n += $1; printf "%s ", $2 } END { print n }' "$work/guesses")" "401 503 200"
printf 'basic_auth_users: []\n' >"$work/web.yml"
kill -HUP "$exporter"
check "a file with an error is refused" wait_for 10 grep -q 'stays in force' "$work/exporter"
is "... and the old one stays in force" "$(status "$exporter_url/metrics")" 401
: >"$work/web.yml"
kill -HUP "$exporter"
check "one without users is loaded" wait_for 10 grep -q 'web.yml loaded' "$work/exporter"
is "... and no password is needed any more" "$(status "$exporter_url/metrics")" 200
exporter_stop

# --- TLS ---

# certificate NAME SUBJECT [OPTION]...
certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
		-keyout "$work/$1.key" -out "$work/$1.crt" -subj "$2" "${@:3}" 2>/dev/null
}
certificate server /CN=localhost -addext 'subjectAltName=IP:127.0.0.1'
certificate client /CN=prometheus
certificate stranger /CN=stranger
tls=https://127.0.0.1:$exporter_port/metrics
printf 'tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n' >"$work/web.yml"
exporter_start --replay "$work/rec" --replay-speed 0 --web.config.file "$work/web.yml"
is "TLS is served" "$(status --cacert "$work/server.crt" "$tls")" 200
is "... by a certificate that is checked" "$(status "$tls")" 000
is "... nothing else is" "$(status "$exporter_url/metrics")" 000
is "... and no old version" "$(status --cacert "$work/server.crt" --tls-max 1.1 "$tls")" 000
mine=(--cacert "$work/mine.crt")
cp "$work/server.crt" "$work/mine.crt"
cp "$work/server.key" "$work/mine.key"
cp "$work/stranger.key" "$work/server.key"
kill -HUP "$exporter"
check "another certificate's key is refused" wait_for 10 said 'stays in force' 1
like "... by its name" "$(cat "$work/exporter")" 'web.yml:3:.*key_file: .*/server.key: '
is "... and the old one stays in force" "$(status "${mine[@]}" "$tls")" 200
cp "$work/mine.key" "$work/server.key"
echo garbage >"$work/server.crt"
kill -HUP "$exporter"
check "what is no certificate is refused" wait_for 10 said 'stays in force' 2
like "... by its name" "$(cat "$work/exporter")" 'web.yml:2:.*cert_file: .*/server.crt: '
is "... and the old one stays in force" "$(status "${mine[@]}" "$tls")" 200
cp "$work/mine.crt" "$work/server.crt"
printf '  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: client.crt\n' >>"$work/web.yml"
kill -HUP "$exporter"
wait_for 10 grep -q 'web.yml loaded' "$work/exporter"
is "a client without a certificate gets nothing" "$(status "${mine[@]}" "$tls" | grep -c 200)" 0
is "... with another's, too" "$(status "${mine[@]}" --cert "$work/stranger.crt" --key "$work/stranger.key" "$tls" | grep -c 200)" 0
is "... with its own all" "$(status "${mine[@]}" --cert "$work/client.crt" --key "$work/client.key" "$tls")" 200
exporter_stop

# --- Clients that hang ---

build/bench/scrape_10k --record "$work/big" 2000 500 100 3
exporter_start --replay "$work/big" --replay-speed 0
scrape >/dev/null
before=$(resident_kb)
for kind in idle half reader refused; do
	n=1000
	[ $kind != refused ] || n=50
	start_clients $kind $n
	point $? "$n clients come, $kind"
	check "... a scrape is served beside them" wait_for 60 answers
	check "... and another" answers
	end_clients
done
# A body is 0.8 MB, of which at most 16 are kept, and a connection has 16 KiB.
after=$(resident_kb)
note "resident: $before kB before, $after kB after"
is "memory is bounded" "$((after < before + 80000))" 1
few_files() { [ "$(metric process_open_fds)" -lt 50 ]; }
check "their connections are closed" wait_for 60 few_files
start_clients idle 2040
point $? "nearly as many come as there are connections"
start_more() { selftests/host/slow_clients.py idle 500 "$exporter_port" <"$work/end" >/dev/null & more=$!; }
start_more
check "... and more than there are: idle ones are closed, and a scrape is served" wait_for 60 answers
kill "$more" 2>/dev/null
end_clients
exporter_stop
is "it ends well" $? 0

# --- Without the module, and a reader that hangs or dies ---

exporter_start --interval 500ms --policy user/policies/port.yaml
if [ "$(metric swiftrdma_up)" = 0 ]; then
	point 0 "without the module it says so"
	like "... also in its log, once" "$(cat "$work/exporter")" 'no reading, trying again: .*modprobe swiftrdma'
	reader=$(pgrep -P "$exporter")
	kill -STOP "$reader"
	old() { awk -v a="$(metric swiftrdma_exporter_reading_age_seconds)" 'BEGIN { exit !(a > 3) }'; }
	check "of a reader that hangs the age of the figures is told" wait_for 30 old
	check "... and nobody is kept waiting for it" answers
	is "... and others are served" "$(status "$exporter_url/-/healthy")" 200
	kill -KILL "$reader"
	wait "$exporter"
	is "without its reader it ends, for systemd to start it again" $? 1
else
	skip "without the module it says so" "the module is loaded on this host"
	exporter_stop
fi
ktap_end
