# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What swiftrdma doctor finds, and the commands by which it mends it. Needs ktap.sh
# and module.sh.

# look CHECK...: its findings, in $found, and its status, in $ended.
look() {
	found=$(swiftrdma -j doctor "$@" 2>&1)
	# shellcheck disable=SC2034 # for the test
	ended=$?
}

# of RULE OBJECT [WHAT]: what is (by a filter of jq's, all) of those findings that are
# by this rule, of an object that begins so; each call of jq is dear in here.
of() {
	jq -rc --arg r "$1" --arg o "$2" \
		".[] | select(.rule == \$r and (.object | startswith(\$o))) | ${3:-.}" <<<"$found"
}

# finds NAME VERDICT RULE OBJECT PATTERN: what it says of that matches.
finds() { like "$1" "$(of "$3" "$4" '.verdict + " " + .says')" "^$2 .*$5"; }

# mends NAME RULE OBJECT CHECK...: its command is run as it is printed, and then
# there is nothing more by this rule, of this object.
mends() {
	local name=$1 rule=$2 object=$3 command out

	shift 3
	command=$(of "$rule" "$object" '.mend // empty' | head -n 1)
	out=$(bash -c "$command" 2>&1) || {
		note "$command: $out"
		command=''
	}
	[ -n "$command" ]
	point $? "$name: it says how${command:+: $command}"
	look "$@"
	is "... and then finds it well" \
		"$(of "$rule" "$object" 'select(.verdict != "ok") | .verdict + " " + .says')" ""
}
