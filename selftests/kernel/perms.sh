#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Who may see and change what: users, user, network and pid namespaces, sockets
# that change hands, and the files in debugfs.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh

# Where any user may run them, whatever folder the project is in.
mkdir -p /tmp/progs
cp build/progs/nlreq build/progs/qpsh build/bin/swiftrdma /tmp/progs/
PATH=/tmp/progs:$PATH

nobody=65534
as_nobody=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups)
denied='^EPERM 0 - needs CAP_NET_ADMIN'

# Every request that needs CAP_NET_ADMIN, by whoever "$@" makes of us.
all_denied() {
	local who=$1 request

	shift
	for request in 'JOB_GET doit job=unassigned' 'JOB_GET dump' 'ACTION_GET dump' 'LEVEL_GET dump' \
		'QP_GET dump job=unassigned' 'JOB_DEL doit job_obj{name=x@origin=t}' \
		'JOB_SET doit job_obj{name=x@origin=t@rule{uid=1}}' \
		'PEER_GET doit dev_name=rxe0@qpn=17' 'ACT doit lease{origin=t}' 'LEVEL_SET doit level{level=1@dscp=1@sl=1}'; do
		read -r cmd how what <<<"$request"
		like "$who: $cmd $how is denied" "$("$@" "$cmd" "$how" "${what//@/ }")" "$denied"
	done
}

# The kernel asks for a module by running this, which finds ours by its name and by
# each alias that it has, and writes down what was asked for.
mods=/tmp/mods
mkdir -p "$mods/lib/modules/$(uname -r)"
cp "$srdma_ko" "$mods/lib/modules/$(uname -r)/"
depmod -b $mods 2>/dev/null
printf '#!/bin/sh\necho "$*" >>/tmp/asked\nexec modprobe -d %s "$@"\n' $mods >/tmp/modprobe
chmod 755 /tmp/modprobe
own_modprobe=$(cat /proc/sys/kernel/modprobe)
echo /tmp/modprobe >/proc/sys/kernel/modprobe

# look_up WHEN: a user looks for the family of a module that is not there.
look_up() {
	: >/tmp/asked
	"${as_nobody[@]}" nlreq DEV_GET dump >/dev/null 2>&1
	like "$1: a user's look for the family asks for a module" "$(cat /tmp/asked)" \
		'family-swiftrdma$'
	check "$1: ... and loads none" eval '! srdma_loaded'
	! srdma_loaded || srdma_unload
}

ktap_begin
look_up "before it was ever loaded"
check "the module loads, asked for by its name" /tmp/modprobe swiftrdma
qpsh_start root qpsh && qp root 'create 3'
roots=$last
qpsh_start nobody "${as_nobody[@]}" /tmp/progs/qpsh && qp nobody 'create 2'
own=$last
dev=$(dev rxe0 index)
# The GSI QPs of two devices are the kernel's.
is "root sees all QPs" "$(nlreq QP_GET dump)" '0 7 7 -'
is "root sees all UARs" "$(nlreq UAR_GET dump)" '0 4 4 -'

is "a user sees all devices" "$("${as_nobody[@]}" nlreq DEV_GET dump)" '0 2 2 -'
is "a user sees all ports" "$("${as_nobody[@]}" nlreq PORT_GET dump)" '0 2 2 -'
is "a user sees and counts own QPs" "$("${as_nobody[@]}" nlreq QP_GET dump)" '0 2 2 -'
is "a user sees and counts own UARs" "$("${as_nobody[@]}" nlreq UAR_GET dump)" '0 1 1 -'
is "a user sees own changes only" "$("${as_nobody[@]}" nlreq QP_GET dump since=0)" '0 2 2 -'
is "a user may ask for an own QP" \
	"$("${as_nobody[@]}" nlreq QP_GET doit "dev_index=$dev qpn=$own")" '0 1 - -'
like "another's QP looks like none" \
	"$("${as_nobody[@]}" nlreq QP_GET doit "dev_index=$dev qpn=$roots")" '^ENOENT 0 - no such QP'
is "... in a dump, too" "$("${as_nobody[@]}" nlreq QP_GET dump "qpn=$roots")" '0 0 0 -'
is "... and by process" "$("${as_nobody[@]}" nlreq QP_GET dump "pid=${qpsh_pid[root]}")" '0 0 0 -'
like "the kernel's UAR looks like none" \
	"$("${as_nobody[@]}" nlreq UAR_GET doit "dev_index=$dev uar=0")" '^ENOENT 0 - no such UAR'
all_denied "a user" "${as_nobody[@]}" nlreq
like "a user: the events are denied" "$("${as_nobody[@]}" nlreq bind)" '^EPERM'
is "root may hear events" "$(nlreq bind)" '0 0 - -'
like "the command says so: job show" "$("${as_nobody[@]}" swiftrdma job show 2>&1)" CAP_NET_ADMIN
like "the command says so: action show" "$("${as_nobody[@]}" swiftrdma action show 2>&1)" CAP_NET_ADMIN
like "the command says so: monitor" "$("${as_nobody[@]}" swiftrdma monitor 2>&1)" CAP_NET_ADMIN
like "an empty table says that it need not be" \
	"$(setpriv --reuid 65533 --clear-groups swiftrdma qp show 2>&1 >/dev/null)" "only objects of your own processes"
is "... not to who has some" "$("${as_nobody[@]}" swiftrdma qp show 2>&1 >/dev/null)" ""
is "... nor to root" "$(swiftrdma qp show pid 1 2>&1 >/dev/null)" ""
is "the command shows a user own QPs" "$("${as_nobody[@]}" swiftrdma -j qp show | jq length)" 2

all_denied "root with a user's socket" nlreq --socket-of $nobody
is "root with a user's socket sees what the user has" \
	"$(nlreq --socket-of $nobody QP_GET dump)" '0 2 2 -'
all_denied "a user with root's socket" nlreq --drop-to $nobody

all_denied "root of a user's namespace" "${as_nobody[@]}" unshare -Ur nlreq
is "root of a user's namespace sees what the user has" \
	"$("${as_nobody[@]}" unshare -Ur nlreq QP_GET dump)" '0 2 2 -'
like "root of a user's namespace: the events are denied" \
	"$("${as_nobody[@]}" unshare -Ur nlreq bind)" '^EPERM'
all_denied "root in a user namespace" unshare -Ur nlreq
is "root in a user namespace sees root's QPs" "$(unshare -Ur nlreq QP_GET dump)" '0 3 3 -'
all_denied "root of a user and a network namespace" "${as_nobody[@]}" unshare -Urn nlreq

# Network namespaces: shared, everyone sees every device; exclusive, its own.
ip netns add other
like "shared: another network namespace sees the devices" \
	"$(ip netns exec other nlreq DEV_GET dump)" '^0 2 2 '
is "shared: and the QPs" "$(ip netns exec other nlreq QP_GET dump)" '0 7 7 -'
ip netns del other
# The kernel takes a namespace down after the command has ended, and refuses until then.
exclusive() { said=$(rdma system set netns exclusive 2>&1); }
if wait_for 20 exclusive; then
	ip netns add other
	is "exclusive: no device there" "$(ip netns exec other nlreq DEV_GET dump)" '0 0 0 -'
	is "exclusive: no port" "$(ip netns exec other nlreq PORT_GET dump)" '0 0 0 -'
	is "exclusive: no QP" "$(ip netns exec other nlreq QP_GET dump)" '0 0 0 -'
	is "exclusive: no UAR" "$(ip netns exec other nlreq UAR_GET dump)" '0 0 0 -'
	like "exclusive: not by name" "$(ip netns exec other nlreq DEV_GET doit dev_name=rxe0)" \
		'^ENODEV 0 - no RDMA device of this name'
	like "exclusive: not by index" \
		"$(ip netns exec other nlreq QP_GET doit "dev_index=$dev qpn=$roots")" '^ENODEV 0 - no RDMA device'
	is "exclusive: still here" "$(nlreq DEV_GET dump)" '0 2 2 -'
	ip netns del other
	said=$(rdma system set netns shared 2>&1)
else
	point 1 "rdma core goes exclusive: $said"
fi

# Process ids are the reader's.
qpsh_start inner unshare -pf /tmp/progs/qpsh && qp inner create
point $? "a QP of a pid namespace"
inner=$(pgrep -P "${qpsh_pid[inner]}")
pids() { swiftrdma -j qp show qpn "$1" | jq -r '.[0].pid'; }
is "from outside a pid namespace" "$(pids "$last")" "$inner"
in_ns=(nsenter -t "$inner" -p)
is "from inside it is pid 1" "$("${in_ns[@]}" swiftrdma -j qp show qpn "$last" | jq -r '.[0].pid')" 1
is "from inside it is found as pid 1" "$("${in_ns[@]}" nlreq QP_GET dump pid=1)" '0 1 1 -'
is "from outside it is not" "$(nlreq QP_GET dump pid=1)" '0 0 0 -'
is "a process that is not in there has none" \
	"$("${in_ns[@]}" swiftrdma -j qp show qpn "$roots" | jq -r '.[0].pid // 0')" 0

# A container that runs as root, in a pid namespace and without a user namespace: a uid
# alone would not tell it from the host, or from another one.
contained=(setpriv --bounding-set=-net_admin)
qpsh_start next unshare -pf /tmp/progs/qpsh && qp next create
point $? "a QP of another pid namespace"
next_ns=(nsenter -t "$(pgrep -P "${qpsh_pid[next]}")" -p)
of() { "$@" nlreq QP_GET dump; }
qp inner create
is "root of a container sees its own QPs" "$(of "${in_ns[@]}" "${contained[@]}")" '0 2 2 -'
like "... this one" "$("${in_ns[@]}" "${contained[@]}" nlreq QP_GET doit "dev_index=$dev qpn=$last")" '^0 1'
is "... and its UARs" "$("${in_ns[@]}" "${contained[@]}" nlreq UAR_GET dump)" '0 1 1 -'
is "root of another one sees that one's" "$(of "${next_ns[@]}" "${contained[@]}")" '0 1 1 -'
like "... and the first one's look like none" \
	"$("${next_ns[@]}" "${contained[@]}" nlreq QP_GET doit "dev_index=$dev qpn=$last")" '^ENOENT 0 - no such QP'
is "root of the host without the capability sees all of root's" "$(of "${contained[@]}")" '0 6 6 -'
all_denied "root of a container" "${in_ns[@]}" "${contained[@]}" nlreq
cgroup_of() { "${@:2}" swiftrdma -j qp show qpn "$1" | jq -r '.[0].cgroup'; }
is "it sees no cgroup" "$(cgroup_of "$last" "${in_ns[@]}" "${contained[@]}")" null
is "nor does a user, of an own QP" "$(cgroup_of "$own" "${as_nobody[@]}")" null
like "with the capability it is seen" "$(cgroup_of "$own")" '^/'
# A process of the container exits, and a child of it holds its QP.
qpsh_start second "${in_ns[@]}" /tmp/progs/qpsh && qp second create && qp second leave
like "a process of a container leaves its QP to a child" "$answer" '^child [0-9]'
wait "${qpsh_pid[second]}"
is "root of the container still sees it" "$(of "${in_ns[@]}" "${contained[@]}")" '0 3 3 -'
is "... and that of another one does not" "$(of "${next_ns[@]}" "${contained[@]}")" '0 1 1 -'

modes=$(find $srdma_debugfs -type f -printf '%m %f\n' | sort -u)
is "debugfs is root's" "$modes" "$(printf '%s\n' '400 actions' '400 jobs' '400 peers' \
	'400 ports' '400 priorities' '400 qp_reports' '400 qps' '400 reports' '400 summary' \
	'400 uars' '400 version' '600 disarm')"
like "a user cannot read it" "$("${as_nobody[@]}" cat $srdma_debugfs/rxe0/qps 2>&1)" 'Permission denied'

for id in inner next nobody root; do
	qpsh_stop $id
done
check "it unloads" srdma_unload
look_up "after disarm and rmmod"
echo "$own_modprobe" >/proc/sys/kernel/modprobe
ktap_end
