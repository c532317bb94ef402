#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# All measurements, on the host: each group of rows in a VM of its own. One JSON
# object a line on stdout:
#
#   bench  name       value  figure, in unit    vs    the rival's figure
#   ratio  of them    goal   for the ratio (the value where there is none)
#   ok     whether it holds
#   simulated  measured in a model's time, on the software ConnectX
#
#   selftests/bench/run.sh [ROW|GROUP]...	all without arguments
#
# A row without a sample or a baseline is void, and says why. Exit status 0: every row was
# measured, is JSON, and met its goal.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

groups=(qp_create qp_rts dump qp_memory peer_storm act_latency move_pause softhca_uar softhca_cache softhca_huge
	softhca_class mlx5_create mlx5_post mlx5_sampler uar_show_10k uar_restart uar_loop place_loop chunk_small
	thrash_loop pace_demo policy_tick agent_tick scrape_10k top_10k model_error sim_rate lib_cost lib_post_insns)
rows=selftests/bench/rows
logs=build/vm/out/bench
failed=0

# measure GROUP NIC VM-OPTIONS -- CMD...
measure() {
	local group=$1 nic=$2 start=$SECONDS

	shift 2
	printf '# %s ...\n' "$group" >&2
	mkdir -p "$logs/$group"
	if scripts/vm --nic "$nic" --share "$logs/$group" "$@" 2>"$logs/$group/log"; then
		printf '# %s took %d s\n' "$group" $((SECONDS - start)) >&2
	else
		printf '# %s FAILED, see %s\n' "$group" "$logs/$group/log" >&2
		tail -n 15 "$logs/$group/log" >&2
		failed=1
	fi
}

# on_host PROGRAM ARGS...: what needs no kernel of its own. Its times are those of
# its thread, so that what else the machine does counts as little as it can.
on_host() {
	printf '# %s ...\n' "$1" >&2
	if ! "build/bench/$1" "${@:2}"; then
		printf '# %s FAILED\n' "$1" >&2
		failed=1
	fi
}

group() {
	case $1 in
	policy_tick|agent_tick|scrape_10k|top_10k|model_error|sim_rate|lib_cost) on_host "$1" ;;
	policy_tick_*) on_host policy_tick "$1" ;;
	agent_tick_*) on_host agent_tick "$1" ;;
	qp_create|qp_rts) measure "$1" rxe --icount --timeout 1200 -- "$rows/cost.sh" "$1" ;;
	dump|qp_dump*) measure dump rxe --icount --timeout 600 -- "$rows/dump.sh" ;;
	qp_memory) measure "$1" rxe --timeout 600 -- "$rows/qp_memory.sh" ;;
	peer_storm) measure "$1" rxe --icount --timeout 600 -- "$rows/peer_storm.sh" ;;
	# The guest's time is to tell of the guest alone, and not of what else the host does.
	move_pause) measure "$1" rxe --icount --mips 1000 --timeout 1200 -- "$rows/$1.sh" ;;
	act_latency|pace_demo) measure "$1" rxe --timeout 300 -- "$rows/$1.sh" ;;
	softhca_uar|softhca_cache|softhca_class)
		SOFTHCA_PARAMS="preset=cx5 time_scale=6000" \
			measure "$1" softhca --timeout 1200 -- "$rows/$1.sh" ;;
	# Its writes are all over the host's memory, too.
	softhca_huge)
		SOFTHCA_PARAMS="preset=cx5 time_scale=20000" \
			measure "$1" softhca --timeout 1200 -- "$rows/$1.sh" ;;
	# As slow as its programs need, which are many threads.
	uar_restart)
		SOFTHCA_PARAMS="preset=cx5 time_scale=20000" \
			measure "$1" softhca --timeout 1800 -- "$rows/$1.sh" ;;
	# A QP that moves waits until it has nothing outstanding, 500 ms at most of the guest's time.
	uar_loop)
		SOFTHCA_PARAMS="preset=cx5 time_scale=4000" \
			measure "$1" softhca --timeout 1800 -- "$rows/$1.sh" ;;
	place_loop)
		SOFTHCA_PARAMS="preset=cx5 time_scale=6000" \
			measure "$1" softhca --timeout 600 -- "$rows/$1.sh" ;;
	chunk_small)
		SOFTHCA_PARAMS="preset=cx5 time_scale=80000" \
			measure "$1" softhca --timeout 900 -- "$rows/$1.sh" ;;
	thrash_loop)
		SOFTHCA_PARAMS="preset=cx6 time_scale=120000" \
			measure "$1" softhca --timeout 1200 -- "$rows/$1.sh" ;;
	uar_show_10k) measure "$1" softhca --icount --timeout 1800 -- "$rows/uar_show.sh" ;;
	lib_post_insns) measure "$1" softhca --icount --timeout 1200 -- "$rows/lib_post.sh" ;;
	mlx5_create|mlx5_post|mlx5_sampler)
		measure "$1" softhca --icount --timeout 1200 -- "$rows/mlx5.sh" "${1#mlx5_}" ;;
	*) printf 'no such row: %s; there are: %s\n' "$1" "${groups[*]}" >&2; exit 2 ;;
	esac
}

[ $# -gt 0 ] || set -- "${groups[@]}"

{
	for g; do
		group "$g"
	done
	exit $failed
} | "$rows/look.py"
[ "${PIPESTATUS[*]}" = "0 0" ]
