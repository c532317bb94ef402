#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The manners of swiftrdma(8), which need no module: options, help, exit statuses.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
PATH=$PWD/build/bin:$PATH
file=user/policies/order.yaml

# status NAME WANTED WORD...: the exit status, and what is printed in $out
status() {
	local name=$1 wanted=$2 got

	shift 2
	out=$(swiftrdma "$@" 2>&1)
	got=$?
	is "$name: $*" "$got" "$wanted"
}

ktap_begin
# --- Options may stand anywhere before "--" ---
before=$(swiftrdma -j policy check $file on anywhere)
like "with -j the answer is JSON" "$before" '^\[\{"policy":'
is "-j after the command" "$(swiftrdma policy check -j $file on anywhere)" "$before"
is "--json at the end" "$(swiftrdma policy check $file on anywhere --json)" "$before"
is "... cut short" "$(swiftrdma policy check $file on anywhere --js)" "$before"
pretty=$(swiftrdma -j -p policy check $file on anywhere)
is "-jp between the words" "$(swiftrdma policy check $file -jp on anywhere)" "$pretty"
is "-j and -p apart" "$(swiftrdma policy -j check $file on -p anywhere)" "$pretty"
like "--color=always after the command" "$(swiftrdma doctor kernel --color=always --details)" $'\033\\[3'
status "an option without its value" 2 module show --interval
like "... is named" "$out" '--interval: a value is missing'
status "a bad value" 2 module show -i=x
like "... is named" "$out" "interval: 'x' is not a time"
status "--version after the object" 0 module show --version
like "... prints it" "$out" '^swiftrdma [0-9]'
status "an unknown option" 2 module show --jsonn
like "... is named" "$out" "'--jsonn' is no option; see swiftrdma --help"
status "an unknown option of qp show" 2 qp show --bogus
like "... is named" "$out" "'--bogus' is no option"
status "options after -- are the program's" 0 run --check -- /bin/true --version
is "... and are not taken" "$out" "/bin/true: no RDMA"
status "-d of top is its interval" 2 top --batch -d
like "... and takes a value" "$out" '^swiftrdma: (-d|interval): a value is missing'

# --- help ---
status "help" 0 help
usage=$out
is "... is --help" "$(swiftrdma --help)" "$usage"
nouns=$(sed -n '/^OBJECT/,/}/p' <<<"$usage" | tr -d ':={}|' | sed 's/OBJECT//')
for noun in $nouns; do
	status "help of an object" 0 help "$noun"
	is "... is the object's own" "$out" "$(swiftrdma "$noun" help)"
done
status "help of nothing" 2 help nothing
like "... is refused" "$out" "no object 'nothing'"
status "help on something else" 2 help qp rows
like "... says what there is" "$out" "'rows': expected columns, as in swiftrdma help qp columns"
status "columns" 0 help qp columns
like "... have a heading, a key and a meaning" "$out" '^HOL-WAIT +queue_delay +ns +if known +mean wait for the requests before it'
like "... of each table of the object" "$out" '^qp\.audit:$'
status "columns of an object without tables" 2 help run columns
like "... are none" "$out" 'run prints no table'
is "columns as JSON" "$(swiftrdma help level columns -j | jq -c '[.[] | select(.key == "dscp") | .means]')" \
	'["DSCP on Ethernet"]'
for noun in $nouns; do
	swiftrdma help "$noun" columns -j 2>/dev/null
done | jq -es 'add | length > 300 and all(.means)' >/dev/null
point $? "every column has a meaning"

# --- Exit statuses, as swiftrdma(8) has them ---
status "no command" 2
status "an unknown object" 2 nothing
status "an unknown command" 2 qp nothing
status "a word too many" 2 module show nothing
if [ -e /sys/module/swiftrdma ]; then
	skip "without the module" "it is loaded"
else
	status "without the module" 1 qp show
	like "... the reason is told" "$out" 'swiftrdma'
fi
status "doctor with a wrong word" 3 doctor nothing
status "run without a command" 125 run --job kv
ktap_end
