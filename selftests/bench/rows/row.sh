# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# What the rows have in common. They run in the VM, in the project's root, and
# print one JSON object each; everything else is for stderr.

# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

row_qps=${ROW_QPS:-10000}
row_tmp=$(mktemp -d /tmp/row.XXXXXX)

row_die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
row_say() { printf '# %s: %s\n' "${0##*/}" "$*" >&2; }

# row BENCH VALUE UNIT VS RATIO OP GOAL [KEY VALUE]...: OP and GOAL say what
# becomes of the ratio, or, where there is none (VS and RATIO null), the value.
row() {
	local bench=$1 value=$2 unit=$3 vs=$4 ratio=$5 op=$6 goal=$7 ok=false judged

	shift 7
	judged=$ratio
	[ "$ratio" != null ] || judged=$value
	if awk -v a="$judged" -v b="$goal" "BEGIN { exit !(a $op b) }"; then
		ok=true
	fi
	printf '{"bench":"%s","value":%s,"unit":"%s","vs":%s,"ratio":%s,"goal":"%s %s","ok":%s' \
		"$bench" "$value" "$unit" "$vs" "$ratio" "$op" "$goal" "$ok"
	while [ $# -gt 1 ]; do
		printf ',"%s":%s' "$1" "$2"
		shift 2
	done
	printf '}\n'
}

# median: of the numbers on stdin, one a line.
median() {
	sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# mean: likewise, as a whole number.
mean() { awk '{ sum += $1 } END { printf "%.0f\n", sum / NR }'; }

quotient() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.4g", a / b }'; }

# json_field KEY: of a flat object on stdin.
json_field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p"; }

# took CMD...: ms of CPU time, the median of $repeats (five); what it prints goes to a
# file, $row_tmp/out, as with a pipe. Not the clock's: while the only CPU waits for the host's files, --icount
# lets the clock jump.
took() {
	local i TIMEFORMAT='%3U %3S'

	for ((i = 0; i < ${repeats:-5}; i++)); do
		{ time "$@" >"$row_tmp/out"; } 2>&1 || exit 1
	done | awk '{ print ($1 + $2) * 1000 }' | median
}

# hold_qps ARGS...: so many QPs, in the background; $held is who has them.
hold_qps() {
	build/bench/hold --count "$row_qps" --no-stdin --fast-exit "$@" >"$row_tmp/hold" & held=$!
	wait_for 300 grep -q ^ready "$row_tmp/hold" || row_die "no $row_qps QPs: $(cat "$row_tmp/hold")"
}

# Their end takes long; nobody has to see it.
row_end() {
	[ -z "${held:-}" ] || { kill "$held"; wait "$held"; }
	rm -rf "$row_tmp"
}
trap row_end EXIT
