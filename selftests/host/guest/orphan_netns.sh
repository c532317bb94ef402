#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a VM of its own, for the module cannot go any more: a device moves to another network
# namespace while another module's wrapper is above ours and stays. RDMA core takes the device
# from its clients for that, and gives it to them again.

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

above_ko=build/above/$(uname -r)/above.ko
in_other() { ip netns exec other "$@"; }

ktap_begin
mark_dmesg
check "the module loads" srdma_load
check "another above it, that does not clean up" insmod "$above_ko" dev=mlx5_0 leave=1
check "devices belong to one namespace" rdma system set netns exclusive
ip netns add other
check "mlx5_0 moves to another" rdma dev set mlx5_0 netns other
like "the log says whose wrapper is there" "$(dmesg | grep swiftrdma)" 'mlx5_0 goes with above_create_qp'
check "programs create QPs there" in_other churn --dev mlx5_0 --procs 2 --total 50
like "the device is not hooked again, and the log says why" "$(dmesg | grep swiftrdma)" \
	'mlx5_0: not hooked: .*above_create_qp'
is "the kernel complained of nothing else" "$(dmesg_complaints | grep -v swiftrdma:)" ""
ktap_end
