#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A device that goes, or moves to another network namespace, with another hook above ours; see
# guest/orphan.sh and guest/orphan_netns.sh.

cd "$(dirname "$0")/../.." || exit 1
status=0
make --no-print-directory modules softhca progs bench-progs >/dev/null || exit 1
scripts/vm --nic rxe --timeout 400 -- bash selftests/host/guest/orphan.sh || status=$?
scripts/vm --nic softhca --timeout 400 -- bash selftests/host/guest/orphan_netns.sh || status=$?
exit $status
