# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Figures that are measured again and again: of a steady one nearly all lie close together.

within() { [ "$1" -ge $(($2 * (100 - $3) / 100)) ] && [ "$1" -le $(($2 * (100 + $3) / 100)) ]; }

# steady WANTED PERCENT CMD...: CMD prints a figure, and "late" after it if the machine gave the
# processes no time now and then; that figure is left out. Of nine others in a row eight are
# within PERCENT. All are in $seen, those left out in brackets. It gives up after $most_tries (60).
steady() {
	local wanted=$1 percent=$2 last='' good figure late i

	shift 2
	seen=''
	for ((i = 0; i < ${most_tries:-60}; i++)); do
		read -r figure late < <("$@" | xargs)
		seen+="${seen:+ }${late:+(}$figure${late:+)}"
		[ -z "$late" ] || continue
		within "$figure" "$wanted" "$percent" && last+=+ || last+=-
		[ ${#last} -le 9 ] || last=${last:1}
		good=${last//-/}
		[ ${#last} -lt 9 ] || [ ${#good} -lt 8 ] || return 0
	done
	return 1
}

# is_steady NAME WANTED PERCENT CMD...
is_steady() {
	local name=$1

	shift
	steady "$@"
	point $? "$name"
	note "$seen, wanted $1"
}
