#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Dumps of QPs while QPs come and go, and dumps of what changed.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/traffic.sh
PATH=$PWD/build/progs:$PATH
stay=${STAY:-2000} dumps=${DUMPS:-100}

# hold's PID is $held; it says what it did in /tmp/held.
start_hold() {
	hold --dev rxe0 --no-stdin "$@" >/tmp/held & held=$!
	wait_for 120 grep -q '^ready' /tmp/held
}

ktap_begin
check "the module loads" srdma_load
start_hold --count "$stay"
point $? "QPs that stay"
churn --dev rxe0 --procs 1 --live 500 --modify none --total 10000000 >/tmp/churned & churner=$!
# By what has gone, which only grows: how many there are at a time is a random walk.
churning() { [ "$(dev rxe0 destroyed)" -gt 100 ]; }
check "QPs that do not" wait_for 60 churning
points_of dumpcheck once "$held" "$stay" "$dumps"
check "they still come and go" alive "$churner"

# Of each QP all attributes but TIME must be the same in the end, with changes of
# every kind on the way: new ones, states, doorbells, jobs, overrides.
rm -f /tmp/quiet /tmp/delta
dumpcheck since /tmp/quiet >/tmp/delta & delta=$!
check "deltas begin" wait_for 60 grep -q begun /tmp/delta
ib_send_bw -d rxe1 -F -n 200 -s 64 -q 4 -p 18600 >/tmp/bw.server 2>&1 & server=$!
check "traffic: a server" wait_for 60 listening 18600
ib_send_bw -d rxe0 -F -n 200 -s 64 -q 4 -p 18600 10.1.0.2 >/tmp/bw.client 2>&1 & client=$!
swiftrdma job set one match comm=hold >/dev/null
swiftrdma action set job one level 3 for 300s reason test >/dev/null
kill -USR1 "$held"
swiftrdma job set two match comm=hold order 1 >/dev/null
swiftrdma action clear all >/dev/null
kill -TERM "$churner"
wait "$churner"
point $? "QPs came and went without an error: $(cat /tmp/churned)"
wait "$client"
status=$?
[ $status = 0 ] || note "$(cat /tmp/bw.client)"
point $status "traffic: a client ends well"
wait "$server"
swiftrdma job del one
quiet() { [ "$(swiftrdma -j action show | jq length)" = 0 ]; }
check "it is quiet" wait_for 60 quiet
touch /tmp/quiet

wait "$delta"
passed=$?
points_of cat /tmp/delta
point $passed "deltas laid over each other are a full dump"

kill "$held"
wait "$held"
check "it unloads" srdma_unload
ktap_end
