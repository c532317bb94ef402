#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Do the objects of the modules keep to their floors (kmod/floors)? scripts/floors is then
# shown one wrong listing of symbols after the other: it must object to each, and name it.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
kver=${KVER:-$(readlink build/vm/kernel/stock)}
make --no-print-directory module KVER="$kver" >/dev/null || exit 1
dir=build/kmod/$kver/src/kmod
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ktap_begin
check "the module keeps to its floors" scripts/floors kmod/floors "$dir"
check "so does that of mlx5" scripts/floors kmod/mlx5/floors "$dir/mlx5"

# As the module's, but small: what nm -A prints, and the floors of that.
cat >"$work/floors" <<'END'
top
middle other		# on one floor
low
END
cat >"$work/nm" <<'END'
x/top.o:0000000000000000 T srdma_top
x/top.o:                 U srdma_middle
x/middle.o:0000000000000000 T srdma_middle
x/middle.o:                 U srdma_other
x/middle.o:                 U printk
x/other.o:0000000000000000 D srdma_other
x/other.o:                 U srdma_low
x/low.o:0000000000000000 T srdma_low
x/low.o:0000000000000010 t srdma_middle
END
check "a good listing passes" scripts/floors "$work/floors" --nm "$work/nm"

# refused NAME WORDS LINE...: with these lines of nm more, it says WORDS and fails.
refused() {
	local name=$1 words=$2 status

	shift 2
	cp "$work/nm" "$work/bad"
	[ $# -eq 0 ] || printf '%s\n' "$@" >>"$work/bad"
	scripts/floors "$work/floors" --nm "$work/bad" >"$work/out" 2>&1
	status=$?
	sed 's/^/# /' "$work/out"
	[ $status -eq 1 ] && grep -qxF "$words" "$work/out"
	point $? "seen: $name"
}

refused "a call of a higher floor" \
	"low.o calls srdma_other of other.o, which stands above it" \
	"x/low.o:                 U srdma_other"
refused "an object without a floor" "new.o has no floor in $work/floors" \
	"x/new.o:0000000000000000 T srdma_new"

# A circle of as many objects as there are names, all on one floor.
circle() {
	local -a names=("$@")
	local i

	echo "$*" >"$work/floors"
	for i in "${!names[@]}"; do
		printf 'x/%s.o:0000000000000000 T srdma_%s\n' "${names[i]}" "${names[i]}"
		printf 'x/%s.o:                 U srdma_%s\n' "${names[i]}" \
			"${names[(i + 1) % ${#names[@]}]}"
	done >"$work/nm"
}
circle a b c d
check "a knot of four passes" scripts/floors "$work/floors" --nm "$work/nm"
circle a b c d e
refused "a knot of five" "a knot of 5 objects, more than 4: a b c d e"
echo "gone" >>"$work/floors"
refused "a floor of an object that is not there" \
	"gone.o has a floor in $work/floors, but is not part of the module"

# And a real one: the lowest object of the module calls the highest.
nm -A "$dir"/tracker.o "$dir"/netlink.o "$dir"/debug.o 2>/dev/null >"$work/nm"
printf "%s\n" netlink tracker >"$work/floors"
refused "tracker.o calls netlink.o" \
	"tracker.o calls srdma_netlink_init of netlink.o, which stands above it" \
	"x/tracker.o:                 U srdma_netlink_init"

# QPs made past RDMA core: nothing else knows the two files, so a build can do without.
check "the module builds without devx.o" \
	make --no-print-directory module-nodevx KVER="$kver"
nodevx=build/kmod/$kver-nodevx
check "and keeps to its floors" scripts/floors kmod/floors "$nodevx/src/kmod"
check "so does that of mlx5" scripts/floors kmod/mlx5/floors "$nodevx/src/kmod/mlx5"
# Without the headings of nm, because the directory's name has "devx".
nm "$nodevx/swiftrdma.ko" "$nodevx/swiftrdma_mlx5.ko" | grep -v ':$' >"$work/nm" &&
	! grep -E 'devx|kretprobe' "$work/nm" >"$work/out"
point $? "and has neither its symbols nor a probe"
sed 's/^/# /' "$work/out"
ktap_end
