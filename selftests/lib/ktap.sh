# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A KTAP suite: ktap_begin, then points, then ktap_end, which prints the plan. A
# suite that dies before that has no plan and counts as failed.

ktap_n=0 ktap_failed=0

ktap_begin() { echo "TAP version 13"; }

# point STATUS NAME: a point; status 0 is ok.
point() {
	ktap_n=$((ktap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $ktap_n - $2"
	else
		echo "not ok $ktap_n - $2"
		ktap_failed=1
	fi
}

# check NAME CMD...: the status of CMD decides, and is returned; its output is printed as comments.
check() {
	local name=$1 out status

	shift
	out=$("$@" 2>&1)
	status=$?
	if [ $status -ne 0 ]; then
		printf '# %s: status %d\n' "$*" "$status"
		[ -z "$out" ] || sed 's/^/#   /' <<<"$out" | tail -n 30
	fi
	point "$status" "$name"
	return "$status"
}

# is NAME GOT WANTED
is() {
	if [ "$2" = "$3" ]; then
		point 0 "$1"
	else
		printf '# got:    %s\n# wanted: %s\n' "$2" "$3"
		point 1 "$1"
	fi
}

# like NAME GOT PATTERN: GOT contains a match of an extended regular expression.
like() {
	if grep -qE -- "$3" <<<"$2"; then
		point 0 "$1"
	else
		printf '# got:    %s\n# wanted: /%s/\n' "$2" "$3"
		point 1 "$1"
	fi
}

# points_of CMD...: lines "ok - NAME" and "not ok - NAME" of CMD are points, other lines
# are comments; one more point is that CMD came to its end.
points_of() {
	local line status

	while IFS= read -r line; do
		case $line in
		'ok - '*) point 0 "${line#ok - }" ;;
		'not ok - '*) point 1 "${line#not ok - }" ;;
		'exit '*) status=${line#exit } ;;
		*) note "${line#\# }" ;;
		esac
	done < <("$@" 2>&1; echo "exit $?")
	# Status 1 means that some points of CMD failed; these are counted already.
	[ "$status" = 0 ] || [ "$status" = 1 ]
	point $? "${1##*/} came to its end (status $status)"
}

skip() {
	ktap_n=$((ktap_n + 1))
	echo "ok $ktap_n - $1 # SKIP $2"
}

note() { sed 's/^/# /' <<<"$*"; }

ktap_end() {
	echo "1..$ktap_n"
	exit $ktap_failed
}
