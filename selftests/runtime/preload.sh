#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that know nothing of libswiftrdma, each without it and with it preloaded: the
# same exit status, the same results; and the library's own figures say that it saw what
# the program did. No module is loaded.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/runtime/preload.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh

rping_20() {
	pair -c rping rping -s -a "${addr[1]}" -C 20 -S 100 -- rping -c -v -a "${addr[1]}" -C 20 -S 100
}

fork_safe() { RDMAV_FORK_SAFE=1 "$@"; }	# libibverbs calls ibv_fork_init() then

# alike NAME WRS RECVS CMD...: WRS and RECVS, "SERVER CLIENT", are the requests that the two
# posted and the messages that they received; "-" where the program does not say.
alike() {
	local name=$1 wrs=$2 recvs=$3 without with status

	shift 3
	without=$("$@" 2>"$work/err")
	status=$?
	[ $status -eq 0 ] || note "$(tail -n 5 "$work/err")"
	is "$name: works" $status 0
	like "$name: has results" "$without" .
	rm -f "$stats"
	with=$(with_lib "$@" 2>"$work/err")
	is "$name: ends alike with the library" $? $status
	cmp -s /dev/null "$work/err" || note "$(tail -n 5 "$work/err")"
	is "$name: has the same results" "$with" "$without"
	[ "$wrs" = - ] || is "$name: as many requests are counted" "$(figure .wrs)" "$wrs"
	[ "$recvs" = - ] || is "$name: as many messages" "$(figure .recv_wcs)" "$recvs"
	is "$name: no request is lost sight of" \
		"$(figure 'if .done + .dropped <= .wrs and .stopped + .unmatched == 0 then 0 else 1 end')" "0 0"
	like "$name: a latency is measured" "$(figure .latency.samples)" '[1-9]'
}

# Every message that one posted the other received, but for those under way at the end.
alike_srq() {
	alike "$@"
	is "$1: at least 100 messages each way" "$(figure 'if .wcs >= 100 and .recv_wcs >= 100 then 1 else 0 end')" "1 1"
}

fails_alike() {
	local name=$1 status

	shift
	"$@" >/dev/null 2>&1
	status=$?
	is "$name: fails" $((status != 0)) 1
	with_lib "$@" >/dev/null 2>&1
	is "$name: fails alike with the library" $? $status
}

# A program that is killed leaves nothing behind.
killed() {
	local pid

	(export LD_PRELOAD=$lib SWIFTRDMA_STATS=$stats
		exec ib_send_bw -d "${dev[1]}" "${perf[@]}" -p 20001) >/dev/null 2>&1 & pid=$!
	wait_for 60 listening 20001 || { kill $pid; return 1; }
	kill -KILL $pid
	wait $pid
	! rdma res show qp | grep -q ib_send_bw
}

ktap_begin
mark_dmesg
check "the library is built" test -e "$lib"
# Right after the boot the addresses of an Ethernet device may not be usable yet.
link_works() { pingpong rc >/dev/null 2>&1; }
check "the devices reach each other" wait_for 60 link_works
alike "ibv_rc_pingpong" "100 100" "100 100" pingpong rc
alike "ibv_rc_pingpong -e -N" "100 100" "100 100" pingpong rc -e -N
alike "ibv_uc_pingpong" "100 100" "100 100" pingpong uc
alike "ibv_ud_pingpong -e" "100 100" "100 100" pingpong ud -e
alike "ibv_rc_pingpong after ibv_fork_init()" "100 100" "100 100" fork_safe pingpong rc
alike_srq "ibv_srq_pingpong" - - pingpong srq
alike_srq "ibv_srq_pingpong -e" - - pingpong srq -e
[ "$nic" = rxe ] || alike "ibv_xsrq_pingpong" "100 100" "100 100" pingpong xsrq
alike "ib_send_bw" "0 1000" "1000 0" perftest ib_send_bw -n 1000 -s 64
alike "ib_send_bw -e over UD" "0 1000" "1000 0" perftest ib_send_bw -e -n 1000 -s 64 -c UD
alike "ib_write_bw of 4 QPs, lists of 16" "0 4096" "0 0" perftest ib_write_bw -q 4 -l 16 -n 1024 -s 64
alike "ib_write_lat" "200 200" "0 0" perftest ib_write_lat -n 200 -s 8
alike "ib_read_bw" "0 200" "0 0" perftest ib_read_bw -n 200 -s 1024
if perftest ib_write_bw --use_old_post_send -n 100 -s 64 >/dev/null 2>&1; then
	alike "ib_write_bw by ibv_post_send" "0 500" "0 0" perftest ib_write_bw --use_old_post_send -n 500 -s 64
fi
[ ${#addr[@]} -eq 0 ] || alike "rping" "80 40" "40 40" rping_20
# Functions that are looked up in a handle of libibverbs.
from() {
	printf 'open_device %s\nnext %s\nget_device_list libibverbs.so.1\n' "$1" "$1"
	printf 'compatible libibverbs.so.1\nmissing none\nposted 100 flushed 100\n'
}
rm -f "$stats"
is "a program finds libibverbs by dlvsym()" "$(build/progs/dlverbs "${dev[0]}")" "$(from libibverbs.so.1)"
is "with libswiftrdma preloaded it finds what the library replaces" \
	"$(with_lib build/progs/dlverbs "${dev[0]}")" "$(from libswiftrdma.so.1)"
is "... and the library counts its requests" \
	"$(jq -c '.devices[0] | [.qps, .recv_wrs, .errors]' "$stats")" '[1,100,100]'
fails_alike "a client without a server" ibv_rc_pingpong -d "${dev[0]}" -n 1 "${gid[@]}" localhost
fails_alike "a wrong option" ib_send_bw --no-such-option
check "a program that is killed" killed
out=$(with_lib bash -c 'echo hello; exit 7')
is "what is no RDMA program runs: its status" $? 7
is "its output" "$out" hello
is "and it writes no figures" "$(with_lib true; jq -s 'map(select(.program == "true")) | length' "$stats" 2>/dev/null || echo 0)" 0
run=(swiftrdma run --job kv --cgroup /)
is "swiftrdma run preloads the library" "$("${run[@]}" -- printenv LD_PRELOAD)" "$lib"
is "but with --no-library" "$("${run[@]}" --no-library -- printenv LD_PRELOAD)" ""
like "swiftrdma run --check says what it sees" "$(swiftrdma run --check -- rping)" 'rdma_cm: seen'
is "the kernel complains of nothing" "$(complaints)" ""
ktap_end
