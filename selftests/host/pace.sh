#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Programs that libswiftrdma, preloaded, holds back; without a device and a module. See
# progs/paced.c.

cd "$(dirname "$0")/../.." || exit 1
make --no-print-directory progs >/dev/null || exit 1
flock build/.selftests.lock make --no-print-directory -f selftests/progs.mk BUILD="$PWD/build" "$PWD/build/progs/paced" \
	>/dev/null || exit 1
LD_PRELOAD=$PWD/build/lib/libswiftrdma.so.1 exec build/progs/paced
