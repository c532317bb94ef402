# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Figures that are measured again and again: of a steady one nearly all lie close together.

within() { [ "$1" -ge $(($2 * (100 - $3) / 100)) ] && [ "$1" -le $(($2 * (100 + $3) / 100)) ]; }

# steady WANTED PERCENT CMD...: CMD prints a figure, and "late" after it if the machine gave the
# processes no time now and then; that figure is left out. Of nine others eight are within
# PERCENT. They are in $seen, the rest in brackets.
steady() {
	local wanted=$1 percent=$2 good=0 near=0 figure late

	shift 2
	seen=''
	for _ in {1..60}; do
		[ $good -lt 9 ] || break
		read -r figure late < <("$@" | xargs)
		seen+="${seen:+ }${late:+(}$figure${late:+)}"
		[ -z "$late" ] || continue
		good=$((good + 1))
		! within "$figure" "$wanted" "$percent" || near=$((near + 1))
	done
	[ $good = 9 ] && [ $near -ge 8 ]
}

# is_steady NAME WANTED PERCENT CMD...
is_steady() {
	local name=$1

	shift
	steady "$@"
	point $? "$name"
	note "$seen, wanted $1"
}
