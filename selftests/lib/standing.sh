# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Numbers of QPs by the state of an override, as printed by the command:
# "QPS DONE PENDING CANNOT LATER UNKNOWN".

# words: the figures of the result that "action set" prints, after its first word.
words() {
	awk '{
		delete v
		for (i = 1; i < NF; i++) v[$i] = $(i + 1)
		if ("qps" in v)
			print $1, v["qps"], v["qps_done"], v["qps_pending"], v["qps_unsupported"],
				v["qps_unconnected"], v["qps_unknown"]
	}'
}
# level JOB N: sets a level under a lease that outlives the test.
level() { swiftrdma action set job "$1" level "$2" for 3000s 2>&1 | words; }
# The same figures of the only override.
listed() {
	swiftrdma -j action show | jq -r '.[] | select(.kind == "override") | [.qps, .qps_done,
		.qps_pending, .qps_unsupported, .qps_unconnected, .qps_unknown] | map(tostring) | join(" ")'
}
# Listed QPs: number, error and reason.
reasons() {
	swiftrdma -j action show | jq -r '.[] | select(.kind == "pending") |
		"\(.qpn) \(.error // 0) \(.reason)"' | sed "s/ -95 / EOPNOTSUPP /" | sort -n
}
# in_debugfs DEV: "N WORD...", counts of the words in the column for the state of a QP's
# class, of QPs with a job.
in_debugfs() {
	awk 'NR == 1 { at = index($0, "dest class") + 5; next }
	     substr($0, index($0, " mix ")) ~ /^ mix / { print substr($0, at, 7) }' \
		"/sys/kernel/debug/swiftrdma/$1/qps" | sort | uniq -c | xargs
}
