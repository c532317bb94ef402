# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A kernel log without the one report that is known to be another's fault: lockdep's, of
# nvme_mpath_remove_disk() against nvme_partition_scan_work(), where nothing of ours is in
# it. A report goes from its line of "=" to the end of its stack.

/====================/ {
	printf "%s", held
	held = $0 "\n"
	lines = 1
	next
}
held && ++lines == 2 && !/possible circular locking dependency/ {
	printf "%s", held
	held = ""
}
held {
	held = held $0 "\n"
	if (/<\/TASK>/) {
		if (held !~ /nvme_mpath_remove_disk/ || held !~ /nvme_partition_scan_work/ ||
		    held ~ /srdma_|\[swiftrdma/)
			printf "%s", held
		held = ""
	}
	next
}
{ print }
END { printf "%s", held }
