#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Programs that know nothing of libswiftrdma, with it preloaded and with the module: they
# attach by themselves, and the module tells what the library counted. The module comes
# and goes while they run; that changes nothing for them.
#
#   scripts/vm --nic rxe|softhca|softhca-eth -- selftests/runtime/reports.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/library.sh
. selftests/lib/library.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
PATH=$PWD/build/progs:$PATH

# Of all jobs on a device: told DEV FIELD.
told() {
	attach show | awk -v d="$(dev "$1" index)" -v f="$2" '
		$1 == "job" { for (i = 3; i < NF; i++) v[$i] = $(i + 1); if (v["dev"] == d) n += v[f] }
		END { print n + 0 }'
}
both() { echo "$(told "${dev[1]}" "$1") $(told "${dev[0]}" "$1")"; }

figures=(wrs bytes recv_wrs 'done')

# same NAME CMD...: what both ends reported is what the library says at their end.
same() {
	local name=$1 f i
	local -A before

	shift
	for f in "${figures[@]}"; do
		before[$f]=$(both "$f")
	done
	rm -f "$stats"
	check "$name: works" with_lib "$@"
	is "$name: both ends attach" "$(figure .module)" "true true"
	for f in "${figures[@]}"; do
		is "$name: $f" "$(difference "${before[$f]}" "$(both "$f")")" "$(figure ".$f")"
	done
}

# A pair that takes some seconds; what happens meanwhile; how it ends.
seconds=$((4 * slowness))
start_long() {
	rm -f "$stats"
	(export LD_PRELOAD=$lib SWIFTRDMA_STATS=$stats; perftest ib_send_bw -D $seconds -s 64) \
		>"$work/long" 2>&1 & long=$!
	wait_for 60 busy
	nap 1
}
busy() { [ "$(rdma res show qp | grep -c 'ib_send_bw')" -ge 2 ]; }
end_long() {
	wait $long
	point $? "$1: the program works"
	like "$1: and has its results" "$(cat "$work/long")" '^64 bytes [0-9]+ iterations'
	check "$1: the library has counted all the time" [ "$(jq -s 'map(.devices[].wrs) | add' "$stats")" -gt 0 ]
}

ktap_begin
mark_dmesg
check "the library is built" test -e "$lib"
link_works() { pingpong rc >/dev/null 2>&1; }
check "the devices reach each other" wait_for 60 link_works

start_long
check "the module comes in the middle" module_load
end_long "loaded after the start"
is "loaded after the start: it is not attached" "$(figure .module)" "false false"

same "ibv_rc_pingpong" pingpong rc
same "ibv_ud_pingpong -e" pingpong ud -e
same "ib_send_bw" perftest ib_send_bw -n 1000 -s 64
same "ib_write_bw of 4 QPs, lists of 16" perftest ib_write_bw -q 4 -l 16 -n 1024 -s 64
same "ib_read_bw" perftest ib_read_bw -n 200 -s 1024
is "nobody is attached any more" "$(both processes)" "0 0"
is "no job is distrusted" "$(attach show | grep -c distrusted)" 0

# Any user's programs do. They find the library where any user may read it.
mkdir -p /tmp/lib && cp "$lib" /tmp/lib/ && lib=/tmp/lib/${lib##*/}
: >"$stats" && chmod 777 "$work" && chmod 666 "$stats"
user_pingpong() {
	ulimit -l unlimited
	pair -p 18515 setpriv --reuid 65534 --clear-groups ibv_rc_pingpong -d "${dev[1]}" -n 100 "${gid[@]}" -- \
		setpriv --reuid 65534 --clear-groups ibv_rc_pingpong -d "${dev[0]}" -n 100 "${gid[@]}" localhost
}
check "a user's program works" with_lib user_pingpong
is "a user's program attaches" "$(figure .module)" "true true"

# By its cgroup, swiftrdma run makes a program a job's.
check "a job" swiftrdma job set kv match cgroup=/kv
rm -f "$stats"
export SWIFTRDMA_STATS=$stats
printf '#!/bin/sh\nexec swiftrdma run --job kv --cgroup /kv -- "$@"\n' >"$work/in_kv"
chmod 755 "$work/in_kv"
like "swiftrdma run" "$(pair -p 18515 "$work/in_kv" ibv_rc_pingpong -d "${dev[1]}" -n 100 "${gid[@]}" -- \
	"$work/in_kv" ibv_rc_pingpong -d "${dev[0]}" -n 100 "${gid[@]}" localhost 2>&1)" '^100 iters in'
unset SWIFTRDMA_STATS
like "what it counts is the job's" \
	"$(attach show | grep "^job $(swiftrdma -j job show kv | jq '.[0].id') .* dev $(dev "${dev[0]}" index) ")" \
	' wrs 100 .* done 100 '
# attach_job FIELD...: of job kv on a device.
attach_job() {
	attach show | awk -v id="$(swiftrdma -j job show kv | jq '.[0].id')" -v d="$(dev "${dev[0]}" index)" -v want="$*" '
		$1 == "job" && $2 == id { for (i = 3; i < NF; i++) v[$i] = $(i + 1)
			if (v["dev"] == d) { n = split(want, f, " "); for (i = 1; i <= n; i++) print v[f[i]] } }' | xargs
}
is "job show has what the module tells" \
	"$(swiftrdma -j job show kv | jq -r --arg dev "${dev[0]}" '.[0].devs[] | select(.dev == $dev) |
		"\(.reported_wrs) \(.recv_wrs) \(.done)"')" \
	"$(attach_job wrs recv_wrs 'done')"

# Programs look at a device, close it, and open it again for their work.
for again in 1 7 8; do
	qpsh_start again env LD_PRELOAD="$lib" qpsh --dev "${dev[0]}" --reopen $again && qp again create
	like "a device is closed and opened again, $again times" "$answer" '^qp '
	is "... and is attached, if not for the eighth time" \
		"$(told "${dev[0]}" processes)" $((again < 8))
	qpsh_stop again
done

start_long
check "while a program reports" [ "$(both processes)" = "1 1" ]
check "the module goes" module_unload
end_long "unloaded in the middle"
is "unloaded in the middle: it was attached" "$(figure .module)" "true true"
is "the kernel complains of nothing" "$(complaints)" ""
ktap_end
