#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Which override holds, how long, and that the class in force is what a QP gets
# when it is connected. (What is changed on live QPs is another test.)

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/qpsh.sh
. selftests/lib/proc.sh
PATH=$PWD/build/progs:$PATH

# lease RANK [TTL_MS]: a new lease's id is in $id.
lease() { id=$(nlreq --lease ACT doit "lease{origin=test rank=$1 ttl_ms=${2:-600000}}"); }
# act ID ITEM...: under a lease.
act() {
	local id=$1

	shift
	nlreq ACT doit "lease{id=$id ttl_ms=600000} $*" >/dev/null
}
end() { nlreq ACT doit "lease{id=$1 ttl_ms=0}" >/dev/null; }
job_level() { echo "action{knob=1 value=$1 job=test reason=because}"; }
qp_level() { echo "action{knob=1 value=$1 dev_index=$dev qpn=$2}"; }
# The level of a QP that is not connected yet, as it is in force.
level_of() { swiftrdma -j qp show qpn "$1" | jq -r '.[0].level // "none"'; }
sl_of() { swiftrdma -j qp show qpn "$1" | jq '.[0].sl'; }
# connect [TCLASS [SL]]: what a new QP is given when it asks for this.
connect() {
	qp a create
	new=$last
	qp a "take $new rtr ${*:-0}"
	qp a "class $new"
}
# Of each lease: id, in force.
in_force() { swiftrdma -j action show | jq -c '[.[] | select(.kind == "override") | [.lease, .in_force // false]] | sort'; }

ktap_begin
check "the module loads" insmod "$srdma_ko"
dev=$(dev rxe0 index)
qpsh_start a qpsh --comm leased
swiftrdma job set test match comm=leased >/dev/null

# Nobody but this site knows what a level is.
is "no level means anything yet" "$(swiftrdma -j level show)" '[]'
like "... so that nothing is raised to one, with what to write" \
	"$(nlreq ACT doit "lease{origin=test} $(job_level 3)")" "^ENODATA .*'swiftrdma level set 3 dscp 26 sl 3'"
like "... no QP either" "$(swiftrdma action set dev rxe0 qpn 1 level 3 2>&1)" 'no meaning yet'
is "... and nothing is in force" "$(in_force)" '[]'
lease 10
is "taking back is no matter of levels" \
	"$(nlreq ACT doit "lease{id=$id} action{knob=1 clear job=test}" | cut -d' ' -f1)" 0
check "a level may be an SL alone" swiftrdma level set 3 sl 2
is "... and is shown as such" "$(swiftrdma -j level show | jq -c .)" '[{"level":3,"sl":2}]'
act "$id" "$(job_level 3)"
connect 34 3
is "... the traffic class stays the application's" "$answer $(sl_of "$new")" 'class 34 2'
qp a "destroy $new"
check "... or a DSCP alone" nlreq LEVEL_SET doit 'level{level=3 dscp=9}'
connect 34 3
is "... then the SL stays" "$answer $(sl_of "$new")" 'class 38 3'
qp a "destroy $new"
like "the others still mean nothing" "$(nlreq ACT doit "lease{id=$id} $(job_level 4)")" ENODATA
is "... and change nothing of what is in force" "$(in_force)" "[[$id,true]]"
end "$id"
check "all levels are set" srdma_levels
connect 34 3
is "without an override the application's class" "$answer" 'class 34'

# A QP's own changes nothing of others' that are in force.
qpsh_start b qpsh --comm apart
qp b 'create 2'
read -r _ first _ second <<<"$answer"
lease 10
act "$id" "$(qp_level 3 "$first")"
changed=$(nldump --dev rxe0 --what since --repeats 1 --between \
	"nlreq ACT doit 'lease{id=$id ttl_ms=600000} $(qp_level 1 "$second")' >/dev/null" |
	jq '.since.objects')
is "an override of another QP changes that one alone" \
	"$changed $(level_of "$first") $(level_of "$second")" "1 3 1"
end "$id"
is "... and its end ends both" "$(level_of "$first") $(level_of "$second")" "none none"
qpsh_stop b

lease 10
low=$id
act "$low" "$(job_level 1)"
connect 0 0
is "an override" "$answer" 'class 32'
connect 3 0
is "the ECN bits stay the application's" "$answer" 'class 35'
connect 254 7
is "... and nothing else does" "$answer" 'class 34'
is "asked and programmed are both shown" \
	"$(swiftrdma -j qp show qpn "$new" | jq -c '.[0] | [.level, .tclass_asked, .tclass, .sl_asked, .sl]')" \
	'[1,254,34,7,1]'

lease 20
high=$id
act "$high" "$(job_level 2)"
connect
is "the higher rank holds" "$answer" 'class 64'
is "the other is outranked" "$(in_force)" "[[$low,false],[$high,true]]"
act "$low" "$(job_level 3)"
connect
is "... whichever came last" "$answer" 'class 64'
lease 20
young=$id
act "$young" "$(job_level 4)"
connect
is "among equals the younger lease" "$answer" 'class 128'
act "$high" "$(job_level 5)"
connect
is "... though the older one spoke last" "$answer" 'class 128'
is "one of three is in force" "$(in_force)" "[[$low,false],[$high,false],[$young,true]]"

# A QP's own override, before it is connected.
qp a create
own=$last
act "$low" "$(qp_level 6 "$own")"
is "a job's of higher rank goes before a QP's" "$(level_of "$own")" 4
act "$high" "$(qp_level 7 "$own")"
is "a QP's goes before its job's of equal rank" "$(level_of "$own")" 7
raised=$own
qp a "take $own rtr"
qp a "class $own"
is "... and is what it gets" "$answer" 'class 224'
connect
is "its job's others get theirs" "$answer" 'class 128'

# Two of one QP.
act "$low" "$(qp_level 5 "$own")"
is "one of lower rank for the same QP changes nothing" "$(level_of "$own")" 7
act "$high" "action{knob=1 clear dev_index=$dev qpn=$own}"
is "... and the job's holds where the stronger is taken back" "$(level_of "$own")" 4

end "$young"
connect
is "the lease ends: the next one holds" "$answer" 'class 160'
act "$high" "action{knob=1 clear job=test}"
connect
is "cleared: the one of low rank" "$answer" 'class 96'
end "$high"
qp a create
own=$last
is "a QP's own that was outranked holds, when nothing stronger is left" \
	"$(level_of "$raised")" 5
is "nothing of an ended lease is left" "$(in_force | jq -c 'map(.[0]) | unique')" "[$low]"
end "$low"
connect 40 2
is "after the last one the application's" "$answer" 'class 40'
is "no override is left" "$(in_force)" '[]'

# One that is of the device, one that is of all.
other=$(dev rxe1 index)
lease 10
act "$id" "action{knob=1 value=5 job=test dev_index=$other}"
connect
is "another device's override" "$answer" 'class 0'
act "$id" "$(job_level 2)"
connect
is "every device's" "$answer" 'class 64'
end "$id"

# The table of levels.
check "a level is given a meaning" swiftrdma level set 2 dscp 46 sl 9
is "it is shown" "$(swiftrdma -j level show | jq -c '.[2] | [.dscp, .sl]')" '[46,9]'
lease 10
act "$id" "$(job_level 2)"
connect 1
is "it is what a QP gets" "$answer" 'class 185'
is "... and its SL" "$(swiftrdma -j qp show qpn "$new" | jq '.[0].sl')" 9
nlreq LEVEL_SET doit 'level{level=2 dscp=16 sl=2}' >/dev/null
end "$id"

# Time.
left() { swiftrdma -j action show | jq '[.[] | select(.kind == "override").ttl_ms] | min'; }
lease 10 3600000
act "$id" "$(job_level 1)"
check "a renewal sets the time anew, to less as well" test "$(left)" -le 600000
nlreq ACT doit "lease{id=$id ttl_ms=1800000}" >/dev/null
check "... and to more again" test "$(left)" -gt 600000
# Last, for it may be over before a slow guest comes to the next line.
nlreq ACT doit "lease{id=$id}" >/dev/null
check "the default time" test "$(left)" -le 5000

swiftrdma -j monitor lease >/tmp/events &
monitor=$!
lease 30 600000
monitor_hears() { end_one && grep -q . /tmp/events; }
end_one() {
	local id

	lease 1
	end "$id"
}
check "the monitor hears" wait_for 30 monitor_hears
nlreq ACT doit "lease{id=$id ttl_ms=300} $(job_level 6)" >/dev/null
expired() { grep -q "\"expired\".*\"lease\":$id\\b" /tmp/events; }
check "a lease that runs out is an event" wait_for 30 expired
is "and holds no more" "$(in_force | jq -c "map(select(.[0] == $id))")" '[]'
like "nor can it be renewed" "$(nlreq ACT doit "lease{id=$id}")" '^ENOENT 0 - no such lease'
like "the log says so" "$(dmesg | tail -n 20)" "swiftrdma: lease $id of test ran out"
kill "$monitor"

lease 10
act "$id" "$(job_level 3)"
swiftrdma job del test
is "a job that goes takes its overrides along" "$(in_force)" '[]'
qpsh_stop a
check "it unloads, leases or not" srdma_unload
ktap_end
