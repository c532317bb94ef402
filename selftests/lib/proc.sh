# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Programs of a test in the VM: in a cgroup, until something is true.

# in_cgroup NAME CMD...: runs CMD in /NAME, which is made at need.
in_cgroup() {
	mkdir -p "/sys/fs/cgroup/$1"
	echo "$BASHPID" >"/sys/fs/cgroup/$1/cgroup.procs"
	shift
	exec "$@"
}

# On a kernel that checks itself at every step, or that preempts at every step,
# everything takes several times as long, and what is waited for too.
case $(uname -r) in
*debug*) slowness=6 ;;
*-rt-*) slowness=3 ;;
*) slowness=1 ;;
esac

# wait_for SECONDS CMD...: until CMD succeeds; 1 if it does not in time.
wait_for() {
	local end=$((SECONDS + $1 * slowness + 1))

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}

alive() { kill -0 "$1" 2>/dev/null; }
