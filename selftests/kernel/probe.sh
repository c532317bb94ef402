#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma probe on rxe, which has nothing of a ConnectX: each check says that it cannot, and
# why. And how it is called wrongly.
#
#   scripts/vm --nic rxe -- selftests/kernel/probe.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/probe.sh
. selftests/lib/probe.sh

wrong() { { swiftrdma probe "$@" >/dev/null; } 2>&1; }

ktap_begin
probe rxe0
note_findings
is "rxe: nothing differs" "$(checks_with differs)" ""
is "... nor is as assumed" "$(checks_with 'as assumed')" ""
is "status: cannot" "$ended" 1
is "each says why" "$(jq '[.checks[] | select(.found == "")] | length' <<<"$found")" 0
like "... which is its driver" "$(words_of dbrec)" 'not a ConnectX'
is "it is software" "$(jq .simulated <<<"$found")" true
is "with the module the same" "$(srdma_load && probe rxe0; checks_with cannot; srdma_unload)" \
	"$(checks_with cannot)"

like "no such device" "$(wrong rxe7)" 'rxe7: .*No such device'
like "no device" "$(wrong)" 'a device is missing'
like "no such check" "$(wrong rxe0 dbrek)" "'dbrek' is neither a check nor"
like "no such option" "$(wrong rxe0 --fast)" "'--fast' is no option"
like "no scale" "$(wrong rxe0 scale 0)" 'scale: 0 is no factor'
swiftrdma probe rxe0 dbrek 2>/dev/null
is "status of a mistake" $? 3
help=$(swiftrdma probe help)
like "help" "$help" 'Usage: swiftrdma probe DEV'
probe rxe0
is "... has all checks, in their order" \
	"$(tr '\n|' '  ' <<<"$help" | sed 's/.*CHECK := {\([^}]*\)}.*/\1/' | xargs)" \
	"$(jq -r '[.checks[].check] | join(" ")' <<<"$found")"
is "the page has each" "$(jq -r '.checks[].check' <<<"$found" | while read -r name; do
	grep -qE "^([^ ].*)?\`\`$name\`\`" Documentation/probe.rst || echo "$name"
done)" ""

like "progress, on a terminal" "$(script -qec 'swiftrdma probe rxe0 dbrec uar-page' /dev/null)" '\[2/2\] uar-page'
is "... and nowhere else" "$(swiftrdma probe rxe0 dbrec uar-page 2>&1 >/dev/null)" ""
found=$(swiftrdma probe rxe0 dbrec --peer rxe1 -j)
is "words with dashes, and options anywhere" "$(jq -r '.peer' <<<"$found")" rxe1

# Without the program the command still runs, and says what is missing.
install -D build/bin/swiftrdma -t "$work/bin"
like "not installed" "$("$work/bin/swiftrdma" probe rxe0 2>&1)" 'swiftrdma-probe is not installed'
is "the command needs no library of rdma-core" \
	"$(ldd build/bin/swiftrdma | grep -cE 'libibverbs|libmlx5|librdmacm')" 0
rm -rf "$work"
ktap_end
