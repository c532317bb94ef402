# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# hugemr, which reads and writes messages of 64 KiB, one in each 2 MiB, and compares them; and how many
# requests the device counts of that. Goes with library.sh.
# shellcheck disable=SC2154,SC2034 # set there or by the suite, and for it

# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh

# Requests that the first device got of its peer: a ConnectX counts them; of rxe the packets that
# it sent, which are the data read and an acknowledgement of each write.
device_count() {
	cat "/sys/class/infiniband/${dev[0]}/ports/1/hw_counters/"{rx_write_requests,rx_read_requests} 2>/dev/null |
		awk '{ n += $1 } END { if (!NR) exit 1; print n }' ||
		cat "/sys/class/infiniband/${dev[0]}/ports/1/hw_counters/sent_pkts"
}
# checked NAME: the hugemr that $shell names moves its data; the device's count of it is in $moved.
checked() {
	local was

	was=$(device_count)
	qp $shell check
	is "$1: what the peer reads and writes" "$answer" "check ok"
	moved=$(($(device_count) - was))
}
