#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Requests of random bytes, many of them, next to QPs that come and go. FUZZ: how
# many, a seed; SEEDS: which.

cd "$(dirname "$0")/../../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
PATH=$PWD/build/progs:$PATH

ktap_begin
check "the module loads" srdma_load
churn --dev rxe0 --procs 1 --total 10000000 >/tmp/churned & churner=$!
for seed in ${SEEDS:-11 12 13 14}; do
	points_of netlink_bad --fuzz "${FUZZ:-20000}" --seed "$seed"
done
kill -TERM "$churner"
wait "$churner"
point $? "no QP had an error of it: $(cat /tmp/churned)"
# What the fuzzer set by luck (leases, jobs, levels) goes with the module; what is
# right is still right after it.
check "it unloads with what the fuzzer set" srdma_unload
check "it loads again" srdma_load
points_of netlink_bad
check "it unloads" srdma_unload
ktap_end
