#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Requests that libswiftrdma posts in pieces, from the command to the wire: the peer has the right
# bytes, the program the right completions, the counts are the program's, the device has more
# requests; and all is as before when the knob goes.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/chunk.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/hugemr.sh
. selftests/lib/hugemr.sh
PATH=$PWD/build/progs:$PATH

mib=1048576
shell=huge
act() { swiftrdma action set job bulk "$@" 2>&1; }
# The knob's value in the job.
knob() { swiftrdma -j job show bulk | jq -c '[.[0].devs[] | select(.dev == "'"${dev[1]}"'").chunk][0]'; }

# first_of FLAG: number of a QP of the job whose library says that, or which has no library.
first_of() {
	swiftrdma -j qp show dev "${dev[1]}" job bulk |
		jq "[.[] | select($1) | .qpn][0]"
}
# explained QPN: what is said about its requests, in one line.
explained() { swiftrdma -j qp explain "${dev[1]}" "$1" | jq -r '.says.pieces | join("; ")'; }
# of STATS: a figure of the library of the peer's device.
of() { jq -r ".devices[] | select(.dev == \"${dev[1]}\") | $1" "$stats"; }

ktap_begin
mark_dmesg
check "the module loads" module_load
swiftrdma job set bulk match uid=0 >/dev/null
rm -f "$stats"
qpsh_start huge env SWIFTRDMA_CHUNK=yes LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" \
	hugemr "${dev[0]}" "${dev[1]}"
qp huge "reg plain $((16 * mib))"
checked "without the knob"
whole=$moved
note "the device counts $whole"
like "the knob" "$(act chunk 4KiB for 600s)" '^lease [0-9]+ '
is "is in force" "$(knob)" 4096
checked "in pieces of 4 KiB"
note "the device counts $moved"
check "the device got more requests" test "$moved" -gt $((whole + 64))
pieces=$moved
[ $nic = rxe ] || is "... 16 for each message" "$pieces" $((16 * whole))
like "the QP says that it can" \
	"$(swiftrdma -j qp show dev "${dev[1]}" job bulk | jq -c '[.[].library_flags] | flatten')" '"chunk"'
splitting=$(first_of '.library_flags // [] | index("chunk")')
like "... and qp explain, too" "$(explained "$splitting")" \
	'^libswiftrdma posts RDMA READs, .* of more than 4 KiB in pieces; left whole: '
qpsh_start bare hugemr "${dev[0]}" "${dev[1]}"
like "of a QP without the library, why not" "$(explained "$(first_of '.library_flags == null and .type == "RC"')")" \
	'^not split at the 4 KiB of its job: libswiftrdma .* is not in its process'
qpsh_stop bare
like "larger pieces" "$(act chunk 32KiB for 600s)" '^lease [0-9]+ '
checked "in pieces of 32 KiB"
check "are fewer" test "$moved" -lt "$pieces"
check "the knob is taken back" swiftrdma action clear all
checked "without it"
is "the device counts as before" "$moved" "$whole"
like "a lease of 2 s" "$(act chunk 4KiB for 2s)" '^lease [0-9]+ '
nap 3
checked "when it has ended"
is "the device counts as before" "$moved" "$whole"

# The same by ibv_wr_*().
qpsh_start batch env LD_PRELOAD="$lib" SWIFTRDMA_CHUNK=yes SWIFTRDMA_STATS="$work/batch" \
	hugemr "${dev[0]}" "${dev[1]}" wr
qp batch "reg plain $((16 * mib))"
shell="batch"
checked "ibv_wr_*(), without the knob"
is "the device counts as before" "$moved" "$whole"
like "the knob" "$(act chunk 4KiB for 600s)" '^lease [0-9]+ '
checked "ibv_wr_*(), in pieces"
is "the device counts as many pieces" "$moved" "$pieces"
check "the knob is taken back" swiftrdma action clear all
checked "ibv_wr_*(), without it"
is "the device counts as before" "$moved" "$whole"
qpsh_stop batch
is "ibv_wr_*(): all were split that could be" \
	"$(jq -c ".devices[] | select(.dev == \"${dev[1]}\") | [.chunk.split, .chunk.left, .errors + .stopped]" "$work/batch")" \
	'[16,0,0]'
is "the module has the sum of the job" "$(swiftrdma -j job show bulk | jq -c "[.[0].devs[] |
	select(.dev == \"${dev[1]}\").held[] | select(.knob == \"chunk\") | .split > 16, .whole]")" '[true,0]'
shell=huge

# A program of others: its requests are counted, and those of its queue complete as ever.
like "the knob for programs that come" "$(act chunk 4KiB for 600s)" '^lease [0-9]+ '
for run in "ib_write_bw --use_old_post_send" "ib_read_bw --use_old_post_send" ib_write_bw ib_read_bw; do
	read -r -a prog <<<"$run"
	mv "$stats" "$work/before" 2>/dev/null
	is "$run: has its results" "$(with_lib perftest "${prog[@]}" -s 65536 -n 100 -t 16)" \
		"65536 bytes 100 iterations"
	is "$run: its requests are counted" "$(figure .wrs | awk '{ print ($2 >= 100) }')" 1
	is "$run: all large ones were split" "$(figure .chunk.left)" "0 0"
	is "$run: none is lost sight of" "$(figure '.errors + .stopped + .unmatched + .wrs - .done')" "0 0"
	like "$run: the client's were split" "$(figure .chunk.split)" '^0 1[0-9][0-9]$'
done
check "the module is disarmed" sh -c "echo 1 >$srdma_debugfs/disarm"
checked "disarmed"
is "the device counts as before" "$moved" "$whole"
rm -f "$stats"
qpsh_stop huge
is "the library's count of what was split, and left" "$(of '"\(.chunk.split > 0) \(.chunk.left)"')" "true 0"
is "... of errors, and of what it lost sight of" "$(of '.errors + .stopped + .unmatched')" 0
check "the module unloads" module_unload
is "nothing in the kernel log" "$(dmesg_complaints)" ""
ktap_end
