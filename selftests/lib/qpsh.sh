# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Programs that execute a test's commands on QPs: qpsh_start, then qp.

qpsh_dir=$(mktemp -d)
declare -A qpsh_in qpsh_out qpsh_pid

# qpsh_start ID CMD...: CMD runs qpsh, as any user and in any namespace.
qpsh_start() {
	local id=$1 in out

	shift
	mkfifo -m 666 "$qpsh_dir/$id.in" "$qpsh_dir/$id.out"
	"$@" <"$qpsh_dir/$id.in" >"$qpsh_dir/$id.out" &
	qpsh_pid[$id]=$!
	exec {in}>"$qpsh_dir/$id.in" {out}<"$qpsh_dir/$id.out"
	qpsh_in[$id]=$in
	qpsh_out[$id]=$out
	rm "$qpsh_dir/$id".*
	IFS= read -r answer <&"$out" && [ "$answer" = ready ]
}

# qp ID COMMAND: the answer is in $answer, its last word in $last.
qp() {
	echo "$2" >&"${qpsh_in[$1]}"
	IFS= read -r answer <&"${qpsh_out[$1]}"
	# shellcheck disable=SC2034 # for the test
	last=${answer##* }
}

# qpsh_stop ID: ends the program, after which its QPs are gone.
qpsh_stop() {
	local in=${qpsh_in[$1]} out=${qpsh_out[$1]}

	# Closing the pipe would not do: programs that were started later hold it, too.
	echo quit >&"$in"
	exec {in}>&- {out}<&-
	wait "${qpsh_pid[$1]}"
}
