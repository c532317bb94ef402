#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# uar_restart: a key-value store's gets, 512 bytes, by 16 threads over 64 QPs. Its
# program, of which nothing is changed, crowds on one UAR; that is seen by uar show,
# by the agent and by qp explain, and put right by swiftrdma run, which starts it
# with the environment that its job's policy has. Rates and latencies are in the
# time of the contention model of a ConnectX-5, to which a device's threads are its
# QPs.
#
# The published 2.22 is of a real one, worst placement against one UAR for each
# thread; how crowded the worst was is not told. So there are rows against other
# placements, among them a library that was told to be sparing with registers; and
# one with thread domains, for which a program has to be changed, and of which the
# model says too little: to it the QPs of one thread contend.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

seconds=${ROW_SECONDS:-10}
threads=16
scale=$(<"$hca_debug/hca0/time_scale")
# The model's time is slow, so must be what looks how often QPs advance together.
period_us=250000

cat >"$row_tmp/policy.yaml" <<-'EOF'
	jobs:
	  - name: kv
	    class: latency
	    match: [{cgroup: /kv}]
	    environment: {MLX5_TOTAL_UUARS: 512}
EOF

# The 512 gets that are under way at first are done: kv measures from there.
# shellcheck disable=SC2317
moved() { [ "$(swiftrdma -j uar show mlx5_0 | jq '[.[].wrs // 0] | add')" -gt "$((2 * 512 + start))" ]; }

# The UARs of the program, most QPs first: what they say is of two seconds.
look() {
	swiftrdma -j -i 2 uar show mlx5_0 sort qps |
		jq -c '[.[] | select(.comm == "kv" and .qps > 0)]' >"$row_tmp/uars.$1"
}
seen() { jq "$2" <"$row_tmp/uars.$1"; }

# store NAME CMD...: to its end; what it printed is in $row_tmp/NAME.
store() {
	local name=$1

	shift
	start=$(swiftrdma -j uar show mlx5_0 | jq '[.[].wrs // 0] | add // 0')
	"$@" >"$row_tmp/$name" 2>"$row_tmp/$name.err" & store=$!
	wait_for 120 moved || row_die "$name: no traffic: $(cat "$row_tmp/$name.err")"
	began=$SECONDS
	look "$name"
	row_say "$name: $(seen "$name" '[.[] | {uar, kind, qps, threads, coactive}] | .[0:3]' | tr -d ' \n')"
}

# It is stopped when all was looked at, and measured SECONDS at least.
finish() {
	local left=$((began + seconds - SECONDS))

	[ $left -le 0 ] || sleep $left
	kill "$store"
	wait "$store" || row_die "$1: $(cat "$row_tmp/$1.err")"
	row_say "$1: $(cat "$row_tmp/$1")"
	[ "$(json_field wrong <"$row_tmp/$1")" = 0 ] || row_die "$1: values of other keys"
}

# modelled NAME KEY: a rate
modelled() { awk -v v="$(json_field "$2" <"$row_tmp/$1")" -v s="$scale" 'BEGIN { printf "%.0f", v * s }'; }
# us NAME KEY: a time
us() { awk -v v="$(json_field "$2" <"$row_tmp/$1")" -v s="$scale" 'BEGIN { printf "%.3f", v / s }'; }

srdma_load || row_die "the module does not load"
# A command takes a unit of the device as long as modelled, which is $scale times as long as
# of a NIC. As many as readers may cause on a NIC would leave no time for requests.
insmod "build/kmod/$(uname -r)/swiftrdma_mlx5.ko" period_us=$period_us max_rate=100000 max_commands=8 || row_die "the provider does not load"
swiftrdma job set kv class latency match cgroup=/kv || row_die "no job"
kv=(build/bench/kv --threads "$threads" --poll 2000 --duration 600)

# --- Crowded: as if somebody had set this for the service ---

mkdir -p /sys/fs/cgroup/kv
store crowded env MLX5_SHUT_UP_BF=1 sh -c 'echo $$ >/sys/fs/cgroup/kv/cgroup.procs; exec "$@"' sh "${kv[@]}"
swiftrdma-agent --once --dry-run --interval 2s --log-json -c "$row_tmp/policy.yaml" >"$row_tmp/agent" 2>&2
jq -c 'select(.event == "uar_imbalance")' <"$row_tmp/agent" >"$row_tmp/imbalance"
[ -s "$row_tmp/imbalance" ] || row_die "the agent sees nothing"
row_say "agent: $(cat "$row_tmp/imbalance")"
swiftrdma -i 2 uar show mlx5_0 sort qps top 4 >&2
qpn=$(swiftrdma -j qp show dev mlx5_0 job kv | jq '.[0].qpn')
swiftrdma -i 2 qp explain mlx5_0 "$qpn" >"$row_tmp/explain" || row_die "no explanation"
cat "$row_tmp/explain" >&2
swiftrdma top --batch -n 1 interval 2s >&2
# "some": each of its readings sweeps, too, and in so short a time the slow device does less.
tr -s ' \n' ' ' <"$row_tmp/explain" | grep -qE 'UAR: (yes|some), .*MLX5_TOTAL_UUARS=512' ||
	row_die "what qp explain says does not help"
finish crowded
# More than what counts as contended (user/explain/crowd.h); there are few looks.
[ "$(seen crowded '.[0].qps == 64 and .[0].coactive > 0.1')" = true ] ||
	row_die "uar show does not see it: $(cat "$row_tmp/uars.crowded")"
[ "$(jq -r '[.job, .most_on_uar] | join(" ")' <"$row_tmp/imbalance")" = "kv 64" ] ||
	row_die "the agent sees something else"

# --- Started again, in the same surroundings, by swiftrdma run ---

store spread env MLX5_SHUT_UP_BF=1 \
	swiftrdma run --job kv --policy "$row_tmp/policy.yaml" -- "${kv[@]}"
[ "$(swiftrdma -j qp show dev mlx5_0 job kv | jq length)" -eq 64 ] || row_die "its QPs are not the job's"
swiftrdma -i 2 uar show mlx5_0 sort qps top 4 >&2
finish spread
[ "$(seen spread 'length >= 32 and .[0].qps <= 2')" = true ] || row_die "it is not spread"

# --- What there is to compare with ---

store default "${kv[@]}"
finish default
store sparing env MLX5_TOTAL_UUARS=12 "${kv[@]}"
finish sparing
store domains "${kv[@]}" --domains
finish domains

# against BEFORE AFTER OP GOAL PLACEMENT
against() {
	row "uar_restart" "$(modelled "$2" rate)" messages/s "$(modelled "$1" rate)" \
		"$(quotient "$(modelled "$2" rate)" "$(modelled "$1" rate)")" "$3" "$4" \
		placement "\"$5\"" published_ratio 2.22 threads $threads \
		uars_before "$(seen "$1" length)" most_on_uar_before "$(seen "$1" '.[0].qps')" \
		uars_after "$(seen "$2" length)" most_on_uar_after "$(seen "$2" '.[0].qps')" \
		p99_us_before "$(us "$1" p99_us)" p99_us_after "$(us "$2" p99_us)" \
		coactive_before "$(seen "$1" '[.[].coactive] | max')" \
		coactive_after "$(seen "$2" '[.[].coactive] | max')" \
		late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
}

against crowded spread '>=' 2.22 "64 QPs on one UAR, then by swiftrdma run on 32"
against default spread '>=' 0.95 "libmlx5's own on 8 UARs, then by swiftrdma run on 32"
# Sixteen threads that wait for their answers post no faster than that; what they gain
# is in the p99.
against sparing spread '>=' 1 "MLX5_TOTAL_UUARS=12: 7 or 8 QPs on a register, then by swiftrdma run on 32 UARs"
against crowded domains '>=' 2.22 "64 QPs on one UAR, then a thread domain for each thread"
