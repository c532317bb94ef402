#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Does the unload test see anything? The same cycles of load and unload, with the
# callers held on their way, must kill a kernel whose module leaves out the steps
# that wait for them, and not one whose module takes them.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
make --no-print-directory modules progs bench-progs >/dev/null || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# cycles N SKIP_GRACE: status of the VM; what it said is in out, its console in err.
cycles() {
	scripts/vm --nic rxe --append 'preempt=full panic_on_warn=1' --timeout 1400 -- \
		bash selftests/host/guest/unload_cycles.sh "$@" >"$work/out" 2>"$work/err"
}

ktap_begin
cycles 2 0
is "with all steps, the VM lives" "$? $(tail -n 1 "$work/out")" "0 survived"
# The first may be lucky.
cycles 50 7
is "without them, it dies" "$?" 125
like "... in a module that is not there any more" "$(cat "$work/err")" \
	'BUG: unable to handle page fault|Oops|general protection fault'
like "... which was ours" "$(cat "$work/err")" '[Uu]nloaded( tainted modules)?:.*swiftrdma|last unloaded: swiftrdma|RIP: 0010:(srdma|wrap)_'
is "... before the end" "$(grep -c survived "$work/out")" 0
ktap_end
