#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Memory regions: how many, and how large, of each job; what the module cannot know is
# said; and nothing stays behind, however their programs end.
#
#   scripts/vm --nic rxe -- selftests/kernel/mrs.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PWD/build/bench:$PATH

# job NAME: "MRS BYTES" on rxe0.
job() { swiftrdma -j job show "$1" | jq -r '.[0].devs[] | select(.dev == "rxe0") | "\(.mrs) \(.mr_bytes)"'; }
device() { swiftrdma -j dev show rxe0 | jq -r '.[0] | "\(.mrs) \(.mrs_unknown) \(.mr_bytes)"'; }
nothing() { [ "$(device)" = "0 0 0" ]; }

ktap_begin
mark_dmesg
# Two that are older than the module.
qpsh_start old regmr rxe0
qp old "reg 8192"
qp old "reg 8192"
check "the module loads" srdma_load
is "older ones are there, and unknown" "$(device)" "2 2 0"
qp old "reg 12288"
is "younger ones of the same program are known" "$(device)" "3 2 12288"
qp old dereg
qp old dereg
is "an older one goes" "$(device)" "1 1 0"

check "a job" swiftrdma job set kv match comm=regmr
qpsh_start a regmr rxe0
sum=0
for i in {1..40}; do
	qp a "reg $((i * 4096))"
	sum=$((sum + i * 4096))
done
is "what the program counted" "$answer" "reg 40 $sum"
is "and its job" "$(job kv)" "40 $sum"
is "nobody else" "$(job unassigned)" "0 0"
is "the device has all" "$(device)" "41 1 $sum"
like "summary says so" "$(cat $srdma_debugfs/rxe0/summary)" '^mrs_unknown +1$'
is "no translations where nobody can tell" \
	"$(swiftrdma -j job show kv | jq '.[0].devs[0] | has("mtts")')" false
qp a dereg
is "one goes" "$(job kv)" "39 $((sum - 40 * 4096))"
read -r _ n bytes <<<"$answer"
is "what is left is what the program says" "$(job kv)" "$n $bytes"

# A rule moves what is there; the figures are the new job's at once.
check "another job has that program" swiftrdma job set db match "pid=${qpsh_pid[a]}" order 1
is "its regions are that job's" "$(job db) $(job kv)" "$n $bytes 0 0"
check "back again" swiftrdma job del db
is "and the first one's again" "$(job kv)" "$n $bytes"

# Ends of all kinds.
kill -9 "${qpsh_pid[a]}"
wait "${qpsh_pid[a]}" 2>/dev/null
is "kill -9" "$(job kv)" "0 0"
qpsh_start b regmr rxe0
qp b "reg 65536"
check "the module goes while there are some" srdma_unload
qp b "reg 4096"
qp b dereg
is "the program does not notice" "$answer" "dereg 1 65536"
check "it comes again" srdma_load
is "what there was is unknown now" "$(device)" "2 2 0"
qpsh_stop b
qpsh_stop old
check "all gone" wait_for 10 nothing
check "the module goes" srdma_unload

# Without memory for its own, the module says that it does not know.
check "memory that runs out" srdma_load_debug fail_alloc=1
qpsh_start c regmr rxe0
qp c "reg 4096"
is "the program has its region" "$answer" "reg 1 4096"
is "and it is unknown" "$(device)" "1 1 0"
qpsh_stop c
check "the module goes" srdma_unload
# In the windows of the hook that can be held open.
check "slow wrappers" srdma_load_debug delay_at=7 delay_ms=200
qpsh_start d regmr rxe0
(for _ in {1..20}; do echo "reg 4096"; echo dereg; done; echo quit) >&"${qpsh_in[d]}"
IFS= read -r answer <&"${qpsh_out[d]}"
is "it has begun" "$answer" "reg 1 4096"
check "it goes with programs in them" srdma_unload
cat <&"${qpsh_out[d]}" >/tmp/d
wait "${qpsh_pid[d]}"
is "which end well" "$? $(grep -c '^dereg 0 0$' /tmp/d)" "0 20"
is "nothing in the kernel log" "$(dmesg_complaints)" ""
# --- What a user can make grow is charged to the user's cgroup ---

echo +memory >/sys/fs/cgroup/cgroup.subtree_control
# grown CGROUP: bytes of kernel memory that 2000 regions and 500 QPs add to a new cgroup.
slab() { awk '$1 == "slab" { print $2 }' "/sys/fs/cgroup/$1/memory.stat"; }
grown() {
	local before

	qpsh_start "$1" in_cgroup "$1" regmr rxe0
	in_cgroup "$1" hold --dev rxe0 --count 1 --no-stdin >/tmp/"$1" & holding=$!
	wait_for 30 grep -q ^ready "/tmp/$1"
	sleep 3		# the kernel adds its figures up every other second
	before=$(slab "$1")
	qp "$1" "regs 2000 4096"
	kill $holding
	wait $holding
	in_cgroup "$1" hold --dev rxe0 --count 500 --no-stdin >/tmp/"$1.500" & holding=$!
	wait_for 120 grep -q ^ready "/tmp/$1.500"
	sleep 3
	grown=$(($(slab "$1") - before))
	kill $holding
	wait $holding
	qpsh_stop "$1"
}
grown without
without=$grown
check "the module loads" srdma_load
grown with
note "without the module $without bytes, with it $grown"
is "a user who has more of them is charged for what the module keeps of them" \
	"$((grown - without >= 2000 * 80 + 500 * 240 * 9 / 10))" 1
# A dump is kept until its reader has read it. The kernel tells what it is allocated with.
tracing=/sys/kernel/tracing
[ -d $tracing/events ] || mount -t tracefs nodev $tracing 2>/dev/null
if [ -d $tracing/events/kmem/kmalloc ]; then
	echo >$tracing/trace
	echo 1 >$tracing/events/kmem/kmalloc/enable
	swiftrdma dev show >/dev/null
	echo 0 >$tracing/events/kmem/kmalloc/enable
	is "a dump is charged to who began it" \
		"$(grep -o 'call_site=srdma_dump_start.*' $tracing/trace |
			grep -o 'accounted=.*\|GFP_KERNEL_ACCOUNT' | sort -u | head -n 1)" GFP_KERNEL_ACCOUNT
	echo >$tracing/trace
else
	skip "a dump is charged to who began it" "a kernel that does not tell"
fi
check "the module unloads" srdma_unload

# --- Whoever registers does not wait for who reads ---

param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
delays() { cat /sys/module/swiftrdma/parameters/delays; }
has_begun() { [ "$(delays)" -gt "$begun" ]; }
# slow_reader POINT MS CMD...: a reader that waits so long at each object that it visits, until
# "param delay_at 0"
slow_reader() {
	begun=$(delays)
	param delay_ms "$2"
	param delay_at "$1"
	shift 2
	"$@" >/dev/null & reader=$!
	check "it waits at what it visits" wait_for 60 has_begun
}
check "the debug build loads" srdma_load_debug
swiftrdma job set slow match comm=qpsh match comm=regmr >/dev/null
for id in p1 p2 p3 p4; do
	qpsh_start $id regmr rxe0 && qp $id "reg 4096"
done
qpsh_start q qpsh && qp q 'create 1000'
slow_reader 16384 15000 swiftrdma -j dev show rxe0
qp p4 "reg 4096"
is "a region is registered while regions are added up" "$answer $(alive $reader && echo meanwhile)" \
	"reg 2 8192 meanwhile"
param delay_at 0
wait $reader
# The sum has its job's lock for some QPs at a time, not for all.
slow_reader 2048 30 swiftrdma -j job show slow
note "$(($(delays) - begun)) visited"
qp q create
visited=$(($(delays) - begun))
like "a QP is made while those of its job are added up" "$answer" '^qp [0-9]+$'
check "... before the last of these was ($visited of 1000)" [ $visited -lt 1000 ]
param delay_at 0
wait $reader
is "and is counted" "$(swiftrdma -j job show slow | jq '.[0].devs[] | select(.dev == "rxe0").qps')" 1001
for id in p1 p2 p3 p4 q; do
	qpsh_stop $id
done
check "the module unloads" srdma_unload
ktap_end
