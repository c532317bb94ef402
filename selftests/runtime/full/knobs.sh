#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Knobs that libraries enforce: what the module writes into the controls of a job's processes,
# for how long it holds, and how a ceiling is divided among them. The processes obey as a
# library would, and send nothing.
#
#   scripts/vm --nic rxe -- env FULL=all selftests/runtime/full/knobs.sh
#
# FULL: random knobs, too, while processes do with their attachments whatever comes.

cd "$(dirname "$0")/../../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/qpsh.sh
. selftests/lib/steady.sh
PATH=$PWD/build/progs:$PATH

# shell ID COMM [CMD...]: a process COMM with an attachment to rxe0 that does as it is told,
# started by CMD.
shell() {
	local id=$1 comm=$2

	shift 2
	qpsh_start "$id" "$@" attach shell && qp "$id" "comm $comm" && qp "$id" 'open rxe0' &&
		qp "$id" 'attach 8'
}
# knobs NAME ID PATTERN: the knobs in the control of a process.
knobs() {
	qp "$2" knobs
	like "$1" "$answer" "$3"
}
value() { qp "$1" knobs; awk -v k="$2" '{ for (i = 1; i < NF; i++) if ($i == k) print $(i + 1) }' <<<"$answer"; }
left() { qp "$1" knobs; sed -n 's/.* for //p' <<<"$answer"; }

# lease [TTL_MS [RANK]]: a new lease's id is in $id.
lease() { id=$(nlreq --lease ACT doit "lease{origin=test rank=${2:-10} ttl_ms=${1:-600000}}"); }
# set_knob KNOB VALUE [ID [TTL_MS]]: of the job paced.
set_knob() { nlreq ACT doit "lease{id=${3:-$id} ttl_ms=${4:-600000}} action{knob=$1 value=$2 job=${job:-paced}}"; }
clear_knob() { nlreq ACT doit "lease{id=${2:-$id} ttl_ms=600000} action{knob=$1 clear job=paced}" >/dev/null; }
end() { nlreq ACT doit "lease{id=$1 ttl_ms=0}" >/dev/null; }
bit_rate=2 wr_rate=3 credits=5 place=12 chunk=13 huge_pages=14

# QPs of the knob's override: all, done, pending, unsupported.
tally() {
	swiftrdma -j action show | jq -rc "[.[] | select(.kind == \"override\" and .knob == \"$1\")][0] |
		[.qps, .qps_done, .qps_pending, .qps_unsupported]"
}
is_tally() { [ "$(tally "$1")" = "$2" ]; }

# sent_in MS ID...: what the processes sent together in that time, per second; "late", too, if
# the machine gave them no time now and then.
declare -A report control
sent_in() {
	local ms=$1 files=() id

	shift
	for id; do files+=("${report[$id]}"); done
	attach measure "$ms" "${files[@]}"
}
# second_after NAME ID WANT BACK: what a and b send in the second after ID wants WANT. Where the
# machine gave them no time, ID wants BACK, and all again.
second_after() {
	local figure late

	for _ in {1..20}; do
		qp "$2" "want $3"
		read -r figure late < <(sent_in 1000 a b)
		[ -n "$late" ] || break
		qp "$2" "want $4"
		nap 2
	done
	is_near "$1" "$figure" $rate 10
}
# is_near NAME VALUE WANTED PERCENT
is_near() { check "$1 ($2 of $3)" within "$2" "$3" "$4"; }

ktap_begin
mark_dmesg
check "the module loads" srdma_load
check "jobs" swiftrdma job set paced match comm=paced
check "..." swiftrdma job set other match comm=other
lease

like "a job without processes cannot be paced" "$(set_knob $wr_rate 1000)" \
	'^EOPNOTSUPP .*libswiftrdma enforces this, and no process of the job has it'
shell a paced
qp a qp
like "... nor one whose processes enforce nothing" "$(set_knob $credits 10)" '^EOPNOTSUPP .*libswiftrdma'
like "... nor by bits, on a device that cannot" "$(set_knob $bit_rate 1000000)" '^EOPNOTSUPP .*libswiftrdma'
qp a 'library on'
nap 0.2
is "taking back is always possible" "$(nlreq ACT doit "lease{id=$id} action{knob=$wr_rate clear job=paced}" | cut -d' ' -f1)" 0
like "with a library it can" "$(set_knob $wr_rate 1000)" '^0 '
knobs "the value is in its control" a '^knobs wr_rate 1000 for (600000|59[0-9]{4})$'
like "what it cannot be is refused" "$(set_knob $wr_rate 10000000001)" '^ERANGE'
like "no credits are too few" "$(set_knob $credits 0)" '^ERANGE'
like "two more" "$(set_knob $bit_rate 5000000) $(set_knob $credits 7)" '^0 .*0 '
knobs "... are there, too" a '^knobs wr_rate 1000 for [0-9]+ bit_rate 5000000 for [0-9]+ credits 7 for [0-9]+$'
check "the process has answered" wait_for 20 is_tally wr_rate '[1,1,0,0]'
is "JOB_GET has them" "$(swiftrdma -j job show paced | jq -c '.[0].devs[] | select(.dev == "rxe0") | [.wr_rate, .bit_rate, .credits]')" '[1000,5000000,7]'
is "another device has the value for itself" \
	"$(swiftrdma -j job show paced | jq -c '.[0].devs[] | select(.dev == "rxe1") | .wr_rate')" 1000
clear_knob $bit_rate
clear_knob $credits
knobs "what is taken back is gone at once" a '^knobs wr_rate 1000 for [0-9]+$'

# Time.
before=$(left a)
nlreq ACT doit "lease{id=$id ttl_ms=1200000}" >/dev/null
check "a lease that is renewed moves the time" test "$(left a)" -gt $((before + 500000))
other=$id
lease 600000
before=$(left a)
nlreq ACT doit "lease{id=$id ttl_ms=3000000}" >/dev/null
check "... another one does not" test "$(left a)" -le "$before"
lease 600000 20
set_knob $wr_rate 300 >/dev/null
is "the stronger lease holds" "$(value a wr_rate)" 300
end "$id"
is "... while it lasts" "$(value a wr_rate)" 1000
end "$other"
knobs "without a lease there is none" a '^knobs$'

# Who keeps a lease alive is killed.
lease 2000
keep_alive() {
	set_knob $wr_rate 700 "$1" 2000 >/dev/null
	while nlreq ACT doit "lease{id=$1 ttl_ms=2000}" >/dev/null; do sleep 0.2; done
}
keep_alive "$id" & keeper=$!
nap 4
is "a lease that is kept holds" "$(value a wr_rate)" 700
kill -KILL $keeper
before=$(left a)
check "... for the time that it has" test "$before" -gt 0 -a "$before" -le 2000
is_free() { qp a knobs; [ "$answer" = knobs ]; }
check "then it is gone" wait_for 20 is_free

# Results.
lease
swiftrdma -j monitor action >/tmp/events & monitor=$!
check "a monitor listens" wait_for 20 listens_to_events $monitor
set_knob $wr_rate 1000 >/dev/null
is_told() { grep -q '"knob":"wr_rate"' /tmp/events; }
check "the result is told" wait_for 20 is_told
like "... once the process has answered" "$(grep wr_rate /tmp/events)" '"qps":1,"qps_done":1,'
# A library that can enforce a rate and does not read its control: done is what was answered, or
# needs no answer because the process posts nothing.
qp a 'library off'
qp a qp
silent=$last
qp a "slot 0 $silent 1 100"
qp a 'says wr_rate in_force 1000'
set_knob $wr_rate 1000 >/dev/null
is "a process that has the value has answered" "$(tally wr_rate)" '[2,2,0,0]'
set_knob $wr_rate 1500 >/dev/null
attach show >/dev/null
is "one that posts nothing after a change need not" "$(tally wr_rate)" '[2,2,0,0]'
qp a "slot 0 $silent 1 200"
is "one that posts after it has to" "$(tally wr_rate)" '[2,0,2,0]'
qp a 'says wr_rate in_force 1500'
is "... and does" "$(tally wr_rate)" '[2,2,0,0]'
qp a "slot 0 $silent 1 300"
set_knob $wr_rate 1000 >/dev/null
attach show >/dev/null
is "what it posted before a change does not count" "$(tally wr_rate)" '[2,2,0,0]'
qp a destroy
qp a 'says wr_rate none'
shell b paced
qp b qp
set_knob $wr_rate 900 >/dev/null
like "... is refused where no other one has it" "$(set_knob $wr_rate 900)" '^EOPNOTSUPP'
qp a 'library on'
nap 0.2
like "... and not where one has" "$(set_knob $wr_rate 900)" '^0 '
check "its QPs count as those that cannot" wait_for 20 is_tally wr_rate '[2,1,0,1]'
kill "$monitor"
qpsh_stop b

# Knobs that are no ceilings: each process has the whole value, and 0 is one.
shell b paced
qp b 'library on'
nap 0.2
for v in "$place 3" "$chunk 2048" "$chunk 65535" "$chunk 2147483648" "$huge_pages 2"; do
	# shellcheck disable=SC2086 # a knob and its value
	like "no value of a knob: ${v#* } of knob ${v% *}" "$(set_knob $v)" '^ERANGE'
done
like "where QPs go, the size of chunks and huge pages" \
	"$(set_knob $place 2) $(set_knob $chunk 65536) $(set_knob $huge_pages 0)" '^0 .*0 .*0 '
for p in a b; do
	is "each process has them as they are" \
		"$(value $p place) $(value $p chunk) $(value $p huge_pages)" '2 65536 0'
done
is "JOB_GET has them" "$(swiftrdma -j job show paced | jq -c '.[0].devs[] | select(.dev == "rxe0") | [.place, .chunk, .huge_pages]')" '["by-thread",65536,0]'
in_jobs() { awk -v c="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $2 == "paced" { print $at[c] }' $srdma_debugfs/rxe0/jobs; }
is "debugfs has them" "$(in_jobs place) $(in_jobs chunk) $(in_jobs huge_pages)" '2 65536 0'
check "a library that reads its control has answered" wait_for 20 is_tally place '[1,1,0,0]'
is "REPORT_GET says how many processes enforce them" \
	"$(swiftrdma -j job show paced | jq -c '[.[0].devs[] | select(.dev == "rxe0") | .held[] | select(.knob == "place" or .knob == "chunk" or .knob == "huge_pages") | .knob, .in_force]')" \
	'["place",2,"chunk",2,"huge_pages",2]'
shell c paced
is "a process that comes later has them, too" "$(value c place) $(value c chunk) $(value c huge_pages)" '2 65536 0'
qpsh_stop c
# What a process does decides whether it has to answer: a QP it creates for one knob, memory that
# it registers for another, what it posts for the third.
qp b 'library off'
qp b qp
silent=$last
deed() {
	case $1 in
	place) qp b qp ;;
	huge_pages) qp b register ;;
	chunk) qp b "slot 0 $silent 1 $((posted += 100))" ;;
	esac
}
waits() { tally "$1" | cut -d, -f3; }
is_waited_for() { [ "$(waits "$1")" -gt 0 ]; }
posted=0
# try_answers KNOB VALUE...: three values, one after the other.
try_answers() {
	local k=$1 other

	qp b "says $k in_force $2"
	set_knob "${!k}" "$2" >/dev/null
	is "$k: a process that has the value has answered" "$(waits "$k")" 0
	set_knob "${!k}" "$3" >/dev/null
	is "... one that does nothing need not" "$(waits "$k")" 0
	for other in place huge_pages chunk; do
		[ "$other" = "$k" ] || deed $other
	done
	is "... nor one that does what the knob does not act on" "$(waits "$k")" 0
	deed "$k"
	check "... one that does what it acts on has to" is_waited_for "$k"
	qp b "says $k in_force $3"
	is "... and does" "$(waits "$k")" 0
	deed "$k"
	set_knob "${!k}" "$4" >/dev/null
	is "... what it did before a change does not count" "$(waits "$k")" 0
}
try_answers place 1 0 2
try_answers huge_pages 1 0 1
try_answers chunk 4096 8192 1073741824
# Under a lease like the others.
for k in place chunk huge_pages; do clear_knob "${!k}"; done
knobs "what is taken back is gone" b '^knobs wr_rate [0-9]+ for [0-9]+$'
other=$id
lease 600000 20
set_knob $place 1 >/dev/null
set_knob $place 2 "$other" >/dev/null
is "the stronger lease holds" "$(value b place)" 1
end "$id"
is "... while it lasts" "$(value b place)" 2
id=$other
clear_knob $place
qpsh_stop b

# Properties of a job in the policy file: the agent sets them while a library can enforce them, and
# the objective of a process that asked for the job is the job's.
cat >/tmp/props.yaml <<-EOF
	jobs:
	- name: props
	  class: latency
	  chunk: 64KiB
	  match: [{comm: props, asked: true, slo_min: 50us}]
	policies:
	- name: slow
	  for: job props
	  when: job.slo_p99 == 60us and job.qps > 0
	  do: place on lightest uar
	  undo: {when: job.qps < 1}
EOF
swiftrdma-agent --config /tmp/props.yaml >/tmp/agent 2>&1 & agent=$!
has_props() { swiftrdma -j job show props 2>/dev/null | jq -e '.[0].rules[0].asked' >/dev/null; }
check "an agent sets the job" wait_for 30 has_props
shell p props
qp p 'ask props 60000'
is "the process has the job and the objective" "$answer" ok
qp p qp
nap 2
knobs "without a library it has no property" p '^knobs$'
qp p 'library on'
has_them() { qp p knobs; [[ $answer =~ ^knobs\ place\ 1\ for\ [0-9]+\ chunk\ 65536\ for\ [0-9]+\ huge_pages\ 1\ for\ [0-9]+$ ]]; }
check "with one it has them, and is placed for its objective" wait_for 30 has_them
nap 4
check "... for as long as the agent lives" has_them
qp p 'library off'
has_no_property() { qp p knobs; [[ $answer != *chunk* && $answer != *huge_pages* ]]; }
check "... and the library can" wait_for 30 has_no_property
qp p 'library on'
check "... again" wait_for 30 has_them
kill -KILL $agent
is_free_again() { qp p knobs; [ "$answer" = knobs ]; }
check "the agent is killed: nothing is left" wait_for 30 is_free_again
note "$(cat /tmp/agent)"
qpsh_stop p
nlreq JOB_DEL doit "job_obj{name=props origin=agent}" >/dev/null

# Many processes, each of which answers for its QPs.
check "a job of many" swiftrdma job set crowd match comm=attach
mkfifo "$qpsh_dir/crowd"
attach crowd rxe0 40 8 8 <"$qpsh_dir/crowd" >/tmp/crowd & many=$!
exec {crowd}>"$qpsh_dir/crowd"
is_crowd() { grep -qx ready /tmp/crowd; }
check "40 processes with 8 QPs each" wait_for 60 is_crowd
like "a knob for all of them" "$(job=crowd set_knob $credits 1000)" '^0 '
is "... is done at each QP" "$(tally credits)" '[320,320,0,0]'
exec {crowd}>&-
kill $many
check "they go" swiftrdma job del crowd

# Division.
rate=20000
shell b paced
shell c other
for p in b c; do qp $p qp; qp $p 'library on'; done
qp c 'want 1e9'
set_knob $wr_rate $rate >/dev/null
is "nobody knows yet what they need: halves" "$(value a wr_rate) $(value b wr_rate)" "$((rate / 2)) $((rate / 2))"
knobs "another job is not held" c '^knobs$'
for p in a b; do
	qp $p files
	read -r _ r c <<<"$answer"
	report[$p]=/proc/${qpsh_pid[$p]}/fd/$r control[$p]=/proc/${qpsh_pid[$p]}/fd/$c
done
attach watch wr_rate $rate $((12000 * slowness)) "${control[@]}" >/tmp/watch & watch=$!
qp a 'want 1e9'
nap 2
check "one that sends has nearly all" test "$(value a wr_rate)" -ge $((rate * 95 / 100))
is_steady "... and uses it" $rate 3 sent_in 1000 a b
qp b 'want 2000'
nap 2
is_steady "a small one has what it wants" 2000 3 sent_in 1000 b
is_steady "... and together they have all" $rate 3 sent_in 1000 a b
second_after "in the second after a change nearly all" b 1e9 2000
nap 1
is_near "two that send have halves" "$(value b wr_rate)" $((rate / 2)) 3
second_after "one stops: the other one has its share within the second" a 0 1e9
qp a 'want 1e9'
nap 1
like "posts that were held are counted" "$(swiftrdma -j job show paced | jq -r '.[0].devs[] | select(.dev == "rxe0") | .held_posts')" '^[1-9]'
wait $watch
points_of cat /tmp/watch

# A process in another job, and one that ends.
check "a rule takes a process out of the job" swiftrdma job set third match "pid=${qpsh_pid[b]}" order 1
knobs "its knob is gone at once" b '^knobs$'
has_all() { [ "$(value a wr_rate)" = $rate ]; }
check "the other one has all" wait_for 10 has_all
check "the rule goes" swiftrdma job del third
points_of attach watch wr_rate $rate 1000 "${control[@]}"
knobs "the process is back in the job" b '^knobs wr_rate'
kill -KILL "${qpsh_pid[b]}"
check "it is killed: the other one has all" wait_for 10 has_all
set_knob $credits 1 >/dev/null
is "one credit is one" "$(value a credits)" 1
shell d paced
is "... of which each has one" "$(value a credits) $(value d credits)" '1 1'

# Of credits a process gets what it has outstanding. Requests of which nothing will be heard are
# not: of a QP that was destroyed, or whose order the library has lost.
set_knob $credits 100 >/dev/null
qp d 'library on'
qp d 'wait on'
for flags in 1 2; do
	qp a qp
	qp a "slot $flags $last $((10 + flags)) 1000 $flags"
	[ $flags = 2 ] || qp a destroy
done
has_most() { [ "$(value d credits)" -ge 90 ]; }
check "a process that waits gets what another one does not use" wait_for 20 has_most
qp a qp
busy=$last
qp a "slot 3 $busy 13 60"
nap 2
check "... but not what that has outstanding: $(value a credits)" test "$(value a credits)" -ge 45
qp a "slot 3 $busy 13 60 2"
check "... and has not any more" wait_for 20 has_most
qp d 'wait off'
qp a destroy
clear_knob $credits

# A rate that swings by half is not steady, though its mean is right.
qpsh_stop d
shell d paced
qp d 'library on'
qp d 'swing 2000'
qp a 'want 0'
qp d 'want 1e9'
qp d files
read -r _ r c <<<"$answer"
report[d]=/proc/${qpsh_pid[d]}/fd/$r
nap 2
most_tries=20 steady $rate 3 sent_in 1000 d
check "a rate that swings is not steady" test $? -ne 0
note "$seen"
qp d 'swing 0'

# A process whose clock is another one's reads in its control what its clock will say.
if [ -e /proc/self/ns/time ]; then
	shell t paced unshare --time --monotonic 500000 --fork
	qp t 'library on'
	knobs "in a time namespace a knob holds for as long as elsewhere" t \
		'^knobs wr_rate [0-9]+ for (600000|[45][0-9]{5})$'
	qpsh_stop t
else
	skip "in a time namespace a knob holds for as long as elsewhere" "no time namespaces in this kernel"
fi

# Random knobs while the fuzzer of attachments runs, whose processes are the job's, too.
random_knobs() {
	local i ids=() any=(2 3 4 5 12 13 14)

	for ((i = 0; i < 240 / slowness; i++)); do
		case $((RANDOM % 8)) in
		0) lease $((RANDOM % 3000 + 1)) $((RANDOM % 200)); ids+=("$id") ;;
		1) [ ${#ids[@]} -eq 0 ] || end "${ids[RANDOM % ${#ids[@]}]}" ;;
		2) clear_knob ${any[RANDOM % ${#any[@]}]} "${ids[RANDOM % (${#ids[@]} + 1)]:-1}" ;;
		3) swiftrdma job set fuzzed match comm=attach order $((RANDOM % 300)) ;;
		4) set_knob $((12 + 2 * (RANDOM % 2))) $((RANDOM % 4)) "${ids[RANDOM % (${#ids[@]} + 1)]:-1}" ;;
		5) set_knob 13 $((1 << RANDOM % 32)) "${ids[RANDOM % (${#ids[@]} + 1)]:-1}" ;;
		*) set_knob $((2 + RANDOM % 4)) $((RANDOM * RANDOM % 3000000)) \
			"${ids[RANDOM % (${#ids[@]} + 1)]:-1}" $((RANDOM % 2000 + 1)) ;;
		esac
	done >/dev/null 2>&1
	echo over
}
if [ -n "${FULL:-}" ]; then
	check "the fuzzer's processes are in the job" swiftrdma job set paced match comm=paced match comm=attach
	attach fuzz rxe0 $RANDOM $((120 / slowness)) >/tmp/fuzz & fuzz=$!
	is "random knobs" "$(random_knobs)" over
	wait $fuzz
	points_of cat /tmp/fuzz
	check "the fuzzer's rule goes" swiftrdma job set paced match comm=paced
	lease
	set_knob $wr_rate $rate >/dev/null
fi

# The end.
knobs "before the module goes" a '^knobs wr_rate'
kill -STOP "${qpsh_pid[d]}"
echo 1 >$srdma_debugfs/disarm
knobs "disarmed, no knob holds" a '^knobs ended$'
wait_for 10 srdma_unused
check "it unloads" rmmod swiftrdma
kill -CONT "${qpsh_pid[d]}"
knobs "... a process that was stopped sees that, too" d '^knobs ended$'
for p in a c d; do qpsh_stop $p; done
is "the kernel complains of nothing" "$(dmesg_complaints)" ""
ktap_end
