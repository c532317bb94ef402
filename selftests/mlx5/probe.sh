#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma probe on the software ConnectX without a model of contention: with the module and
# without it, by root and by an ordinary user, and killed at any time. full/probe.sh makes each
# assumption untrue.
#
#   scripts/vm --nic softhca -- selftests/mlx5/probe.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/probe.sh
. selftests/lib/probe.sh

# What needs neither Ethernet nor a model.
exact='dbrec module-count uar-page module-uar wqe-counters'
objects() { cat $hca_debug/hca*/objects; }
same_objects() { [ "$(objects)" = "$before" ]; }

ktap_begin
dmesg -C
check "its driver's own objects" hca_warm_up
before=$(objects)
# shellcheck disable=SC2086 # the words
probe mlx5_0 peer mlx5_1 $exact sched-bind sched-rate sched-weight diag-counters registers
note_findings
is "what the NIC has is as assumed" "$(checks_with 'as assumed')" "dbrec uar-page wqe-counters"
is "the rest cannot be tried" "$(checks_with cannot)" \
	"module-count module-uar sched-bind sched-rate sched-weight diag-counters registers"
like "... without the module" "$(words_of module-count)" 'module not loaded'
like "... without elements" "$(words_of sched-bind)" 'no scheduling elements'
like "... without counters" "$(words_of diag-counters)" 'no diagnostic counters'
like "... without a NIC's time" "$(words_of registers)" 'scale N'
is "its status" "$ended" 1
is "it is simulated, and says so" "$(jq .simulated <<<"$found")" true
like "... to people as well" "$(swiftrdma probe mlx5_0 uar-page)" SIMULATED
check "nothing is left" wait_for 10 same_objects

check "load" both_load
# shellcheck disable=SC2086
probe mlx5_0 $exact
is "with the module all of it is as assumed, in loopback too" "$(checks_with 'as assumed')" "$exact"
is "... and that is the status" "$ended" 0
check "unload" both_unload

kill_probes mlx5_0 uar-page congestion dbrec peer mlx5_1
check "killed at eight times, it leaves nothing" wait_for 60 same_objects

install -D build/bin/swiftrdma build/bin/swiftrdma-probe -t /tmp/progs
found=$(setpriv --reuid 65534 --regid 65534 --clear-groups /tmp/progs/swiftrdma -j probe mlx5_0 \
	dbrec uar-page)
is "an ordinary user may do it" "$(checks_with 'as assumed')" "dbrec uar-page"
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
