#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# QPs that are made past RDMA core: seen from their creation to their end, whoever
# ends them, beside all others; and where they are not seen, that this is said.
#
#   scripts/vm --nic softhca -- selftests/mlx5/devx.sh

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
	"$(devx 'map([.wrs, .state, .max_send_wr, .wrs_absent] | tostring) | unique[]')" \
	'[null,null,null,"devx"]'
is "the UAR counts them" \
	"$(swiftrdma -j uar show mlx5_0 | jq ".[] | select(.uar == $page) | .qps")" 3
is "so does the job" "$(job kv qps)" 3
is "RDMA core made none" "$(dev mlx5_0 created)" "$created"
like "text says so, too" "$(swiftrdma -d qp show dev mlx5_0 comm devxqp)" 'DEVX'
like "explain says what they are" "$(swiftrdma -i 0.1 qp explain mlx5_0 "${qpn[0]}")" \
	'made past RDMA core \(DEVX\)'

qp a plain
is "one of RDMA core's is none of them" "$(dev mlx5_0 devx_qps) $(dev mlx5_0 created)" \
	"3 $((created + 1))"
is "... but beside them in the table" \
	"$(swiftrdma -j qp show dev mlx5_0 comm devxqp | jq 'map(.devx // false) | map(tostring) | sort | join(" ")' -r)" \
	"false true true true"

say=$(swiftrdma action set dev mlx5_0 qpn "${qpn[0]}" level 5 for 60s 2>&1)
is "nothing of them can be changed" "$?" 1
like "... and that is said" "$say" 'made past RDMA core \(DEVX\): nothing of this QP can be changed'

qp a destroy
check "one is destroyed" wait_for 30 there_are 2
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
done_all=0
for name in c1 c2 c3 c4; do
	IFS= read -r answer <&"${qpsh_out[$name]}"
	[ "$answer" = "churn 100" ] && done_all=$((done_all + 1))
done
is "four programs make and end 400" "$done_all" 4
all_in() { [ "$(dev mlx5_0 devx_created) $(dev mlx5_0 devx_qps)" = "$1 0" ]; }
# What is made and ended before it can be entered was never there for anybody.
few() { [ "$(dev mlx5_0 devx_created)" -le 403 ] && there_are 0; }
check "none is left, none is counted twice" wait_for 30 few
is "none was missed" "$(dev mlx5_0 devx_missed)" 0
note "$(($(dev mlx5_0 devx_created) - 3)) of 400 were entered"
for name in c1 c2 c3 c4; do
	qpsh_stop $name
done

# --- The module goes before them ---

qpsh_start b devxqp mlx5_0
qp b create
check "one more" wait_for 30 there_are 1
check "the provider unloads under it" rmmod swiftrdma_mlx5
is "what nobody watches is not shown" "$(numbers)" ""
is "... and how many there are is unknown" "$(dev mlx5_0 devx_qps)" null
check "it comes back" mlx5_load
qp b create
check "and sees the next" wait_for 30 there_are 1
check "both unload under it" both_unload
qp b destroy
like "its program does not notice" "$answer" '^destroy '
check "load, not to watch" both_load devx=0
qp b create
is "how many there are is unknown" "$(dev mlx5_0 devx_qps)" null
is "... and none is shown" "$(numbers)" ""
qpsh_stop b
qpsh_stop old
check "unload" both_unload
is "nothing in the kernel log" "$(mlx5_complaints)" ""
ktap_end
