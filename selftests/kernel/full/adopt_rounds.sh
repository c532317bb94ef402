#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# adopt.sh with many more races of the adoption with creates and destroys.

cd "$(dirname "$0")/.." || exit 1
ROUNDS=4 exec bash ./adopt.sh
