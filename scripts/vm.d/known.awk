# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A kernel log without the two reports that are known to be others' faults, where nothing
# of ours is in them:
#
# lockdep's, of nvme_mpath_remove_disk() against nvme_partition_scan_work();
#
# KASAN's, of kobject_uevent_env() below remove_all_compat_devs(): RDMA core tells of a
# device that leaves a network namespace whose uevent socket is gone. "rdma system set
# netns exclusive" at once after "ip netns del" does it on Linux 6.1, without the module.
#
# A report goes from its line of "=", lockdep's to the end of its stack, KASAN's to its
# other line of "=".

function is_known() {
	if (held ~ /srdma_|\[swiftrdma/)
		return 0
	if (kasan)
		return held ~ /remove_all_compat_devs/
	return held ~ /nvme_mpath_remove_disk/ && held ~ /nvme_partition_scan_work/
}
function settle() {
	if (!is_known())
		printf "%s", held
	held = ""
	kasan = 0
}

/====================/ {
	if (kasan) {
		held = held $0 "\n"
		settle()
		next
	}
	printf "%s", held
	held = $0 "\n"
	lines = 1
	next
}
held && ++lines == 2 {
	kasan = /BUG: KASAN: use-after-free in kobject_uevent_env/
	if (!kasan && !/possible circular locking dependency/) {
		printf "%s", held
		held = ""
	}
}
held {
	held = held $0 "\n"
	if (!kasan && /<\/TASK>/)
		settle()
	next
}
{ print }
END { printf "%s", held }
