# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Runs programs of other projects four times: without the module, with it, with libswiftrdma
# preloaded as well, and with all knobs of their job turned at random meanwhile. Compares the exit
# status, the results, and the numbers of QPs created and destroyed. Without the module these
# numbers come from probes of the driver's functions, and for QPs created without RDMA core (DEVX)
# from the driver's statistics of firmware commands. On the debug kernel, where a program takes seven
# times as long, no program runs with the module alone.
#
#   client [--own] NAME CMD...
#                        CMD, usually a function, runs a client to its end and prints
#                        what must be the same each time. --own: the program writes its
#                        requests itself, so the library sees only that it uses the device.
#                        Exit status 75: the client lost a race of its own, and is run again
#   compare_clients      the points

# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/watch.sh
. selftests/lib/watch.sh
# shellcheck source=selftests/lib/traffic.sh
. selftests/lib/traffic.sh

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

# Complaints of the kernel since mark_dmesg, each kind once, whatever the numbers of QPs and
# which of the two devices. A device that lacks something complains with and without the
# module, of some of the calls: the kernel limits how often.
complaints() {
	if [ $nic = rxe ]; then dmesg_complaints; else mlx5_complaints; fi |
		sed -E 's/^\[[^]]*\] //; s/\(pid [0-9]+\)//; s/#[0-9]+/#N/g
			s/\<(rxe|mlx5_)[01]\>/\1/g; /callbacks suppressed$/d' | sort -u
}

# firmware COMMAND: how often the two devices executed the command successfully.
firmware() {
	cat /sys/kernel/debug/mlx5/*/commands/"$1"/n <(sed 's/^/-/' /sys/kernel/debug/mlx5/*/commands/"$1"/failed) |
		awk '{ n += $1 } END { print n + 0 }'
}

# QPs created and destroyed by RDMA core, and without it, as "ASKED GONE DEVX_MADE
# DEVX_GONE". No program may run: then RDMA core has destroyed as many QPs as it created,
# and the firmware counted each of them. A raw packet QP is no QP to the firmware; its receive
# queue, or the receive queues that it spreads packets over, have a TIR, and nothing else gets one
# while programs run.
by_driver() {
	local gone

	gone=$(probe_hits ${driver}_destroy_qp)
	if [ $nic = rxe ]; then
		echo "$(probe_hits rxe_create_qp) $gone 0 0"
	else
		echo "$(probe_hits mlx5_ib_create_qp) $gone" \
			"$(($(firmware CREATE_QP) + $(firmware CREATE_TIR) - gone))" \
			"$(($(firmware DESTROY_QP) + $(firmware DESTROY_TIR) - gone))"
	fi
}
by_module() {
	[ -d /sys/module/swiftrdma ] || return
	swiftrdma -j dev show | jq -r 'def sum(f): map(f // 0) | add;
		"\(sum(.created) + sum(.create_failed)) \(sum(.destroyed)) \(sum(.devx_created)) \(sum(.devx_created) - sum(.devx_qps))"'
}

# difference "BEFORE" "AFTER": element by element, of two lists of figures.
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

client_names=() client_cmds=() client_sees=()
client() {
	local sees=requests

	if [ "$1" = --own ]; then
		sees=device
		shift
	fi
	client_sees+=("$sees")
	client_names+=("$1")
	shift
	client_cmds+=("$(printf '%q ' "$@")")
}

# once I TAG: run a client, and write its results and figures to files.
once() {
	local at=$work/$1.$2 driver_had module_had status tries

	for tries in {1..5}; do
		rm -f "${SWIFTRDMA_STATS-}"
		driver_had=$(by_driver) module_had=$(by_module)
		(eval "${client_cmds[$1]}") >"$at.out" 2>"$at.err"
		status=$?
		[ $status -eq 75 ] || break
		note "attempt $tries: $(tail -n 3 "$at.err" | paste -sd ' ')"
	done
	echo $status >"$at.status"
	difference "$driver_had" "$(by_driver)" >"$at.qps"
	difference "$module_had" "$(by_module)" >"$at.counted"
}

# Requests of both queues that libraries told the module of, of processes that are gone, too.
told_by_libraries() {
	build/progs/attach show | awk '$1 == "job" {
		for (i = 3; i < NF; i++) if ($i == "wrs" || $i == "recv_wrs") n += $(i + 1) }
		END { print n + 0 }'
}

compare_with_library() {
	local i=$1 name=${client_names[$1]} before at=$work/$1 lib=$PWD/build/lib/libswiftrdma.so.1

	before=$(told_by_libraries)
	(export LD_PRELOAD=$lib SWIFTRDMA_STATS=$at.stats; once "$i" library)
	is "$name: ends alike under the library" "$(cat "$at.library.status")" "$(cat "$at.without.status")"
	cmp -s "$at.library.status" "$at.without.status" || note "$(tail -n 60 "$at.library.err")"
	is "$name: has the same results under it" "$(cat "$at.library.out")" "$(cat "$at.without.out")"
	is "$name: makes as many QPs under it" "$(cat "$at.library.qps")" "$(cat "$at.without.qps")"
	is "$name: the module counts them all" "$(cat "$at.library.counted")" "$(cat "$at.without.qps")"
	if [ "${client_sees[$i]}" = requests ]; then
		like "$name: its requests are seen" "$(($(told_by_libraries) - before))" '^[1-9]'
	else
		is "$name: its devices are seen" \
			"$(jq -cs '[.[].devices[].module] | unique' "$at.stats")" '[true]'
	fi
}

# flaws STATS: what the libraries of a run counted that a program without faults has not, a word
# each, sorted. "open": requests that neither completed nor were dropped with their QP;
# "overrun": more of these than were posted.
flaws() {
	jq -rs '[.[].devices[]] |
		(select(any(.errors > 0)) | "errors"),
		(select(any(.stopped > 0)) | "stopped"),
		(select(any(.unmatched > 0)) | "unmatched"),
		(select(any(.done + .dropped < .wrs)) | "open"),
		(select(any(.done + .dropped > .wrs)) | "overrun")' "$1" | sort
}

turned_knobs=(wr_rate bit_rate credits chunk level)
# A kernel may be built without huge pages, and then no library can enforce that knob.
[ ! -d /sys/kernel/mm/transparent_hugepage ] || turned_knobs+=(huge_pages)
[ $nic = rxe ] || turned_knobs+=(place)

# Sets some knobs of the job to random values, for a random time, or clears all, again and again.
# Not admission, which refuses QPs. Prints what it did, and the answer.
turn_knobs() {
	local place=(lightest by-thread) yes=(yes no) knobs knob said

	while :; do
		knobs=()
		for knob in "${turned_knobs[@]}"; do
			[ $((RANDOM % 2)) = 0 ] || continue
			knobs+=("$knob")
			case $knob in
			wr_rate) knobs+=($((2000 + RANDOM))) ;;
			bit_rate) knobs+=($((50 + RANDOM % 1000))Mbit/s) ;;
			credits) knobs+=($((1 + RANDOM % 32))) ;;
			chunk) knobs+=($((4096 << RANDOM % 5))) ;;
			place) knobs+=("${place[RANDOM % 2]}") ;;
			huge_pages) knobs+=("${yes[RANDOM % 2]}") ;;
			level) knobs+=($((RANDOM % 2))) ;;
			esac
		done
		if [ $((RANDOM % 3)) = 0 ] || [ ${#knobs[@]} = 0 ]; then
			swiftrdma action clear all		# fails if there is none
			echo "clear"
		else
			said=$(swiftrdma action set job clients "${knobs[@]}" for $((1 + RANDOM % 3))s 2>&1)
			echo "set ${knobs[*]}: $said"
		fi
		nap "0.$((RANDOM % 10))"
	done
}

was_turned() { grep -q "^set .*$1.*: lease" "$work/turned"; }
knobs_not_turned() {
	local knob n=0

	for knob in "${turned_knobs[@]}"; do
		was_turned "$knob" || n=$((n + 1))
	done
	echo $n
}

compare_under_knobs() {
	local i=$1 name=${client_names[$1]} at=$work/$1 lib=$PWD/build/lib/libswiftrdma.so.1 turning

	turn_knobs >"$at.turned" 2>&1 & turning=$!
	(export LD_PRELOAD=$lib SWIFTRDMA_CHUNK=yes SWIFTRDMA_STATS=$at.knobs.stats; once "$i" knobs)
	kill $turning
	wait $turning 2>/dev/null
	is "$name: ends alike while knobs are turned" "$(cat "$at.knobs.status")" "$(cat "$at.without.status")"
	cmp -s "$at.knobs.status" "$at.without.status" ||
		note "$(tail -n 60 "$at.knobs.err"; tail -n 20 "$at.turned")"
	is "$name: has the same results" "$(cat "$at.knobs.out")" "$(cat "$at.without.out")"
	is "$name: makes as many QPs" "$(cat "$at.knobs.qps")" "$(cat "$at.without.qps")"
	is "$name: the module counts them all then, too" "$(cat "$at.knobs.counted")" "$(cat "$at.without.qps")"
	# A program that ends by _exit(), as fio's processes, tells nothing, with or without knobs.
	if [ -s "$at.stats" ]; then
		check "$name: its libraries tell what they counted" test -s "$at.knobs.stats"
		# A program may end with open requests, or flush what it has posted: then it does so each time.
		is "$name: no request fails or is lost sight of by the knobs" \
			"$(comm -23 <(flaws "$at.knobs.stats") <(flaws "$at.stats") | xargs)" ""
	fi
	cat "$at.turned" >>"$work/turned"
	swiftrdma action clear all 2>/dev/null
	is "$name: no knob is left" "$(swiftrdma -j action show | jq length)" 0
}

compare_with_module() {
	local i=$1 name=${client_names[$1]} at=$work/$1

	once "$i" with
	is "$name: ends alike with the module" "$(cat "$at.with.status")" "$(cat "$at.without.status")"
	cmp -s "$at.with.status" "$at.without.status" || note "$(tail -n 60 "$at.with.err")"
	is "$name: has the same results with it" "$(cat "$at.with.out")" "$(cat "$at.without.out")"
	is "$name: makes as many QPs with it" "$(cat "$at.with.qps")" "$(cat "$at.without.qps")"
	is "$name: they are all counted" "$(cat "$at.with.counted")" "$(cat "$at.without.qps")"
}

compare_one() {
	local name=${client_names[$1]} at=$work/$1

	is "$name: works without the module" "$(cat "$at.without.status")" 0
	[ "$(cat "$at.without.status")" = 0 ] || note "$(tail -n 60 "$at.without.err")"
	like "$name: has results" "$(cat "$at.without.out")" .
	like "$name: makes QPs: $(cat "$at.without.qps")" "$(cat "$at.without.qps")" '[1-9]'
	[ $slowness -ge 6 ] || compare_with_module "$1"
	compare_with_library "$1"
	compare_under_knobs "$1"
}

compare_clients() {
	local i knob

	ktap_begin
	mark_dmesg
	check "the driver's functions can be watched" \
		probes_on ${driver}_create_qp ${driver}_destroy_qp
	# Newer drivers create a QP of their own at the first memory region, whoever has that.
	[ $nic = rxe ] || check "bytes pass" hca_warm_up
	for i in "${!client_names[@]}"; do
		once "$i" without
	done
	complaints >"$work/complaints"
	mark_dmesg
	check "the module loads" module_load
	check "their job" swiftrdma job set clients match uid=0
	check "its levels" swiftrdma level set 1 dscp 10 sl 1
	for i in "${!client_names[@]}"; do
		compare_one "$i"
	done
	# A client may end before all of them were.
	for ((i = 0; i < 20 && $(knobs_not_turned) > 0; i++)); do
		compare_under_knobs $((i % ${#client_names[@]}))
	done
	for knob in "${turned_knobs[@]}"; do
		check "$knob was turned while clients ran" was_turned "$knob"
	done
	is "no action was refused but for want of a process with the library" \
		"$(grep ^set "$work/turned" | grep -vE ': lease|no process of the job has')" ""
	is "no QP of a program is left" "$(swiftrdma -j qp show | jq 'map(select(.pid)) | length')" 0
	[ "$(type -t more_points)" != function ] || more_points
	probes_off
	check "the module unloads" module_unload
	is "the kernel complains of nothing that it did not complain of without" \
		"$(complaints | comm -23 - "$work/complaints")" ""
	ktap_end
}
