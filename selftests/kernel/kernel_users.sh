#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own users of RDMA: nvme over rdma, and what rping has of the
# kernel's connection manager.

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

write_blocks() {
	dd if=/dev/urandom of=/dev/nvme0n1 bs=4k count="$1" oflag=direct status=none
}

# The controllers' QPs, those of the connection manager's users apart.
ours() { swiftrdma -j qp show | jq '[.[] | select(.kernel == "rdma_cm")]'; }
count() { ours | jq length; }
# What RDMA core says of kernel QPs: device, number and name.
core_kernel() {
	rdma -j res show qp | jq -c '[.[] | select(.pid == null) | [.ifname, .lqpn, .comm]] | sort'
}
our_kernel() { swiftrdma -j qp show | jq -c '[.[] | select(.kernel) | [.dev, .qpn, .kernel]] | sort'; }
doorbells() { swiftrdma -j job show | jq '[.[].devs[].doorbells] | add'; }
# The driver's count and ours at one moment: a host says that it is alive now and
# then, so they are read until nothing happened in between.
both_count() {
	local before after ours

	for _ in {1..100}; do
		before=$(probe_hits rxe_post_send)
		ours=$(doorbells)
		after=$(probe_hits rxe_post_send)
		[ "$after" != "$before" ] || break
	done
	echo "$ours $after"
}
# How many doorbells the two I/O queues rang, one at each end.
io_doorbells() { ours | jq -c 'group_by(.dev) | map(max_by(.qpn).doorbells)'; }

# A host connects, writes 50 blocks, reads them and goes. Leaves in $run what the driver was asked for:
# QPs created and destroyed, posts while the blocks were written, and whether the data are right.
has_disk() { [ -b /dev/nvme0n1 ]; }
gone() { [ "$(probe_hits rxe_destroy_qp)" -ge "$1" ]; }
nvme_run() {
	local made ended posts

	made=$(probe_hits rxe_create_qp) ended=$(probe_hits rxe_destroy_qp)
	nvme connect -t rdma -a 10.1.0.2 -s 4420 -n srdma -i 1 -k 600 >/dev/null && wait_for 30 has_disk || return
	udevadm settle 2>/dev/null
	posts=$(probe_hits rxe_post_send)
	dd if="$work/blocks" of=/dev/nvme0n1 bs=4k oflag=direct status=none || return
	posts=$(($(probe_hits rxe_post_send) - posts))
	dd if=/dev/nvme0n1 of="$work/read" bs=4k count=50 iflag=direct status=none || return
	nvme disconnect -n srdma >/dev/null && wait_for 30 gone $((ended + 4))
	run="$(($(probe_hits rxe_create_qp) - made)) created, $(($(probe_hits rxe_destroy_qp) - ended)) destroyed,"
	run+=" $posts posts, $(cmp "$work/blocks" "$work/read" && echo right)"
}

ktap_begin
mark_dmesg
check "the driver's functions can be watched" \
	probes_on rxe_create_qp rxe_destroy_qp rxe_post_send

# --- Without the module ---

dd if=/dev/urandom of="$work/blocks" bs=4k count=50 status=none
check "an nvme target over rdma" nvmet_up
nvme_run
is "nvme without the module: 2 QPs at each end, a command and an answer for each block" "$run" \
	"4 created, 4 destroyed, 100 posts, right"
# What follows is compared with the module's own counts.
probes_off
check "they are watched from here on" probes_on rxe_create_qp rxe_destroy_qp rxe_post_send
check "the module loads" srdma_load
nvme_run
is "nvme with it: the same" "$run" "4 created, 4 destroyed, 100 posts, right"

# --- rping ---

check "a job for rping" swiftrdma job set ping match comm=rping
start pong rping -s -a 10.1.0.2 -C 20 -S 100
pong=$pid
check "rping's server listens" wait_for 30 eval "rdma res show cm_id | grep -q 'comm rping'"
check "20 round trips, connected by rdma_cm" rping -c -a 10.1.0.2 -C 20 -S 100
wait $pong
is "the server is content" $? 0
is "a QP at each end came and went" "$(job ping created) $(job ping destroyed)" "2 2"
is "its doorbells and the connection manager's are all there are" \
	"$(doorbells)" "$(probe_hits rxe_post_send)"
like "some of them rping's" "$(job ping doorbells)" '^[1-9]'
like "some the connection manager's" "$(swiftrdma -j qp show type GSI | jq 'map(.wrs) | add')" '^[1-9]'

# --- nvme over rdma ---

check "a host connects" nvme connect -t rdma -a 10.1.0.2 -s 4420 -n srdma -i 1 -k 120
check "its disk appears" wait_for 30 test -b /dev/nvme0n1
is "an admin and an I/O queue, at both ends" "$(count)" 4
is "kernel QPs have their owner's name, as RDMA core has it" "$(our_kernel)" "$(core_kernel)"
is "they have no process" "$(ours | jq -c 'map(has("pid") or has("uid") or has("comm")) | any')" false
is "they are on the kernel's UAR" "$(ours | jq -c 'map(.uar) | unique')" '[0]'
is "they know their peers" \
	"$(ours | jq -c 'sort_by(.dev, .qpn) | map(.dest_qpn)')" \
	"$(ours | jq -c '[.[] | select(.dev == "rxe1")] + [.[] | select(.dev == "rxe0")] | sort_by(.dev == "rxe0", .dest_qpn) | map(.qpn)')"

before=$(io_doorbells)
check "50 blocks are written" write_blocks 50
is "50 commands and 50 answers were posted" "$(io_doorbells)" "$(jq -c 'map(. + 50)' <<<"$before")"
is "no doorbell without a work request" \
	"$(swiftrdma -j qp show | jq '[.[] | select(.kernel)] | map(.wrs >= .doorbells) | all')" true
like "a chain of work requests is one doorbell" \
	"$(ours | jq 'map(.wrs - .doorbells) | add')" '^[1-9]'
read -r counted asked < <(both_count)
is "all doorbells are what the driver was asked for" "$counted" "$asked"

# --- Out and in again, under I/O ---

write_on() {
	local n=0

	until [ -e "$work/enough" ]; do
		write_blocks 8 || return 1
		n=$((n + 1))
		echo $n >"$work/rounds"
	done
}
round_after() { [ "$(cat "$work/rounds")" -gt "$1" ]; }

write_on & writer=$!
for i in 1 2; do
	check "round $i: the module unloads under I/O" srdma_unload
	at=$(cat "$work/rounds" 2>/dev/null || echo 0)
	check "round $i: I/O goes on without it" wait_for 60 round_after "$at"
	check "round $i: it loads under I/O" srdma_load
	is "round $i: it takes in the kernel's QPs" "$(our_kernel)" "$(core_kernel)"
	before=$(ours | jq 'map(.doorbells) | add')
	rang() { [ "$(ours | jq 'map(.doorbells) | add')" -gt "$before" ]; }
	check "round $i: it counts their doorbells" wait_for 60 rang
done
touch "$work/enough"
wait $writer
is "no write failed" $? 0

# --- The end ---

destroyed=$(($(dev rxe0 destroyed) + $(dev rxe1 destroyed)))
check "the host disconnects" nvme disconnect -n srdma
none() { [ "$(count)" = 0 ]; }
check "its QPs go" wait_for 30 none
is "nothing is left" "$(settled rxe0), $(settled rxe1)" "1 1 1 1 1, 1 1 1 1 1"
is "each was destroyed once" \
	"$(($(dev rxe0 destroyed) + $(dev rxe1 destroyed) - destroyed))" 4
check "the target goes" nvmet_down
probes_off
check "the module unloads" srdma_unload
is "the kernel did not complain" "$(dmesg_complaints)" ""
ktap_end
