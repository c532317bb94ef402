#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Doorbell records: every WQEBB is counted, whatever its program does, across wraps
# of the record's 16 bits; and every page is given back.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/records.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

equal() { is "$1" "$(qp_said mlx5_0 "${wq_pid[$2]}")" "$(wq_said "$2")"; }
ambiguous() {
	swiftrdma -j qp show dev mlx5_0 pid "$1" | jq '[.[] | select(.wrs_ambiguous)] | length'
}
held() { summary mlx5_0 held_pages; }
# Those of user QPs: the kernel's own need none.
none_held() { [ "$(held)" = 0 ]; }
job_wrs() { swiftrdma -j job show unassigned | jq '[.[0].devs[] | select(.dev == "mlx5_0").wrs] | add'; }

ktap_begin
dmesg -C
# No program here posts so much: what is marked then was not looked at for 1.3 s.
check "load" both_load max_rate=50000

# Three wraps and more. The kernel's own QPs are known from the first reading on.
wq_start wraps --qps 2
swiftrdma qp show >/dev/null
before=$(job_wrs)
for ((i = 0; i < 4; i++)); do
	check "post" wq wraps post 20000
	equal "all WQEBBs, round $i" wraps
done
sum=$(wq_said wraps | awk '{ n += $2 } END { print n }')
least=$(wq_said wraps | awk '{ print $2 }' | sort -n | head -n 1)
is "more than three wraps of each ($least)" $((least > 3 * 65536)) 1
is "so has its job" $(($(job_wrs) - before)) "$sum"
is "pages held" "$(held)" 2
check "through RESET" wq wraps reset
equal "nothing new" wraps
check "post" wq wraps post 1000
equal "all WQEBBs after RESET" wraps
check "half of it ends" wq wraps destroy 1
equal "the other half" wraps
wq_end wraps
is "nothing held" "$(held)" 0
is "the job keeps what its QPs did" "$(($(job_wrs) - before >= sum))" 1

# A QP that is older than the provider: from then on.
rmmod swiftrdma_mlx5
wq_start old --qps 3
check "post without provider" wq old post 500
was=$(wq_said old)
# detail=0: the ports are not asked in between, however slow the guest is.
check "provider comes" mlx5_load max_rate=50000 detail=0
like "not yet known" "$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[old]}")" 'qpn'
check "post" wq old post 500
is "what came after" "$(qp_said mlx5_0 "${wq_pid[old]}")" \
	"$(join <(echo "$was") <(wq_said old) | awk '{ print $1, $3 - $2 }')"
is "UARs of old QPs" "$(our_uars mlx5_0 | cut -d' ' -f1,2)" "$(hca_uars 0 | cut -d' ' -f1,2)"
is "commands: one a QP" "$(($(summary mlx5_0 commands) >= 3))" 1
was=$(summary mlx5_0 commands)
swiftrdma qp show >/dev/null
is "none is asked twice" "$(summary mlx5_0 commands)" "$was"
wq_end old
check "nothing held" wait_for 60 none_held

# Ends of all kinds, with the sampler at work.
wq_start killed --qps 16
check "post" wq killed post 100
wq_kill killed
check "kill -9: nothing held" wait_for 60 none_held

wq_start forks --qps 8
child=$(wq forks fork | cut -d' ' -f2)
check "post after fork" wq forks post 100
equal "after fork" forks
wq_kill forks
is "the child holds all" "$(held)" 8
kill -9 "$child"
check "and then nobody" wait_for 60 none_held

wq_start execs --qps 8
child=$(wq execs exec | cut -d' ' -f2)
check "post after fork and exec" wq execs post 100
equal "after exec" execs
wq_kill execs
check "the other program holds nothing" wait_for 60 none_held
kill -9 "$child"

# QPs that come and go under the sampler's eyes.
echo 100 >/sys/module/swiftrdma_mlx5/parameters/period_us
for ((i = 0; i < 3; i++)); do
	churn --dev mlx5_0 --seconds 3 >/dev/null 2>&1 || note "churn: $?"
done
echo 4000 >/sys/module/swiftrdma_mlx5/parameters/period_us
check "churn: nothing held" wait_for 60 none_held

# A QP that could have been faster than the sampler is marked.
echo 1000000000 >/sys/module/swiftrdma_mlx5/parameters/max_rate
wq_start fast --qps 2
check "post" wq fast post 1000
is "both are ambiguous" "$(ambiguous "${wq_pid[fast]}")" 2
wq_end fast

rmmod swiftrdma_mlx5
check "load without sampler" mlx5_load sampler=0
wq_start off --qps 2
check "post" wq off post 10
is "not counted, and why" \
	"$(swiftrdma -j qp show dev mlx5_0 pid "${wq_pid[off]}" | jq -c '[.[] | .wrs]')" '[null,null]'
is "UARs all the same" "$(our_uars mlx5_0 | cut -d' ' -f1,2)" "$(hca_uars 0 | cut -d' ' -f1,2)"
is "nothing is held" "$(summary mlx5_0 held_pages)" ""
wq_end off

dmesg >"$work/log"
check "unload" both_unload
is "pages held at the end" "$(dmesg | grep -c 'let go, 0 pages held, 0 records')" 6
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
