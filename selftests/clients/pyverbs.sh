#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's own test suite, of Debian's python3-pyverbs: each of its tests has the
# same verdict without and with the module, whatever that is.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/clients/pyverbs.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

mkdir "$work/tests"
cp /usr/share/doc/rdma-core/tests/* "$work/tests/"
gunzip "$work"/tests/*.gz
# Each XRC test sends num_msgs messages four times, which takes 20 s with 1000.
sed -i 's/self\.num_msgs = 1000$/self.num_msgs = 100/' "$work/tests/base.py" "$work/tests/mlx5_base.py"

# What the tests choose at random is the same in each run.
cat >"$work/seeded.py" <<'END'
import random, runpy, sys, unittest

plain = unittest.TestCase.run

def seeded(self, result=None):
    random.seed(self.id())
    return plain(self, result)

unittest.TestCase.run = seeded
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rpartition('/')[0])
runpy.run_path(sys.argv[0], run_name='__main__')
END

# On rxe the verdict of test_resize_cq depends on time, also without the module: it asks for
# fewer entries than there are completions, if these have come.
unsteady=none
[ $nic != rxe ] || unsteady=test_resize_cq

# Verdicts, test by test. A test that fails makes the whole fail, which is no matter
# here: the verdict is what must not change. A test with a description has two lines.
run_tests() {
	PYTHONHASHSEED=0 timeout $((500 * slowness)) python3 "$work/seeded.py" "$work/tests/run_tests.py" -v \
		--dev "${dev[0]}" >"$work/py.out" 2>"$work/py.err"
	grep -q '^Ran [1-9][0-9]* tests' "$work/py.err" || { tail -n 30 "$work/py.err" >&2; return 1; }
	awk -v unsteady=$unsteady '/^test_[a-zA-Z0-9_]+ \(/ && $1 != unsteady { name = $1 " " $2 }
	     name && / \.\.\. (ok|FAIL|ERROR|skipped|expected failure)/ {
		sub(/.* \.\.\. /, ""); print name, $0; name = "" }' "$work/py.err" | sort
}

more_points() {
	local passed least

	passed=$(grep -c ' ok$' "$work/0.without.out")
	note "$passed of $(wc -l <"$work/0.without.out") pass, $(grep -c skipped "$work/0.without.out") are skipped"
	# Which tests there are depends on the kernel: 85 and more passed on rxe, 102 on InfiniBand, 112 on Ethernet.
	case $nic in rxe) least=80 ;; softhca) least=100 ;; *) least=108 ;; esac
	is "$least of them pass" $((passed >= least)) 1
	note "$(diff "$work/0.without.out" "$work/0.library.out")"
}

client "rdma-core's tests" run_tests
compare_clients
