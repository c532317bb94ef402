#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The page of swiftrdma-exporter without a browser, from a recording: its files, what it is told,
# and what viewers cost. page_browser.sh looks at it in Chromium.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/exporter.sh
. selftests/lib/exporter.sh
PATH=$PWD/build/bin:$PATH
exporter_port=19892
exporter_url=http://127.0.0.1:$exporter_port
work=$(mktemp -d /tmp/page.XXXXXX)
cleanup() {
	[ -z "${exporter:-}" ] || kill "$exporter" 2>/dev/null
	[ -z "${clients:-}" ] || kill "$clients" 2>/dev/null
	[ -z "${ended:-}" ] || kill "$ended" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT

get() { curl -sS --max-time 10 "$@"; }
status() { get -o /dev/null -w '%{http_code}' "$@"; }
type_of() { get -o /dev/null -w '%{content_type}' "$exporter_url$1"; }
# ask FILTER: of the last reading.
ask() { jq -r "$1" "$work/state"; }

ktap_begin
build/bench/page_story "$work/story.rec"
point $? "a recording is made, in which things happen"

# --- Files ---

exporter_start --replay "$work/story.rec" --replay-speed 0
point $? "it is served"
get -D "$work/head" "$exporter_url/" >"$work/index.html"
like "a page is served" "$(cat "$work/index.html")" '<title>SwiftRDMA</title>'
like "... that may load and ask only from here" "$(cat "$work/head")" \
	"^Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
is "... and has no script or style in it" "$(grep -cE '<script>|<style|style=| on[a-z]+=' "$work/index.html")" 0
missing=''
for file in $(grep -oE '(src|href)="[a-z][^":#]*"' "$work/index.html" | cut -d'"' -f2); do
	[ "$(status "$exporter_url/$file")" = 200 ] || missing+=" $file"
done
is "all that it names is there" "$missing" ""
for module in user/exporter/page/*.js; do
	sed -n 's/.* from "\.\(\/[a-z]*\.js\)";/\1/p' "$module"
done | sort -u >"$work/modules"
is "... and so is all that its scripts import" "$(while read -r f; do status "$exporter_url$f"; echo; done <"$work/modules" | sort | uniq -c | xargs)" "$(wc -l <"$work/modules") 200"
is "a script is served as one" "$(type_of /main.js)" 'text/javascript;charset=utf-8'
is "... and a style sheet" "$(type_of /page.css)" 'text/css;charset=utf-8'
is "... and the licence of what draws" "$(get "$exporter_url/uplot-licence.txt" | head -1)" 'The MIT License (MIT)'
is "its own files name no other host" \
	"$(cat user/exporter/page/*.{html,css,js,svg} | grep -oE "(https?:)?//[a-z0-9.-]+\.[a-z]+" | grep -v www.w3.org)" ""

# Without npm, the build makes an exporter without the page.
mkdir "$work/bin"
for tool in bash cat cmp cp dirname flock head mkdir mv realpath rm; do
	ln -s "$(type -P $tool)" "$work/bin/"
done
out=$(PATH=$work/bin scripts/page-files "$work/without" 2>&1)
is "without npm there is no page" "$? $(grep -c page_file_0 "$work/without/page_files.c")" "0 0"
like "... and the build says why" "$out" 'built without its page: npm is not there \(apt-get install npm'
check "... packages are not built so" eval '! PATH=$work/bin scripts/page-files "$work/without" --required'
out=$(npm_config_registry=http://127.0.0.1:9/ npm_config_fetch_retries=0 npm_config_cache=$work/cache \
	scripts/page-files "$work/without" 2>&1)
like "a registry that is not there is told, too" "$out" 'npm does not install what .*package-lock.json lists .*ECONNREFUSED'

# --- What it is told ---

page_event state >"$work/message"
jq .state "$work/message" >"$work/state"
page_event trend >"$work/trend"
is "a reading is JSON, of the recording" "$(ask .recording)" story.rec
is "... at its time, from its first reading on" "$(ask .t)" 89000
is "the use of the port" "$(ask '.ports[0] | .tx / .speed * 100')" 97
is "... by class" "$(ask '[.ports[0].classes[] | "\(.name) \(.tx / 1e9)"] | join(", ")')" 'priority 0 92, priority 3 5'
is "a crowded UAR" "$(ask '.uars[] | select(.contention == "hard") | "\(.uar) of \(.comm), \(.qps) QPs, \(.threads) threads"')" \
	'18 of kv, 24 QPs, 16 threads'
is "a job that meets its target" "$(ask '.jobs[] | select(.name == "kv") | "\(.met) \(.slo_p99)"')" 'true 50000'
is "... with what is in force" "$(ask '.jobs[] | select(.name == "kv").in_force[] | "\(.knob) \(.value) on \(.dev)"')" 'job.level 1 on mlx5_0'
is "what no recording has is absent" "$(ask 'has("overrides")')" false
is "the points are at the recording's times" "$(jq -c '[.t | length, .[0], .[1], .[-1]]' "$work/trend")" '[90,0,1000,89000]'
is "the port filled at 30 s" "$(jq -c '.series["tx|mlx5_0/1"] | [.[28], .[29]] | map(. / 1e9 | round)' "$work/trend")" '[5,97]'
is "kv missed its target until the decision" \
	"$(jq -c '.series["p99|kv"] as $p | [$p[28], $p[45], $p[62]] | map(. > 50000)' "$work/trend")" '[false,true,false]'
is "the decision has its time, its policy and its values" \
	"$(jq -r '.events[0] | "\(.t) \(.policy): \(.knob) \(.value); \([.values[] | "\(.signal) \(.value)"] | join(", "))"' "$work/trend")" \
	'59001 port-kv: job.level 1; port.util 97 %, job.p99 700 us, job.slo_p99 50 us'
is "a refusal says why" "$(jq -r '.events[1] | "\(.knob) \(.value): \(.error), \(.cannot) of \(.qps)"' "$work/trend")" \
	'job.bit_rate 50 Gbit/s: Operation not supported, 4 of 4'
is "a lease that ran out" "$(jq -r '.events[2] | "\(.kind) \(.lease) \(.expired)"' "$work/trend")" 'lease_end 4 true'

# --- A click ---

is "the QPs of a job" "$(get "$exporter_url/qps?job=kv" | jq -c '[.all, .qps[0].uar, .qps[0].unit]')" '[24,18,"WQEBB"]'
is "... of a UAR" "$(get "$exporter_url/qps?dev=mlx5_0&uar=19" | jq -c '[.all, .qps[0].job]')" '[4,"bulk"]'
is "what qp explain says" "$(get "$exporter_url/explain?dev=mlx5_0&qpn=100" | jq -r '.says.contention[0]')" \
	'UAR: yes, two or more of its 24 QPs advanced in 80 % of the readings (uar_contended: 50 %)'
is "a job that is gone" "$(status "$exporter_url/qps?job=gone")" 404
is "a QP that is gone" "$(status "$exporter_url/explain?dev=mlx5_0&qpn=9999")" 404
is "no job and no device" "$(status "$exporter_url/qps")" 400
is "a UAR without a device" "$(status "$exporter_url/qps?job=kv&uar=18")" 400
is "what is no number" "$(status "$exporter_url/explain?dev=mlx5_0&qpn=-1")" 400
like "... says what is right" "$(get "$exporter_url/explain?dev=mlx5_0&qpn=x")" '/explain\?dev=mlx5_0&qpn=17'
exporter_stop
is "it ends well" $? 0

# A second exporter, whose recording has ended, so that only comments show it that a viewer has left.
ended_port=19893
ended_viewers() { curl -s --max-time 10 "http://127.0.0.1:$ended_port/metrics" | metric swiftrdma_exporter_page_viewers /dev/stdin; }
swiftrdma-exporter --web.listen-address "127.0.0.1:$ended_port" --replay "$work/story.rec" --replay-speed 0 \
	>"$work/ended" 2>&1 & ended=$!
exporter_port=$ended_port wait_for 20 exporter_answers
exporter_port=$ended_port start_clients viewer 20
ended_look() { [ "$(ended_viewers)" = "$1" ]; }
check "viewers come after the end of a recording" wait_for 10 ended_look 20
end_clients
curl -sN --max-time 40 "http://127.0.0.1:$ended_port/events" >"$work/stays" 2>/dev/null & stays=$!

# --- Passwords ---

# Of "tenants secret", by bcrypt at its least cost.
hash=$(python3 -W ignore -c 'import crypt; print(crypt.crypt("tenants secret", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))')
printf 'basic_auth_users:\n  viewer: %s\n' "$hash" >"$work/web.yml"
exporter_start --replay "$work/story.rec" --replay-speed 0 --web.config.file "$work/web.yml"
is "without a password nothing of it" \
	"$(for path in / /main.js /events /qps?job=kv '/explain?dev=mlx5_0&qpn=100'; do status "$exporter_url$path"; done)" 401401401401401
is "with it all" "$(for path in / /main.js /qps?job=kv; do status -u viewer:'tenants secret' "$exporter_url$path"; done)" 200200200
like "... also the readings" "$(curl -sN --max-time 2 -u viewer:'tenants secret' "$exporter_url/events" 2>/dev/null | head -c 200)" '^event: trend'
exporter_stop

# --- TLS ---

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout "$work/server.key" \
	-out "$work/server.crt" -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1' 2>/dev/null
printf 'tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n' >"$work/web.yml"
exporter_start --replay "$work/story.rec" --replay-speed 0 --web.config.file "$work/web.yml"
like "readings come by TLS" "$(curl -sN --max-time 3 --cacert "$work/server.crt" "https://127.0.0.1:$exporter_port/events" 2>/dev/null | sed -n '/^event: state/,$p' | head -c 60)" '^data: \{"state":'
is "... and by nothing else" "$(status "$exporter_url/" 2>/dev/null)" 000
exporter_stop

# --- What viewers cost ---

exporter_start --replay "$work/story.rec" --replay-speed 5 --interval 200ms
more_readings() { [ "$(metric swiftrdma_exporter_readings_total)" -ge $(($1 + $2)) ]; }
wait_for 10 more_readings 0 2
is "nobody looks, and nothing is written" "$(metric swiftrdma_exporter_page_encodings_total)" 0
start_clients viewer 100
all_look() { [ "$(metric swiftrdma_exporter_page_viewers)" = 100 ]; }
check "a hundred viewers come" wait_for 10 all_look
scrape >"$work/before"
wait_for 20 more_readings "$(metric swiftrdma_exporter_readings_total "$work/before")" 10
scrape >"$work/after"
grown() { echo $(($(metric "$1" "$work/after") - $(metric "$1" "$work/before"))); }
# Each message is of a reading, so there can be no more of them.
is "a reading is written once for all of them" \
	"$(($(grown swiftrdma_exporter_page_encodings_total) <= $(grown swiftrdma_exporter_readings_total) && $(grown swiftrdma_exporter_page_encodings_total) >= 9))" 1
is "... and each of them reads it" "$(metric swiftrdma_exporter_page_dropped_viewers_total "$work/after")" 0
end_clients
none_look() { [ "$(metric swiftrdma_exporter_page_viewers)" = 0 ]; }
check "they leave" wait_for 20 none_look
exporter_stop
is "it ends well" $? 0

build/bench/scrape_10k --record "$work/big.rec" 2000 500 100 400
exporter_start --replay "$work/big.rec" --replay-speed 10 --interval 100ms
before=$(resident_kb)
start_clients stalled 200
point $? "200 viewers come who hardly read"
many_dropped() { [ "$(metric swiftrdma_exporter_page_dropped_viewers_total)" -ge 200 ]; }
check "they are closed" wait_for 60 many_dropped
check "... and others are served beside them" eval '[ -n "$(page_event trend)" ]'
after=$(resident_kb)
note "resident: $before kB before, $after kB after"
# Of each viewer its buffers, and at most so many messages as it may be late.
is "memory is bounded" "$((after < before + 60000))" 1
end_clients
exporter_stop
is "it ends well with viewers" $? 0

wait "$stays"
is "after the end of a recording a viewer gets comments" "$(($(grep -c '^:$' "$work/stays") >= 1))" 1
check "... by which those are found who left" wait_for 20 ended_look 0
kill "$ended"
wait "$ended"
is "it ends well" $? 0
ended=''
ktap_end
