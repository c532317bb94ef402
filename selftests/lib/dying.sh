# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# QPs of processes whose destroy began before the hook was in place, and sleeps in the
# driver. dying_begin names the device and the functions that load and unload. Needs ktap.sh,
# module.sh and watch.sh.

# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
# shellcheck source=selftests/lib/standing.sh
. selftests/lib/standing.sh

above_ko=build/above/$(uname -r)/above.ko
above() { echo "$2" >/sys/module/above/parameters/"$1"; }
held() { [ "$(cat /sys/module/above/parameters/held_destroys)" -ge "$1" ]; }
# The numbers of QPs, but for the GSI's and the driver's: as RDMA core has them, and as we do.
core() {
	rdma -j res show qp link "$1" |
		jq -c --argjson own "${dying_own:-[]}" '[.[] | select(.type != "GSI").lqpn] - $own | sort'
}
ours() {
	swiftrdma -j qp show dev "$1" |
		jq -c --argjson own "${dying_own:-[]}" '[.[] | select(.type != "GSI").qpn] - $own | sort'
}
is_core() { [ "$(core "$1")" = "$2" ]; }
settled_as() { [ "$(settled "$1")" = "$2" ]; }
# levels_done JOB LEVEL QPS: the level, and no other override, is in force for all QPs of the
# job, which has so many.
levels_done() {
	swiftrdma action clear all >/dev/null
	level "$1" "$2" >/dev/null
	wait_for 30 eval "[ \"\$(listed)\" = '$3 $3 0 0 0 0' ]"
}

# dying_begin DEV LOAD UNLOAD: what is there without a process's QPs is no trace of one. RDMA
# core does not list all of the driver's own QPs.
dying_begin() {
	dying_dev=$1 dying_load=$2 dying_unload=$3 dying_own=''
	check "the module loads" "$dying_load"
	dying_own=$(jq -nc --argjson core "$(core "$1")" --argjson ours "$(ours "$1")" '$core + $ours | unique')
	dying_settled=$(settled "$1")
	check "... and unloads" "$dying_unload"
	note "the driver's own: QPs $dying_own, figures $dying_settled"
	check "a driver that sleeps in its destroy, a core that lists what is destroyed" \
		insmod "$above_ko" dev="$1" hold_destroy=0 listed=1
}

# dying_qp: one of a process's QPs.
dying_qp() {
	local dev=$dying_dev qpn first second third

	qpsh_start a qpsh --dev "$dev" --comm a && qp a 'create 3'
	read -r _ first _ second _ third <<<"$answer"
	for qpn in $first $second $third; do
		qp a "take $qpn rts"
	done
	above hold_destroy 1
	echo "destroy $first" >&"${qpsh_in[a]}"
	check "a destroy sleeps in the driver" wait_for 30 held 1
	is "RDMA core lists the QP" "$(core "$dev")" "[$first,$second,$third]"
	check "the module loads" "$dying_load"
	is "it has taken in those that are not being destroyed" "$(ours "$dev")" "[$second,$third]"
	swiftrdma job set all match exe=qpsh >/dev/null
	check "a level is tried on those alone" levels_done all 3 2
	above hold_destroy 0
	IFS= read -r answer <&"${qpsh_out[a]}"
	is "the destroy ends" "$answer" ok
	check "RDMA core does not list it any more" wait_for 30 is_core "$dev" "[$second,$third]"
	check "the others can be changed" levels_done all 5 2
	is "nothing is left of it" "$(ours "$dev") $(dev "$dev" untracked)" "[$second,$third] 0"
	above hold_destroy 1
	echo "destroy $second" >&"${qpsh_in[a]}"
	check "another sleeps, which has passed the hook" wait_for 30 held 1
	is "... and is gone for us" "$(ours "$dev")" "[$third]"
	above hold_destroy 0
	IFS= read -r answer <&"${qpsh_out[a]}"
	swiftrdma action clear all >/dev/null
	qpsh_stop a
	check "the module unloads" "$dying_unload"
}

# dying_process: a process dies, and its context is torn down.
dying_process() {
	local dev=$dying_dev seen

	qpsh_start b qpsh --dev "$dev" --comm b && qp b 'create 2'
	above hold_destroy 1
	kill -9 "${qpsh_pid[b]}"
	check "the end of a process sleeps in the driver" wait_for 30 held 1
	check "the module loads" "$dying_load"
	seen=$(ours "$dev")
	above hold_destroy 0
	check "it ends" wait_for 30 is_core "$dev" '[]'
	is "nothing is left of it (there was $seen)" "$(ours "$dev") $(dev "$dev" untracked)" "[] 0"
	check "... in jobs and UARs" wait_for 10 settled_as "$dev" "$dying_settled"
	check "the module unloads" "$dying_unload"
}
