#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# thrash_loop: 96 QPs with 32 requests of 8 bytes each keep more work requests outstanding than
# a ConnectX-6 holds, so that it fetches some of them again (SMART, ASPLOS'24). An agent finds
# that out of the program's p99 and lowers the bound on its outstanding requests (job.credits),
# which libswiftrdma enforces, until the p99 is short. The rate is compared with the best one of
# a sweep over fixed bounds, on the same program. Rates are in the time of the contention model.

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh

qps=96 depth=32
seconds=${ROW_SECONDS:-2}
windows=5
scale=$(<"$hca_debug/hca0/time_scale")
lib=$PWD/build/lib/libswiftrdma.so.1

# The shipped policy (user/policies/cache.yaml) on a device that is so many times slower: a round
# trip takes that longer, and so does a full queue, which must drain before the next look.
base_us=$(awk -v s="$scale" 'BEGIN { printf "%.0f", 2.8 * s }')
cat >"$row_tmp/policy.yaml" <<-EOF
	agent: {interval: 1s, lease: 10s}
	criteria: {base_latency: ${base_us}us}
	jobs:
	  - {name: reads, class: throughput, huge_pages: no, match: [{cgroup: /reads}]}
	policies:
	  - name: throttle
	    for: job of class throughput
	    when: job.p99 > base_latency * outstanding_wait and sum(qp.outstanding over qps of job) > outstanding_least
	    do: job.credits = sum(qp.outstanding over qps of job) * 75%
	    cooldown: 16s
	    undo: {when: sum(qp.outstanding over qps of job) < outstanding_least / 2, hold: 10s}
	EOF

credits() { swiftrdma -j job show reads | jq '[.[0].devs[].credits // empty] | min // 0'; }
outstanding() { swiftrdma -j qp show dev mlx5_0 job reads | jq '[.[].outstanding // 0] | add // 0'; }
full() { [ "$(outstanding)" -ge $((qps * depth * 9 / 10)) ]; }

# window: the rate of completed requests, in the model's time
window() {
	local first began

	first=$(hca_gauge 0 time "done")
	began=${EPOCHREALTIME/./}
	nap "$seconds"
	awk -v n=$(($(hca_gauge 0 time "done") - first)) -v us=$((${EPOCHREALTIME/./} - began)) \
		-v s="$scale" 'BEGIN { printf "%.0f\n", n * s * 1e6 / us }'
}
# rate: the median, because a host with other work stops the program now and then
rate() { for ((i = 0; i < windows; i++)); do window; done | median; }

srdma_load || row_die "the module does not load"
insmod "build/kmod/$(uname -r)/swiftrdma_mlx5.ko" period_us=250000 max_rate=100000 max_commands=8 ||
	row_die "the provider does not load"
# Creating QPs is not measured; at this scale a command would take a third of a second.
hca_param 0 ctrl_ps 0
hca_param 1 ctrl_ps 0
swiftrdma job set reads class throughput match cgroup=/reads >/dev/null || row_die "no job"
in_cgroup reads env LD_PRELOAD="$lib" build/bench/crowd --qps $qps --depth $depth --size 8 \
	--registers $qps --duration 3600 >"$row_tmp/crowd" 2>&1 & crowd=$!
wait_for 180 full || row_die "outstanding are $(outstanding): $(cat "$row_tmp/crowd")"
nap 10
thrash=$(rate)
row_say "without a bound: $thrash/s, outstanding $(outstanding)"

# --- The best fixed bound ---

best=0 best_at=0
for bound in 1536 1024 768 640 512 384 256; do
	swiftrdma action set job reads credits $bound for 60s >/dev/null || row_die "no credits"
	# What is outstanding above the bound goes first.
	nap 6
	now=$(rate)
	row_say "credits $bound: $now/s, outstanding $(outstanding)"
	[ "$now" -le "$best" ] || { best=$now best_at=$bound; }
done
swiftrdma action clear all >/dev/null || row_die "the bound stays"
awk -v a="$thrash" -v b="$best" 'BEGIN { exit !(a <= 0.8 * b) }' ||
	row_die "there is no thrash: $thrash/s without a bound, $best/s at best"
wait_for 60 full || row_die "after the sweep outstanding are $(outstanding)"

# --- The policy ---

swiftrdma-agent --log-json -c "$row_tmp/policy.yaml" >"$row_tmp/agent" 2>&1 & agent=$!
# It has found a bound when it has not changed it for three cooldowns.
settled() {
	local is

	is=$(credits)
	alive $agent || return 0
	[ "$is" = "$was" ] || { was=$is; since=$SECONDS; }
	[ "$was" -gt 0 ] && [ $((SECONDS - since)) -ge 48 ]
}
was=0 since=$SECONDS
wait_for 300 settled || row_die "the policy does not settle: $(tail -3 "$row_tmp/agent")"
alive $agent || row_die "the agent ended: $(tail -3 "$row_tmp/agent")"
found=$(rate)
cat "$row_tmp/agent" >&2
row_say "by the policy: credits $was, $found/s"
alive $crowd || row_die "the program ended: $(cat "$row_tmp/crowd")"
kill $agent
wait $agent
kill $crowd
wait $crowd 2>/dev/null
row thrash_loop "$found" requests/s "$best" "$(quotient "$found" "$best")" '>=' 0.95 \
	credits "$was" best_static "$best_at" without "$thrash" gain "$(quotient "$found" "$thrash")" \
	late "$(hca_gauge 0 time late)" executed "$(hca_gauge 0 time executed)" simulated true
