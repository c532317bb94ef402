#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's other windows: debugfs, which must say what netlink says,
# tracepoints, parameters and modinfo.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/qpsh.sh
. selftests/lib/proc.sh
PATH=$PWD/build/progs:$PATH
tracing=/sys/kernel/tracing

# summary KEY: what rxe0's says; column FILE KEYCOLUMN KEY COLUMN: of its tables.
summary() { awk -v key="$1" '$1 == key { print $2 }' $srdma_debugfs/rxe0/summary; }
column() { awk -v k="$2" -v key="$3" -v c="$4" '$k == key { print $c }' "$srdma_debugfs/rxe0/$1"; }

ktap_begin
check "parameters: out of bounds at load is refused" eval '! srdma_load drain_ms=0'
like "... and the log says which" "$(dmesg | tail -n 3)" "\`0' invalid for parameter \`drain_ms'"
check "parameters: too much is refused" eval '! srdma_load drain_ms=5000'
like "... and the log says which" "$(dmesg | tail -n 3)" "\`5000' invalid for parameter \`drain_ms'"
check "parameters: no number is refused" eval '! srdma_load drain_ms=abc'
like "... and the log says which" "$(dmesg | tail -n 3)" "\`abc' invalid for parameter \`drain_ms'"
check "nothing of it is loaded" eval '! srdma_loaded'
check "the module loads with one that is good" srdma_load drain_ms=250
param=/sys/module/swiftrdma/parameters/drain_ms
is "it is as given" "$(cat $param)" 250
for bad in 0 1001 -1 abc ''; do
	check "parameters: '$bad' is refused later, too" eval '! echo "$bad" 2>/dev/null >$param'
done
is "it is still as given" "$(cat $param)" 250
check "it can be changed" eval 'echo 100 >$param'

info=$(modinfo "$srdma_ko")
for field in 'license: +GPL$' 'version: +[0-9.]+$' 'description: +SwiftRDMA: .' \
	'parm: +drain_ms:.*1 to 1000 ms'; do
	like "modinfo: ${field%%:*}" "$info" "^$field"
done

# Some of everything.
echo 1 >$tracing/events/swiftrdma/enable
qpsh_start a qpsh --comm traced
swiftrdma job set test match comm=traced >/dev/null
qp a 'create 3'
qpn=$last
lease=$(nlreq --lease ACT doit 'lease{origin=test rank=9 ttl_ms=600000} action{knob=1 value=5 job=test reason=because} action{knob=7 value=3 job=test}')
qp a create
like "the limit holds" "$answer" EDQUOT
qp a "take $qpn rtr 2 1"

netlink=$(swiftrdma -j dev show rxe0 | jq -c '.[0]')
for key in qps uars cqs mrs created destroyed modified rejected create_failed adopted untracked \
	live_changed live_failed; do
	is "summary: $key" "$(summary $key)" "$(jq ".$key" <<<"$netlink")"
done
is "summary: bytes of QPs" "$(summary bytes_of_qps)" "$(($(summary bytes_per_qp) * $(summary qps)))"
is "qps: as many as netlink has" "$(($(wc -l <$srdma_debugfs/rxe0/qps) - 1))" "$(qps dev rxe0)"
swiftrdma -j qp show qpn "$qpn" >/tmp/qp
is "qps: QPN, serial, state, process" \
	"$(column qps 1 "$qpn" 2) $(column qps 1 "$qpn" 4) $(column qps 1 "$qpn" 8)" \
	"$(jq -r '.[0] | "\(.serial // .id) \(.state) \(.pid)"' /tmp/qp)"
like "qps: class, asked and programmed" "$(grep -E "^ *$qpn " $srdma_debugfs/rxe0/qps)" \
	' 5 0x02>0xa2  1>5 '
is "jobs: id, QPs, created, rejected" \
	"$(awk '$2 == "test" { print $1, $3, $4, $6 }' $srdma_debugfs/rxe0/jobs)" \
	"$(swiftrdma -j job show test | jq -r '.[0] | "\(.id) \(.devs[0] | "\(.qps) \(.created) \(.rejected)")"')"
# in_jobs DEV JOB COLUMN: by the heading.
in_jobs() {
	awk -v job="$2" -v c="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $2 == job { print $at[c] }' $srdma_debugfs/$1/jobs
}
is "jobs: the mean of no command is none" "$(in_jobs rxe1 unassigned commands) $(in_jobs rxe1 unassigned command_mean_ns)" "0 -"
like "jobs: the mean of some is one" "$(in_jobs rxe0 test commands) $(in_jobs rxe0 test command_mean_ns)" '^[1-9][0-9]* [1-9][0-9]*$'
is "jobs: knobs that are not set" "$(for of in bit_rate weight wr_rate credits place chunk huge_pages; do in_jobs rxe0 test $of; done | xargs)" "- - - - - - -"
is "jobs: level and limit" "$(awk '$2 == "test" { print $13, $14 }' $srdma_debugfs/rxe0/jobs)" '5 3'
like "actions: the override, its lease and why" "$(cat $srdma_debugfs/rxe0/actions)" \
	"^ *$lease +9 test +[0-9]+ level +5 job test +yes +- +- because\$"
is "uars: index, QPs, process" "$(awk '$2 == "context" { print $1, $3, $14 }' $srdma_debugfs/rxe0/uars)" \
	"$(swiftrdma -j uar show rxe0 | jq -r '.[] | select(.kind == "context") | "\(.uar) \(.qps) \(.pid)"')"
# A process that calls itself a line of its own and a colour.
qpsh_start b qpsh --comm $'x\n \e[31mforged'
qp b create
like "qps: a name is one word" "$(grep -E "^ *$last " $srdma_debugfs/rxe0/qps)" \
	' x\\012\\040\\033\[31mforged '
like "uars: a name is one word" "$(cat $srdma_debugfs/rxe0/uars)" ' x\\012\\040\\033\[31mforged '
qpsh_stop b
is "ports: netdev" "$(column ports 1 1 5)" "$(swiftrdma -j port show rxe0 | jq -r '.[0].netdev')"
is "version" "$(head -n 1 $srdma_debugfs/version)" "module $(modinfo -F version "$srdma_ko")"
is "disarm: armed" "$(cat $srdma_debugfs/disarm)" armed
for bad in 0 2 yes ''; do
	check "disarm: '$bad' is refused" eval '! echo "$bad" 2>/dev/null >$srdma_debugfs/disarm'
done
is "disarm: still armed" "$(cat $srdma_debugfs/disarm)" armed

# The trace of all that.
qp a "destroy $qpn"
qpsh_stop a
nlreq ACT doit "lease{id=$lease ttl_ms=0}" >/dev/null
echo 0 >$tracing/events/swiftrdma/enable
trace=$(cat $tracing/trace)
serial=$(jq '.[0] | .serial // .id' /tmp/qp)
pid=$(jq '.[0].pid' /tmp/qp)
who="dev=rxe0 qpn=$qpn serial=$serial"
like "trace: create" "$trace" "srdma_qp_create: $who type=RC job=[0-9]+ pid=$pid uid=0 name=traced adopted=0 "
like "trace: modify to INIT" "$trace" "srdma_qp_modify: $who mask=0x[0-9a-f]+ ret=0 state=INIT"
like "trace: modify to RTR, the class with it" "$trace" \
	"srdma_qp_modify: $who .* state=RTR tclass_asked=0x02 tclass=0xa2 sl_asked=1 sl=5"
like "trace: destroy" "$trace" "srdma_qp_destroy: $who type=RC .*name=traced"
like "trace: act" "$trace" "srdma_act: batch=[0-9]+ lease=$lease knob=1 value=5 target=test reason=because"
like "trace: act, without a reason" "$trace" "srdma_act: batch=[0-9]+ lease=$lease knob=7 value=3 target=test reason="
like "trace: lease" "$trace" "srdma_lease: lease=$lease rank=9 what=new ttl_ms=600000"
like "trace: lease, ended" "$trace" "srdma_lease: lease=$lease rank=9 what=end ttl_ms=0"
like "trace: reject" "$trace" "srdma_reject: dev=rxe0 job=test qps=3 max_qps=3"

# Read while devices and QPs come and go.
reading() {
	while :; do
		cat $srdma_debugfs/*/* 2>/dev/null
	done
}
reading >/tmp/read & reader=$!
churn --dev rxe0 --procs 1 --total 100000 --seconds 60 >/dev/null & churner=$!
for _ in 1 2 3; do
	rdma link del rxe1
	rdma link add rxe1 type rxe netdev v1
done
check "devices come and go below readers" alive "$reader"
check "and QPs" alive "$churner"
kill "$reader"
kill -TERM "$churner"
wait "$churner"
check "something was read" test -s /tmp/read
is "files of the device that came back" \
	"$(find $srdma_debugfs/rxe1 -type f -printf '%f\n' | sort | xargs)" \
	"actions jobs peers ports priorities qp_reports qps reports summary uars"
check "device rename" rdma dev set rxe1 name renamed
is "the directory has its new name" "$(awk '$1 == "device" { print $2 }' $srdma_debugfs/renamed/summary)" renamed
check "... and its old one again" rdma dev set renamed name rxe1
check "it unloads" srdma_unload
check "nothing of it is left in debugfs" eval '! [ -e $srdma_debugfs ]'
ktap_end
