# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Loads, unloads and reads swiftrdma.ko in the VM. Runs in the project's root.

# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

srdma_ko=build/kmod/$(uname -r)/swiftrdma.ko
srdma_debug_ko=build/kmod/$(uname -r)-debug/swiftrdma.ko
srdma_debugfs=/sys/kernel/debug/swiftrdma
PATH=$PWD/build/bin:$PWD/build/bench:$PATH

# Levels mean nothing until they are set. In the suites level n is DSCP 8 n and SL n.
srdma_levels() {
	swiftrdma level set 0 dscp 0 sl 0 1 dscp 8 sl 1 2 dscp 16 sl 2 3 dscp 24 sl 3 \
		4 dscp 32 sl 4 5 dscp 40 sl 5 6 dscp 48 sl 6 7 dscp 56 sl 7
}
srdma_load() { insmod "$srdma_ko" "$@" && srdma_levels; }
srdma_load_debug() { insmod "$srdma_debug_ko" "$@" && srdma_levels; }
srdma_loaded() { [ -d /sys/module/swiftrdma ]; }

# A dump in progress, or a debugfs file that is being read, keeps the module in use.
srdma_unused() { [ "$(</sys/module/swiftrdma/refcnt)" = 0 ]; }
srdma_unload() {
	echo 1 >$srdma_debugfs/disarm || return
	wait_for 10 srdma_unused
	rmmod swiftrdma
}

# dev DEV KEY: one figure of a device.
dev() { swiftrdma -j dev show "$1" | jq -r ".[0].$2"; }

# qps [FILTER...]: the number of QPs.
qps() { swiftrdma -j qp show "$@" | jq length; }

# Lines of the kernel log at warning level or above since mark_dmesg, except those that
# every out-of-tree module causes, and those of a slow emulated CPU (on the rt kernel its
# interrupt threads take more than their share).
mark_dmesg() { echo "swiftrdma-selftest mark $$ $SECONDS" >/dev/kmsg; }
dmesg_complaints() {
	dmesg --level=emerg,alert,crit,err,warn |
		awk '/swiftrdma-selftest mark/ { n = 0; next } { line[n++] = $0 }
		     END { for (i = 0; i < n; i++) print line[i] }' |
		awk -f scripts/vm.d/known.awk |
		grep -vE 'loading out-of-tree module|module verification failed|hrtimer: interrupt took|RT throttling activated'
}

# Since 6.4 rxe changes the class of any connected QP without a pause. Earlier kernels
# change it for RC QPs in RTS only, with the send queue drained.
rxe_at_once() { [ "$(printf '6.4\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.4 ]; }

# A suite that died left the module loaded; the next suite must not fail because of that.
if srdma_loaded; then
	echo "# swiftrdma is still loaded, by a suite before that died"
	[ ! -d /sys/module/swiftrdma_mlx5 ] || rmmod swiftrdma_mlx5
	srdma_unload || echo "# ... and cannot be unloaded"
fi
