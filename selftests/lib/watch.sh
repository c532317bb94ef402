# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What others than the module say of the same things, to compare it with; and
# the programs that make them happen. Goes with module.sh and proc.sh.

tracing=/sys/kernel/tracing
work=$(mktemp -d)

# probes_on FUNCTION...: count the calls of kernel functions. Those of a module
# must be taken off before it can go.
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

# rdma_qps [DEV]: how many QPs RDMA core has.
rdma_qps() { rdma -j res show qp ${1:+link "$1"} | jq length; }

# A job's figure, summed over devices: job JOB KEY.
job() { swiftrdma -j job show "$1" | jq "[.[0].devs[].$2 // 0] | add"; }
# The same over all jobs of one device.
dev_jobs() {
	swiftrdma -j job show | jq --arg d "$1" "[.[].devs[] | select(.dev == \$d).$2 // 0] | add"
}

# field NAME FILE: the number after a word, of a program's last line.
field() { tail -n 1 "$2" | grep -oP "\\b$1 \\K[0-9]+"; }

# lat_start NAME [OPTION...]: a conversation across the two devices, until
# lat_stop NAME. What it says is in $work/NAME.
declare -A lat_pid
lat_start() {
	local name=$1

	shift
	lat --interval 500 "$@" >"$work/$name" 2>&1 &
	lat_pid[$name]=$!
	wait_for 30 grep -q ^ready "$work/$name"
}
lat_stop() {
	kill -TERM "${lat_pid[$1]}"
	wait "${lat_pid[$1]}"
}

# The QPN of a conversation's client.
lat_qpn() { awk '/^ready/ { print $4 }' "$work/$1"; }

# start NAME CMD...: in the background, output in $work/NAME; $pid is its id.
start() {
	local name=$1

	shift
	"$@" >"$work/$name" 2>&1 &
	# shellcheck disable=SC2034
	pid=$!
}

listening() { [ -n "$(ss -Hltn "sport = :$1")" ]; }

# perftest PROGRAM ARG...: both ends, the client's status. -F: a busy emulator's clocks
# look to it as if the CPU changed its frequency, and then it gives up at the end.
perftest() {
	local server status

	"$1" -d rxe1 -F "${@:2}" >"$work/server" 2>&1 &
	server=$!
	wait_for 120 listening 18515 || return 1
	"$1" -d rxe0 -F "${@:2}" 10.1.0.2 >"$work/client" 2>&1
	status=$?
	wait $server || status=1
	[ $status -eq 0 ] || cat "$work/client" "$work/server" >&2
	return $status
}

# armed: what the module says of itself.
armed() { cat /sys/kernel/debug/swiftrdma/disarm; }

# settled DEV: what is left on a device where no program has a QP any more, as
# the module, its jobs, its UARs and RDMA core say it. All are 1, the GSI.
settled() {
	echo "$(qps dev "$1") $(dev_jobs "$1" qps)" \
		"$(swiftrdma -j uar show "$1" | jq 'map(.qps) | add')" \
		"$(swiftrdma -j uar show "$1" | jq length) $(rdma_qps "$1")"
}
is_settled() { [ "$(settled "$1")" = "1 1 1 1 1" ]; }
