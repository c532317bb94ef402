#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What memory regions take in the NIC: translations and page sizes, as the device has
# them in its keys, asked for when somebody reads and never twice.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/mrs.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh

# job KEY...: of job kv on mlx5_0, on one line.
job() {
	local keys=("$@")

	swiftrdma -j job show kv | jq -r ".[0].devs[] | select(.dev == \"mlx5_0\") |
		[$(IFS=,; echo "${keys[*]/#/.}")] | map(tostring) | join(\" \")"
}
all_asked() { [ "$(job mtts_unknown)" = 0 ]; }

above_ko=build/above/$(uname -r)/above.ko

ktap_begin
dmesg -C
# Below ours, though its name is above: no driver here registers dma-bufs.
check "a driver that takes memory of other devices" insmod "$above_ko" dev=mlx5_0 dmabuf=1
qpsh_start old regmr mlx5_0
qp old "reg 1048576"
# Without what else a reading may ask of the device.
check "load" both_load detail=0
check "a job" swiftrdma job set kv match comm=regmr
was=$(dev mlx5_0 mrs)
is "older ones and the kernel's are unknown" "$(dev mlx5_0 mrs_unknown)" "$was"

qpsh_start a regmr mlx5_0
was=$(commands mlx5_0)
qp a "reg 1048576"
qp a "reg 1048576"
is "to register sends no command of ours" "$(commands mlx5_0)" "$was"
is "in small pages: a translation for each" "$(job mrs mr_bytes mtts mr_page_min mr_page_max)" \
	"2 2097152 512 4096 4096"
is "one command for each" "$(($(commands mlx5_0) - was))" 2
swiftrdma job show >/dev/null
swiftrdma dev show >/dev/null
is "none is asked for twice" "$(($(commands mlx5_0) - was))" 2
if [ -e /sys/kernel/mm/transparent_hugepage ]; then
	qp a "reg 33554432 huge"
	is "in huge pages: few, as the device has mapped it" \
		"$(job mrs mr_bytes mtts mr_page_min mr_page_max)" "3 35651584 528 4096 2097152"
	qp a dereg
else
	skip "in huge pages: few, as the device has mapped it" "a kernel without them"
fi
is "gone" "$(job mrs mr_bytes mtts mr_page_max)" "2 2097152 512 4096"
qp a "rereg 409600"
like "registered anew" "$answer" '^rereg 2 '
is "... in its new size" "$(job mrs mr_bytes mtts)" "2 1458176 356"
is "dev has the same" "$(swiftrdma -j dev show mlx5_0 | jq -r '.[0] | "\(.mr_bytes) \(.mtts)"')" \
	"1458176 356"

qp a "dmabuf 1048576"
like "memory of another device, a dma-buf" "$answer" '^dmabuf 3 '
is "... is counted as any other" "$(job mrs mr_bytes mtts)" "3 2506752 612"
qp a dereg
is "... and gone" "$(job mrs mr_bytes mtts)" "2 1458176 356"

# So many that one reading may not ask for all: it says of how many it does not know.
for _ in {1..600}; do
	qp a "reg 4096"
done
swiftrdma job show >/dev/null
check "all are known in the end" wait_for 30 all_asked
is "600 translations more" "$(job mrs mtts)" "602 956"

kill -9 "${qpsh_pid[a]}"
wait "${qpsh_pid[a]}" 2>/dev/null
is "kill -9" "$(job mrs mr_bytes mtts)" "0 0 0"
rmmod swiftrdma_mlx5
qpsh_start b regmr mlx5_0
# Two pages alone can lie side by side, and have one translation then.
qp b "reg 1048576"
is "without the provider: no translations" "$(job mrs mr_bytes mtts)" "1 1048576 null"
check "with it" mlx5_load detail=0
is "of what is older than it, too" "$(job mrs mr_bytes mtts)" "1 1048576 256"
# Who registers much does not keep the port's figures from a reader that comes just after.
check "few commands a second" eval \
	"rmmod swiftrdma_mlx5 && mlx5_load detail=0 diag=0 max_commands=8"
qp b "regs 600 4096"
port_time() { swiftrdma -j port show mlx5_0/1 | jq '.[0].time'; }
as_nobody swiftrdma -j port show mlx5_0/1 | jq '.[0].time' >"$work/port"
for _ in {1..5}; do
	sleep 1		# all commands that may be sent at once, which are two
	swiftrdma dev show mlx5_0 >/dev/null
	port_time >>"$work/port"
done
is "after each of five readings of its device the port is read" "$(sort -u "$work/port" | wc -l)" 6
check "... while there are regions to ask for" [ "$(dev mlx5_0 mtts_unknown)" -gt 0 ]
qpsh_stop b
qpsh_stop old
check "unload" both_unload
check "the driver is as it was" rmmod above
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
