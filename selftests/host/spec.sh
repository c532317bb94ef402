#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Does the YAML netlink spec say what the uapi header says? The comparison is
# then shown one wrong spec or header after the other: it must object to each.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
spec=Documentation/netlink/specs/swiftrdma.yaml
header=include/uapi/rdma/swiftrdma.h
check=selftests/host/spec_check.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

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
ktap_end
