#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The experiments of swiftrdma probe under load, on the software ConnectX with a model of
# contention: they find what the model has; each parameter is changed, and the one experiment
# that it is for differs, and no other; the scenario that it writes has the model's numbers.
#
#   scripts/vm --nic softhca -- selftests/mlx5/full/probe_load.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/probe.sh
. selftests/lib/probe.sh

checks='registers depth qps'
# A device that slow executes a modelled 110 million requests a second in time.
scale=20000
pace() { for hca in 0 1; do echo "$1" >$hca_debug/hca$hca/time_scale; done; }
params() { hca_param 0 "$@" && hca_param 1 "$@"; }
sweeps() {
	pace $scale
	probe mlx5_0 depth qps peer mlx5_1 scale $scale "$@"
	note_findings
}
# A register that many QPs share would take minutes at that pace.
load() {
	local both

	pace 2000
	probe mlx5_0 registers peer mlx5_1 scale 2000
	both=$found
	sweeps "$@"
	found=$(jq -s '.[0].checks += .[1].checks | .[0]' <<<"$both $found")
	note "$(words_of registers)"
}
fitted() { awk -v n="$1:" '$1 == n { print $2 }' "$work/nic.yaml"; }
# near NAME WANTED: the scenario's number is that within 30 %.
near() { awk -v is="$(fitted "$1")" -v want="$2" 'BEGIN { exit !(is > 0.7 * want && is < 1.3 * want) }'; }

if ! { wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=2000; }; then
	echo "Bail out! no device with a model"
	exit 1
fi
ktap_begin
dmesg -C
check "its driver's own objects" hca_warm_up
objects=$(cat $hca_debug/hca*/objects)
load fit "$work/nic.yaml"
is "all is as assumed" "$(checks_with 'as assumed')" "$checks"
like "the scenario is of a simulated NIC" "$(head -n 2 "$work/nic.yaml")" SIMULATED
is "its preset, and its link" "$(fitted preset) $(fitted link)" \
	"cx5 $(awk '{ print $1 * 1000 "Mbit/s" }' /sys/class/infiniband/mlx5_0/ports/1/rate)"
check "the limit of WQEs is near the model's ($(fitted wqe_limit))" near wqe_limit 755
is "no limit of the cache was seen" "$(fitted cache_bytes)" ""
check "the simulator takes it" swiftrdma policy simulate user/policies/order.yaml scenario "$work/nic.yaml"

params wqe_limit 1500
sweeps fit "$work/nic.yaml"
check "another limit is found ($(fitted wqe_limit))" near wqe_limit 1500
params wqe_limit 0
load
is "no limit: that differs" "$(checks_with differs)" depth
params wqe_limit 755

params cache_bytes 65536
load fit "$work/nic.yaml"
is "a small cache: that differs" "$(checks_with differs)" qps
check "... and its size is found ($(fitted cache_bytes))" [ "$(fitted cache_bytes)" -lt 200000 ]
params cache_bytes 2097152

params uar_ps 0
load
is "registers that nobody waits for: that differs" "$(checks_with differs)" registers
params uar_ps 531950

note "late: $(hca_gauge 0 time late) of $(hca_gauge 0 time executed)"
is "all objects are gone" "$(cat $hca_debug/hca*/objects)" "$objects"
is "nothing in the log" "$(mlx5_complaints)" ""
ktap_end
