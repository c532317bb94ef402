#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory that libswiftrdma puts into huge pages before it is registered, and memory that it
# leaves as it is: what the kernel says of the memory, what the library counts, on mlx5 the
# translations that the NIC needs, and that a peer reads and writes the right bytes.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/huge.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH

thp=/sys/kernel/mm/transparent_hugepage
# Emulated, 32 ranges may take more than the second that is the default.
export SWIFTRDMA_HUGE_TIME=600
mib=1048576
size=$((64 * mib))

# mtts: the translations of the first device; "null" where nobody can tell.
mtts() { swiftrdma -j dev show "${dev[0]}" | jq '.[0].mtts'; }

# registered KIND [VAR=VALUE...]: a program with the library registers 64 MiB. Leaves the KiB in
# huge pages in $kib, the translations in $more, what the peer found in $data, and the library's
# "REGIONS RANGES LEFT" in $counts.
registered() {
	local kind=$1 was run=()

	shift
	[ -z "$in" ] || run=(in_cgroup "$in")
	rm -f "$stats"
	qpsh_start huge "${run[@]}" env "$@" LD_PRELOAD="$lib" SWIFTRDMA_STATS="$stats" \
		hugemr "${dev[0]}" "${dev[1]}"
	was=$(mtts)
	qp huge "reg $kind $size"
	kib=$last
	more=$(mtts)
	[ "$more" = null ] || more=$((more - was))
	qp huge check
	data=$answer
	qp huge dereg
	qpsh_stop huge
	counts=$(jq -r ".devices[] | select(.dev == \"${dev[0]}\").huge_pages | \"\(.regions) \(.ranges) \(.left)\"" "$stats")
}

# is_kind NAME KIB COUNTS MTTS: what registered() left; MTTS where the device has them. Huge pages
# that happen to follow one another in memory may share a translation.
is_kind() {
	is "$1: KiB in huge pages" "$kib" "$2"
	is "... regions, ranges, left" "$counts" "$3"
	is "... what the peer reads and writes" "$data" "check ok"
	[ "$more" != null ] || return 0
	case $4 in
	'') ;;
	32) point $((more < 1 || more > 32)) "... translations: $more" ;;
	*) is "... translations" "$more" "$4" ;;
	esac
}

in=''
ktap_begin
mark_dmesg
if [ ! -e $thp/hpage_pmd_size ]; then
	skip "memory in huge pages" "a kernel without transparent huge pages"
	ktap_end
fi
if [ "$(cat $thp/hpage_pmd_size)" != $((2 * mib)) ]; then
	skip "memory in huge pages" "huge pages of another size than 2 MiB"
	ktap_end
fi
check "the module loads" srdma_load
[ $nic != softhca ] || check "... and the one for mlx5" insmod "build/kmod/$(uname -r)/swiftrdma_mlx5.ko" detail=0
# Memory gets huge pages only by madvise(), and the kernel's own thread collapses none.
echo madvise >$thp/enabled
echo 4294967295 >$thp/khugepaged/scan_sleep_millisecs

registered plain
is_kind "by default nothing happens" 0 "0 0 0" 16384
registered plain SWIFTRDMA_HUGE_PAGES=yes
is_kind "with huge pages" 65536 "1 32 0" 32
registered unused SWIFTRDMA_HUGE_PAGES=yes
is_kind "memory that was never used" 65536 "1 32 0" 32
registered nohugepage SWIFTRDMA_HUGE_PAGES=yes
is_kind "MADV_NOHUGEPAGE" 0 "1 0 32" 16384
registered shared SWIFTRDMA_HUGE_PAGES=yes
is_kind "shared memory" 0 "1 0 32" 16384
registered forked SWIFTRDMA_HUGE_PAGES=yes
is_kind "pages that a child has, too" 0 "1 0 32"
registered pinned SWIFTRDMA_HUGE_PAGES=yes
is_kind "memory of another region" 0 "1 0 32"
echo never >$thp/enabled
registered plain SWIFTRDMA_HUGE_PAGES=yes
is_kind "transparent_hugepage=never" 0 "1 0 32" 16384
echo madvise >$thp/enabled
registered plain SWIFTRDMA_HUGE_PAGES=yes SWIFTRDMA_MODE=off
is "a library that is off" "$kib $data" "0 check ok"

# Near a limit nothing is collapsed, and nothing is reclaimed; with room it is.
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/tight/inner
in=tight/inner
echo $((110 * mib)) >/sys/fs/cgroup/tight/memory.max
registered plain SWIFTRDMA_HUGE_PAGES=yes
is_kind "at the limit of the cgroup above" 0 "1 0 32" 16384
is "... where nothing was reclaimed or killed" \
	"$(awk '$1 == "max" || $1 == "oom" || $1 == "oom_kill" { print $2 }' /sys/fs/cgroup/tight/memory.events | xargs)" "0 0 0"
echo $((512 * mib)) >/sys/fs/cgroup/tight/memory.max
registered plain SWIFTRDMA_HUGE_PAGES=yes
is_kind "with room below the limit" 65536 "1 32 0" 32

[ $nic != softhca ] || check "the module for mlx5 goes" rmmod swiftrdma_mlx5
check "the module unloads" srdma_unload
is "nothing in the kernel log" "$(dmesg_complaints)" ""
ktap_end
