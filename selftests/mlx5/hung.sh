#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A NIC that does not answer a command keeps nothing from the other one: leases run out
# in time, changes are made, readers get their answers, devices are renamed. When it
# answers again everything goes on. A command is held for less than the minute after
# which mlx5_core gives it up.
#
#   scripts/vm --nic softhca -- selftests/mlx5/hung.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh

CREATE_QP=500 RTS2RTS_QP=505 QUERY_QP=50b ACCESS_REG=805
hold() { echo "$1" >$hca_debug/hca0/hold_command; }
held() { [ "$(<$hca_debug/hca0/hold_command)" -ge 1 ]; }
classes() {
	swiftrdma -j qp show dev "$1" job bulk | jq -c '[.[].tclass] | unique'
}
classes_are() { [ "$(classes "$1")" = "$2" ]; }
act() { swiftrdma action set job bulk "$@" 2>&1; }
at_work() { [ "$(swiftrdma -j qp show dev mlx5_0 pid "$pid" | jq '[.[] | select(.wrs > 0)] | length')" -ge 8 ]; }
# told REASON FILTER: does that hold for the results of that action, as [QPs, done,
# pending] in the order in which they were told? A result that a slow machine has not
# made within 3 s is told as pending, and told again.
told() {
	jq -se "[.[] | select(.event == \"action\" and .reason == \"$1\") |
		[.qps, .qps_done, .qps_pending]] | $2" "$work/heard" >/dev/null
}
# None of what is said here waits for the first HCA, which still does not answer.
still_held() { check "... and the first one still does not answer" held; }

ktap_begin
check "on Ethernet, where a class can be changed live" \
	eval "wait_for 60 rmmod softhca && hca_load link=eth"
dmesg -C
check "load" both_load
swiftrdma job set bulk match cgroup=/bulk >/dev/null
in_cgroup bulk crowd --from mlx5_0 --to mlx5_1 --qps 8 --size 4096 --duration 900 \
	>"$work/bulk" 2>&1 & pid=$!
check "traffic between two NICs" wait_for 30 at_work
swiftrdma -j monitor action >"$work/heard" 2>"$work/monitor" & monitor=$!
check "a listener" wait_for 60 listens_to_events $monitor

# Enforcement on one waits for a command. How long a lease has to be for the NIC to be
# held within it, a rehearsal says: on a busy host all of this takes many seconds.
began=$SECONDS
check "a level on both" act level 3 for 300s reason first
check "it is there, on one" wait_for 30 classes_are mlx5_0 '[96]'
check "it is there, on the other" wait_for 30 classes_are mlx5_1 '[96]'
check "and told" wait_for 30 told first '.[-1] == [16, 16, 0]'
check "and taken back" swiftrdma action clear all
check "on one" wait_for 30 classes_are mlx5_0 '[0]'
check "on the other" wait_for 30 classes_are mlx5_1 '[0]'
lease=$((5 + SECONDS - began))
check "a level for a moment, on both" act level 3 for ${lease}s reason moment
check "it is there, on one" wait_for 30 classes_are mlx5_0 '[96]'
check "it is there, on the other" wait_for 30 classes_are mlx5_1 '[96]'
hold $RTS2RTS_QP
check "the lease runs out: the first NIC is asked to change a QP, and does not answer" wait_for 30 held
check "the other one's QPs have their class back" wait_for 30 classes_are mlx5_1 '[0]'
still_held
check "a level on the other one" act dev mlx5_1 level 5 for 300s reason second
check "is made" wait_for 15 classes_are mlx5_1 '[160]'
check "and told" wait_for 15 told second '.[-1] == [8, 8, 0]'
still_held
check "a level on both" act level 4 for 300s rank 200 reason third
check "is made on the other one" wait_for 15 classes_are mlx5_1 '[128]'
check "and told in time, with the first one's QPs as pending" \
	wait_for 15 told third 'length == 1 and .[0][0] == 16 and .[0][2] >= 8'
still_held
hold 0
check "it answers: the first one's QPs have their level" wait_for 30 classes_are mlx5_0 '[128]'
check "and that is told once more" wait_for 15 told third 'length == 2 and .[1] == [16, 16, 0]'
check "all taken back" swiftrdma action clear all
check "on the first" wait_for 30 classes_are mlx5_0 '[0]'
check "on the other" wait_for 30 classes_are mlx5_1 '[0]'

# A reader of one waits for a command, and who would add, remove or rename a device
# behind it.
check "a level for a moment" act level 2 for $((lease + 5))s reason fourth
check "it is there" wait_for 30 classes_are mlx5_1 '[64]'
hold $ACCESS_REG
readers=()
for i in 1 2 3 4 5 6; do
	swiftrdma -j port show mlx5_0/1 >"$work/port$i" 2>&1 & readers+=($!)
done
check "six readers of the first NIC's port, which does not answer" wait_for 30 held
rdma dev set mlx5_1 name other
point $? "the other one is renamed"
check "another reader of the other one" eval 'swiftrdma -j port show other/1 | jq -e ".[0].tx_bytes > 0"'
check "the lease on it runs out" wait_for $((lease + 20)) classes_are other '[0]'
check "a level on it" act dev other level 5 for 300s reason fifth
check "is made" wait_for 15 classes_are other '[160]'
still_held
for i in 1 2 3 4 5 6; do
	wait "${readers[i - 1]}"
done
is "the readers of the first have what was read last" "$(jq -s '[.[][0].state] | unique | length' "$work"/port?)" 1
still_held
hold 0
swiftrdma action clear all >/dev/null
rdma dev set other name mlx5_1
before=$(jq '.[0].time' "$work/port1")
fresh() { [ "$(swiftrdma -j port show mlx5_0/1 | jq '.[0].time')" -gt "$before" ]; }
check "it answers: its port is read again" wait_for 30 fresh

# The same with what is not known of a QP yet.
check "the provider goes" rmmod swiftrdma_mlx5
hold $QUERY_QP
check "and comes" mlx5_load
readers=()
for i in 1 2 3; do
	swiftrdma -j qp show dev mlx5_0 >"$work/qps$i" 2>&1 & readers+=($!)
done
check "three readers of the first NIC's QPs, of which nothing is known" wait_for 30 held
check "the other one's are known" eval \
	'[ "$(swiftrdma -j qp show dev mlx5_1 pid $pid | jq "[.[] | select(.uar)] | length")" = 8 ]'
for i in 1 2 3; do
	wait "${readers[i - 1]}"
done
is "the readers have what is known" "$(jq -s '[.[] | map(select(.pid == '$pid')) | length] | unique' -c "$work"/qps?)" '[8]'
still_held
hold 0
known() { [ "$(swiftrdma -j qp show dev mlx5_0 pid $pid | jq "[.[] | select(.uar)] | length")" = 8 ]; }
check "it answers: they are known" wait_for 30 known

# A device that goes waits for its own commands only.
hold $QUERY_QP
check "the provider is being loaded anew" eval 'rmmod swiftrdma_mlx5 && mlx5_load'
swiftrdma -j qp show dev mlx5_0 >"$work/qps1" &
reader=$!
check "a reader of the first NIC" wait_for 30 held
wait $reader
rmmod swiftrdma_mlx5 & remover=$!
sleep 1
check "the provider goes, and waits for it" alive $remover
check "changes are made meanwhile" act max_qps 1000 for 300s
still_held
hold 0
wait $remover
point $? "it answers: the provider is gone"
kill -9 $pid $monitor
wait $pid $monitor 2>/dev/null

# An application that waits for one NIC in a verb does not delay the removal of the other NIC.
hold $CREATE_QP
ibv_rc_pingpong -d mlx5_0 -g 0 >"$work/waits" 2>&1 & pid=$!
check "an application creates a QP on the first NIC, and waits for it" wait_for 30 held
function=$(basename "$(readlink -f /sys/class/infiniband/mlx5_1/device)")
echo "$function" >/sys/bus/pci/drivers/mlx5_core/unbind & remover=$!
other_gone() { [ ! -e /sys/class/infiniband/mlx5_1 ] && ! alive $remover; }
check "the other NIC goes meanwhile" wait_for 30 other_gone
still_held
check "... and so does what is known of it" eval '[ "$(swiftrdma -j dev show | jq length)" = 1 ]'
hold 0
check "it answers: the application goes on" wait_for 30 listening 18515
kill -9 $pid
wait $pid 2>/dev/null
check "the other NIC comes back" eval "echo $function >/sys/bus/pci/drivers/mlx5_core/bind"
check "unload" srdma_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
