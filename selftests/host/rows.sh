#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What becomes of a benchmark's row that says nothing: one without a baseline, a sample,
# or a number, or of a model that ran late, is void; and a run with one fails.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh

# Of row.sh what needs no VM.
eval "$(sed -n '/^void_why()/,/^}/p; /^row()/,/^}/p; /^quotient()/p' selftests/bench/rows/row.sh)"
judge() { { selftests/bench/rows/look.py >/dev/null; } 2>&1; }

ktap_begin
is "a row, and its ratio" "$(row a 5 us 2 "$(quotient 5 2)" '>=' 2)" \
	'{"bench":"a","value":5,"unit":"us","vs":2,"ratio":2.5,"goal":">= 2","ok":true}'
check "passes" eval 'row a 5 us 2 2.5 ">=" 2 | judge'
is "a goal that is missed" "$(row a 5 us 2 2.5 '>=' 3 | jq .ok)" false
check "fails the run" eval '! row a 5 us 2 2.5 ">=" 3 | judge >/dev/null'
is "nothing to compare with" "$(row a 5 us 0 "$(quotient 5 0)" '>=' 1 | jq -r .void)" "there is nothing to compare with"
check "fails the run" eval '! row a 5 us 0 "$(quotient 5 0)" ">=" 1 | judge >/dev/null'
is "no number" "$(row a inf us null null '>=' 1 | jq -r .void)" "its value is no number"
is "nothing at all" "$(row a '' us 2 '' '>=' 1 | jq -r .void)" "its value is no number"
is "too small a sample" "$(row a 5 us 2 2.5 '>=' 2 samples 7 | jq -r .void)" "a sample of 7"
is "a model that ran late" "$(row a 5 us 2 2.5 '>=' 2 late 2 executed 100 | jq -r .void)" "the model ran late"
is "a little late" "$(row a 5 us 2 2.5 '>=' 2 late 1 executed 100 | jq .ok)" true
is "within a tenth of one" "$(row a 95 us 100 0.95 within 0.1 | jq .ok)" true
is "and not" "$(row a 85 us 100 0.85 within 0.1 | jq .ok)" false
is "what is no JSON" "$(echo '{"bench":"a","ratio":inf}' | judge | cut -d, -f1)" "# no JSON"
check "fails the run" eval '! echo "{\"bench\":\"a\",\"ratio\":inf}" | judge >/dev/null'
check "a comment is none" eval 'echo "# post_ps: 5" | judge'
ktap_end
