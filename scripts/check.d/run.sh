# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/check and scripts/check-full: running what prints TAP. The caller
# has set $logs, a directory.

: "${logs:?}"

# Prefixes the time since the start, which tells which step of a run is slow.
say() { printf -- '-- %d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

# The same for each line of stdin.
say_lines() {
	local line

	while IFS= read -r line; do
		say "$line"
	done
}

# logged NAME CMD...: CMD's stdout is a TAP log; failures, and the end of each suite, are
# printed at once.
logged() {
	local log=$logs/$1.log status

	shift
	"$@" 2>"${log%.log}.err" | tee "$log" |
		grep --line-buffered -E '^(ok [0-9]+ selftests:|not ok|# not ok)' | say_lines
	status=${PIPESTATUS[0]}
	echo "# exit: $status" >>"$log"
	[ "$status" -eq 0 ] || tail -n 60 "${log%.log}.err" >&2
	return "$status"
}

# in_vm_once SECONDS NAME CMD...: CMD in a VM, logged.
in_vm_once() { logged "$2" scripts/vm --timeout "$1" "${@:3}"; }

# in_vm SECONDS NAME CMD...: the same, repeated once if the guest hung: QEMU's
# multi-threaded emulation sometimes hangs a guest that patches its own code. A deadlock
# of the module hangs it twice.
in_vm() {
	in_vm_once "$@"
	[ $? -eq 124 ] || return
	say "$2: no end in $1 s, once more"
	in_vm_once "$@"
}

# in_pair SECONDS NAME OPTION... SUITE: a suite in two guests (selftests/pair), with its points,
# which are those of guest 1, as the TAP log.
in_pair() {
	local seconds=$1 name=$2 suite=${*: -1}

	set -- "${@:3:$#-3}"
	# shellcheck disable=SC2016 # arguments of the inner shell
	logged "$name" bash -c 'set -o pipefail; "$@" | sed -un "s/^1: //p"' pair \
		scripts/vm --pair --timeout "$seconds" "$@" -- "$suite" -- selftests/lib/obey.sh
}

# run_lanes N FUNCTION ITEM...: calls FUNCTION for each item in order, N at a time.
run_lanes() {
	local n=$1 function=$2 item running=0

	shift 2
	for item; do
		if ((running == n)); then
			wait -n
			running=$((running - 1))
		fi
		"$function" "$item" &
		running=$((running + 1))
	done
	wait
}

# run_fuzzer NAME CORPUS SECONDS ARG...: a libFuzzer program, which goes on with CORPUS
# and with what is stored.
run_fuzzer() {
	local name=$1 corpus=$2 seconds=$3 known=$PWD/selftests/fuzz/corpus/$1 args count status

	shift 3
	mkdir -p "$corpus"
	args=("$@" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1
	      "-max_total_time=$seconds" "$(realpath "$corpus")")
	[ ! -d "$known" ] || args+=("$known")
	(cd build/fuzz && "./$name" "${args[@]}") >"$logs/$name.err" 2>&1
	status=$?
	count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$name.err")
	if [ $status -eq 0 ] && [ "${count:-0}" -gt 0 ]; then
		echo "ok 1 - $name, $count executions without a finding"
	else
		tail -n 40 "$logs/$name.err" >&2
		echo "not ok 1 - $name"
	fi
	echo "1..1"
}
