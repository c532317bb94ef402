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
like "help" "$(swiftrdma probe help)" 'Usage: swiftrdma probe DEV'

# Without the program the command still runs, and says what is missing.
install -D build/bin/swiftrdma -t "$work/bin"
like "not installed" "$("$work/bin/swiftrdma" probe rxe0 2>&1)" 'swiftrdma-probe is not installed'
is "the command needs no library of rdma-core" \
	"$(ldd build/bin/swiftrdma | grep -cE 'libibverbs|libmlx5|librdmacm')" 0
rm -rf "$work"
ktap_end
