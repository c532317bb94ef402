# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Runs programs in a cgroup, and waits until a condition is true.

# in_cgroup NAME CMD...: runs CMD in /NAME, which is created if needed.
in_cgroup() {
	mkdir -p "/sys/fs/cgroup/$1"
	echo "$BASHPID" >"/sys/fs/cgroup/$1/cgroup.procs"
	shift
	exec "$@"
}

# On a kernel with self-checks or full preemption everything takes several times as long,
# so waits are longer, too.
case $(uname -r) in
*debug*) slowness=6 ;;
*-rt-*) slowness=3 ;;
*) slowness=1 ;;
esac

# Bounds of waits are multiplied by this, for hosts that are busy or slow. A wait that succeeds takes
# no longer for it.
patience=3

# nap SECONDS: as sleep, without a process, which is slow to start in the VM.
[ -n "${nap_never:-}" ] || exec {nap_never}<> <(:)
nap() { read -r -t "$1" -u "$nap_never" || :; }

# wait_for SECONDS CMD...: waits until CMD succeeds. If it does not in time, prints that
# and returns 1.
wait_for() {
	local began=$SECONDS end=$((SECONDS + $1 * slowness * patience + 1))

	shift
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			echo "# waited $((SECONDS - began)) s in vain for: $*" >&2
			return 1
		fi
		nap 0.1
	done
}

# listens_to_events PID: the process is in a multicast group of generic netlink, which is
# protocol 16. libnl's numbers of sockets have the process in the lower 22 bits.
listens_to_events() {
	awk -v pid="$1" '$2 == 16 && $3 % 4194304 == pid && $4 !~ /^0+$/ { found = 1 }
		END { exit !found }' /proc/net/netlink
}

alive() { kill -0 "$1" 2>/dev/null; }
