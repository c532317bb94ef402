# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Programs of others with libswiftrdma preloaded, in pairs, and what the library counted of
# them. Goes with clients.sh.

# shellcheck source=selftests/lib/clients.sh
. selftests/lib/clients.sh

lib=$PWD/build/lib/libswiftrdma.so.1
stats=$work/stats
perf=(-F -u 18)
gid=()
if [ $nic != softhca ]; then
	perf+=(-x 1)
	gid=(-g 1)
fi

# with_lib CMD...: all that CMD starts has the library, and writes its figures.
with_lib() { (export LD_PRELOAD=$lib SWIFTRDMA_STATS=$stats; "$@"); }

pingpong() {
	local prog=ibv_$1_pingpong

	shift
	pair -p 18515 "$prog" -d "${dev[1]}" -n 100 "${gid[@]}" "$@" -- \
		"$prog" -d "${dev[0]}" -n 100 "${gid[@]}" "$@" localhost >"$work/pp" || return
	awk '/^[0-9]+ (bytes|iters) in/ { print $1, $2 } /^success$/' "$work/pp"
}

# At $perf_port, of which several at a time need one each.
perftest() {
	local port=${perf_port:-20001}

	pair -p "$port" "$1" -d "${dev[1]}" "${perf[@]}" -p "$port" "${@:2}" -- \
		"$1" -d "${dev[0]}" "${perf[@]}" -p "$port" "${@:2}" localhost >"$work/pt" || return
	awk '$1 ~ /^[0-9]+$/ { print $1, "bytes", $2, "iterations" }' "$work/pt"
}

# What both ends did, by device of the server and of the client: "SERVER CLIENT".
figure() {
	jq -rs --arg s "${dev[1]}" --arg c "${dev[0]}" "def of(\$d): map(.devices[] | select(.dev == \$d)) | map($1) | add;
		\"\(of(\$s)) \(of(\$c))\"" "$stats"
}

# policy_by_p99 WHEN: a policy file in which the job kv is raised when WHEN holds. Its fallback
# never does, so a decision shows that the latencies of libraries are known.
policy_by_p99() {
	cat <<-EOF
		agent: {interval: 100ms, lease: 4s}
		levels: [{level: 1, dscp: 8, sl: 1}]
		jobs: [{name: kv, class: latency, slo: {p99: 1us}, match: [{cgroup: /kv}]}]
		policies:
		  - name: slow
		    for: job of class latency
		    when: $1
		    fallback: job.qps > 1000
		    do: job.level += 1
		    ceiling: 1
		    undo: {when: job.p99 < job.slo_p99 / 2, fallback: job.qps == 0}
	EOF
}
