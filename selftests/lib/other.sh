# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# For a suite in guest 1 of a pair: `other CMD...` runs CMD in guest 2, in a shell that stays and
# that has selftests/lib/module.sh, proc.sh and qpsh.sh.

# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

other_address=10.3.0.2

# shellcheck disable=SC2093 # a redirection only
other_connect() { { exec {other_fd}<>/dev/tcp/$other_address/4789; } 2>/dev/null; }

# other CMD [ARG]...: prints what CMD prints in guest 2; the status is CMD's.
other() {
	local line

	printf '%q ' "$@" >&"$other_fd"
	echo >&"$other_fd"
	while IFS= read -r line <&"$other_fd"; do
		case $line in
		'| '*) echo "${line#| }" ;;
		'= '*) return "${line#= }" ;;
		esac
	done
	echo "# the other guest is gone"
	return 125
}

# connect_hosts: connects new QPs of the processes a here and b in guest 2, with traffic classes 8
# and 16. $a and $b are their numbers.
# shellcheck disable=SC2154,SC2016 # qpsh.sh's; in guest 2
connect_hosts() {
	qp a create
	a=$last
	b=$(other eval 'qp b create; echo $last')
	qp a "take $a rts 8 0 $b $other_address"
	[ "$answer" = ok ] || return
	[ "$(other eval "qp b 'take $b rts 16 0 $a 10.3.0.1'; echo \$answer")" = ok ]
}

# A suite without another guest fails here, at once.
if [ "${VM_GUEST:-}" != 1 ]; then
	echo "# run it by: scripts/vm --pair --nic rxe -- $0 -- selftests/lib/obey.sh"
	exit 1
fi
wait_for 120 other_connect || exit 1
