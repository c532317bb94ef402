# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A kernel log without the five reports that are known to be others' faults, where nothing
# of ours is in them:
#
# lockdep's, of nvme_mpath_remove_disk() against nvme_partition_scan_work();
#
# KASAN's, of kobject_uevent_env() below remove_all_compat_devs(): RDMA core tells of a
# device that leaves a network namespace whose uevent socket is gone. "rdma system set
# netns exclusive" at once after "ip netns del" does it on Linux 6.1, without the module;
#
# KASAN's, of rxe_mr_copy() of Linux 6.1: after the last page of a full map it reads the address of
# the next map, one past the end of their array, and does not use what it has read. "rstream -S 65536"
# does it, without the module;
#
# rxe's warning in rxe_completer() of Linux 7.3, of a request that it completes in error though
# its status is success. A connection that loses packets for longer than its retries, or
# whose peer is killed, does it, without the module;
#
# those of rxe_responder() of Linux 6.1, of a reference to a QP too many that is dropped, or of a packet
# that was freed: a QP that is reset or destroyed takes packets out of its queue while the receive
# path works on one. A UD QP that is reset again and again while messages come in does it, without
# the module.
#
# Lockdep's and KASAN's reports begin with a line of "=", a warning with "cut here". They go to
# the end of lockdep's stack, to KASAN's other line of "=", to the warning's "end trace".

function is_known() {
	if (held ~ /srdma_|\[swiftrdma/)
		return 0
	if (kind == "kasan uevent")
		return held ~ /remove_all_compat_devs/
	if (kind == "kasan rxe")
		return held ~ /Read of size 8/ && held ~ /located 0 bytes to the right of/
	if (kind == "kasan responder")
		return held ~ /skbuff_head_cache/
	if (kind == "refcount")
		return held ~ /__rxe_(put|get|cleanup)\+/ && held ~ /\[rdma_rxe\]/
	if (kind == "warning")
		return held ~ /rxe_sender\+/
	return held ~ /nvme_mpath_remove_disk/ && held ~ /nvme_partition_scan_work/
}
function release() {
	printf "%s", held
	held = kind = ""
}
# What kind of report has this for its second line? Empty: none that may be known.
function kind_of(line) {
	if (line ~ /BUG: KASAN: use-after-free in kobject_uevent_env/)
		return "kasan uevent"
	if (line ~ /BUG: KASAN: slab-out-of-bounds in rxe_mr_copy/)
		return "kasan rxe"
	if (line ~ /BUG: KASAN: use-after-free in rxe_responder\+/)
		return "kasan responder"
	if (line ~ /refcount_t: (underflow; use-after-free|saturated; leaking memory)\./)
		return "refcount"
	if (line ~ /possible circular locking dependency/)
		return "lockdep"
	if (line ~ /WARNING: .*rxe_comp\.c:[0-9]+ at rxe_completer\+/)
		return "warning"
}
function is_end(line) {
	if (kind ~ /^kasan/)
		return line ~ /====================/
	return line ~ (kind == "lockdep" ? "</TASK>" : "end trace")
}

!held && /====================|\[ cut here \]/ {
	held = $0 "\n"
	next
}
held && !kind {
	kind = kind_of($0)
	if (!kind) {
		release()
		# The line may itself begin a report.
		if (/====================|\[ cut here \]/) {
			held = $0 "\n"
			next
		}
	}
}
held {
	held = held $0 "\n"
	if (is_end($0)) {
		if (is_known())
			held = ""
		release()
	}
	next
}
{ print }
END { printf "%s", held }
