#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A program that is linked with libswiftrdma, which asks for a job and an objective and reads its own
# figures: with and without the module, granted and refused, and beside what the module tells.
#
#   scripts/vm --nic rxe|softhca -- selftests/runtime/linked.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH

# answers NAME COMMAND WANTED
answers() {
	qp it "$2"
	is "$1" "$answer" "$3"
}
# what the module has of the job on the device
reported() { swiftrdma -j job show "$1" | jq -c --arg d "${dev[0]}" '[.[0].devs[] | select(.dev == $d) | .reported_wrs, .reported_bytes]'; }

ktap_begin
mark_dmesg
# Each request is a sample, or the mean would be that of other requests.
start() { qpsh_start it env LD_LIBRARY_PATH="$PWD/build/lib" SWIFTRDMA_SAMPLE=1 linked; }

# Without the module the figures are the same, and nobody grants a job.
start
point $? "a program that is linked with the library"
answers "it opens one" "open ${dev[0]}" 'open ok'
answers "without the module there is nobody to ask" 'ask kv 0' 'ask ENODEV'
answers "... nor to tell the job" 'job 0' 'job ENODEV'
answers "writes" 'write 0 300 512' 'write ok'
answers "figures of the device" 'device 0' \
	'device wrs 300 bytes 153600 calls 300 wcs 300 done 300 outstanding 0 errors 0 qps 2'
answers "of the QP" 'qp 0' 'qp wrs 300 bytes 153600 calls 300 wcs 300 done 300 outstanding 0 errors 0 qps 0'
qp it 'time latency'
like "latency: no more than the program's own" "$answer" '^time samples 300 wrs 300 .* right$'
note "$answer"
qp it 'time hol'
like "head-of-line wait: requests that are alone have none" "$answer" '^time samples 300 wrs 300 p50 0 mean 0 '
note "$answer"
qpsh_stop it

check "the module loads" module_load
check "a job for those who ask for it" swiftrdma job set kv match uid=0,asked,slo_min=50us order 10
check "a job for all of root's programs" swiftrdma job set rest match uid=0 order 20
start
point $? "another one"
answers "no device is open yet" 'ask kv 0' 'ask ENXIO'
answers "it opens the device" "open ${dev[0]}" 'open ok'
answers "who does not ask is in the other job" 'job 0' 'job rest slo 0 refused 0'
answers "a job that is not there" 'ask nobody 0' 'ask ENOENT'
answers "a name that is too long" "ask $(printf 'x%.0s' {1..40}) 0" 'ask EINVAL'
answers "a job and an objective" 'ask kv 60000' 'ask ok'
answers "... are granted" 'job 0' 'job kv slo 60000 refused 0'
answers "an objective that its rule does not grant" 'ask kv 10000' 'ask ok'
answers "... is refused, and the job is not" 'job 0' 'job kv slo 0 refused 1'
answers "writes" 'write 0 200 1024' 'write ok'
in_kv() { [ "$(reported kv)" = '[200,204800]' ]; }
check "the module tells the same of the job" wait_for 10 in_kv || note "$(reported kv)"

# ibv_import_device() is of mlx5 alone: another user of the same user context.
qp it import
if [ $nic = softhca ]; then
	is "another context of the same user context" "$answer" 'import ok'
	answers "... is watched, too" 'write 1 50 64' 'write ok'
	answers "... and known by its QP" 'qp 1' 'qp wrs 50 bytes 3200 calls 50 wcs 50 done 50 outstanding 0 errors 0 qps 0'
	answers "... in the sum of the device" 'device 0' \
		'device wrs 250 bytes 208000 calls 250 wcs 250 done 250 outstanding 0 errors 0 qps 4'
	answers "... and in the job" 'job 1' 'job kv slo 0 refused 1'
else
	is "no import on $nic" "$answer" 'import EOPNOTSUPP'
fi
answers "no wish any more" 'ask - 0' 'ask ok'
answers "... and the other job again" 'job 0' 'job rest slo 0 refused 0'
check "the module goes" module_unload
answers "writes go on" 'write 0 10 64' 'write ok'
answers "... and the job is nobody's" 'job 0' 'job ENODEV'
qpsh_stop it
is "nothing in the kernel log" "$(complaints)" ""
ktap_end
