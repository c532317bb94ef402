#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs whose destroy began before the hook was in place, and sleeps in the driver, while
# RDMA core still lists them: they are not taken in, or are let alone and go by themselves.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh
# shellcheck source=selftests/lib/nvme.sh
. selftests/lib/nvme.sh
# shellcheck source=selftests/lib/dying.sh
. selftests/lib/dying.sh
PATH=$PWD/build/progs:$PATH

ktap_begin
mark_dmesg
dying_begin rxe0 srdma_load srdma_unload

# --- A process's ---

dying_qp
dying_process

# --- The kernel's, which say nothing of themselves ---

if modprobe -q -a nvme-rdma nvmet-rdma null_blk; then
	check "an nvme target over rdma" nvmet_up
	check "a host connects" nvme connect -t rdma -a 10.1.0.2 -s 4420 -n srdma -i 1 -k 120
	queues=$(core rxe0)
	note "its queues: $queues"
	above hold_destroy 1
	nvme disconnect -n srdma >/dev/null & disconnecting=$!
	check "their destroy sleeps in the driver" wait_for 60 held 1
	check "the module loads" srdma_load
	swiftrdma job set all match exe=rdma_cm >/dev/null
	known=$(ours rxe0)
	note "known: $known"
	swiftrdma action set job all level 3 for 300s >"$work/said" 2>&1
	is "of those that it knows nothing more is known, and nothing is changed" \
		"$(swiftrdma -j qp show dev rxe0 | jq -c '[.[] | select(.type != "GSI") | [.state, .send_cq, .tclass]] | unique')" \
		"[[null,null,null]]"
	above hold_destroy 0
	wait $disconnecting
	point $? "the host is disconnected"
	check "RDMA core lists none of them" wait_for 60 is_core rxe0 '[]'
	is "nor do we" "$(ours rxe0)" '[]'
	is "nothing is left of them" "$(settled rxe0)" "1 1 1 1 1"
	swiftrdma action clear all >/dev/null
	check "another host" nvme connect -t rdma -a 10.1.0.2 -s 4420 -n srdma -i 1 -k 120
	check "the module unloads" srdma_unload
	check "it loads beside that" srdma_load
	swiftrdma job set all match exe=rdma_cm >/dev/null
	check "its QPs are used" dd if=/dev/urandom of=/dev/nvme0n1 bs=4k count=20 oflag=direct status=none
	io_known() {
		[ "$(swiftrdma -j qp show dev rxe0 | jq '[.[] | select(.type != "GSI" and .state == "RTS" and .send_cq)] | length')" -ge 1 ]
	}
	check "... and so they are known" wait_for 30 io_known
	check "the host is disconnected" nvme disconnect -n srdma
	is "nothing is left of it" "$(ours rxe0)" '[]'
	check "the target goes" nvmet_down
	check "the module unloads" srdma_unload
else
	skip "the kernel's QPs" "no nvme over rdma in this kernel"
fi

check "the driver is as it was" rmmod above
is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
