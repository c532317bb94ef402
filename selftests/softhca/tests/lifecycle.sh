#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Nothing stays behind: after a process was killed, after the module went, also
# while there was traffic; and without its memory it does not even load. FULL=1
# repeats it more often.
#
#   scripts/vm --nic softhca -- selftests/softhca/tests/lifecycle.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

ko=build/softhca/$VM_KVER/softhca.ko
debug=/sys/kernel/debug/softhca

objects() { cat $debug/hca*/objects; }

qps() { awk '/^qp / { n += $2 } END { print n }' $debug/hca*/objects; }
# What has been posted, in WQEBBs.
posted() { awk '$5 > 0 { n += $5 } END { print n + 0 }' $debug/hca*/uars; }

at_work() { [ "$(qps)" -ge "$1" ] && [ "$(posted)" -gt "$2" ]; }
objects_are() { [ "$(objects)" = "$1" ]; }

# traffic PORT QPS: until it is killed, and it is there when this returns.
traffic() {
	local before was

	before=$(qps) was=$(posted)
	ib_write_bw -d mlx5_0 -p "$1" -q "$2" -s 4096 -D 600 >/dev/null 2>&1 & server=$!
	wait_for 60 listening "$1" || return
	ib_write_bw -d mlx5_1 -p "$1" -q "$2" -s 4096 -D 600 localhost >/dev/null 2>&1 & client=$!
	wait_for 60 at_work $((before + 2 * $2)) $((was + 10 * $2))
}

killed() {
	local before

	hca_warm_up
	before=$(objects)
	traffic 20100 64
	point $? "64 QPs at work"
	kill -9 $client $server
	wait $client $server 2>/dev/null
	check "killed processes leave nothing" wait_for 20 objects_are "$before"
}

ktap_begin
killed

rounds=2
[ -z "${FULL:-}" ] || rounds=20
for ((i = 1; i <= rounds; i++)); do
	[ $((i % 2)) -eq 0 ] || traffic $((20200 + i)) 8
	dmesg -C
	check "unload, round $i" rmmod softhca
	[ $((i % 2)) -eq 0 ] || { kill -9 $client $server; wait $client $server; } 2>/dev/null
	log=$(dmesg)
	is "both ends say what is left, round $i" \
		"$(grep -c ' 0 objects left' <<<"$log")" 2
	# Every second time with requests in the contention model.
	model=()
	[ $((i % 4)) -ne 2 ] || model=(preset=cx5 time_scale=100)
	insmod "$ko" "${model[@]}" || break
	check "active again, round $i" hca_active
done

check "unload" rmmod softhca
check "load with a model" insmod "$ko" preset=cx6 time_scale=100
check "active" hca_active
killed
check "unload" rmmod softhca
not_reserved() { ! insmod "$ko" base=0x70000000; }
check "no load over ordinary memory" not_reserved
bad_count() { ! insmod "$ko" hcas=5; }
check "no load with five HCAs" bad_count
check "load four" insmod "$ko" hcas=4
check "active" hca_active
is "four devices" "$(find /sys/class/infiniband -name 'mlx5_*' | wc -l)" 4
check "unload with drivers first" modprobe -r mlx5_ib
check "unload" rmmod softhca
ktap_end
