# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs that are not ours, each run twice: without the module and with it. Alike
# is: the same exit status, the same results, and as many QPs created and destroyed.
# How many those are without the module, a probe of the driver's functions tells; of
# QPs made past RDMA core (DEVX), the driver's statistics of its firmware commands.
#
#   client NAME CMD...   CMD, usually a function, runs a client to its end and prints
#                        what must be the same both times
#   compare_clients      the points

# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh

if [ -d /sys/class/infiniband/rxe0 ]; then
	nic=rxe dev=(rxe0 rxe1) addr=(10.1.0.1 10.1.0.2) driver=rxe
elif [ -e /sys/class/net/hca0 ]; then
	nic=softhca-eth dev=(mlx5_0 mlx5_1) addr=(10.2.0.1 10.2.0.2) driver=mlx5_ib
else
	# shellcheck disable=SC2034 # the suites have addresses from here
	nic=softhca dev=(mlx5_0 mlx5_1) addr=() driver=mlx5_ib
fi
export nic

module_load() { if [ $nic = rxe ]; then srdma_load; else both_load; fi; }
module_unload() { if [ $nic = rxe ]; then srdma_unload; else both_unload; fi; }

# What the kernel complained of since mark_dmesg, each kind once: a device that lacks
# something says so with and without the module.
complaints() {
	if [ $nic = rxe ]; then dmesg_complaints; else mlx5_complaints; fi |
		sed -E 's/^\[[^]]*\] //; s/\(pid [0-9]+\)//' | sort -u
}

# firmware COMMAND: how often the two devices were told to and did.
firmware() {
	cat /sys/kernel/debug/mlx5/*/commands/"$1"/n <(sed 's/^/-/' /sys/kernel/debug/mlx5/*/commands/"$1"/failed) |
		awk '{ n += $1 } END { print n + 0 }'
}

# QPs asked for and gone, made and gone past RDMA core, as "ASKED GONE DEVX_MADE
# DEVX_GONE", where no program runs: then as many of RDMA core's went as were made, and
# of each the firmware knows.
by_driver() {
	local gone

	gone=$(probe_hits ${driver}_destroy_qp)
	if [ $nic = rxe ]; then
		echo "$(probe_hits rxe_create_qp) $gone 0 0"
	else
		echo "$(probe_hits mlx5_ib_create_qp) $gone" \
			"$(($(firmware CREATE_QP) - gone)) $(($(firmware DESTROY_QP) - gone))"
	fi
}
by_module() {
	swiftrdma -j dev show | jq -r 'def sum(f): map(f // 0) | add;
		"\(sum(.created) + sum(.create_failed)) \(sum(.destroyed)) \(sum(.devx_created)) \(sum(.devx_created) - sum(.devx_qps))"'
}

# difference "BEFORE" "AFTER": of lists of figures.
difference() {
	local -a a b
	local i

	read -ra a <<<"$1"
	read -ra b <<<"$2"
	for i in "${!a[@]}"; do
		b[i]=$((b[i] - a[i]))
	done
	echo "${b[*]}"
}

client_names=() client_cmds=()
client() {
	client_names+=("$1")
	shift
	client_cmds+=("$(printf '%q ' "$@")")
}

# once I TAG: run a client, its results and all that is known of it in files.
once() {
	local at=$work/$1.$2 before

	before=$(by_driver)
	(eval "${client_cmds[$1]}") >"$at.out" 2>"$at.err"
	echo $? >"$at.status"
	difference "$before" "$(by_driver)" >"$at.qps"
}

compare_one() {
	local i=$1 name=${client_names[$1]} before at=$work/$1

	before=$(by_module)
	once "$i" with
	is "$name: works without the module" "$(cat "$at.without.status")" 0
	[ "$(cat "$at.without.status")" = 0 ] || note "$(tail -n 20 "$at.without.err")"
	is "$name: ends alike with it" "$(cat "$at.with.status")" "$(cat "$at.without.status")"
	cmp -s "$at.with.status" "$at.without.status" || note "$(tail -n 20 "$at.with.err")"
	like "$name: has results" "$(cat "$at.without.out")" .
	is "$name: has the same results with it" "$(cat "$at.with.out")" "$(cat "$at.without.out")"
	like "$name: makes QPs" "$(cat "$at.without.qps")" '[1-9]'
	is "$name: makes as many QPs, $(cat "$at.without.qps")" \
		"$(cat "$at.with.qps")" "$(cat "$at.without.qps")"
	is "$name: they are all counted" "$(difference "$before" "$(by_module)")" "$(cat "$at.without.qps")"
}

compare_clients() {
	local i

	ktap_begin
	mark_dmesg
	check "the driver's functions can be watched" \
		probes_on ${driver}_create_qp ${driver}_destroy_qp
	for i in "${!client_names[@]}"; do
		once "$i" without
	done
	complaints >"$work/complaints"
	mark_dmesg
	check "the module loads" module_load
	for i in "${!client_names[@]}"; do
		compare_one "$i"
	done
	is "no QP of a program is left" "$(swiftrdma -j qp show | jq 'map(select(.pid)) | length')" 0
	[ "$(type -t more_points)" != function ] || more_points
	probes_off
	check "the module unloads" module_unload
	is "the kernel complains of nothing that it did not complain of without" \
		"$(complaints | comm -23 - "$work/complaints")" ""
	ktap_end
}

# pair [-p PORT] SERVER... -- CLIENT...: both ends, and both must succeed. The client
# starts when the server listens on the TCP port, or as told by the function server_up.
# What the client says is the result.
pair() {
	local server=() pid status up=up_after_a_while

	[ "$1" != -p ] || { up="listening $2"; shift 2; }
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	[ -z "${server_up:-}" ] || up=$server_up
	timeout $((120 * slowness)) "${server[@]}" >"$work/server.out" 2>"$work/server.err" & pid=$!
	wait_for 60 $up || { cat "$work/server.err" >&2; kill $pid; return 1; }
	timeout $((120 * slowness)) "$@"
	status=$?
	[ $status -eq 0 ] || kill $pid 2>/dev/null
	wait $pid || { status=$?; tail -n 20 "$work/server.out" "$work/server.err" >&2; }
	return $status
}
up_after_a_while() { sleep 3; }

# For servers of rdma_cm: one of that name listens.
cm_listens() { rdma res show cm_id | grep -q "state LISTEN.*comm $1"; }
