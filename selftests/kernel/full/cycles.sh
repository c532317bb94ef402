#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# CYCLES times in, disarmed and out, under programs that create, modify and
# destroy QPs and one that talks. Whatever the kernel says then at warning level
# or above it must also say of the same programs without the module.

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

cycles=${CYCLES:-50}

# Lines of the kernel log at warning level or above, less what differs from one
# time to the next. What dmesg_complaints leaves out of a slow CPU must be left out
# here too, though both runs could say it: the kernel does so once per boot, so it
# would be in one of the two, and by chance in the longer one, with the module.
said() { dmesg_complaints | sed -E 's/^\[ *[0-9.]+\] *//; s/[0-9]+/N/g' | sort -u; }

load_start() {
	start churn churn --dev rxe0 --procs 4 --live 24 --total 100000000
	churn=$pid
	lat_start talk --log "$work/log"
}
load_stop() {
	kill -TERM $churn
	wait $churn || return 1
	lat_stop talk && [ "$(field failed "$work/churn")" = 0 ]
}
talked() { [ "$(wc -l <"$work/log")" -gt "$1" ]; }

ktap_begin
load_start
point $? "churn and a conversation, without the module"
check "... of 2000 messages" wait_for 120 talked 2000
load_stop
point $? "they have no error"
said >"$work/without"
dmesg --clear

load_start
point $? "the same with it"
done=0 hooked=0
for ((i = 1; i <= cycles; i++)); do
	srdma_load || break
	some() { [ "$(dev rxe0 created)" -ge 5 ]; }
	wait_for 60 some && hooked=$((hooked + 1))
	srdma_unload || break
	done=$i
	[ $((i % 5)) -ne 0 ] || note "$i of $cycles"
done
is "in and out $cycles times" "$done" "$cycles"
is "each time QPs were created through it" "$hooked" "$cycles"
load_stop
point $? "the programs had no error"
only_gsi() { [ "$(rdma_qps)" = 2 ]; }
check "no QP is left" wait_for 30 only_gsi
said >"$work/with"
is "the kernel says nothing that it does not say without" \
	"$(comm -13 "$work/without" "$work/with")" ""
ktap_end
