# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A real systemd in the VM, in process, mount and cgroup namespaces of its own: it is process 1
# there, and has an empty /run. Needs proc.sh.

systemd_dir=$(mktemp -d /tmp/systemd.XXXXXX)

# Runs as the first process of the namespaces, with the path of units and a command that
# prepares /run. Targets of the same names that the host has want services of the host.
cat >"$systemd_dir/init" <<'EOF2'
#!/bin/bash
mount --make-rprivate / && mount -t proc proc /proc || exit 1
umount /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 1
mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/systemd/system || exit 1
for target in sysinit basic shutdown multi-user; do
	printf '[Unit]\nDefaultDependencies=no\n' >/run/systemd/system/$target.target
done
export container=selftest SYSTEMD_UNIT_PATH=/run/systemd/system${1:+:$1}
shift
"$@" || exit 1
exec /lib/systemd/systemd --system --unit=multi-user.target --log-target=console --show-status=no
EOF2

# start_systemd UNITS [CMD...]: units are in /run/systemd/system, and in UNITS, a path. CMD
# runs in the namespaces before systemd does.
start_systemd() {
	local units=$1

	shift
	mkdir -p /sys/fs/cgroup/systemd
	(
		echo "$BASHPID" >/sys/fs/cgroup/systemd/cgroup.procs
		exec unshare --pid --fork --kill-child --mount --cgroup --ipc --uts \
			bash "$systemd_dir/init" "$units" "${@:-true}" >"$systemd_dir/log" 2>&1
	) &
	systemd_unshare=$!
	wait_for 10 pgrep -P $systemd_unshare >/dev/null && systemd_pid=$(pgrep -P $systemd_unshare) &&
		wait_for 30 ctl is-active multi-user.target >/dev/null 2>&1
}

# The end of its first process is that of all others in the namespaces.
stop_systemd() {
	kill -KILL "$systemd_pid"
	wait "$systemd_unshare" 2>/dev/null
}

# in_system CMD...: with this systemd as the system's.
in_system() { nsenter -t "$systemd_pid" -m -p -C "$@"; }
ctl() { in_system systemctl "$@"; }
