#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs that are made past RDMA core: seen from their creation to their end, whoever
# ends them, beside all others; and where they are not seen, that this is said.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/devx.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

# devx JQ: of the QPs on mlx5_0 that were made past RDMA core.
devx() { swiftrdma -j qp show dev mlx5_0 | jq -r "map(select(.devx)) | $1"; }
numbers() { devx 'map(.qpn) | sort | map(tostring) | join(" ")'; }
there_are() { [ "$(dev mlx5_0 devx_qps)" = "$1" ]; }
in_order() { printf '%s\n' "$@" | sort -n | xargs; }

ktap_begin
dmesg -C
qpsh_start old devxqp mlx5_0
qp old create
point $? "one before the module"
check "load" both_load
is "it is not known, and known to be so: counting began with the module" \
	"$(dev mlx5_0 devx_qps) $(dev mlx5_0 devx_created) $(dev mlx5_0 devx_missed)" "0 0 0"
swiftrdma job set kv match comm=devxqp
start monitor swiftrdma -j monitor
# Until it hears something, nothing that it misses counts.
provoke() {
	nlreq ACT doit "lease{id=$(nlreq --lease ACT doit 'lease{origin=provoke}') ttl_ms=0}" >/dev/null
	grep -q . "$work/$1"
}
check "the monitor hears" wait_for 30 provoke monitor
qpsh_start a devxqp mlx5_0
created=$(dev mlx5_0 created)
qpn=() page=''
for _ in 1 2 3; do
	qp a create
	read -r _ number page <<<"$answer"
	qpn+=("$number")
done
check "three are seen" wait_for 30 there_are 3
is "by their numbers" "$(numbers)" "$(in_order "${qpn[@]}")"
is "... on the UAR that the program took, of its process, in its job" \
	"$(devx 'map("\(.uar) \(.pid) \(.comm) \(.job) \(.type)") | unique[]')" \
	"$page ${qpsh_pid[a]} devxqp kv RC"
is "... of the thread that made them" "$(devx 'map(.tid) | unique[]')" "${qpsh_pid[a]}"
is "... and what is not known is absent, not zero" \
	"$(devx 'map([.wrs, .state, .max_send_wr, .send_cq, .wrs_absent] | tostring) | unique[]')" \
	'[null,null,null,null,"devx"]'
is "the UAR counts them" \
	"$(swiftrdma -j uar show mlx5_0 | jq ".[] | select(.uar == $page) | .qps")" 3
is "so does the job" "$(job kv qps)" 3
is "RDMA core made none" "$(dev mlx5_0 created)" "$created"
is "text says so, too, in each row" "$(swiftrdma -d qp show dev mlx5_0 comm devxqp |
	awk 'NR == 1 { at = index($0, "DEVX"); next } { print substr($0, at, 4) }' |
	sort -u | xargs)" yes
like "explain says what they are" "$(swiftrdma -i 0.1 qp explain mlx5_0 "${qpn[0]}")" \
	'created without RDMA core \(DEVX\)'

qp a plain
is "one of RDMA core's is none of them" "$(dev mlx5_0 devx_qps) $(dev mlx5_0 created)" \
	"3 $((created + 1))"
is "... but beside them in the table" \
	"$(swiftrdma -j qp show dev mlx5_0 comm devxqp | jq 'map(.devx // false) | map(tostring) | sort | join(" ")' -r)" \
	"false true true true"

say=$(swiftrdma action set dev mlx5_0 qpn "${qpn[0]}" level 5 for 60s 2>&1)
is "nothing of them can be changed" "$?" 1
like "... and that is said" "$say" 'made past RDMA core \(DEVX\): nothing of this QP can be changed'

like "nor by a job's action" "$(swiftrdma action set job kv level 3 for 60s 2>&1)" \
	'qps 4 qps_done 0 .* qps_unsupported 3 qps_unconnected 1 .* error EOPNOTSUPP'
told() {
	swiftrdma -j action show | jq -c '.[] | select(.kind == "override") |
		[.qps, .qps_done, .qps_unsupported, .qps_unconnected]'
}
check "... which says so" wait_for 30 eval '[ "$(told)" = "[4,0,3,1]" ]'
is "... and no level is shown" "$(devx 'map(.level) | unique | tojson')" "[null]"
swiftrdma action clear all >/dev/null

qp a destroy
check "one is destroyed" wait_for 30 there_are 2
seen() { jq -es "any(.[]; $1)" "$work/monitor" >/dev/null 2>&1; }
check "it is told" wait_for 30 seen ".event == \"destroyed\" and .qpn == ${qpn[2]} and .devx and (has(\"send_cq\") | not)"
is "... and the others are there" "$(numbers)" "$(in_order "${qpn[0]}" "${qpn[1]}")"
is "their number since the provider came" "$(dev mlx5_0 devx_created)" 3

# --- Ends of all kinds ---

kill -9 "${qpsh_pid[a]}"
wait "${qpsh_pid[a]}" 2>/dev/null
check "a killed process leaves none" wait_for 30 there_are 0
is "nor in its job" "$(job kv qps)" 0

for name in c1 c2 c3 c4; do
	qpsh_start $name devxqp mlx5_0
done
for name in c1 c2 c3 c4; do
	echo "churn 100" >&"${qpsh_in[$name]}"
done
ended=0
for name in c1 c2 c3 c4; do
	IFS= read -r answer <&"${qpsh_out[$name]}"
	[ "$answer" = "churn 100" ] && ended=$((ended + 1))
done
is "four programs make and end 400" "$ended" 4
more=()
for name in c1 c2 c3 c4; do
	qp $name create
	read -r _ number _ <<<"$answer"
	more+=("$number")
done
check "one more of each is all that there is" wait_for 30 there_are 4
is "... by their numbers" "$(numbers)" "$(in_order "${more[@]}")"
is "each was seen, none twice" "$(dev mlx5_0 devx_created) $(dev mlx5_0 devx_missed)" "407 0"
for name in c1 c2 c3 c4; do
	qpsh_stop $name
done
check "programs that end leave none" wait_for 30 there_are 0
is "nor their pages" "$(swiftrdma -j uar show mlx5_0 | jq 'map(select(.comm == "devxqp" and .pid != '"${qpsh_pid[old]}"')) | length')" 0

# --- The module goes before them ---

qpsh_start b devxqp mlx5_0
qp b create
check "one more" wait_for 30 there_are 1
check "the provider unloads under it" rmmod swiftrdma_mlx5
is "what nobody watches is not shown" "$(devx length)" 0
is "... and how many there are is unknown" "$(dev mlx5_0 devx_qps)" null
check "it comes back" mlx5_load
qp b create
check "and sees the next" wait_for 30 there_are 1
is "... its first" "$(dev mlx5_0 devx_created)" 1
check "both unload under it" both_unload
qp b destroy
like "its program does not notice" "$answer" '^destroy '
check "load, not to watch" both_load devx=0
qp b create
is "how many there are is unknown" "$(dev mlx5_0 devx_qps)" null
is "... and none is shown" "$(devx length)" 0
qpsh_stop b
qpsh_stop old
check "unload" both_unload

# --- The process goes before its QP is entered ---

check "load, slow to enter them" eval "srdma_load_debug delay_at=256 delay_ms=2000 && mlx5_load"
start gone swiftrdma -j monitor
check "another monitor hears" wait_for 30 provoke gone
qpsh_start b devxqp mlx5_0
qp b create
read -r _ number _ <<<"$answer"
kill -9 "${qpsh_pid[b]}"
wait "${qpsh_pid[b]}" 2>/dev/null
gone_is() { jq -es "any(.[]; .event == \"$1\" and .qpn == $number and .kernel == \"exited\")" "$work/gone" >/dev/null 2>&1; }
check "its QP is entered, as of one who has gone" wait_for 30 gone_is created
check "... and ends" wait_for 30 gone_is destroyed
is "none is left" "$(dev mlx5_0 devx_qps) $(dev mlx5_0 devx_created)" "0 1"
check "unload after that" both_unload
# --- Ends that were not seen ---
#
# While none can be entered, more end than can be noted: then the device is asked which there
# are, but for no more than readers may cause.

mlx5_ko=build/kmod/$(uname -r)-debug/swiftrdma_mlx5.ko
param() { echo "$2" >/sys/module/swiftrdma/parameters/"$1"; }
check "load" eval "srdma_load_debug && mlx5_load detail=0 diag=0"
qpsh_start many devxqp mlx5_0
for _ in {1..300}; do
	qp many create
done
check "300 are there" wait_for 60 there_are 300
# An end that a probe has missed is noticed when somebody reads.
was=$(commands mlx5_0)
param ends_missed 1
is "a reader without privileges does not have the device asked for them" \
	"$(commands mlx5_0 >/dev/null; sleep 2; echo $(($(commands mlx5_0) - was)))" 0
swiftrdma dev show mlx5_0 >/dev/null
all_asked() { [ $(($(commands mlx5_0) - was)) -ge 300 ]; }
check "one with them does" wait_for 60 all_asked
is "... and all are there" "$(dev mlx5_0 devx_qps)" 300
param delay_ms 60000
param delay_at 256
qp many create
for _ in {1..301}; do
	qp many destroy
done
param no_commands 1
param delay_at 0
some_left() { [ "$(dev mlx5_0 devx_qps)" -lt 100 ]; }
check "some ends were noted" wait_for 60 some_left
sleep 2
left=$(dev mlx5_0 devx_qps) was=$(summary mlx5_0 commands)
note "$left are left"
is "of the others the device is not asked as long as it may not be" \
	"$((left >= 40)) $(sleep 2; dev mlx5_0 devx_qps) $(($(summary mlx5_0 commands) - was))" "1 $left 0"
param no_commands 0
check "then it is" wait_for 60 there_are 0

# A clock that is coarse, as jiffies are, gives a QP and its end the same time. Which of the two came
# first, the device says.
param coarse_bits 40
was=$(commands mlx5_0)
echo "churn 100" >&"${qpsh_in[many]}"
IFS= read -r answer <&"${qpsh_out[many]}"
qp many create
check "QPs that come and go at one time of the clock are all seen to go" wait_for 60 there_are 1
like "... by what the device says of each" $(($(commands mlx5_0) - was)) '^[1-9]'
qpsh_stop many
check "unload" both_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
