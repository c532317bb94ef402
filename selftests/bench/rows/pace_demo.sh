#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# pace_demo: a latency job and a bulk job share a port of 10 Mbit/s that has no classes. The
# latency of the latency job alone, beside the bulk job, and beside the bulk job when an agent has
# paced that one by its policy (job.bit_rate, which libswiftrdma enforces in the bulk program); and
# what the bulk job lost. Real packets of rdma_rxe cross a shaped veth pair under emulation, so
# only the ratios mean something.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/port.sh
. selftests/lib/port.sh

rate=10000000
paced=6000000
bulk_bytes=32768
least_util=80
lib=$PWD/build/lib/libswiftrdma.so.1
kv_log=$row_tmp/lat

cat >"$row_tmp/policy.yaml" <<-EOF
	agent: {interval: 200ms, lease: 10s}
	ports:
	  - {dev: rxe0, port: 1, speed: 10Mbit/s}
	  - {dev: rxe1, port: 1, speed: 10Mbit/s}
	jobs:
	  - {name: kv, class: latency, huge_pages: no, match: [{cgroup: /kv}]}
	  - {name: bulk, class: throughput, huge_pages: no, match: [{cgroup: /bulk}]}
	policies:
	  - name: pace
	    for: job of class throughput
	    when: port.util > port_busy
	    do: job.bit_rate = ${paced}bit/s
	    cooldown: 2s
	    undo: {when: port.util < 20%, hold: 10s}
	EOF

pids=()
stop_all() {
	[ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null
	wait
	pids=()
}
trap 'stop_all; row_end' EXIT

samples() { grep -c . "$kv_log"; }
has_samples() { [ "$(samples)" -ge "$1" ]; }
listening() { ss -Hltn "sport = :18515" | grep -q .; }
# On rxe each message of the bulk job is a doorbell: their number, and when that was (ns).
bulk_posted() { swiftrdma -j qp show dev rxe0 cgroup /bulk | jq -r '.[0] | "\(.doorbells) \(.time)"'; }
bulk_is_paced() { [ "$(swiftrdma -j job show bulk | jq '[.[0].devs[].bit_rate // empty] | length')" -gt 0 ]; }

start_bulk() {
	local args=(-s "$bulk_bytes" -q 1 -t 2 -u 18 -D 240 -f 1 -F)

	in_cgroup bulk ib_write_bw -d rxe1 "${args[@]}" >"$row_tmp/bulk-server" 2>&1 & pids+=($!)
	wait_for 10 listening || row_die "ib_write_bw does not listen: $(cat "$row_tmp/bulk-server")"
	in_cgroup bulk env LD_PRELOAD="$lib" ib_write_bw -d rxe0 "${args[@]}" 127.0.0.1 \
		>"$row_tmp/bulk" 2>&1 & bulk=$!
	pids+=("$bulk")
}

# phase NAME N: N samples more, into NAME.p50, .p99 (us) and .util (%); .bulk: its Mbit/s
phase() {
	local name=$1 first from to

	now_ms
	from=$now
	first=$(samples)
	[ "$name" = alone ] || bulk_posted >"$row_tmp/before"
	wait_for 60 has_samples $((first + $2)) || row_die "$name: only $(samples) samples"
	[ "$name" = alone ] || bulk_posted | paste -d' ' "$row_tmp/before" - |
		awk -v size=$bulk_bytes '{ printf "%.2f\n", ($3 - $1) * size * 8e3 / ($4 - $2) }' >"$row_tmp/$name.bulk"
	now_ms
	to=$now
	sed -n "$((first + 1)),$((first + $2))p" "$kv_log" | awk '{ print $2 / 1000 }' | sort -n >"$row_tmp/$name"
	for q in 50 99; do
		awk -v q=$q '{ v[NR] = $1 } END { i = NR * q / 100; if (i > int(i)) i = int(i) + 1; print v[i] }' \
			"$row_tmp/$name" >"$row_tmp/$name.p$q"
	done
	port_util "$row_tmp/port" $rate "$from" "$to" | cut -d' ' -f1 >"$row_tmp/$name.util"
	row_say "$name: p50 $(of "$name" p50) us, p99 $(of "$name" p99) us, port $(of "$name" util) %, bulk $(of "$name" bulk) Mbit/s"
}
of() { cat "$row_tmp/$1.$2" 2>/dev/null || echo none; }

srdma_load || row_die "the module does not load"
port_shape v0 "${rate}bit" 104
port_watch v0 "$row_tmp/port" & pids+=($!)
in_cgroup kv build/bench/lat --client-dev rxe0 --server-dev rxe1 --log "$kv_log" >"$row_tmp/kv" 2>&1 & pids+=($!)
wait_for 20 has_samples 10 || row_die "the latency job does not run: $(cat "$row_tmp/kv")"
phase alone 300
start_bulk
nap 4
phase beside 200
awk -v u="$(of beside util)" -v least=$least_util 'BEGIN { exit !(u >= least) }' ||
	row_die "the port was $(of beside util) % full, so there is nothing to pace"
swiftrdma-agent --log-json -c "$row_tmp/policy.yaml" >"$row_tmp/agent" 2>&1 & pids+=($!)
wait_for 30 bulk_is_paced || row_die "the agent does not act: $(tail -3 "$row_tmp/agent")"
nap 4
phase paced 300
bulk_is_paced || row_die "the bulk job is not paced any more: $(tail -3 "$row_tmp/agent")"
alive $bulk || row_die "the bulk job ended: $(tail -3 "$row_tmp/bulk")"
[ "$(awk '$3 != 0' "$kv_log" | wc -l)" -eq 0 ] || row_die "the latency job had errors"
for q in 50 99; do
	row pace_demo "$(of paced p$q)" us "$(of beside p$q)" \
		"$(quotient "$(of beside p$q)" "$(of paced p$q)")" '>=' 2 figure "\"p$q\"" \
		alone "$(of alone p$q)" util_beside "$(of beside util)" util_paced "$(of paced util)" \
		samples "$(wc -l <"$row_tmp/paced")"
done
# What the bulk job keeps: all that its policy leaves it.
row pace_demo_bulk "$(of paced bulk)" Mbit/s "$(of beside bulk)" \
	"$(quotient "$(of paced bulk)" "$(of beside bulk)")" '>=' 0.5 limit "$(quotient $paced 1000000)"
