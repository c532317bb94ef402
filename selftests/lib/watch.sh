# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Figures from other sources than the module, to compare with the module's, and programs
# that cause them. Needs module.sh and proc.sh.

# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

tracing=/sys/kernel/tracing
work=$(mktemp -d)

# probes_on FUNCTION...: counts calls of kernel functions. Probes of a module's functions
# must be removed before the module can be unloaded.
probes_on() {
	local f

	[ -e $tracing/kprobe_events ] || mount -t tracefs tracefs $tracing
	for f; do
		echo "p:srdma_test/$f $f" >>$tracing/kprobe_events || return 1
	done
	echo 1 >$tracing/events/srdma_test/enable
}
probe_hits() { awk -v f="$1" '$1 == f { print $2 }' $tracing/kprobe_profile; }
probes_off() {
	echo 0 >$tracing/events/srdma_test/enable
	echo >$tracing/kprobe_events
}

# rdma_qps [DEV]: the number of QPs that RDMA core has.
rdma_qps() { rdma -j res show qp ${1:+link "$1"} | jq length; }

# A job's figure, summed over devices: job JOB KEY.
job() { swiftrdma -j job show "$1" | jq "[.[0].devs[].$2 // 0] | add"; }
# The same figure, summed over all jobs of one device.
dev_jobs() {
	swiftrdma -j job show | jq --arg d "$1" "[.[].devs[] | select(.dev == \$d).$2 // 0] | add"
}

# field NAME FILE: the number after a word in the last line of a program's output.
field() { tail -n 1 "$2" | grep -oP "\\b$1 \\K[0-9]+"; }

# lat_start NAME [OPTION...]: starts a ping-pong across the two devices, which lasts until
# lat_stop NAME. Its output is in $work/NAME.
declare -A lat_pid
lat_start() {
	local name=$1

	shift
	# Empty at once: the file may be that of a program before, which was ready.
	: >"$work/$name"
	lat --interval 500 "$@" >"$work/$name" 2>&1 &
	lat_pid[$name]=$!
	wait_for 30 grep -q ^ready "$work/$name"
}
lat_stop() {
	kill -TERM "${lat_pid[$1]}"
	wait "${lat_pid[$1]}"
}

# The QPN of a ping-pong's client.
lat_qpn() { awk '/^ready/ { print $4 }' "$work/$1"; }

# start NAME CMD...: runs CMD in the background, with its output in $work/NAME; $pid is its
# process id.
start() {
	local name=$1

	shift
	: >"$work/$name"
	"$@" >"$work/$name" 2>&1 &
	# shellcheck disable=SC2034
	pid=$!
}

# perftest PROGRAM ARG...: runs both ends; the status is the client's. -F: on a busy
# emulator perftest believes that the CPU changes its frequency, and would fail at the end.
perftest() {
	pair -p 18515 "$1" -d rxe1 -F "${@:2}" -- "$1" -d rxe0 -F "${@:2}" 10.1.0.2 \
		>"$work/client" 2>&1 && return
	cat "$work/client" >&2
	return 1
}

# armed: the module's own report of its state.
armed() { cat /sys/kernel/debug/swiftrdma/disarm; }

# settled DEV: the QPs left on a device when no program has one, according to the module,
# its jobs, its UARs and RDMA core. Each number is 1, for the GSI.
settled() {
	echo "$(qps dev "$1") $(dev_jobs "$1" qps)" \
		"$(swiftrdma -j uar show "$1" | jq 'map(.qps) | add')" \
		"$(swiftrdma -j uar show "$1" | jq length) $(rdma_qps "$1")"
}
is_settled() { [ "$(settled "$1")" = "1 1 1 1 1" ]; }
