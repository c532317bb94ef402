# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for suites of swiftrdma_mlx5.ko on the software ConnectX: they load the module
# and read the device's own figures.

# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

mlx5_ko=build/kmod/$(uname -r)/swiftrdma_mlx5.ko
PATH=$PWD/build/progs:$PATH
work=${work:-$(mktemp -d)}

mlx5_load() { insmod "$mlx5_ko" "$@"; }
both_load() { srdma_load && mlx5_load "$@"; }
both_unload() {
	echo 1 >$srdma_debugfs/disarm || return
	rmmod swiftrdma_mlx5 || return
	wait_for 10 srdma_unused
	rmmod swiftrdma
}

# summary DEV NAME: a figure of the summary file.
summary() { awk -v n="$2" '$1 == n { print $2 }' "$srdma_debugfs/$1/summary"; }

# as_nobody CMD...: runs one of our programs as an ordinary user. Such a reader causes no
# commands to a device.
as_nobody() {
	[ -x "/tmp/progs/$1" ] || install -D "$(command -v "$1")" "/tmp/progs/$1" || return
	PATH=/tmp/progs:$PATH setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
# commands DEV: the number of commands that were sent to it.
commands() { as_nobody swiftrdma -j dev show "$1" | jq '.[0].commands'; }
# sent_few DEV: it got few commands since the module was loaded. Ports are read once then, on Ethernet the eight
# priorities and the congestion notifications of each as well.
sent_few() {
	local most=4

	[ "$(cat "/sys/class/infiniband/$1/ports/1/link_layer")" = InfiniBand ] || most=$((most + 9))
	[ "$(commands "$1")" -le $most ]
}

# A program with QPs that executes commands: wq_start NAME ARG..., wq NAME COMMAND...,
# wq_end NAME. wq prints the lines of the answer; the last one marks its end.
declare -A wq_in wq_out wq_pid
wq_start() {
	local name=$1 in out

	shift
	mkfifo "$work/$name.in" "$work/$name.out"
	exec {in}<>"$work/$name.in" {out}<>"$work/$name.out"
	wqebbs "$@" <"$work/$name.in" >"$work/$name.out" 2>"$work/$name.err" &
	wq_pid[$name]=$!
	wq_in[$name]=$in wq_out[$name]=$out
	wq_answer "$name" ready >/dev/null
}
wq_answer() {
	local line

	while IFS= read -r -t 240 -u "${wq_out[$1]}" line; do
		echo "$line"
		case $line in "$2"*) return 0 ;; esac
	done
	cat "$work/$1.err" >&2
	return 1
}
wq() {
	local name=$1 over

	shift
	case $1 in
	post) over=posted ;; show) over=shown ;; destroy) over=destroyed ;;
	fork|exec) over=forked ;; *) over=$1 ;;
	esac
	echo "$*" >&"${wq_in[$name]}"
	wq_answer "$name" "$over"
}
wq_forget() {
	local in=${wq_in[$1]} out=${wq_out[$1]}

	exec {in}>&- {out}>&-
	rm -f "$work/$1.in" "$work/$1.out"
}
wq_end() {
	echo quit >&"${wq_in[$1]}"
	wait "${wq_pid[$1]}"
	local status=$?

	wq_forget "$1"
	return $status
}
wq_kill() {
	kill -9 "${wq_pid[$1]}"
	wait "${wq_pid[$1]}" 2>/dev/null
	wq_forget "$1"
}

# The same for every QP, as lines "QPN WQEBBS", from the program and from the module.
wq_said() { wq "$1" show | awk '$1 == "qp" { print $2, $3 }' | sort -n; }
qp_said() {
	swiftrdma -j qp show dev "$1" pid "$2" | jq -r '.[] | "\(.qpn) \(.wrs)"' | sort -n
}

# Each UAR of users that has or had QPs: "UAR QPS WQEBBS".
hca_uars() {
	awk 'NR > 1 && $2 && ($3 || $5) { print $1, $3, $5 }' "$hca_debug/hca$1/uars" | sort -n
}
our_uars() {
	swiftrdma -j uar show "$1" |
		jq -r '.[] | select(.kind != "kernel") | "\(.uar) \(.qps) \(.wrs)"' | sort -n
}

# As dmesg_complaints, without complaints that the device causes, with and without the module: its
# poller is a real-time thread, which is busy under load, and mlx5_core logs the capabilities that it
# lacks.
mlx5_complaints() {
	dmesg_complaints |
		grep -vE 'sched: RT throttling activated|mlx5_pci_vsc_init:.*vendor specific ID|Missing eth_net_offloads'
}

# An earlier suite in the same VM may have left no device or another one, and messages in
# the kernel log.
if [ -e /run/hca_used ]; then
	read -r -a params </run/hca_params
	if ! { [ ! -d /sys/module/softhca ] || wait_for 60 rmmod softhca; } ||
	   ! hca_load "${params[@]}"; then
		echo "Bail out! no device of its own"
		exit 1
	fi
	dmesg -C
fi
hca_mark_used
