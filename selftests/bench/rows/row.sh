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

# void_why VALUE VS RATIO [KEY VALUE]...: says why these are no measurement, or nothing:
# no number, nothing to compare with, a sample too small, a model that ran late.
void_why() {
	local value=$1 vs=$2 ratio=$3 late=0 executed=0 samples=''

	shift 3
	while [ $# -gt 1 ]; do
		case $1 in
		late) late=$2 ;;
		executed) executed=$2 ;;
		samples) samples=$2 ;;
		esac
		shift 2
	done
	awk -v value="$value" -v vs="$vs" -v ratio="$ratio" -v late="$late" -v executed="$executed" \
		-v samples="$samples" -v least="${ROW_SAMPLES:-100}" '
		function number(x) { return x ~ /^[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$/ }
		BEGIN {
			if (!number(value)) print "its value is no number"
			else if (vs != "null" && (!number(vs) || vs == 0)) print "there is nothing to compare with"
			else if (ratio != "null" && !number(ratio)) print "its ratio is no number"
			else if (samples != "" && samples < least) print "a sample of " samples + 0
			else if (late * 100 > executed) print "the model ran late"
		}'
}

# row BENCH VALUE UNIT VS RATIO OP GOAL [KEY VALUE]...: OP and GOAL say what becomes of
# the ratio, or, where there is none (VS and RATIO null), the value; "within": of one. A
# row that is void says why, and has no figures.
row() {
	local bench=$1 value=$2 unit=$3 vs=$4 ratio=$5 op=$6 goal=$7 ok=false judged why

	shift 7
	why=$(void_why "$value" "$vs" "$ratio" "$@")
	if [ -n "$why" ]; then
		jq -nc --arg bench "$bench" --arg why "$why" '{bench: $bench, ok: false, void: $why}'
		return
	fi
	judged=$ratio
	[ "$ratio" != null ] || judged=$value
	if [ "$op" = within ]; then
		awk -v a="$judged" -v b="$goal" 'BEGIN { exit !(a - 1 <= b && 1 - a <= b) }' && ok=true
	else
		awk -v a="$judged" -v b="$goal" "BEGIN { exit !(a $op b) }" && ok=true
	fi
	printf '{"bench":"%s","value":%s,"unit":"%s","vs":%s,"ratio":%s,"goal":"%s %s","ok":%s' \
		"$bench" "$value" "$unit" "$vs" "$ratio" "$op" "$goal" "$ok"
	while [ $# -gt 1 ]; do
		printf ',"%s":%s' "$1" "$2"
		[ "$1" != simulated ] || printf ',"model":"a ConnectX-6, fitted, with the link of a ConnectX-5"'
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

# Of nothing there is none.
quotient() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.4g", a / b; else printf "none" }'; }

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
	: >"$row_tmp/hold"
	build/bench/hold --count "$row_qps" --no-stdin --fast-exit "$@" >"$row_tmp/hold" & held=$!
	wait_for 300 grep -q ^ready "$row_tmp/hold" || row_die "no $row_qps QPs: $(cat "$row_tmp/hold")"
}

# Their end takes long; nobody has to see it.
row_end() {
	[ -z "${held:-}" ] || { kill "$held"; wait "$held"; }
	rm -rf "$row_tmp"
}
trap row_end EXIT
