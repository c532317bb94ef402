#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The failure knobs, and what the drivers and programs make of them.
#
#   scripts/vm --nic softhca -- selftests/softhca/tests/knobs.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
hca_mark_used

debug=/sys/kernel/debug/softhca/hca0
state() { cat /sys/class/infiniband/mlx5_0/ports/1/state; }
objects() { cat $debug/objects; }

ktap_begin
check "bytes pass" build/progs/hcabytes mlx5_0 mlx5_1
# Newer drivers made a QP of their own for that, and keep it.
before=$(objects)

echo "500 8 1" >$debug/fail_command
like "CREATE_QP fails once" "$(build/progs/hcabad mlx5_0 mlx5_1 2>&1 | head -n 1)" "^not ok"
check "... and no more" build/progs/hcabytes mlx5_0 mlx5_0

echo Y >$debug/refuse_uars
refused() { ! build/progs/hcabytes mlx5_0 mlx5_1; }
check "no UAR, no queues" refused
echo N >$debug/refuse_uars
is "what failed left nothing" "$(objects)" "$before"

state_is() { [ "$(state)" = "$1" ]; }
echo 0 >$debug/link
check "link down" wait_for 30 state_is "1: DOWN"
like "requests time out" "$(build/progs/hcabad mlx5_1 mlx5_0 2>&1 | head -n 5)" \
	"transport retry counter exceeded"
echo 1 >$debug/link
check "link up" wait_for 30 state_is "4: ACTIVE"
check "bytes pass again" build/progs/hcabytes mlx5_0 mlx5_1

echo 2000 >$debug/delay_us
check "slow commands" build/progs/hcabytes mlx5_0 mlx5_1
echo 0 >$debug/delay_us

# lat CMD: a line about small messages, one at a time
lat() { build/bench/lat --client-dev mlx5_0 --server-dev mlx5_1 --json "$@" | tail -n 1; }
# Not before its time: that it takes longer on a busy machine does not matter.
echo 100000 >$debug/hold_us
held=$(lat --count 5)
like "completions are held 0.1 s" "$held" '"p50_us":[1-9][0-9]{5}'
echo 0 >$debug/hold_us
echo 1 >$debug/drop_cqes
like "a completion is lost" "$(lat --count 5 --duration 3)" '"samples":0.*"outstanding":1'
is "... and no more than that" "$(cat $debug/drop_cqes)" 0
like "completions come again" "$(lat --count 5)" '"samples":5'

echo "9 1" >$debug/event
echo "1a 0 1" >$debug/event
nonsense() { ! echo zz >$debug/event; }
check "nonsense is refused" nonsense
check "after all that" build/progs/hcabytes mlx5_0 mlx5_1
is "all objects are gone" "$(objects)" "$before"
ktap_end
