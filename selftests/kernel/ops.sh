#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an operator sees: top, on a terminal and in a pipe; uar show, qp explain,
# sorting; run, which starts a program as a job's.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/module.sh
. selftests/lib/module.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

work=$(mktemp -d)
unset NO_COLOR

# A program with 8 QPs on each device that never stops writing.
traffic() {
	in_cgroup kv build/bench/crowd --from rxe0 --to rxe1 --qps 8 --depth 2 --size 64 \
		--duration 3600 >"$work/crowd" 2>&1 &
	crowd=$!
	wait_for 60 busy
}

# shellcheck disable=SC2317
busy() { [ "$(swiftrdma -j uar show rxe0 | jq '[.[].doorbells] | add')" -gt 100 ]; }

# fails STATUS PATTERN CMD...: with that status, saying that on stderr.
fails() {
	local want=$1 pattern=$2 got

	shift 2
	"$@" >/dev/null 2>"$work/err"
	got=$?
	[ $got -eq "$want" ] && grep -qE "$pattern" "$work/err" && return
	echo "status $got: $(cat "$work/err")"
	return 1
}

ktap_begin
check "the module loads" srdma_load
check "a job" swiftrdma job set kv class latency match cgroup=/kv
traffic
point $? "traffic"

# --- On a terminal ---

points_of selftests/kernel/top.py

# --- In a pipe ---

swiftrdma top --batch -n 2 interval 300ms >"$work/top"
is "top --batch writes as many readings as asked for" \
	"$(grep -c '^swiftrdma top ' "$work/top")" 2
is "... without a byte for a terminal" "$(grep -c $'\033' "$work/top")" 0
like "... with rates in the first already" "$(sed -n 5p "$work/top")" '^rxe[01] .*/s'
note "$(sed -n 1,6p "$work/top")"
is "top -j is one object for each reading, with every view" \
	"$(swiftrdma -j top -n 2 interval 100ms | jq -c '[keys, (.qps | length > 15)]' | sort -u)" \
	'[["interval_ms","jobs","ports","qps","time","uars"],true]'
is "... or with one" "$(swiftrdma -j top -n 1 -d 100ms uars | jq -c keys)" '["interval_ms","time","uars"]'
is "a view is sorted and filtered" \
	"$(swiftrdma top qps -n 1 -d 100ms sort qpn filter rxe1 | awk '/^rxe/ { print $1, $2 }')" \
	"$(swiftrdma -j qp show dev rxe1 sort qpn | jq -r '.[] | "\(.dev) \(.qpn)"')"
check "a column that is not there is refused" fails 2 "no column 'x'; there are:" \
	swiftrdma top sort x -n 1
check "without a terminal top says what to do" fails 2 'top --batch' swiftrdma top

# --- uar show ---

uar=$(swiftrdma -j qp show dev rxe0 comm crowd | jq '.[0].uar')
index=$(printf '0x%x' "$uar")
like "uar show has a line for each UAR" "$(swiftrdma -i 0.3 uar show rxe0)" \
	"^rxe0 +$uar +context +8 +8 +1 .*crowd"
is "uar show INDEX has its QPs, also by a hexadecimal number" \
	"$(swiftrdma -j uar show rxe0 "$index" | jq -c '[length, (.[0].members | length), (.[0].members | all(.uar == '"$uar"' and .job != null))]')" \
	"[1,8,true]"
like "... in text below it, with the cgroup" "$(swiftrdma uar show rxe0 "$index")" '^    +[0-9]+ .*/kv$'
is "owners and threads are counted" \
	"$(swiftrdma -j uar show rxe0 "$uar" | jq -c '.[0] | [.owners, .threads]')" "[1,1]"
is "--sort and --top" \
	"$(swiftrdma -j uar show --sort=qps --top 1 | jq -c '.[] | .qps')" 8
# Traffic goes on by itself: what a reading says of an interval, it says of both.
is "QPs that advance together are seen to" \
	"$(swiftrdma -j -i 1 uar show rxe0 "$uar" | jq '.[0].coactive > 0.5 and .[0].active_qps == 8')" true

# --- qp explain ---

qpn=$(swiftrdma -j qp show dev rxe0 comm crowd | jq '.[0].qpn')
swiftrdma qp explain rxe0 "$qpn" >"$work/explain"
note "$(cat "$work/explain")"
like "qp explain says who has it" "$(cat "$work/explain")" "^qp +QP $qpn of rxe0, RC, RTS: of crowd, pid $crowd"
like "... on what, with whom" "$(cat "$work/explain")" "^uar +$uar \(the process's user context"
like "... in which class" "$(cat "$work/explain")" "asked for traffic class 0"
like "... and its peer in which" "$(cat "$work/explain")" "its peer, QP [0-9]+ of rxe1, answers in the same"
like "... how fast" "$(cat "$work/explain")" "^rate +[0-9.]+k?/s doorbells"
like "... whether it contends, and by which evidence" "$(tr -s ' \n' ' ' <"$work/explain")" \
	"UAR: none, two or more of its QPs advanced in [0-9.]+ % of the readings, but there is no register"
like "... what is not told, and why" "$(tr -s ' \n' ' ' <"$work/explain")" \
	"work requests: this device's provider does not count them"
swiftrdma action set job kv level 3 for 600s >/dev/null
like "a class that is forced is told from what was asked for" \
	"$(swiftrdma -i 0.1 qp explain rxe0 "$qpn")" "level 3 is forced"
# The class of a QP is changed while it sends, and its peer hears of it then.
both_raised() { [ "$(swiftrdma -j qp show dev rxe0 qpn "$qpn" | jq -c '.[0] | [.tclass, .ends]')" = '[96,"both"]' ]; }
check "... and its peer has the same" wait_for 30 both_raised
is "... and in JSON, figures beside the words" \
	"$(swiftrdma -j -i 0.1 qp explain rxe0 "$qpn" | jq -c '[.qp[0].level, .qp[0].tclass, .uar[0].qps, (.says.class | length)]')" \
	"[3,96,8,5]"
check "the override goes" swiftrdma action clear all
check "a QP that is not there" fails 1 "no QP 9999999 of rxe0" swiftrdma qp explain rxe0 9999999
check "a device that is not there" fails 1 "no device 'x'; there are: rxe0 rxe1" swiftrdma qp explain x 1

# --- run ---

is "run starts a program in its job's cgroup" \
	"$(swiftrdma run --job kv -- cat /proc/self/cgroup)" "0::/kv"
is "... with the registers asked for, without what goes against them" \
	"$(MLX5_SHUT_UP_BF=1 swiftrdma run --job kv --uuars 64 -- sh -c 'echo $MLX5_TOTAL_UUARS $MLX5_SHUT_UP_BF' 2>"$work/err")" 64
like "... saying so" "$(cat "$work/err")" "MLX5_SHUT_UP_BF=1 is removed"
cat >"$work/policy.yaml" <<-'EOF'
	jobs:
	  - name: kv
	    class: latency
	    match: [{cgroup: /kv}]
	    environment: {MLX5_TOTAL_UUARS: 512, OTHER: "a b"}
EOF
is "the policy file says what environment a job has" \
	"$(swiftrdma run --job kv --policy "$work/policy.yaml" -- sh -c 'echo "$MLX5_TOTAL_UUARS $OTHER"')" "512 a b"
swiftrdma run --job kv -- sh -c 'exit 42'
is "the exit status is the program's" $? 42
swiftrdma run --job kv -- sh -c 'kill -TERM $$' 2>/dev/null
is "... also if a signal ended it" $? 143
swiftrdma run --job kv -- sleep 3600 & pid=$!
# shellcheck disable=SC2317
sleeps() { [ "$(cat /proc/$pid/comm)" = sleep ] && grep -qx "0::/kv" /proc/$pid/cgroup; }
check "it becomes the program: same process" wait_for 30 sleeps
kill $pid
wait $pid
is "... so signals are the program's" $? 143
check "a program that is not there: 127" fails 127 "No such file" swiftrdma run --job kv -- /no/such
check "one that cannot be executed: 126" fails 126 "denied" swiftrdma run --job kv -- /etc/passwd
check "a job that is not there: 125" fails 125 "no job 'nobody': create it" swiftrdma run --job nobody -- true
swiftrdma job set bycomm match comm=x >/dev/null
check "a job whose rules name no cgroup" fails 125 "no rule of it has a cgroup as its only condition" \
	swiftrdma run --job bycomm -- true
swiftrdma job set glob match 'cgroup=/many/*' order 50
is "a glob gives a cgroup that it matches" \
	"$(swiftrdma run --job glob -- cat /proc/self/cgroup)" "0::/many/run"
is "who is in such a cgroup already stays there" \
	"$(in_cgroup many/mine swiftrdma run --job glob -- cat /proc/self/cgroup)" "0::/many/mine"
swiftrdma job set first match 'cgroup=/kv*' order 1
check "a cgroup that would be another job's is not taken" fails 125 "belongs to job first" \
	swiftrdma run --job kv -- true
swiftrdma job del first
check "without rights it says so" fails 125 "CAP_NET_ADMIN|not allowed" \
	setpriv --reuid 65534 --clear-groups --inh-caps=-all build/bin/swiftrdma run --job kv -- true
check "... also where the cgroup is named" fails 125 "cgroup /kv: not allowed" \
	setpriv --reuid 65534 --clear-groups --inh-caps=-all build/bin/swiftrdma run --job kv --cgroup /kv -- true
check "no cgroup v2: it says so" fails 125 "cgroup v2\) is not mounted" \
	unshare -m sh -c 'umount -l /sys/fs/cgroup; exec build/bin/swiftrdma run --job kv -- true'
is "help that is the program's stays the program's" \
	"$(swiftrdma run --job kv -- sh -c 'echo "$1"' sh --help)" --help

kill "$crowd"
wait "$crowd" 2>/dev/null
only_gsi() { [ "$(swiftrdma -j qp show | jq length)" = 2 ]; }
check "nothing is left of it" wait_for 60 only_gsi
check "the module unloads" srdma_unload
rm -rf "$work"
ktap_end
