#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every operation at many sizes, byte by byte, every wrong request, and queues that
# change under traffic.
#
#   scripts/vm --nic softhca -- selftests/softhca/tests/bytes.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh

ktap_begin
points_of build/progs/hcabytes mlx5_0 mlx5_1
points_of build/progs/hcabytes mlx5_1 mlx5_1
points_of build/progs/hcabad mlx5_0 mlx5_1
points_of build/progs/hcabad mlx5_0 mlx5_0
points_of build/progs/hcaqueues mlx5_0
ktap_end
