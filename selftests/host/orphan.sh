#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# A device that goes with another hook above ours; see guest/orphan.sh.

cd "$(dirname "$0")/../.." || exit 1
make --no-print-directory modules progs bench-progs >/dev/null || exit 1
exec scripts/vm --nic rxe --timeout 400 -- bash selftests/host/guest/orphan.sh
