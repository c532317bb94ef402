#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Does the YAML netlink spec say what the uapi header says, and is every name and number
# of the contract still what it was? Both comparisons are then shown one wrong spec or
# header after the other: they must object to each.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
spec=Documentation/netlink/specs/swiftrdma.yaml
header=include/uapi/rdma/swiftrdma.h
check=selftests/host/spec_check.py
names=Documentation/ABI/netlink-names
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --update: the list of names as the header has it now, where that only adds to it.
if [ "${1-}" = --update ]; then
	selftests/host/uapi_names.py $header $names || exit 1
	grep '^#' $names >"$work/names"
	selftests/host/uapi_names.py $header >>"$work/names"
	cp "$work/names" $names
	exit
fi

# What, the file it is in, and the sed script that makes it wrong.
# shellcheck disable=SC2016 # a $ is sed's
mutants=(
	"a constant"'|spec|s/^    value: 3600000$/    value: 3600001/'
	"an attribute's type"'|spec|/name: serial/{n;s/u64/u32/}'
	"the order of attributes"'|spec|0,/name: qpn$/s//name: tmp/;0,/name: uar$/s//name: qpn/;s/name: tmp/name: uar/'
	"a missing attribute"'|spec|/^      -$/{N;/name: recv-cq$/{N;d}}'
	"a nest's set"'|spec|s/nested-attributes: owner/nested-attributes: lease/'
	"a nest that repeats"'|spec|/nested-attributes: rule/{n;d}'
	"an enum's entry"'|spec|s/- best-effort/- worst-effort/'
	"an attribute's enum"'|spec|s/enum: uar-kind/enum: knob/'
	"a command's name"'|spec|s/name: level-set/name: levels-set/'
	"a command's value"'|spec|/name: job-del/a\      value: 9'
	"an event without its group"'|spec|0,/      mcgrp: events/{/      mcgrp: events/d}'
	"a group's name"'|spec|$s/events/event/'
	"the family's version"'|spec|s/^version: 1/version: 2/'
	"a command the spec lacks"'|header|s/^\tSWIFTRDMA_CMD_ACT,/&\n\tSWIFTRDMA_CMD_NEW,/'
	"an attribute the spec lacks"'|header|s/^\t__SWIFTRDMA_QP_A_MAX/\tSWIFTRDMA_QP_A_NEW, \/* u32 *\/\n&/'
	"an enum the spec lacks"'|header|$s/^/enum swiftrdma_new {\n\tSWIFTRDMA_NEW,\n};\n/'
	"a type the header changed"'|header|s/\(SWIFTRDMA_PORT_A_SPEED,.*\)u64/\1u32/'
)

# Its points become comments: the harness counts one plan.
ktap_begin
"$check" "$spec" "$header" >"$work/out" 2>&1
status=$?
sed 's/^/# /' "$work/out"
point $status "the spec describes the header"

for mutant in "${mutants[@]}"; do
	IFS='|' read -r what where script <<<"$mutant"
	cp "$spec" "$work/spec"
	cp "$header" "$work/header"
	sed -i "$script" "$work/$where"
	if cmp -s "$work/spec" "$spec" && cmp -s "$work/header" "$header"; then
		echo "# nothing was changed"
		point 1 "seen: $what"
		continue
	fi
	# An objection, not a crash of the comparison.
	"$check" "$work/spec" "$work/header" >"$work/out" 2>&1
	status=$?
	[ $status -eq 1 ] && grep -q '^not ok' "$work/out"
	point $? "seen: $what"
done

# The list of names and numbers. A release promises its list to every later version.
check "the list of names is the header's ($0 --update writes it)" \
	diff <(grep -v '^#' $names) <(selftests/host/uapi_names.py $header)
release=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null)
if [ -n "$release" ] && git show "$release:$names" >"$work/older" 2>/dev/null; then
	check "nothing of the list of $release is gone" selftests/host/uapi_names.py $header "$work/older"
else
	echo "# no release has a list of names yet"
fi

# What becomes of the header, whether the contract still holds, and the sed script.
# shellcheck disable=SC2016 # a $ is sed's
changes=(
	'a name goes|is broken|/^\tSWIFTRDMA_QP_A_DEVX,/d'
	'a name changes|is broken|s/SWIFTRDMA_CMD_LEVEL_SET/SWIFTRDMA_CMD_LEVELS_SET/'
	'a number changes|is broken|s/^\tSWIFTRDMA_QP_A_LAG_PORT,/\tSWIFTRDMA_QP_A_NEW, \/* u32 *\/\n&/'
	'a bit changes|is broken|s/\(DEV_CAP_RATES.*<< \)7/\18/'
	'a type changes|is broken|s/\(SWIFTRDMA_PORT_A_SPEED,.*\)u64/\1u32/'
	"a nest's set changes|is broken|s/\(SWIFTRDMA_QP_A_OWNER,.*\)owner_attr/\1lease_attr/"
	'an enum goes|is broken|/^enum swiftrdma_absent {/,/^};/d'
	"the family's name changes|is broken|s/\(SWIFTRDMA_GENL_NAME.*\)rdma/\1dma/"
	'an attribute is added|holds|s/^\t__SWIFTRDMA_QP_A_MAX/\tSWIFTRDMA_QP_A_NEW, \/* u32 *\/\n&/'
	'a command is added|holds|s/^\t__SWIFTRDMA_CMD_MAX/\tSWIFTRDMA_CMD_NEW,\n&/'
)
for change in "${changes[@]}"; do
	IFS='|' read -r what verdict script <<<"$change"
	sed "$script" $header >"$work/header"
	selftests/host/uapi_names.py "$work/header" $names >"$work/out" 2>&1
	status=$?
	if cmp -s "$work/header" $header; then
		says="nothing was changed"
	elif [ $status -eq 1 ] && grep -q '^gone or changed' "$work/out"; then
		says="is broken"
	elif [ $status -eq 0 ]; then
		says=holds
	else
		says="status $status: $(cat "$work/out")"
	fi
	is "the contract $verdict where $what" "$says" "$verdict"
done
ktap_end
