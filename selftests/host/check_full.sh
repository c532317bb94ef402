#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# scripts/check-full: its table has a part for each NIC that a suite names, and the result
# of a part holds until something changes that the part depends on.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
dir=$(mktemp -d /tmp/check_full.XXXXXX)
trap 'rm -rf "$dir"' EXIT

# The NICs in the heads of suites, as lines "SCRIPT NIC", and the same of all parts with the
# number of kernels.
named() {
	sed -nE 's/^#   scripts\/vm --nic ([a-z|-]+) -- (env [A-Z]+=[^ ]+ )?([^ \t]+).*/\3 \1/p' \
		selftests/{kernel,mlx5,softhca/tests,clients,runtime}/*.sh |
		awk '{ n = split($2, nic, "|"); for (i = 1; i <= n; i++) print $1, nic[i] }' | sort -u
}
tabled() {
	(
		# shellcheck source=scripts/check.d/parts.sh
		. scripts/check.d/parts.sh
		all_parts
		printf '%s\n' "${part_cmd[@]}"
	) | sed -nE 's/.* --kernel ([a-z]+) --nic ([a-z-]+) .* bash ([^ ]+) $/\3 \2 \1/p' | sort -u |
		cut -d' ' -f1,2 | uniq -c | awk '{ print $2, $3, $1 }'
}

ktap_begin
named >"$dir/named"
note "$(wc -l <"$dir/named") suites with a NIC"
is "each suite has parts for each NIC that it names, on five kernels, and one on all but rt" \
	"$(comm -23 <(sed '/runtime\/huge/! s/$/ 5/; /runtime\/huge/ s/$/ 4/' "$dir/named") <(tabled))" ""

# A copy of the tree, in which make does nothing, one suite is a single point, and so is
# whatever runs in a VM, on a kernel that was built here.
git ls-files -z -co --exclude-standard -- Documentation scripts selftests |
	xargs -0 cp -p --parents -t "$dir" 2>/dev/null
cd "$dir" || exit 1
mkdir -p build/vm/kernel/none
ln -s none build/vm/kernel/stock
echo CONFIG_KASAN=y >build/vm/kernel/none/config.in
printf '%%:\n\t@:\n' >Makefile
touch Kbuild
printf '#!/bin/sh\necho "ok 1 - a point"\necho 1..1\n' | tee selftests/host/policy.sh >scripts/vm
git init -q . && git add . &&
	git -c user.name=test -c user.email=test@localhost -c commit.gpgsign=false commit -qm copy
point $? "a copy of the tree"
is "a part is run" "$(scripts/check-full host/policy | tail -n 1)" "1 passed, 0 failed, 0 skipped"
row() { grep "^$1 " Documentation/testing.rst | tr -s ' '; }
others=$(row kernel/adopt; row runtime/full/signals-softhca-eth)
scripts/check-full --matrix
like "its result is in the matrix" "$(cat Documentation/testing.rst)" \
	"^policy +$(git rev-parse --short=9 HEAD)"
is "... whose other cells stay" "$(row kernel/adopt; row runtime/full/signals-softhca-eth)" "$others"
like "... of which there are some" "$others" '[0-9a-f]{9}'
like "... and holds, although testing.rst has changed" "$(scripts/check-full host/policy)" \
	'1 parts: 1 hold, 0 to run'
echo >>Documentation/policy.rst
like "another document makes it stale" "$(scripts/check-full --list host/policy)" '^stale +host/policy'

# stales PART FILE WHAT: a change of FILE makes the part stale.
stales() {
	cp -p "$2" "$dir/kept"
	echo "# changed" >>"$2"
	like "$1 is stale after a change of $3" "$(scripts/check-full --list "$1")" "^stale +$1"
	mv "$dir/kept" "$2"
}
is "two parts are run" "$(scripts/check-full host/policy stock/kernel/adopt | tail -n 1)" \
	"2 passed, 0 failed, 0 skipped"
stales host/policy selftests/unit/test_sim_shipped.c "the unit tests, in which it looks up shipped files"
stales stock/kernel/adopt build/vm/kernel/none/config.in "its kernel's configuration"
stales stock/kernel/adopt scripts/setup.d/vm.config "what builds kernels"
stales stock/kernel/adopt Kbuild "the root Kbuild"
like "... and holds when all is as before" "$(scripts/check-full stock/kernel/adopt host/policy)" \
	'2 parts: 2 hold, 0 to run'

printf '#!/bin/sh\necho "not ok 1 - a point"\necho 1..1\n' >selftests/host/policy.sh
is "a failure" "$(scripts/check-full host/policy | tail -n 1)" "0 passed, 1 failed, 0 skipped"
like "... is one until it runs again" "$(scripts/check-full --list host/policy)" '^failed +host/policy'
printf '#!/bin/sh\necho "ok 1 - a point # SKIP nothing to test"\necho 1..1\n' >selftests/host/policy.sh
is "a part of which all was skipped has failed" "$(scripts/check-full host/policy | tail -n 2)" \
	"failed: host/policy: nothing passed, 1 skipped
0 passed, 1 failed, 1 skipped"
like "... until it runs again" "$(scripts/check-full --list host/policy)" '^failed +host/policy'
ktap_end
