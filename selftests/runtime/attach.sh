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
[ -z "${FULL:-}" ] || rounds=$((300 / slowness))

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
check "jobs for the processes" set_jobs honest shrink fat huge garbage foreign victim
points_of attach figures rxe0
like "what it reported stays when it is gone" "$(attach show | grep "^job $(job_id honest) ")" \
	'processes 0 dev [0-9]+ wrs 4354 '
like "debugfs shows it" "$(cat $srdma_debugfs/rxe0/reports)" ' honest +0 +[0-9]+ +[0-9]+ no +4354 '

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
# What the kernel counts of the same.
qp roots post
qp roots post
answers "calls that the library counts" roots 'calls 0 1' ok
like "... are told beside the doorbells that the kernel counts" "$(attach show | grep "^qp $roots_qp ")" \
	' calls 1 doorbells 2$'
is "of a device by name" "$(nlreq REPORT_GET dump dev_name=rxe1 | cut -d' ' -f1-3)" '0 0 0'
like "of what has changed" "$(nlreq REPORT_GET dump since=1000000)" '^0 0 [1-9]'

# The QP that carries another's requests: the process has it, or it is none.
carrier() { swiftrdma -j qp show qpn "$roots_qp" | jq -c '.[0].now'; }
doorbells() { attach show | sed -n "s/^qp $roots_qp .* doorbells \([0-9]*\)$/\1/p"; }
# says QPN: whose carrier the kernel takes it for, and the doorbells that it counts.
says() { answers "it says that QP $1 carries its requests" roots "carrier 0 $1" ok; }
qp roots qp
other_qp=$last
qp roots post
says "$other_qp"
is "... which is the process's, and is believed" "$(carrier)" "$other_qp"
is "... with its doorbells" "$(doorbells)" 3
for liar in "$victim_qp" "$roots_qp" 0 1 $((other_qp + 999)) 16777215 4294967295; do
	says "$liar"
	is "... which is not believed" "$(carrier)" null
	is "... and counts nothing; what was counted stays" "$(doorbells)" 3
done
says "$other_qp"
is "... and of one that carries again, nothing is counted twice" "$(doorbells)" 3
qp roots post
is "... but what it rings now" "$(doorbells)" 4
says 0

# Jobs.
is "a process is in its job" "$(report "^job $(job_id victim) " processes)" 2
check "a rule with precedence" swiftrdma job set other match comm=victim order 50
answers "control shows the new job at once" victim job 'job other refused 0 slo 0'
is "the old one keeps what was reported until then" "$(report "^job $(job_id victim) " wrs)" 127
qp victim "slot 0 $victim_qp 1 80"
is "the new one has the rest" "$(report "^job $(job_id other) " wrs)" 3
check "the job goes" swiftrdma job del other
answers "control shows that" victim job 'job victim refused 0 slo 0'

# Wishes: rules grant them, or they are refused.
qp_job() { swiftrdma -j qp show qpn "$1" | jq -r '.[0].job'; }
qp_is_in() { [ "$(qp_job "$1")" = "$2" ]; }
# The objective that the report of a job has.
slo_of() {
	attach show | awk -v j="$(job_id "$1")" '$1 == "job" && $2 == j {
		n = "none"; for (i = 3; i < NF; i++) if ($i == "slo") n = $(i + 1); print n; exit }'
}
answers "a wish for a job that is not there" victim 'ask elsewhere' 'error ENOENT'
answers "... is none" victim job 'job victim refused 0 slo 0'
answers "a wish for a job whose rules do not heed wishes" victim 'ask honest' ok
answers "... is refused, and that is told" victim job 'job victim refused 1 slo 0'
answers "a wish for the own one" victim 'ask victim' ok
answers "... is not" victim job 'job victim refused 0 slo 0'
answers "... but an objective is, which its rules do not grant" victim 'ask victim 60000' ok
answers "... of that the job is told" victim job 'job victim refused 1 slo 0'
check "a job for a user who asks for it" swiftrdma job set gold match uid=65534,asked,slo_min=50us order 10
is "job show has the rule" "$(swiftrdma -j job show gold | jq -c '.[0].rules[0] | [.uid, .asked, .slo_min]')" \
	'[65534,true,50000]'
answers "who did not ask does not get it" victim job 'job victim refused 1 slo 0'
answers "who asks" victim 'ask gold' ok
answers "... has it at once" victim job 'job gold refused 0 slo 0'
check "... and so have the QPs, soon" wait_for 20 qp_is_in "$victim_qp" gold
qp victim qp
is "a new one has it at once" "$(qp_job "$last")" gold
qp victim destroy
is "what it reports is that job's" "$(report "^job $(job_id gold) " processes)" 1
answers "another user asks" roots 'ask gold' ok
answers "... in vain" roots job 'job victim refused 1 slo 0'
is "a job without objectives tells of none" "$(slo_of gold)" none
answers "an objective" victim 'ask gold 60000' ok
answers "... is granted" victim job 'job gold refused 0 slo 60000'
is "... and the job's" "$(slo_of gold)" 60000
shell second second "${as_nobody[@]}"
answers "a second process" second 'attach 4' ok
answers "... asks for less" second 'ask gold 55000' ok
is "the strictest objective is the job's" "$(slo_of gold)" 55000
answers "too strict a one" second 'ask gold 49999' ok
answers "... is refused" second job 'job gold refused 1 slo 0'
is "... and not the job's" "$(slo_of gold)" 60000
answers "it asks for 50 us" second 'ask gold 50000' ok
is "... which is the job's while it is there" "$(slo_of gold)" 50000
qpsh_stop second
is "... and not any more when it is gone" "$(slo_of gold)" 60000
answers "a new attachment" victim 'attach 4' ok
answers "... has the wish of the process" victim job 'job gold refused 0 slo 60000'
check "the job goes" swiftrdma job del gold
answers "... the wish stands" victim job 'job victim refused 1 slo 0'
check "it comes again, without objectives" swiftrdma job set gold match uid=65534,asked order 10
answers "... so does the process" victim job 'job gold refused 1 slo 0'
answers "no wish any more" victim ask ok
answers "... is not refused" victim job 'job victim refused 0 slo 0'
check "the QPs go back" wait_for 20 qp_is_in "$victim_qp" victim
# Somebody who asks all the time is not heard all the time.
qp victim 'asks 300 gold'
read -r _ taken _ often _ <<<"$answer"
check "of 300 wishes in a row some are refused: $taken, $often" test "$taken" -ge 32 -a "$often" -ge 100
asks_nothing() { qp victim ask; [ "$answer" = ok ]; }
check "later they are heard" wait_for 20 asks_nothing
check "the job goes" swiftrdma job del gold
qp victim "slot 0 $victim_qp 1 80"

# A process that moves to another cgroup.
cg=/sys/fs/cgroup
mkdir -p $cg/one $cg/two
shell mover mover
echo "${qpsh_pid[mover]}" >$cg/one/cgroup.procs
check "jobs by cgroup" swiftrdma job set one match cgroup=/one order 10
check "..." swiftrdma job set two match cgroup=/two order 10
answers "a process attaches in a cgroup" mover 'attach 4' ok
qp mover qp
mover_qp=$last
qp mover "slot 0 $mover_qp 1 100"
is "it is in its job" "$(report "^job $(job_id one) " wrs)" 100
echo "${qpsh_pid[mover]}" >$cg/two/cgroup.procs
qp mover "slot 0 $mover_qp 1 130"
is "it moves: when it is looked at next, it is in the job that new QPs get" \
	"$(report "^job $(job_id two) " processes)" 1
answers "... which its control says" mover job 'job two refused 0 slo 0'
qp mover "slot 0 $mover_qp 1 170"
is "... and what it reports from then on is that job's" "$(report "^job $(job_id two) " wrs)" 40
qpsh_stop mover
check "the jobs go" swiftrdma job del one
check "..." swiftrdma job del two

# Limits.
max=/sys/module/swiftrdma/parameters/max_attachments
echo 2 >$max
shell limited limited "${as_nobody[@]}"
answers "a user has so many attachments" limited 'attach 1' ok
shell third third "${as_nobody[@]}"
answers "... and not more" third 'attach 1' 'error EDQUOT'
answers "... but for another user" roots 'attach 4' ok
answers "one of them attaches again" limited 'attach 1' ok
answers "... and has what it has then" limited state live
# As root of a user namespace that a user made, a process is still that user's. Root maps the ids.
cat >/tmp/progs/subuser <<'END'
#!/usr/bin/perl
# subuser FILE CMD...: CMD as user 1 of a new user namespace, once FILE is there.
use POSIX;
my $file = shift;
syscall(272, 0x10000000) == 0 or die "unshare: $!";
select(undef, undef, undef, 0.1) until -e $file;
POSIX::setgid(1);
POSIX::setuid(1) or die "setuid: $!";
exec @ARGV;
END
chmod 755 /tmp/progs/subuser
subuser_runs() { subuser=$(pgrep -f '^/usr/bin/perl /tmp/progs/subuser'); }
maps() { echo '1 200001 1' >"/proc/$subuser/$1_map"; }
map_users() {
	wait_for 30 subuser_runs && wait_for 30 maps uid && maps gid
	touch /tmp/mapped
} 2>/dev/null
map_users &
shell subuser subuser "${as_nobody[@]}" subuser /tmp/mapped
is "a process as a subordinate user" "$(awk '$1 == "Uid:" { print $3 }' "/proc/${qpsh_pid[subuser]}/status")" 200001
answers "... has the limits of the one who made its namespace" subuser 'attach 1' 'error EDQUOT'
qpsh_stop limited
answers "... which it may use" subuser 'attach 1' ok
qpsh_stop subuser
echo 5 >$max
answers "a user asks for more slots than there are" third 'attach 16384' ok
qp third slots
check "... and gets some: $last" test "$last" -ge 16 -a "$last" -le 640
shell fourth fourth "${as_nobody[@]}"
answers "the next one asks" fourth 'attach 16384' ok
qp fourth slots
check "... and gets some: $last" test "$last" -ge 16 -a "$last" -le 640
echo 2048 >$max
answers "with the usual limit" third 'attach 1024' ok
qp third slots
is "... it has all of the slots that the library asks for" "$last" 1024
qpsh_stop third
qpsh_stop fourth

# Memory is the process's: it gets none that its cgroup has not.
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
	# 512 bytes of report for each slot, and 576 that the module keeps of it; not its 512 of control.
	check "what it has is charged to the cgroup" [ $charged -ge $((4096 * 512)) ]
	check "... which is no memory that nobody uses" [ $charged -lt $((4096 * 1200)) ]
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
answers "... to wishes" roots 'ask other' 'error ESHUTDOWN'
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
# What is tried of control as a memory region, rxe says; newer ones also what is posted too early.
is "the kernel complains of nothing" \
	"$(dmesg_complaints | grep -vE 'Unable to pin memory region|rxe_reg_user_mr: returned err|qp not ready to send|lo speed is unknown')" ""
ktap_end
