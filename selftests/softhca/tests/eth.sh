#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ethernet links: RoCE, rdma_cm over IP, priorities from DSCP, the registers that map
# them to classes, pause, ECN and CNP. FULL=1 adds more programs, and what takes the
# contention model.
#
#   scripts/vm --nic softhca-eth -- selftests/softhca/tests/eth.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

tmp=$(mktemp -d /tmp/eth.XXXXXX)
state() { cat "/sys/class/infiniband/mlx5_$1/ports/1/state"; }
hw() { cat "/sys/class/infiniband/mlx5_$1/ports/1/hw_counters/$2"; }
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"; }

# Where counters are in the groups of PPCNT, in dwords.
rx_frames=8 tx_frames=18 rx_pause=20 rx_pause_us=22 tx_pause=24 tx_pause_us=26
prio_group=10
sent() { hca_ppcnt "$1" $prio_group "$2" $tx_frames; }
received() { hca_ppcnt "$1" $prio_group "$2" $rx_frames; }

# roce_pair PROGRAM SERVER_ARG... -- CLIENT_ARG...: PROGRAM on both ends.
roce_pair() {
	local program=$1 server=() how

	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	# A busy emulator's clocks look to it like a CPU that changes its frequency.
	case $program in ib_*) server+=(-F); set -- -F "$@" ;; esac
	how=(-c "$program")
	[[ $program = ibv_* || ( $program = ib_* && " ${server[*]} " != *" -R "* ) ]] && how=(-p 18515)
	pair "${how[@]}" "$program" "${server[@]}" -- "$program" "$@"
}

# gid HCA: the index of its RoCE v2 GID with an IPv4 address
gid() {
	local at=/sys/class/infiniband/mlx5_$1/ports/1 i

	for ((i = 0; i < 16; i++)); do
		grep -qs v2 $at/gid_attrs/types/$i && grep -q ffff:0a02 $at/gids/$i && echo $i && return
	done
}

lat() { build/bench/lat --client-dev mlx5_0 --server-dev mlx5_1 --json "$@" | tail -n 1; }

ktap_begin
is "ports are active" "$(state 0), $(state 1)" "4: ACTIVE, 4: ACTIVE"
is "link layer" "$(cat /sys/class/infiniband/mlx5_0/ports/1/link_layer)" Ethernet
like "netdev" "$(rdma link show)" "mlx5_0/1 state ACTIVE physical_state LINK_UP netdev hca0"
is "speed" "$(cat /sys/class/infiniband/mlx5_0/ports/1/rate)" "100 Gb/sec (4X EDR)"
check "a GID for the IPv4 address" [ -n "$(gid 0)" ]
check "bytes pass" hca_warm_up
# shellcheck disable=SC2034 # eval does
objects=$(cat $hca_debug/hca*/objects)

# --- Traffic ----------------------------------------------------------------

points_of build/progs/hcabytes mlx5_0 mlx5_1
programs=(rc ud) ops=(write)
if [ -n "${FULL:-}" ]; then
	points_of build/progs/hcabytes mlx5_1 mlx5_1
	points_of build/progs/hcabad mlx5_0 mlx5_1
	programs=(rc uc ud srq) ops=(send write read)
fi
for prog in "${programs[@]}"; do
	args=(-g "$(gid 0)" -n 50)
	[ $prog != ud ] || args+=(-s 2048)
	check "ibv_${prog}_pingpong over RoCE" roce_pair ibv_${prog}_pingpong -d mlx5_0 "${args[@]}" -- \
		-d mlx5_1 "${args[@]}" localhost
done

before=$(sent 0 0)
check "rping" roce_pair rping -s -a 10.2.0.2 -C 10 -V -- -c -a 10.2.0.2 -C 10 -V
check "... from one HCA to the other" [ "$(sent 0 0)" -gt "$before" ]
check "rping, IPv6" roce_pair rping -s -a ::0 -C 5 -V -- -c -a fe80::202:c9ff:fe50:f01%hca0 -C 5 -V
if [ -n "${FULL:-}" ]; then
	check "udaddy" roce_pair udaddy -- -s 10.2.0.2
	check "ucmatose" roce_pair ucmatose -- -s 10.2.0.2
	check "ib_send_lat -R -e" roce_pair ib_send_lat -R -d mlx5_1 -n 20 -e -- \
		-R -d mlx5_0 -n 20 -e 10.2.0.2
	check "ib_write_bw with a RoCE GID, 16 QPs" roce_pair ib_write_bw -d mlx5_1 -x "$(gid 1)" \
		-n 32 -q 16 -- -d mlx5_0 -x "$(gid 0)" -n 32 -q 16 10.2.0.2
fi
for op in "${ops[@]}"; do
	check "ib_${op}_bw -R" roce_pair ib_${op}_bw -R -d mlx5_1 -n 50 -- -R -d mlx5_0 -n 50 10.2.0.2
done

# --- Priorities --------------------------------------------------------------

before=$(sent 0 3) other=$(received 1 3)
check "rdma_cm with a TOS" roce_pair ib_write_bw -R -T 96 -d mlx5_1 -n 20 -- -R -T 96 -d mlx5_0 -n 20 10.2.0.2
check "DSCP 24 is priority 3 where it is sent" [ "$(sent 0 3)" -gt "$before" ]
check "... and where it is received" [ "$(received 1 3)" -gt "$other" ]

# Live: RTS2RTS_QP with DSCP 40, which is priority 5.
before=$(sent 0 5)
lat --tclass 96 --duration 60 >"$tmp/live" & pid=$!
qpn_of() { rdma res show qp link mlx5_0/1 | sed -n 's/.*lqpn \([0-9]*\) .*state RTS.*comm lat.*/\1/p'; }
wait_for 20 eval '[ -n "$(qpn_of)" ]'
dscp_live() {
	local out

	mapfile -t out < <(hca_command_to 0 16 05050000 00000000 "$(printf %08x "$(qpn_of)")" 00000000 \
		"$1" 00000000 "$(printf '%0112d' 0)" 00280000 "$(printf '%0376d' 0)")
	[ "${out[0]}" = 00000000 ]
}
is "not in priority 5 yet" "$(sent 0 5)" "$before"
check "RTS2RTS_QP takes a DSCP" dscp_live 00020000
check "a live QP goes to another priority" wait_for 20 eval '[ "$(sent 0 5)" -gt "$before" ]'
kill $pid
wait $pid 2>/dev/null

# --- Registers ----------------------------------------------------------------

value() { hca_register "$@" | tr '\n' ' '; }
refused() { ! "$@" >/dev/null 2>&1; }

# DCB of the netdev, which sets the same.
if [ -n "$(dcb app show dev hca0 2>/dev/null)" ]; then
	like "dcb: each DSCP has a priority" "$(dcb app show dev hca0 dscp-prio)" 'CS3:3 .*CS6:6'
	like "... each priority a class" "$(dcb ets show dev hca0)" 'prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7'
	check "another priority for a DSCP" dcb app replace dev hca0 dscp-prio 24:5
	before=$(sent 0 5)
	lat --tclass 96 --count 20 >/dev/null
	check "... sends it there" [ "$(sent 0 5)" -gt "$before" ]
	is "... and has one entry" "$(dcb app show dev hca0 dscp-prio | grep -o 'CS3:.')" CS3:5
	check "another class for a priority" dcb ets set dev hca0 prio-tc 5:2
	is "... is the register's" "$(value 0 read 400a 00010005 00000000)" "00010005 00000002 "
	check "two classes share, the others are strict" \
		dcb ets set dev hca0 tc-tsa 0:ets 1:ets tc-bw 0:20 1:80
	like "... in the registers" "$(value 0 read 4005 00010000 "$(printf '%0152d' 0)")" \
		"^00010000 00000000 00000014 00000000 00000050 00000000 00010064 "
	like "... and so it is shown" "$(dcb ets show dev hca0)" 'tc-tsa 0:ets 1:ets 2:strict'
	check "no shares of more than all" refused dcb ets set dev hca0 tc-bw 0:30 1:80
	check "pause of a priority" dcb pfc set dev hca0 prio-pfc 3:on
	is "... in the register" "$(value 0 read 5007 "$(printf '%064d' 0)" | cut -d' ' -f3-4)" "00080000 00080000"
	check "the last DSCP that goes" dcb app flush dev hca0 dscp-prio
	is "... leaves the PCP trusted" "$(value 0 read 4002 00010000 00000000)" "00010000 00000001 "
	check "the first that comes" dcb app add dev hca0 dscp-prio 24:3
	is "... the DSCP" "$(value 0 read 4002 00010000 00000000)" "00010000 00000002 "
	for ((i = 0; i < 64; i++)); do echo "$i:$((i / 8))"; done |
		xargs dcb app replace dev hca0 dscp-prio
	check "as it was" eval "dcb pfc set dev hca0 prio-pfc all:off &&
		dcb ets set dev hca0 tc-tsa all:strict tc-bw all:0 prio-tc 5:5"
else
	skip "dcb of the netdev" "this kernel has no CONFIG_DCB"
fi

is "QPTS: DSCP is trusted" "$(value 0 read 4002 00010000 00000000)" "00010000 00000002 "
check "... or the PCP" hca_register 0 write 4002 00010000 00000001
before=$(sent 0 0)
lat --tclass 96 --count 20 >/dev/null
check "then the DSCP is nothing" [ "$(sent 0 0)" -gt "$before" ]
before=$(sent 0 6)
lat --sl 6 --count 20 >/dev/null
check "... and the SL is" [ "$(sent 0 6)" -gt "$before" ]
check "no other trust" refused hca_register 0 write 4002 00010000 00000003
hca_register 0 write 4002 00010000 00000002 >/dev/null

is "QTCT: a class each" "$(value 0 read 400a 00010005 00000000)" "00010005 00000005 "
hca_register 0 write 400a 00010005 00000002 >/dev/null
is "... or another's" "$(value 0 read 400a 00010005 00000000)" "00010005 00000002 "

# DSCP 5 (of the third dword, the lower half), to priority 4
check "QPDPM" hca_register 0 write 4013 00010000 00000000 00000000 00008004 "$(printf '%0232d' 0)"
before=$(sent 0 4)
lat --tclass 20 --count 20 >/dev/null
check "... sends it there" [ "$(sent 0 4)" -gt "$before" ]
check "no priority 9" refused hca_register 0 write 4013 00010000 00008009 "$(printf '%0248d' 0)"

# ets GROUP_AND_SHARE...: of traffic classes 0 to 7, eight hexadecimal digits each
ets() {
	local tc data=0001000000000000

	for tc; do data+=${tc}00000000; done
	hca_register 0 write 4005 "$data" 0000000000000000
}
check "QETCR: two share, the others are strict" ets c0000014 c0000050 c0020064 c0030064 c0040064 \
	c0050064 c0060064 c0070064
like "... can be read" "$(value 0 read 4005 00010000 "$(printf '%0152d' 0)")" \
	"^00010000 00000000 00000014 00000000 00000050 00000000 00020064 "
check "no sharing above others" refused hca_register 0 write 4005 0001000000000000 \
	c000006400000000 "$(printf 'c007006400000000%.0s' 1 2 3 4 5 6 7)" 0000000000000000
check "PFCC" hca_register 0 write 5007 00010000 00ff00ff 00080000 00090000 "$(printf '%032d' 0)"
is "... can be read" "$(value 0 read 5007 "$(printf '%064d' 0)" | cut -d' ' -f2-4)" \
	"00ff00ff 00080000 00090000"
check "no pause for all" refused hca_register 0 write 5007 00010000 00000000 80000000 80000000 "$(printf '%032d' 0)"

# --- Groups of counters ----------------------------------------------------------

before=$(hca_ppcnt 0 00 0 0) bytes_in=$(hca_ppcnt 1 01 0 0) bytes_out=$(hca_ppcnt 0 01 0 10)
bits=$(hca_ppcnt 1 16 0 2)
check "write 64 KiB" roce_pair ib_write_bw -d mlx5_1 -x "$(gid 1)" -n 5 -s 65536 -- \
	-d mlx5_0 -x "$(gid 0)" -n 5 -s 65536 10.2.0.2
check "802.3 counts frames" [ $(($(hca_ppcnt 0 00 0 0) - before)) -ge 80 ]
check "RFC 2863 counts bytes out" [ $(($(hca_ppcnt 0 01 0 10) - bytes_out)) -ge $((5 * 65536)) ]
check "... and in" [ $(($(hca_ppcnt 1 01 0 0) - bytes_in)) -ge $((5 * 65536)) ]
check "the physical layer counts bits" [ $(($(hca_ppcnt 1 16 0 2) - bits)) -ge $((5 * 65536 * 8)) ]
like "vport counters" "$(rdma statistic show link mlx5_0/1)" "np_ecn_marked_roce_packets 0"

# --- Link ------------------------------------------------------------------------

lat --qp-timeout 14 --duration 60 --log "$tmp/log" >/dev/null & pid=$!
wait_for 20 [ -s "$tmp/log" ]
echo 0 >$hca_debug/hca0/link
check "link down" wait_for 10 eval '[ "$(state 0)" = "1: DOWN" ]'
is "no carrier" "$(cat /sys/class/net/hca0/carrier)" 0
# 12: transport retry counter exceeded
check "requests time out" wait_for 30 grep -q " 12$" "$tmp/log"
kill $pid 2>/dev/null
wait $pid 2>/dev/null
like "no address is found over it" "$(build/progs/hcabad mlx5_1 mlx5_0 2>&1 | head -n 1)" \
	"timed out|unreachable"
echo 1 >$hca_debug/hca0/link
check "link up" wait_for 10 eval '[ "$(state 0)" = "4: ACTIVE" ]'
is "counted" "$(($(hca_ppcnt 0 12 0 48) >> 32))" 1
check "rping again" roce_pair rping -s -a 10.2.0.2 -C 3 -V -- -c -a 10.2.0.2 -C 3 -V
check "all objects are gone" wait_for 60 eval '[ "$(cat $hca_debug/hca*/objects)" = "$objects" ]'

dmesg -C
build/bench/crowd --duration 30 >/dev/null 2>&1 & pid=$!
wait_for 20 eval '[ -n "$(rdma res show qp | grep crowd)" ]'
check "unload under traffic" rmmod softhca
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
is "nothing is left" "$(dmesg | grep -c ' 0 objects left')" 2
check "nor the netdevs" [ ! -e /sys/class/net/hca0 ]
check "no load with another link" refused insmod "build/softhca/$VM_KVER/softhca.ko" link=token

if [ -z "${FULL:-}" ]; then
	rm -rf "$tmp"
	ktap_end
fi

# --- Several that send to one -----------------------------------------------------

check "load three, with a model" hca_load link=eth hcas=3 preset=cx5 time_scale=2000
third() {
	ip addr add 10.2.0.3/24 dev hca2 && ip link set hca2 up &&
		wait_for 20 eval '[ "$(state 2)" = "4: ACTIVE" ] && [ -n "$(gid 2)" ]'
}
check "the third has an address" third
for i in 0 1 2; do
	hca_register $i write 5007 00010000 00ff00ff 00ff0000 00ff0000 "$(printf '%032d' 0)" >/dev/null
done
bulk() { build/bench/crowd --from "mlx5_$1" --to mlx5_1 --qps 8 --size 65536 --depth 4 --duration "$2"; }
bulk 0 8 >"$tmp/alone"
is "one sender, no congestion" "$(hw 1 np_cnp_sent), $(hca_ppcnt 1 10 0 $tx_pause)" "0, 0"
check "... whose class was used" [ "$(hca_gauge 0 classes 0 4)" -gt 1000000 ]
bulk 0 12 >"$tmp/first" & first=$!
bulk 2 12 >"$tmp/second" & second=$!
wait $first
first=$?
wait $second
is "two senders" "$first, $?" "0, 0"
check "two: packets are marked" [ "$(hw 1 np_ecn_marked_roce_packets)" -gt 0 ]
check "... their receiver sends CNPs" [ "$(hw 1 np_cnp_sent)" -gt 0 ]
is "... which the senders get" "$(($(hw 0 rp_cnp_handled) + $(hw 2 rp_cnp_handled)))" "$(hw 1 np_cnp_sent)"
pauses=$(hca_ppcnt 1 10 0 $tx_pause)
check "... it pauses the priority ($pauses)" [ "$pauses" -ge 2 ]
is "... at both of them" "$(hca_ppcnt 0 10 0 $rx_pause), $(hca_ppcnt 2 10 0 $rx_pause)" "$pauses, $pauses"
check "... for some time" [ "$(hca_ppcnt 1 10 0 $tx_pause_us)" -gt 0 ]
check "... that they wait" [ "$(hca_ppcnt 0 10 0 $rx_pause_us)" -gt 0 ]
check "... and count as such" [ "$(hca_ppcnt 0 05 0 0)" -gt 0 ]
alone=$(field rate "$tmp/alone") first=$(field rate "$tmp/first") second=$(field rate "$tmp/second")
check "together they get no more than one ($alone/s; $first/s, $second/s)" \
	awk "BEGIN { exit !($first + $second < 1.3 * $alone) }"

# A switch that stops a priority, and lets it go.
echo "0 1" >$hca_debug/hca0/pause
build/bench/crowd --qps 2 --size 4096 --messages 100 --duration 60 >"$tmp/paused" & pid=$!
check "a paused class waits" wait_for 20 eval '[ "$(hca_gauge 0 classes 0 3)" -gt 0 ]'
before=$(hca_gauge 0 classes 0 4)
lat --tclass 96 --count 10 >"$tmp/lat"
is "another goes past it" "$(field samples "$tmp/lat")" 10
is "... and it still waits" "$(hca_gauge 0 classes 0 4)" "$before"
echo "0 0" >$hca_debug/hca0/pause
wait $pid
point $? "then it goes on"
check "unload" rmmod softhca
rm -rf "$tmp"
ktap_end
