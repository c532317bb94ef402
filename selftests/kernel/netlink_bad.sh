#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Requests that are wrong: each is refused with the right errno, in words, with
# the attribute named, and changes nothing.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh

ktap_begin
check "the module loads" srdma_load
points_of build/progs/netlink_bad
points_of build/progs/netlink_bad --fuzz 3000 --seed 1
is "after that it still answers, armed" "$(build/progs/nlreq DEV_GET dump)" '0 2 2 -'

echo 1 >$srdma_debugfs/disarm
refused() {
	like "disarmed, $1 is refused" "$(build/progs/nlreq "$1" doit "$2")" '^ESHUTDOWN 0 - .*disarmed'
}
refused JOB_SET 'job_obj{name=x origin=t rule{uid=1}}'
refused JOB_DEL 'job_obj{name=x origin=t}'
refused ACT 'lease{origin=t}'
refused LEVEL_SET 'level{level=1 dscp=1 sl=1}'
like "disarmed, jobs can be read" "$(build/progs/nlreq JOB_GET dump)" '^0 [1-9]'
is "disarmed, a dump says so" "$(build/progs/nlreq DEV_GET dump)" '0 0 0 disarmed'
check "it unloads" rmmod swiftrdma
ktap_end
