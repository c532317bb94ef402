#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# /proc/swiftrdma: what a process gets that attaches, what becomes of what it reports, and
# that neither it nor its end can do harm. Then the same by the library.
#
#   scripts/vm --nic rxe -- env FULL=all selftests/runtime/attach.sh
#
# FULL: the fuzzer goes on for longer.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/qpsh.sh

# Where any user may run them, whatever folder the project is in.
mkdir -p /tmp/progs
cp build/progs/attach build/progs/nlreq /tmp/progs/
PATH=/tmp/progs:$PATH

as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
rounds=15
[ -z "${FULL:-}" ] || rounds=300

# shell ID COMM [CMD...]: a process COMM that does as it is told, started by CMD.
shell() {
	local id=$1 comm=$2

	shift 2
	qpsh_start "$id" "$@" attach shell && qp "$id" "comm $comm" && qp "$id" 'open rxe0'
}
# answers NAME ID COMMAND WANTED
answers() {
	qp "$2" "$3"
	is "$1" "$answer" "$4"
}

# report PATTERN FIELD: of the first line of REPORT_GET that has PATTERN.
report() {
	attach show | awk -v p="$1" -v f="$2" '$0 ~ p { for (i = 1; i < NF; i++) if ($i == f) print $(i + 1); exit }'
}
job_id() { swiftrdma -j job show "$1" | jq '.[0].id'; }

# set_jobs NAME...: processes of a name are in the job of that name.
set_jobs() {
	local name

	for name; do
		swiftrdma job set "$name" match "comm=$name" || return
	done
}

ktap_begin
mark_dmesg
is "without the module there is no door" "$(ls /proc/swiftrdma 2>/dev/null)" ""
check "the module loads" srdma_load
is "the door is there for everybody" "$(stat -c '%a %u' /proc/swiftrdma)" "444 0"

points_of attach bad rxe0
points_of attach seals rxe0
points_of "${as_nobody[@]}" attach seals rxe0
points_of attach family rxe0

# Figures: each test in a job of its own, told by the name that it gives itself.
check "jobs for the processes" set_jobs honest shrink huge garbage foreign victim
points_of attach figures rxe0
like "what it reported stays when it is gone" "$(attach show | grep "^job $(job_id honest) ")" \
	'processes 0 dev [0-9]+ wrs 3310 '
like "debugfs shows it" "$(cat $srdma_debugfs/rxe0/reports)" ' honest +0 +[0-9]+ +[0-9]+ no +3310 '

# A user's process, which another one says it is.
shell victim victim "${as_nobody[@]}"
answers "a user attaches" victim 'attach 4' ok
qp victim qp
victim_qp=$last
answers "... and reports" victim "slot 0 $victim_qp 1 77" ok
VICTIM=$victim_qp VICTIM_JOB=$(job_id victim) points_of attach hostile rxe0
like "a job that is not trusted says so in debugfs" "$(cat $srdma_debugfs/rxe0/reports)" ' foreign .* yes '

# Readers.
shell roots victim
answers "root attaches" roots 'attach 4' ok
qp roots qp
roots_qp=$last
qp roots "slot 0 $roots_qp 1 5"
sees() { "$@" attach show | sed -E 's/ dev.*//; s/processes.*//' | sort -u | tr '\n' ' '; }
is "root sees the QPs of both" "$(sees env | tr ' ' '\n' | grep -cxE "$victim_qp|$roots_qp")" 2
is "a user sees an own QP, and no job" "$(sees "${as_nobody[@]}")" "qp $victim_qp "
is "another user sees nothing" "$(sees setpriv --reuid 65533 --clear-groups)" ""
qp roots "slot 0 $roots_qp 1 50"
is "what a user may not see, it does not have read" \
	"$("${as_nobody[@]}" attach show >/dev/null; attach show cached | grep "^qp $roots_qp ")" \
	"$(attach show cached | grep "^qp $roots_qp ")"
like "... what root reads is of now" "$(attach show | grep "^qp $roots_qp ")" ' wrs 50 '
is "of a device by name" "$(nlreq REPORT_GET dump dev_name=rxe1 | cut -d' ' -f1-3)" '0 0 0'
like "of what has changed" "$(nlreq REPORT_GET dump since=1000000)" '^0 0 [1-9]'

# Jobs.
is "a process is in its job" "$(report "^job $(job_id victim) " processes)" 2
check "a rule with precedence" swiftrdma job set other match comm=victim order 50
answers "control shows the new job at once" victim job 'job other refused 0'
is "the old one keeps what was reported until then" "$(report "^job $(job_id victim) " wrs)" 127
qp victim "slot 0 $victim_qp 1 80"
is "the new one has the rest" "$(report "^job $(job_id other) " wrs)" 3
answers "a wish for another job" victim 'ask elsewhere' ok
answers "... is refused, and that is told" victim job 'job other refused 1'
answers "a wish for the own one" victim 'ask other' ok
answers "... is not" victim job 'job other refused 0'
check "the job goes" swiftrdma job del other
answers "control shows that" victim job 'job victim refused 1'
answers "no wish any more" victim ask ok
answers "... is not refused" victim job 'job victim refused 0'

# Limits.
echo 2 >/sys/module/swiftrdma/parameters/max_attachments
shell limited limited "${as_nobody[@]}"
answers "a user has so many attachments" limited 'attach 1' ok
shell third third "${as_nobody[@]}"
answers "... and not more" third 'attach 1' 'error EDQUOT'
answers "... but for another user" roots 'attach 4' ok
answers "one of them attaches again" limited 'attach 1' ok
answers "... with as many slots as two have" limited 'attach 2044' ok
answers "... and not more" limited 'attach 2045' 'error EDQUOT'
answers "its own attachment is over then" limited state ended
answers "so another one may" third 'attach 1' ok
echo 2048 >/sys/module/swiftrdma/parameters/max_attachments
qpsh_stop third
qpsh_stop limited

# Memory is the process's: it gets none that its cgroup has not.
cg=/sys/fs/cgroup
memcg_works() {
	grep -qw memory $cg/cgroup.controllers && echo +memory >$cg/cgroup.subtree_control &&
		mkdir -p $cg/small && [ -e $cg/small/memory.max ]
}
if memcg_works; then
	shell small small
	echo "${qpsh_pid[small]}" >$cg/small/cgroup.procs
	before=$(<$cg/small/memory.current)
	answers "a process in a cgroup attaches" small 'attach 4096' ok
	charged=$(($(<$cg/small/memory.current) - before))
	note "an attachment with 4096 slots is charged with $charged bytes"
	# 768 bytes of report and 512 of control for each slot.
	check "its files are charged to the cgroup" [ $charged -ge $((4096 * 1280)) ]
	echo $(($(<$cg/small/memory.current) + 2000000)) >$cg/small/memory.max
	answers "there is none that it has no memory for" small 'attach 16384' 'error ENOMEM'
	check "the cgroup has held its limit" \
		[ "$(awk '$1 == "max" { print $2 }' $cg/small/memory.events)" -gt 0 ]
	is "and nobody was killed for it" "$(awk '$1 == "oom_kill" { print $2 }' $cg/small/memory.events)" 0
	echo max >$cg/small/memory.max
	answers "with memory it attaches" small 'attach 16384' ok
	qpsh_stop small
else
	skip "memory is the cgroup's" "no memory controller in this guest"
fi

# The end of a device, of the module.
check "another device" rdma link add rxe9 type rxe netdev lo
shell gone gone
qp gone 'open rxe9'
answers "a process attaches to it" gone 'attach 1' ok
# rxe waits until nobody has it open.
rdma link del rxe9 >/dev/null 2>&1 &
has_ended() { qp gone state; [ "$answer" = ended ]; }
check "that it is about to go ends the attachment" wait_for 20 has_ended
answers "there is no such device" gone 'attach 1' 'error ENODEV'
qp gone close
is_removed() { [ ! -e /sys/class/infiniband/rxe9 ]; }
check "it is removed" wait_for 20 is_removed
qpsh_stop gone

answers "the door is held open" roots door ok
answers "before the module goes control is live" roots state live
kill -STOP "${qpsh_pid[victim]}"
check "it unloads, whoever holds what" srdma_unload
answers "control says that nobody writes it" roots state ended
answers "and there is no door" roots 'attach 4' 'error ENOENT'
check "it loads again" srdma_load
kill -CONT "${qpsh_pid[victim]}"
answers "a process that was stopped meanwhile sees the end" victim state ended
answers "... and attaches anew" victim 'attach 4' ok
answers "... so does who held the door" roots 'attach 4' ok
echo 1 >$srdma_debugfs/disarm
answers "disarmed, it has ended" roots state ended
answers "... and the door is shut" roots 'attach 4' 'error ESHUTDOWN'
answers "... to wishes" roots 'ask other' 'error ENOENT'
wait_for 10 srdma_unused
check "it unloads" rmmod swiftrdma
qpsh_stop victim
qpsh_stop roots

# A process that would never answer a fault in what it hands to the module.
check "it loads a third time" srdma_load
points_of attach bad rxe0

points_of timeout $((rounds * 8 * slowness + 300)) attach fuzz rxe0 "$RANDOM" $rounds
# While processes do that, the module goes.
timeout $((400 * slowness)) attach fuzz rxe0 "$RANDOM" $((rounds / 3 + 2)) >"$qpsh_dir/fuzz" & fuzz=$!
nap 2
# A dump that is under way holds the module for as long as it lasts, and they read much.
unload_between() { rmmod swiftrdma 2>/dev/null; }
echo 1 >$srdma_debugfs/disarm
check "it unloads in the middle" wait_for 60 unload_between
check "... and loads" srdma_load
wait $fuzz
like "the processes have come to their end" "$(cat "$qpsh_dir/fuzz")" 'ok - fuzz: [0-9]+ rounds are over'
like "none is attached" "$(attach show | grep -c ' processes [1-9]')" '^0$'
check "it unloads" srdma_unload
# What is tried of control as a memory region, rxe says; and of which speed lo is not.
is "the kernel complains of nothing" \
	"$(dmesg_complaints | grep -vE 'Unable to pin memory region|rxe_reg_user_mr: returned err|lo speed is unknown')" ""
ktap_end
