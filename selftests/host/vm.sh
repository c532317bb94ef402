#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Does scripts/vm tell the truth? Every other result depends on it: a VM that
# reports success after a panic makes all its tests worthless.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One boot costs seconds, so cases that need their own boot run two at a time.
start() {
	local name=$1

	shift
	scripts/vm --mem 1G "$@" >"$work/$name.out" 2>"$work/$name.err"
	echo $? >"$work/$name.status"
}

status() { cat "$work/$1.status"; }

ktap_begin
start plain --share "$work/share" -- sh -c '
	echo to-stdout; echo to-stderr >&2
	pwd; id -u; ulimit -n
	head -c 300000 /dev/zero | tr "\0" x
	echo kept >"$VM_OUT/file"
	printf "%s|" "$@" >"$VM_OUT/args"
	exit 255' sh 'a b' "it's" '$HOME' '"q"' &
# Guest time before and after a loop. Without a program of its own: while one is read from the host, the
# guest is idle, and idle time passes at once.
loop='read -r a _ </proc/uptime; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done
	read -r b _ </proc/uptime; echo $a $b'
start icount --icount --append 'srdma_test=1' -- \
	sh -c "nproc; $loop; cat /proc/cmdline; modprobe veth; sleep 1000 & exit 7" &
start mips --icount --mips 1000 -- sh -c "$loop" &
wait
is "status 255 comes back" "$(status plain)" 255
is "status 7 comes back, in spite of a process left behind" "$(status icount)" 7
is "--icount runs on one CPU" "$(head -n 1 "$work/icount.out")" 1
is "--mips 1000 makes instructions take a quarter of the time" \
	"$(awk 'NR == FNR { t[FNR] = $2 - $1; next }
		FNR == 2 { r = ($2 - $1) / t[1]; print (r > 3.5 && r < 4.5 ? "so" : r) }' \
		"$work/mips.out" "$work/icount.out")" so
scripts/vm --icount --mips 300 -- true 2>"$work/refused"
is "another rate is refused" "$? $(cat "$work/refused")" "126 vm: --mips is one of 250, 500, 1000"
scripts/vm --mips 500 -- true 2>"$work/refused"
is "... and a rate of a guest that follows the host's clock" "$? $(cat "$work/refused")" \
	"126 vm: --mips goes with --icount"
check "--append reaches the kernel" grep -q 'srdma_test=1' "$work/icount.out"
is "stdout is CMD's stdout and nothing else" \
	"$(sed 's/x*$//; /^$/d' "$work/plain.out")" "$(printf 'to-stdout\n%s\n0\n1048576' "$PWD")"
is "300000 bytes of stdout arrive" "$(tr -cd x <"$work/plain.out" | wc -c)" 300000
check "stderr is CMD's stderr" grep -qx to-stderr "$work/plain.err"
is "a shared file stays" "$(cat "$work/share/file")" kept
is "arguments arrive as they were given" "$(cat "$work/share/args")" "a b|it's|\$HOME|\"q\"|"

# The host reaches a server in the guest, which reaches nothing. QEMU takes connections before
# the guest does, so only an answer counts.
port=$((20000 + $$ % 10000))
start forward --forward $port:7777 -- python3 -c '
import socket
try:
    socket.create_connection(("10.0.2.2", '$port'), 3)
    print("out", flush=True)
except OSError:
    print("in", flush=True)
server = socket.create_server(("10.0.2.15", 7777))
while True:
    peer, _ = server.accept()
    peer.sendall(b"hello\n")
    if peer.recv(1) == b"x":
        break
' & forward=$!
answer=''
while [ "$answer" != hello ] && kill -0 $forward 2>/dev/null; do
	{ read -r -t 5 answer <&3 && printf x >&3; } 3<>"/dev/tcp/127.0.0.1/$port"
	sleep 0.3
done 2>/dev/null
wait
is "the host reaches a forwarded port of the guest" "$answer $(status forward)" "hello 0"
is "... through which the guest does not reach the host" "$(cat "$work/forward.out")" in

# The guest panics once its output has been seen out here: what it had written a
# moment before would be in the pipes of a machine that is gone.
start panic --share "$work/panic" -- sh -c '
	echo before
	until [ -e "$VM_OUT/seen" ]; do sleep 0.1; done
	echo c >/proc/sysrq-trigger; sleep 5' & panic=$!
start warn -- sh -c 'echo "WARNING: CPU: 0 PID: 1 at test" >/dev/kmsg' &
while kill -0 $panic 2>/dev/null && ! grep -qsx before "$work/panic.out"; do
	sleep 0.2
done
touch "$work/panic/seen"
wait
is "a panic is a failure" "$(status panic)" 125
check "a panic is shown" grep -q 'Kernel panic - not syncing: sysrq triggered' "$work/panic.err"
check "output from before the panic arrives" grep -qx before "$work/panic.out"
is "a WARNING is a failure although CMD succeeds" "$(status warn)" 125
check "a WARNING is shown" grep -q 'WARNING: CPU: 0 PID: 1 at test' "$work/warn.err"

# Shorter than booting takes, which is not part of it.
start limit --timeout 10 --share "$work/limit" -- sh -c 'touch "$VM_OUT/started"; sleep 4321' &
start rxe --timeout 200 --nic rxe -- sh -c '
	tcpdump --immediate-mode -s 96 -l -nn -i v0 udp port 4791 >/tmp/dump 2>/tmp/err &
	until grep -q listening /tmp/err; do sleep 0.1; done
	ibv_rc_pingpong -d rxe1 -g 1 -n 100 >/dev/null &
	until ss -Hltn | grep -q :18515; do sleep 0.1; done
	ibv_rc_pingpong -d rxe0 -g 1 -n 100 10.1.0.2 || exit 1
	wait $!
	ip -br link show v0
	until [ "$(grep -c "10.1.0.1.* > 10.1.0.2.4791" /tmp/dump)" -ge 100 ]; do
		sleep 0.1
	done
	grep -c "10.1.0.1.* > 10.1.0.2.4791" /tmp/dump' &
# The second suite of a guest loads the software ConnectX anew.
start again --timeout 200 --nic softhca-eth --mem 2G -- bash -c '
	. selftests/lib/mlx5.sh; . selftests/lib/mlx5.sh; cat /sys/class/infiniband/mlx5_0/ports/1/link_layer' &
wait
is "the time limit is kept" "$(status limit)" 124
check "... and is not what the boot takes" [ -e "$work/limit/started" ]
check "the time limit names what was running" grep -q 'sleep 4321' "$work/limit.err"
is "two rxe devices talk" "$(status rxe)" 0
check "their packets cross the veth pair" [ "$(tail -n 1 "$work/rxe.out")" -ge 100 ]
is "the second suite of a guest has the NIC of the first" "$(cat "$work/again.out")" Ethernet

# None boots that fast; what hangs now and then is tried again.
start unbooted --boot-timeout 2 --share "$work/unbooted" -- true &
# Without an init the kernel panics.
start dead --append rdinit=/none --share "$work/dead" -- true &
# A TSC of a tenth of what QEMU's counts: ten seconds in the guest are one out here. What
# any host's counts is more than twice this.
# The first of three attempts is left out.
VM_TRIES=1 start clock --append tsc_early_khz=100000 --share "$work/clock" -- sh -c 'touch "$VM_OUT/ran"' &
wait
is "a guest whose clock is wrong is no guest" "$(status clock)" 126
is "... and is tried again" "$(grep -c "clock is wrong: .* trying again" "$work/clock.err")" 1
check "... and is told" grep -q "clock is wrong: [0-9]* s passed in the guest, [0-9]* s outside, 3 times" "$work/clock.err"
check "... before the command runs" [ ! -e "$work/clock/ran" ]

is "a guest that dies while it boots is no guest" "$(status dead)" 126
is "... at the third attempt" "$(grep -c 'died while it booted, trying again' "$work/dead.err")" 2
check "... and is told, with what its kernel said" grep -q 'Kernel panic - not syncing' "$work/dead.err"

is "a guest that does not boot is no guest" "$(status unbooted)" 126
is "... at the third attempt" "$(grep -c 'did not boot in 2 s, trying again' "$work/unbooted.err")" 2
check "... and is told" grep -q 'did not boot in 2 s, 3 times' "$work/unbooted.err"
# report WORD...: what lockdep prints, with these words in it.
report() {
	printf '%s\n' '======================================================' \
		'WARNING: possible circular locking dependency detected' "$@" ' </TASK>'
}
known() { awk -f scripts/vm.d/known.awk; }
# The kernel's own name is no function of ours.
nvme=('6.1.192-srdma-debug #1 Tainted: G O' nvme_mpath_remove_disk nvme_partition_scan_work)
is "nvme's own lockdep report is passed over, and that alone" \
	"$( (echo before; report "${nvme[@]}"; echo after) | known)" "$(printf '%s\n' before after)"
is "... not with a function of ours" "$(report "${nvme[@]}" srdma_qp_put | known | wc -l)" 7
is "... not half of it" "$(report nvme_mpath_remove_disk | known | wc -l)" 4
# kasan WORD...: the same of KASAN, with its stack and its memory.
kasan() {
	local line===================================================================

	printf '%s\n' $line "BUG: KASAN: ${bug:-use-after-free} in $1+0x628/0x700" "${@:2}" ' </TASK>' 'Memory state' $line
}
uevent=(kobject_uevent_env device_del remove_all_compat_devs)
is "RDMA core's own use after free is passed over, and that alone" \
	"$( (echo before; kasan "${uevent[@]}"; echo after) | known)" "$(printf '%s\n' before after)"
is "... and what follows it is not" "$( (kasan "${uevent[@]}"; report x) | known | wc -l)" 4
is "... not with a function of ours" "$(kasan "${uevent[@]}" srdma_qp_put | known | wc -l)" 8
is "... not elsewhere" "$(kasan kobject_uevent_env device_del | known | wc -l)" 6
is "... not another one" "$(kasan kfree remove_all_compat_devs | known | wc -l)" 6
bug=slab-out-of-bounds
past_maps=('rxe_mr_copy' 'Read of size 8 at addr ffff8881008834b8' copy_data 'located 0 bytes to the right of')
is "rxe's own read of one map too many is passed over, and that alone" \
	"$( (echo before; kasan "${past_maps[@]}"; kasan memcpy; echo after) | known)" \
	"$(echo before; kasan memcpy; echo after)"
is "... not further away" "$(kasan "${past_maps[@]:0:3}" 'located 8 bytes to the right of' | known | wc -l)" 8
is "... not a write" "$(kasan rxe_mr_copy 'Write of size 8' "${past_maps[@]:2}" | known | wc -l)" 8
is "... not with a function of ours" "$(kasan "${past_maps[@]}" srdma_qp_put | known | wc -l)" 9
bug=''
# warning WORD...: what WARN_ON() prints, with these words in it.
warning() {
	printf '%s\n' '------------[ cut here ]------------' "WARNING: drivers/$1+0xa07/0xc60 [rdma_rxe], CPU#0" \
		'Modules linked in: swiftrdma(O) rdma_rxe' "${@:2}" '---[ end trace 0000000000000000 ]---'
}
completer=('infiniband/sw/rxe/rxe_comp.c:827 at rxe_completer' 'rxe_sender+0x19/0x30 [rdma_rxe]')
is "rxe's warning of a request that ends in error is passed over, and that alone" \
	"$( (echo before; warning "${completer[@]}"; warning x; echo after) | known)" \
	"$(echo before; warning x; echo after)"
is "... not with a function of ours" "$(warning "${completer[@]}" srdma_qp_put | known | wc -l)" 6
is "... not below another caller" "$(warning "${completer[0]}" | known | wc -l)" 4
# refcount WORD...: the same of a reference count.
refcount() {
	printf '%s\n' '------------[ cut here ]------------' 'refcount_t: underflow; use-after-free.' \
		'WARNING: CPU: 0 PID: 15 at lib/refcount.c:28 refcount_warn_saturate+0x135/0x140' "$@" \
		'---[ end trace 0000000000000000 ]---'
}
put=('__rxe_put+0x65/0x70 [rdma_rxe]' 'rxe_responder+0x952/0x8da0 [rdma_rxe]')
is "rxe's reference to a QP that is reset is passed over, and that alone" \
	"$( (echo before; refcount "${put[@]}"; refcount x; echo after) | known)" \
	"$(echo before; refcount x; echo after)"
is "... not with a function of ours" "$(refcount "${put[@]}" srdma_qp_put | known | wc -l)" 7
reset=(rxe_responder ' which belongs to the cache skbuff_head_cache of size 208')
is "so is the packet that such a QP frees" "$(kasan "${reset[@]}" | known)" ""
is "... not another object" "$(kasan rxe_responder 'kmalloc-64' | known | wc -l)" 6
is "no VM leaves anything running" "$(pgrep -fc "qemu-system-x86_64.*$work")" 0
ktap_end
