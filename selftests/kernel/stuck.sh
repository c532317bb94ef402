#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs whose send queue does not drain, for the peer posts no receives: the
# attempt is bounded, the rest goes on, and the class comes later.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/fleet.sh

# A queue that waits out fleet's RNR timer (655 ms) is met drained in between
# with a chance of about drain_ms to 655 in each attempt.
drain_ms=10
stuck=4 free=4
pairs=$((stuck + free))
param=/sys/module/swiftrdma/parameters/drain_ms

pending() {
	swiftrdma -j action show >"$fleet_dir/actions" &&
		jq -c "[.[] | select(.kind == \"pending\" and .job == \"fleet\")]" "$fleet_dir/actions"
}

# paused WHAT RET [DEV]: pause_ns or looked_ns, the longest of the attempts that ended
# so, in us. looked_ns is where a pause stood when its QP was last found waiting.
paused() {
	awk -v what="$1=" -v ret="ret=$2 " -v dev="dev=$3" '
		/srdma_class:/ && $0 ~ " " ret && index($0, dev) {
			match($0, what "[0-9]+")
			ns = substr($0, RSTART + length(what), RLENGTH - length(what)) + 0
			if (ns > max) max = ns
			n++
		}
		END { print n ? int(max / 1000) : -1 }' $srdma_trace/trace
}

# Only a QP that has sent can be stuck.
sending() { swiftrdma -j qp show job fleet dev rxe0 | jq '[.[] | select(.doorbells > 0)] | length'; }
n_send() { [ "$(sending)" -eq "$1" ]; }

# When the attempts on one QP timed out, in ms since the first, for the QP that
# had most.
attempts() {
	awk '/srdma_class:/ && / ret=-110 / {
			match($0, /serial=[0-9]+/); q = substr($0, RSTART, RLENGTH)
			match($0, /[0-9]+\.[0-9]+: /); t = substr($0, RSTART, RLENGTH - 2) * 1000
			if (!(q in first)) first[q] = t
			else at[q] = at[q] " " int(t - first[q])
			if (++n[q] > n[best]) best = q
		}
		END { print at[best] }' $srdma_trace/trace
}

# The wait before the next attempt doubles from 200 ms up to 3.2 s. Summed up,
# for a stamp may be late: the emulated CPU stands still at times.
backs_off() {
	local at wait=200 sum=0 n=0

	for at in "$@"; do
		sum=$((sum + wait))
		[ "$at" -ge $((sum * 8 / 10)) ] || return 1
		wait=$((wait < 3200 ? 2 * wait : 3200))
		n=$((n + 1))
	done
	[ $n -ge 2 ]
}

# Where nothing has to be drained, nothing is stuck.
at_once() {
	local said

	trace_class 1
	fleet some --pairs $pairs --stuck $stuck --watch 50 --rate 200
	check "all send" wait_for 10 n_send $pairs
	said=$(level 3 300s)
	like "where no queue is drained, none is waited for" "$said" \
		"qps $((2 * pairs)) qps_done $((2 * pairs)) qps_pending 0"
	fleet_has some "client 96:$free server 96:$free stuck 96:$((2 * stuck))" 5
	point $? "QPs whose peers post no receives have the class as all others"
	is "no QP was paused" "$(paused pause_ns 0) $(dev rxe0 drain_max)" "0 0"
	check "the module unloads while they wait" srdma_unload
	fleet_has some "client 0:$free server 0:$free stuck 0:$((2 * stuck))" 5
	point $? "... and they have their own class back"
	fleet_signal some USR1
	fleet_end some "every message was delivered"

	# Of those that an application drains, posts to or destroys meanwhile, too.
	check "the module loads" srdma_load
	job_fleet
	fleet many --pairs 100 --stuck 60 --rate 400
	fleet wanted --pairs $stuck --stuck $stuck --rate 100 --modify 40 --churn 2
	fleet idle --pairs $pairs --both --rate 2 --depth 4
	check "many send and are not heard" wait_for 30 n_send $((100 + stuck + pairs))
	echo >$srdma_trace/trace
	trace_class 1
	check "levels are changed 12 times" flip 12
	trace_class 0
	is "no attempt failed but for the application's sake" \
		"$(grep -E 'srdma_class:.* ret=-' $srdma_trace/trace | grep -vE ' ret=-107 ')" ''
	check "the module unloads" srdma_unload
	fleet_signal many USR1
	fleet_end many "every message was delivered"
	fleet_signal wanted USR1
	fleet_end wanted "calls of the application succeed"
	[ "$(sum call_us)" -gt 0 ] && [ "$(sum call_us)" -lt 2000000 ]
	point $? "... and are not held up ($(sum call_us) us at most)"
	fleet_end idle "QPs that are idle for most of the time notice nothing"
}

ktap_begin
check "the module loads with drain_ms=$drain_ms" srdma_load drain_ms=$drain_ms
job_fleet
for bad in 0 1001 -1 x; do
	echo $bad 2>/dev/null >$param
done 2>/dev/null
is "drain_ms outside of 1 to 1000 is refused" "$(<$param)" $drain_ms
if rxe_at_once; then
	at_once
	ktap_end
fi
trace_class 1

fleet some --pairs $pairs --stuck $stuck --watch 50 --rate 200
check "all send" wait_for 10 n_send $pairs
said=$(level 3 60s)
fleet_has some "client 96:$free server 96:$free" 5
point $? "QPs of the same batch that do drain have the class"
like "the result tells of the QPs" "$said" "qps $((2 * pairs)) "
# Some of the free ones may not drain in $drain_ms ms either, on a loaded machine.
waiting=$(grep -oP 'qps_pending \K\d+' <<<"$said")
[ "${waiting:-0}" -ge 1 ]
point $? "... and that some of them wait ($waiting)"
list=$(pending)
[ "$(jq length <<<"$list")" -ge 1 ]
point $? "they are listed"
like "... with the reason" "$(jq -c '[.[] | .error, .reason]' <<<"$list")" \
	'ETIMEDOUT|110.*did not drain in time'
nap 2.5
tried=$(attempts)
# shellcheck disable=SC2086
backs_off $tried
point $? "they are tried again, less and less often (after ms:$tried)"
fleet_signal some USR1
fleet_has some 'stuck 96:8' 10
point $? "with receives at the peer, the class arrives"
is "... and nothing is listed any more" "$(pending)" "[]"
swiftrdma action clear all >/dev/null
fleet_has some 'client 0:4 server 0:4 stuck 0:8' 10
point $? "all have their own class back when it is taken back"
fleet_end some "every message was delivered"

# The other way: a lease ends while they are stuck.
level 3 300s >/dev/null
long=$(swiftrdma -j action show | jq 'map(.lease) | max')
fleet later --pairs $pairs --stuck $stuck --watch 50 --rate 200
fleet_has later "client 96:$free server 96:$free stuck 96:$((2 * stuck))" 5
point $? "new QPs have the class in force from the start"
check "... and all send" wait_for 10 n_send $pairs
level 3 $((2 * slowness))s >/dev/null
check "... that lease is released, another is about to end" swiftrdma action release "$long"
fleet_has later "client 0:$free server 0:$free" 10
point $? "at the lease's end those that drain have their own back"
list=$(pending)
[ "$(jq length <<<"$list")" -ge 1 ] && [ "$(jq '[.[] | select(has("lease"))] | length' <<<"$list")" -eq 0 ]
point $? "the stuck ones are listed, without any lease"
like "... with the reason" "$(jq -c '[.[] | .error, .reason]' <<<"$list")" \
	'ETIMEDOUT|110.*did not drain in time'
is "... and nothing else is" "$(jq '[.[] | select(.kind != "pending")] | length' "$fleet_dir/actions")" 0
fleet_signal later USR1
fleet_has later "stuck 0:$((2 * stuck))" 10
point $? "they get it back when they can"
is "... and nothing is listed any more" "$(pending)" "[]"
fleet_end later "every message was delivered"

trace_class 0
# However late the emulated CPU comes to look again.
pause=$(paused pause_ns -110) looked=$(paused looked_ns -110)
[ "$pause" -ge $((drain_ms * 1000)) ] && [ "$looked" -ge 0 ] && [ "$looked" -le $((drain_ms * 1000)) ]
point $? "a QP found paused for longer than drain_ms is let go ($pause us, before it $looked us)"
looked=$(paused looked_ns 0)
[ "$looked" -ge 0 ] && [ "$looked" -le $((drain_ms * 1000)) ]
point $? "... and those that drain did so before ($looked us)"
is "the device's drain_max is the longest pause" \
	"$(($(dev rxe0 drain_max) / 1000))" "$(paused pause_ns '-?[0-9]+' rxe0)"

# An application that wants its QP waits for no drain, however long that may be.
echo 1000 >$param
fleet wanted --pairs $stuck --stuck $stuck --rate 100 --modify 40 --churn 2 --watch 200
echo >$srdma_trace/trace
trace_class 1
flip 8
trace_class 0
interrupted=$(grep -c 'srdma_class:.* ret=-4 ' $srdma_trace/trace)
[ "$interrupted" -ge 1 ]
point $? "a drain gives way to the application ($interrupted times)"
fleet_signal wanted USR1
fleet_end wanted "... whose calls succeed"
[ "$(sum call_us)" -gt 0 ]
point $? "... and were made ($(sum call_us) us at most)"
# Only if the program itself did not come to run for a second.
timed_out=$(grep -c 'srdma_class:.* ret=-110 ' $srdma_trace/trace)
[ "$timed_out" -lt "$interrupted" ]
point $? "... and few run for $(<$param) ms ($timed_out)"

# Many that are stuck, first in the table: the others wait for none of them.
many=70
echo 100 >$param
fleet many --pairs $((many + free)) --stuck $many --watch 50 --rate 400
check "many QPs send and are not heard" wait_for 30 n_send $((many + free))
others=$(swiftrdma -j qp show job fleet dev rxe0 | jq -r "sort_by(.id)[-$free:] | map(.qpn) | join(\" \")")
echo >$srdma_trace/trace
trace_class 1
level 3 60s >/dev/null
trace_class 0
stuck_seen=$(grep -c 'srdma_class:.* ret=-110 ' $srdma_trace/trace)
[ "$stuck_seen" -ge 1 ]
point $? "a drain of theirs takes $(<$param) ms ($stuck_seen times)"
# All of the first 64 of them, if those behind had to wait for a round to end.
before=$(awk -v others="$others" '
	BEGIN { left = split(others, a); for (i in a) other[a[i]] }
	!/srdma_class:/ || !/dev=rxe0 / { next }
	{ match($0, /qpn=[0-9]+/); qpn = substr($0, RSTART + 4, RLENGTH - 4) }
	qpn in other && / ret=0 / && !--left { print n + 0; exit }
	!(qpn in other) { n++ }' $srdma_trace/trace)
[ "${before:-$many}" -lt 64 ]
point $? "those behind them are changed meanwhile (${before:-none} were done with before)"
fleet_signal many USR1
fleet_end many "... and the application ends well"
swiftrdma action clear all >/dev/null

# What failed rests before it is tried again, but not if it should have another class.
echo 10 >$param
level 3 300s >/dev/null
fleet resting --pairs $stuck --stuck $stuck --watch 50 --rate 100
fleet_has resting "stuck 96:$((2 * stuck))" 5
point $? "stuck QPs have the class from the start"
check "... and send" wait_for 10 n_send $stuck
echo >$srdma_trace/trace
trace_class 1
level 5 300s >/dev/null
swiftrdma job set empty match uid=77 >/dev/null
often() { [ "$(grep -c 'srdma_class:.* ret=-110 .*attempts=4' $srdma_trace/trace)" -ge 1 ]; }
check "one was tried some times for another" wait_for 20 often
qpn=$(grep -oP 'srdma_class: dev=rxe0 qpn=\K\d+(?=.* ret=-110 .*attempts=4)' $srdma_trace/trace | head -n 1)
echo >$srdma_trace/trace
swiftrdma action clear all >/dev/null
# It is answered after a pass.
check "another job's override is in force" swiftrdma action set job empty level 1 for 1s
trace_class 0
[ "$(grep -cP "srdma_class: dev=rxe0 qpn=$qpn .* tclass=0x00 " $srdma_trace/trace)" -ge 1 ]
point $? "it is tried at once for its own"
fleet_signal resting USR1
fleet_end resting "... and the application ends well"

fleet last --pairs $stuck --stuck $stuck --rate 100 --watch 200
level 3 10s >/dev/null &
nap 1
fleet_signal last HUP
fleet_says last '^ended ' 10
like "stuck QPs are modified and destroyed at once" "$line" "^ended $stuck "
note "$line"
wait $!
fleet_end last "... and the application ends well"
is "nothing is listed of QPs that are gone" "$(pending)" "[]"
check "the module unloads" srdma_unload
ktap_end
