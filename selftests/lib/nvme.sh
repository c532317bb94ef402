# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A target of NVMe over RDMA at rxe1's address, with one disk in memory.

config=/sys/kernel/config
target=$config/nvmet

nvmet_up() {
	local s=$target/subsystems/srdma p=$target/ports/1

	modprobe -a nvme-rdma nvmet-rdma && modprobe null_blk gb=1 memory_backed=1 || return 1
	[ -d $target ] || mount -t configfs configfs $config || return 1
	mkdir $s && echo 1 >$s/attr_allow_any_host && mkdir $s/namespaces/1 &&
		echo -n /dev/nullb0 >$s/namespaces/1/device_path &&
		echo 1 >$s/namespaces/1/enable || return 1
	mkdir $p && echo rdma >$p/addr_trtype && echo ipv4 >$p/addr_adrfam &&
		echo 10.1.0.2 >$p/addr_traddr && echo 4420 >$p/addr_trsvcid &&
		ln -s $s $p/subsystems/srdma
}
nvmet_down() {
	rm $target/ports/1/subsystems/srdma && rmdir $target/ports/1 &&
		echo 0 >$target/subsystems/srdma/namespaces/1/enable &&
		rmdir $target/subsystems/srdma/namespaces/1 $target/subsystems/srdma
}
