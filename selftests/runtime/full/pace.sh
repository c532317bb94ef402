#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rates and credits of an unmodified program, from the command to the wire: what the job does
# is what it may do, and all of it again when the knob goes, by whatever way.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/runtime/full/pace.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/steady.sh
. selftests/lib/steady.sh
PATH=$PWD/build/progs:$PATH

# What the kernel has of the job, over SECONDS.
show() { swiftrdma -j -i "${1}s" job show bulk >"$work/shown"; }
shown() { jq -r ".[0].$1 // \"absent\"" "$work/shown"; }
rate() { show "$1" && shown wr_rate | cut -d. -f1; }
# Of a second, and "late" if the machine gave the programs no time now and then.
calm_rate() {
	attach calm 1000 >"$work/calm" & local calm=$!
	rate 1
	wait $calm
	cat "$work/calm"
}
# is_rate NAME WANTED
is_rate() { is_steady "$1" "$2" 3 calm_rate; }
act() { swiftrdma action set job bulk "$@" 2>&1; }
in_force() { swiftrdma -j action show | jq -e '.[0] | .qps_pending == 0 and .qps_done > 0' >/dev/null; }
outstanding() { swiftrdma -j qp show dev "${dev[0]}" job bulk | jq 'map(.outstanding // 0) | add'; }
is_slow() { [ "$(rate 1)" -lt $((free / 20)) ]; }
goes_on() { [ "$(rate 2)" -gt $((free / 2)) ]; }
# The most of ten looks.
most_outstanding() {
	local most=0 n i

	for i in 1 2 3 4 5 6 7 8 9 10; do
		n=$(outstanding)
		[ "$n" -le "$most" ] || most=$n
	done
	echo "$most"
}

# Packets of the port, by the driver's own counter: rxe's, or a NIC's.
packets() {
	cat "/sys/class/infiniband/${dev[0]}/ports/1/"{hw_counters/sent_pkts,counters/port_xmit_packets} 2>/dev/null |
		awk '{ n += $1 } END { print n + 0 }'
}
# More than the rate of 10 a second would allow.
flows() {
	local was

	was=$(packets)
	nap 1
	[ $(($(packets) - was)) -gt 100 ]
}
ended() { ! pgrep -x ib_write_bw >/dev/null; }

ktap_begin
mark_dmesg
check "the module loads" module_load
swiftrdma job set bulk match comm=ib_write_bw >/dev/null
size=512
(export LD_PRELOAD=$lib SWIFTRDMA_STATS=$stats pair_limit=1500
	perftest ib_write_bw -D 600 -s $size -t 16 -Q 1) >"$work/long" 2>"$work/err" & long=$!
busy() { [ "$(rdma res show qp | grep -c 'ib_write_bw')" -ge 2 ]; }
check "a program that sends as much as it can" wait_for 60 busy
posts() { [ "$(rate 1)" != absent ] && [ "$(rate 1)" -gt 0 ]; }
check "it sends" wait_for 60 posts
free=$(rate 5)
note "it sends $free requests a second"

# Calls that the library counted of each QP of the program, and doorbells that the kernel did,
# where it does; one call may be on its way.
calls_agree() {
	attach show | awk '/^qp / { for (i = 3; i < NF; i++) v[$i] = $(i + 1)
			if (v["calls"] > 1000) { n++; d = v["doorbells"] - v["calls"]; bad += d < 0 || d > 1 } }
		END { exit !n || bad }'
}
if attach show | grep -q '^qp .* doorbells '; then
	pkill -STOP ib_write_bw
	nap 0.5
	check "the library counts as many calls as the kernel counts doorbells" calls_agree
	pkill -CONT ib_write_bw
else
	skip "the library counts as many calls as the kernel counts doorbells" "this device's do not pass the kernel"
fi

# An emulated CPU wakes a post late, and what that is beyond a burst of 1 ms is lost to the rate: 2 % at 500 a
# second, 8 % at 4,000, as seen on 7.3.
wanted=$((free / 8))
[ $wanted -le 500 ] || wanted=500
like "a rate" "$(act wr_rate $wanted for 600s reason rate)" '^lease [0-9]+ '
check "is in force" wait_for 30 in_force
is_rate "it sends as many a second" $wanted
held() { swiftrdma -j job show bulk | jq '[.. | .held_time? // empty] | add'; }
check "its posts wait: $(held) ns" test "$(held)" -gt 0
like "another rate" "$(act wr_rate $((wanted / 2)) for 600s reason rate)" '^lease [0-9]+ '
is_rate "it sends as many" $((wanted / 2))

# The kernel divides a job's rate among its processes.
senders() { [ "$(swiftrdma -j qp show dev "${dev[0]}" job bulk | jq 'map(select(.state == "RTS") | .pid) | unique | length')" -eq "$1" ]; }
for port in 20002 20003; do
	(export LD_PRELOAD=$lib perf_port=$port pair_limit=1500
		perftest ib_write_bw -D 600 -s $size -t 16 -Q 1) >"$work/$port" 2>&1 &
done
check "two more processes send" wait_for 60 senders 3
is_rate "all three send as many together" $((wanted / 2))
pkill -INT -f 'ib_write_bw.* -p 2000[23] '
check "they end" wait_for 60 senders 1
is_rate "the first one has all of it again" $((wanted / 2))
check "the rate is taken back" swiftrdma action clear all
check "it sends as before" wait_for 60 goes_on

# 1 Mbit/s is the least.
[ $((wanted * size * 8)) -ge 1000000 ] || wanted=$((1000000 / size / 8 + 1))
like "a rate in bits" "$(act bit_rate $((wanted * size * 8))bit/s for 600s)" '^lease [0-9]+ '
is_rate "it sends as many" $wanted
check "that is taken back" swiftrdma action clear all
check "it sends as before" wait_for 60 goes_on

# Each request is signalled (-Q 1): those that are not wait for one that is.
most=$(most_outstanding)
check "more than 2 requests are outstanding at times: $most" test "$most" -gt 2
like "credits" "$(act credits 2 for 600s)" '^lease [0-9]+ '
check "are in force" wait_for 30 in_force
most=$(most_outstanding)
check "then 2 at most: $most" test "$most" -le 2
check "it sends" posts
check "they are taken back" swiftrdma action clear all
check "it sends as before" wait_for 60 goes_on

# By the end of the lease.
like "a rate for a moment" "$(act wr_rate 10 for $((15 * slowness))s)" '^lease [0-9]+ '
check "it holds" wait_for 12 is_slow
check "it sends as before when its time is over" wait_for 60 goes_on
# By the end of the module, whose lease would last.
like "a rate" "$(act wr_rate 10 for 600s)" '^lease [0-9]+ '
check "is in force" wait_for 30 in_force
check "the module goes" module_unload
check "the program goes on" alive $long
check "... and is not held any more" wait_for 60 flows
pkill -INT ib_write_bw
check "and ends" wait_for 60 ended
is "the kernel complains of nothing" "$(complaints)" ""
ktap_end
