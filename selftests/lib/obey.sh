#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Guest 2 of a pair, for a suite in guest 1 (selftests/lib/other.sh): runs in one shell what
# comes over the network, and answers with the output and the status.
#
#   scripts/vm --pair --nic rxe -- SUITE -- selftests/lib/obey.sh

cd "$(dirname "$0")/../.." || exit 1
# This script once more, with the connection as its input and output.
[ "${1:-}" = connected ] ||
	exec /run/vm/busybox nc -l -p 4789 -e "$PWD/selftests/lib/obey.sh" connected
exec 8<&0 9>&1 </dev/null >/dev/null
. selftests/lib/module.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH
obey_said=$(mktemp)

while IFS= read -r obey_command <&8; do
	# A program that the command starts must not hold the connection.
	eval "$obey_command" >"$obey_said" 2>&1 8<&- 9>&-
	obey_status=$?
	awk '{ print "| " $0 }' "$obey_said" >&9
	echo "= $obey_status" >&9
done
! srdma_loaded || srdma_unload
