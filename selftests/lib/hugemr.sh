# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The program hugemr reads and writes messages of 64 KiB, one in each 2 MiB, and compares them. checked() runs it
# and counts the requests that the device got. Goes with library.sh.
# shellcheck disable=SC2154 # library.sh sets dev, the suite sets shell
# shellcheck disable=SC2034 # the suite reads moved

# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh

# Requests that the first device got from its peer, which a ConnectX counts. rxe does not: there, the packets that
# it sent, which carry the data read and an acknowledgement of each write.
device_count() {
	cat "/sys/class/infiniband/${dev[0]}/ports/1/hw_counters/"{rx_write_requests,rx_read_requests} 2>/dev/null |
		awk '{ n += $1 } END { if (!NR) exit 1; print n }' ||
		cat "/sys/class/infiniband/${dev[0]}/ports/1/hw_counters/sent_pkts"
}
# checked NAME: the hugemr that $shell names moves its data. $moved is the device's count of the requests.
checked() {
	local was

	was=$(device_count)
	qp $shell check
	is "$1: what the peer reads and writes" "$answer" "check ok"
	moved=$(($(device_count) - was))
}
