# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Programs in pairs, a server and a client, for suites in the VM.

# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

# listening PORT: does a program listen on this TCP port?
listening() {
	local port

	printf -v port %04X "$1"
	grep -q ":$port .* 0A " /proc/net/tcp /proc/net/tcp6
}

# cm_listens COMM: does a program of that name listen by rdma_cm?
cm_listens() { rdma res show cm_id | grep -q "state LISTEN.*comm $1"; }

# pair -p PORT|-c COMM SERVER... -- CLIENT...: both ends, and both must succeed. The client
# starts when the server listens, on TCP or by rdma_cm. The client's output is the result.
pair() {
	local how=$1 where=$2 up=listening command=() pid status out

	shift 2
	[ "$how" = -p ] || up=cm_listens
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	out=$(mktemp)
	timeout $((${pair_limit:-120} * slowness)) "${command[@]}" >"$out" 2>&1 & pid=$!
	if wait_for 60 $up "$where"; then
		timeout $((${pair_limit:-120} * slowness)) "$@"
		status=$?
	else
		status=1
	fi
	[ $status -eq 0 ] || kill $pid 2>/dev/null
	wait $pid || status=$?
	[ $status -eq 0 ] || { echo "status $status"; tail -n 50 "$out"; } >&2
	rm "$out"
	return $status
}
