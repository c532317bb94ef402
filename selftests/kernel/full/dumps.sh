#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The test of dumps with more QPs and more dumps.

cd "$(dirname "$0")/../../.." || exit 1
STAY=20000 DUMPS=300 exec selftests/kernel/dumps.sh
