# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Runs swiftrdma probe and reads its report. $found is the report, $ended the exit status.

work=${work:-$(mktemp -d)}

# probe DEV [WORD]...
# shellcheck disable=SC2034 # for suites
probe() {
	found=$(swiftrdma -j probe "$@" 2>"$work/probe.err")
	ended=$?
}

# checks_with VERDICT: the checks with that verdict, in their order.
checks_with() { jq -r --arg v "$1" '[.checks[] | select(.verdict == $v).check] | join(" ")' <<<"$found"; }

# words_of CHECK: the sentence of its finding.
words_of() { jq -r --arg c "$1" '.checks[] | select(.check == $c).found' <<<"$found"; }

# figure CHECK NAME: what was found for it.
figure() {
	jq -r --arg c "$1" --arg n "$2" \
		'.checks[] | select(.check == $c).figures[] | select(.name == $n).found' <<<"$found"
}

# Each finding in a comment, for a reader of the log.
note_findings() {
	note "$(jq -r '.checks[] | "\(.check): \(.verdict): \(.found)"' <<<"$found")"
	[ ! -s "$work/probe.err" ] || note "$(<"$work/probe.err")"
}

# kill_probes WORD...: kills probe at eight times. To be followed by a look at what is left.
kill_probes() {
	local i pid

	for ((i = 1; i <= 8; i++)); do
		swiftrdma probe "$@" >/dev/null 2>&1 & pid=$!
		nap 0.$i
		kill -9 $pid
		wait $pid 2>/dev/null
	done
}
