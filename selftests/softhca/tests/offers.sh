#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the device offers, it does: as rdma-core's own tests and UCX ask for it. The table in
# Documentation/softhca.rst says which offer is tested where.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/softhca/tests/offers.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

tmp=$(mktemp -d /tmp/offers.XXXXXX)
eth=
[ ! -e /sys/class/net/hca0 ] || eth=1

# verdicts PATTERN...: rdma-core's tests of these names, each a point. One that is skipped
# finds the device without what it needs.
verdicts() {
	local args=() name verdict n=0

	for name; do args+=(-k "$name"); done
	timeout 400 python3 "$tmp/tests/run_tests.py" -v --dev mlx5_0 "${args[@]}" >"$tmp/out" 2>"$tmp/err"
	# The verdict of a test with a description is on the line after its name.
	while read -r name verdict; do
		n=$((n + 1))
		is "rdma-core: $name" "$verdict" ok
	done < <(awk '/^test_[a-zA-Z0-9_]+ \(/ { name = $1 }
		      name && / \.\.\. / { sub(/.* \.\.\. /, ""); print name, $0; name = "" }' "$tmp/err")
	[ $n -ge $# ]
	point $? "... of each of $# names"
	[ $n -ge $# ] || note "$(tail -n 20 "$tmp/err")"
}

# xsrq SERVER_DEV CLIENT_DEV ARG...: its server sends as soon as it has connected, whether or
# not the client has, and gives up after 0.6 s, which the client may need under emulation.
xsrq() {
	local a=$1 b=$2

	shift 2
	for _ in 1 2 3 4 5 6 7 8; do
		pair_limit=20 pair -p 18515 ibv_xsrq_pingpong -d "$a" "$@" -- \
			ibv_xsrq_pingpong -d "$b" "$@" localhost && return
	done
	return 1
}

# capabilities KIND: are there any, or none of that kind, or is there no such kind?
capabilities() {
	local out

	mapfile -t out < <(hca_command 4112 01000000 "$(printf %08x $(($1 << 1 | 1)))" \
		0000000000000000 2>/dev/null)
	case "${out[0]}" in
	00000000) [ -z "$(printf %s "${out[@]:4}" | tr -d 0)" ] && echo none || echo some ;;
	*) echo refused ;;
	esac
}

served() { awk -v op="$1" '$1 == op { print $2 }' $hca_debug/hca0/commands; }

ktap_begin
mkdir "$tmp/tests"
cp /usr/share/doc/rdma-core/tests/* "$tmp/tests/"
gunzip "$tmp"/tests/*.gz
check "bytes pass" hca_warm_up
# shellcheck disable=SC2034 # eval does
objects=$(cat $hca_debug/hca*/objects)

# --- Capabilities ----------------------------------------------------------------

for kind in 0x0 0x3 0x14; do
	is "capabilities of kind $kind" "$(capabilities $kind)" some
done
# What QoS and debug have takes the contention model.
for kind in 0x1 0x2 0x6 0x8 0x9 0xb 0xc 0xd 0xf 0x11 0x13 0x15 0x1a 0x1f 0x20 0x25 0x26; do
	is "kind $kind" "$(capabilities $kind)" none
done
ethernets=$([ -n "$eth" ] && echo some || echo none)
is "RoCE is Ethernet's" "$(capabilities 0x4)" "$ethernets"
is "... and flow tables" "$(capabilities 0x7)" "$ethernets"
is "kind 0x7f is unknown" "$(capabilities 0x7f)" refused
is "as is 0x101" "$(capabilities 0x101)" refused

# --- Memory keys -------------------------------------------------------------------

points_of build/progs/hcaindirect mlx5_0 mlx5_1
points_of build/progs/hcaindirect mlx5_1 mlx5_1
verdicts test_mkey_list test_mkey_interleaved test_mkey_remote_invalidate

# --- XRC ---------------------------------------------------------------------------

args=(-n 100)
[ -z "$eth" ] || args+=(-g 1)
check "ibv_xsrq_pingpong, two HCAs" xsrq mlx5_0 mlx5_1 "${args[@]}"
check "ibv_xsrq_pingpong -e, one HCA" xsrq mlx5_0 mlx5_0 "${args[@]}" -e
verdicts test_xrc_traffic test_qp_ex_xrc_send test_xrc_atomic_fetch_and_add \
	test_xrc_atomic_cmp_and_swap

# --- Receive queues past RDMA core -----------------------------------------------------

points_of build/progs/hcarmp mlx5_0
before=$(served 0x90c)
check "UCX over rc_x, as it comes" pair -p 13337 env UCX_TLS=rc_x UCX_NET_DEVICES=mlx5_1:1 ucx_perftest -- \
	env UCX_TLS=rc_x UCX_NET_DEVICES=mlx5_0:1 ucx_perftest -t tag_bw -n 50 -s 65536 -w 5 -f localhost
check "... makes such queues" [ "$(served 0x90c)" -gt "$before" ]

# --- LAG -----------------------------------------------------------------------------

if [ -n "$eth" ]; then
	lag() { awk -v port="$1" '$1 == port { print $2 }' $hca_debug/hca0/lag; }
	is "QUERY_LAG" "$(hca_command 16 08420000 00000000 0000000000000000 | tr '\n' ' ')" \
		"00000000 00000000 00000000 00000201 "
	verdicts test_rc_modify_lag_port test_ud_modify_lag_port
	one=$(lag 1) two=$(lag 2)
	build/bench/crowd --qps 4 --messages 10 --size 64 >/dev/null
	check "QPs are spread over its ports" [ "$(lag 1)" -gt "$one" ]
	check "... both of them" [ "$(lag 2)" -gt "$two" ]
else
	no_lag() { ! hca_command 16 08420000 00000000 0000000000000000 2>&1; }
	check "no LAG on InfiniBand" no_lag
fi

# --- Raw packet QPs and flow rules -----------------------------------------------------

if [ -n "$eth" ]; then
	points_of build/progs/hcaraw mlx5_0 mlx5_1 hca0 hca1
	# Not those that create QPs with random attributes and skip what is not supported.
	verdicts test_eth_spec_flow_traffic test_ipv4_spec_flow_traffic \
		test_ipv6_spec_flow_traffic test_tcp_spec_flow_traffic test_udp_spec_flow_traffic \
		test_rss_traffic test_smac_matcher_to_qp_flow test_raw_modify_lag_port
	check "raw_ethernet_lat, each end answers the other" hca_raw_lat 100
else
	like "no raw packet QPs on InfiniBand" "$(build/progs/hcaraw mlx5_0 mlx5_1 lo lo 2>&1)" \
		'^hcaraw: two raw packet QPs: '
fi

left() { [ "$(cat $hca_debug/hca*/objects)" = "$objects" ]; }
check "all objects are gone" wait_for 10 left
rm -rf "$tmp"
ktap_end
