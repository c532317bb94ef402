#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Misses of QP contexts, which the software ConnectX counts under an id of its own: what is
# shown is the model's, and a policy that asks for it acts and undoes what it did, by the
# signal and not by its fallback.
#
#   scripts/vm --nic softhca -- selftests/mlx5/cache.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

policy=$work/policy.yaml
cat >"$policy" <<-EOF2
	agent: {interval: 500ms}
	jobs:
	  - {name: bulk, class: throughput, match: [{cgroup: /bulk}]}
	policies:
	  - name: contexts
	    for: job of class throughput
	    cause: cache
	    when: dev.qpc_miss >= 30 %
	    fallback: dev.active_qps > 1000000
	    do: job.max_qps = 100
	    undo:
	      when: dev.qpc_miss <= 10 %
	      fallback: dev.active_qps > 1000000
EOF2
lookups() { swiftrdma -j dev show "$1" | jq -r '.[0] | "\(.qpc_hits) \(.qpc_misses)"'; }
told() { echo "$(hca_gauge "$1" cache qpc 2) $(hca_gauge "$1" cache qpc 3)"; }
cache() { hca_param 0 cache_bytes "$1" && hca_param 1 cache_bytes "$1"; }
limits() { swiftrdma -j action show | jq -c '[.[] | select(.job == "bulk") | .value]'; }
says() { grep -qE -- "$1" "$work/agent"; }

ktap_begin
dmesg -C
check "load" both_load
is "without a model nobody counts" "$(lookups mlx5_0)" "null null"
check "unload" both_unload

check "a device with a model" eval "wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=2000"
check "load" both_load
crowd --qps 4 --messages 50 >"$work/crowd"
is "lookups of QP contexts are the model's" "$(lookups mlx5_0)" "$(told 0)"
is "... of the other device, too" "$(lookups mlx5_1)" "$(told 1)"
like "... and there were some" "$(lookups mlx5_0)" '^[1-9][0-9]* [1-9]'
is "debugfs has them" "$(summary mlx5_0 qpc_hits) $(summary mlx5_0 qpc_misses)" "$(told 0)"

# 64 QPs whose contexts do not fit, and then do.
check "a small cache" cache 4096
in_cgroup bulk crowd --from mlx5_0 --to mlx5_1 --qps 64 --size 64 --depth 2 --duration 400 \
	>"$work/bulk" 2>&1 & pid=$!
many() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '[.[] | select(.wrs > 0)] | length')" -ge 64 ]; }
check "64 QPs at work" wait_for 60 many
swiftrdma-agent --config "$policy" >"$work/agent" 2>&1 & agent=$!
check "the policy sees that contexts are missed" wait_for 60 says 'contexts: .*mlx5_[01] qpc_miss .* >= 30'
limited() { [ "$(limits)" = "[$1]" ]; }
check "... and acts" wait_for 20 limited 100
check "a cache that is large enough" cache 2097152
check "then it sees that they are not" wait_for 90 says 'contexts: .*qpc_miss .* <= 10'
check "... and undoes it" wait_for 20 limited ''
like "no fallback had a part in it" "$(grep -c active_qps "$work/agent")" '^0$'
note "$(tail -n 20 "$work/agent")"
kill $agent
wait $agent 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
check "unload" both_unload
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
