#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# counts.sh with 40,000 QPs.

cd "$(dirname "$0")/.." || exit 1
TOTAL=40000 exec bash ./counts.sh
