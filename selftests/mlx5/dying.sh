#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs of a ConnectX whose destroy began before the hook was in place: they are not taken in,
# and a QP that gets the number of one belongs to its own process.
#
#   scripts/vm --nic softhca -- selftests/mlx5/dying.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh
# shellcheck source=selftests/lib/dying.sh
. selftests/lib/dying.sh

# The process and the job of the QP of a number.
whose() { swiftrdma -j qp show dev mlx5_0 qpn "$1" | jq -c '[.[] | [.pid, .comm, .job]]'; }
uars_agree() { [ "$(our_uars mlx5_0 | cut -d' ' -f1,2)" = "$(hca_uars 0 | cut -d' ' -f1,2)" ]; }

ktap_begin
check "a device whose live QPs can have another class" \
	eval "wait_for 60 rmmod softhca && hca_load link=eth && hca_warm_up"
dmesg -C
dying_begin mlx5_0 both_load both_unload
dying_qp
dying_process

# The first of two QPs is being destroyed when the module comes, and another process then
# gets its number.
qpsh_start old qpsh --dev mlx5_0 --comm old && qp old 'create 2'
read -r _ first _ second <<<"$answer"
qp old "take $first rts"
above hold_destroy 1
echo "destroy $first" >&"${qpsh_in[old]}"
check "a destroy sleeps in the driver" wait_for 30 held 1
check "the module loads" both_load
is "it has the other one" "$(ours mlx5_0)" "[$second]"
swiftrdma job set old match comm=old >/dev/null
swiftrdma job set new match comm=new >/dev/null
above hold_destroy 0
IFS= read -r answer <&"${qpsh_out[old]}"
is "the destroy ends" "$answer" ok
is "nothing is known of that number" "$(whose "$first")" '[]'
echo "$first" >"$hca_debug/hca0/next_qp"
qpsh_start new qpsh --dev mlx5_0 --comm new && qp new create
is "another process gets it" "$last" "$first"
is "... and has it" "$(whose "$first")" "[[${qpsh_pid[new]},\"new\",\"new\"]]"
is "no QP is lost track of" "$(ours mlx5_0) $(dev mlx5_0 untracked)" "[$first,$second] 0"
check "the UARs have as many QPs as the device says" wait_for 10 uars_agree
qp new "take $first rts"
check "it can have a level" levels_done new 3 1
swiftrdma action clear all >/dev/null
qpsh_stop new
qpsh_stop old
check "nothing is left of them" wait_for 10 settled_as mlx5_0 "$dying_settled"
check "the module unloads" both_unload
check "the driver is as it was" rmmod above
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
