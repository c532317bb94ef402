#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# swiftrdma doctor: things that are wrong are found, the command that it prints is
# run, and then it finds them well. Here what rxe lets be wrong: module, agent, files,
# limits, interfaces. DCB and InfiniBand: selftests/mlx5/doctor.sh.

cd "$(dirname "$0")/../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/qpsh.sh
. selftests/lib/fleet.sh
. selftests/lib/doctor.sh

file=/etc/swiftrdma/policy.yaml	# the guest's, gone with it
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

write_policy() {
	mkdir -p "${file%/*}"
	cat >"$file" <<-EOF2
		agent: {interval: 100ms, lease: 2s}
		levels: [{level: 3, dscp: $1, sl: 3}]
		jobs:
		  - {name: $2, class: latency, match: [{cgroup: /$2}]}
		policies:
		  - name: up
		    for: job of class latency
		    when: job.qps > 0
		    do: job.level = 3
		    undo: {when: job.qps == 0}
	EOF2
}

ktap_begin

# --- module ---------------------------------------------------------------------

look module
finds "a module that is not there" error loaded swiftrdma.ko 'and not installed for this kernel'
is "... is an error" "$ended" 2
like "... whose command builds it, too" "$(of loaded '' .mend)" '^make install && modprobe swiftrdma$'
check "the module is installed" install_modules "$srdma_ko"
look module
finds "one that is only not loaded" error loaded '' 'not loaded: nothing is counted'
mends "an unloaded module" loaded '' module
is "... with status 0" "$ended" 0
finds "now it is armed" ok armed '' "version [0-9.]+ is loaded and armed"
# Reloading has to be possible at any time, so no QP of a program yet.
swiftrdma module disarm >/dev/null
look module
finds "a disarmed module" error armed '' 'the module is disarmed'
mends "a disarmed module" armed '' module
check "... which is armed again" srdma_loaded

# --- kernel -----------------------------------------------------------------------

look kernel
finds "this kernel is supported" ok release "$(uname -r)" 'supported'
finds "... and has events" ok events '' 'delivered'

# --- devices ------------------------------------------------------------------------

look device
finds "a device of software" ok function rxe0 'of software'
finds "its port" ok port rxe0/1 'active, Ethernet, v0'
finds "its live class" ok live_class rxe0/1 'can be changed'
ip link set v0 down
look device
finds "an interface that is down" warning port rxe0/1 'its interface v0 is down'
is "... is a warning" "$ended" 1
mends "an interface that is down" port rxe0/1 device
# Its routes went with it.
check "the wire is as it was" scripts/vm.d/crossed v0 v1 10.1.0

# --- qos: nothing to be asked here ---------------------------------------------------

swiftrdma level set 3 dscp 24
look qos
finds "an interface without DCB is not judged" unknown dcb 'rxe0/1 v0' 'has no DCB'
is "... which is neither error nor warning" "$ended" 0

# --- limits ---------------------------------------------------------------------------

look limits
finds "root's shell is not limited" ok memlock shell 'CAP_IPC_LOCK'
limited=$(bash -c "ulimit -l 8192; exec ${nobody[*]} $PWD/build/bin/swiftrdma -j doctor limits" 2>&1)
point $(($? != 1)) "a user's shell of 8 MiB is a warning"
like "... which says how much" "$(jq -r '.[] | select(.object == "shell") | .says' <<<"$limited")" \
	'no more than 8 MiB'

# A process of another user that may lock 1 MiB, and has registered nearly all of it.
mkdir -p /tmp/progs && cp build/progs/regmr build/progs/qpsh build/bin/swiftrdma /tmp/progs/
qpsh_start mem bash -c "ulimit -l 1024; exec ${nobody[*]} /tmp/progs/regmr"
qp mem 'reg 999424'
pid=${qpsh_pid[mem]}
look limits
finds "a process that has registered nearly all that it may" error memlock "regmr, pid $pid" \
	'976 KiB of memory, and its limit is 1 MiB'
like "... and would be refused more, as another is" \
	"$(printf 'reg 999424\nreg 524288\n' | bash -c "ulimit -l 1024; exec ${nobody[*]} /tmp/progs/regmr" 2>&1)" \
	'reg: Cannot allocate memory'
mends "a limit that is reached" memlock "regmr, pid $pid" limits
qp mem 'reg 524288'
like "... and now may register more" "$answer" '^reg 2 '
qpsh_stop mem

echo +rdma >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/few
echo 'rxe0 hca_object=8' >/sys/fs/cgroup/few/rdma.max
look limits
finds "a limit of the rdma controller" ok rdma_max '/few rxe0' '0 of 8 objects'
# shellcheck disable=SC2016 # $$ is the shell's in there
qpsh_start few bash -c 'echo $$ >/sys/fs/cgroup/few/cgroup.procs; exec build/progs/qpsh'
qp few 'create 20'
like "... refuses QPs" "$answer" error
look limits
finds "... and is found when it is reached" error rdma_max '/few rxe0' '8 of 8 objects'
is "... as an error" "$ended" 2
mends "a limit of the rdma controller" rdma_max '/few rxe0' limits
qp few 'create 20'
like "... which refuses none then" "$answer" '^qp '
qpsh_stop few

# --- agent and policies ------------------------------------------------------------

look agent policy
is "without a policy file nothing is wrong" "$ended" 0
write_policy 24 fleet
sed -i 's/job.level/job.levle/' "$file"
look agent policy
finds "a file that is wrong" error file "$file" "policy.yaml:[0-9]+:[0-9]+: .*levle"
is "... is an error" "$ended" 2
write_policy 24 fleet
look agent policy
finds "one that is right" ok file "$file" 'no mistake; jobs: 1, policies: 1'
finds "which policies can run" ok capable up 'on all devices'
finds "an agent that does not run, but should" warning runs swiftrdma-agent 'does not run'
command=$(of runs '' .mend)
is "... with its command" "$command" "swiftrdma-agent --config $file"
bash -c "exec $command" >"$fleet_dir/agent" 2>&1 & agent=$!
agent_is() { look agent; [ "$(of "$1" "$2" .verdict | sort -u)" = "$3" ]; }
check "... which mends it" wait_for 20 agent_is jobs '' ok
look agent
finds "it runs" ok runs swiftrdma-agent "process $agent, with $file"
finds "it has nothing to change" ok lease '' 'holds no lease'
fleet fleet --pairs 2 --both --watch 50 --rate 100
holds() { look agent; grep -qE 'holds lease [0-9]+, with 1 change and [0-9]+ ms left' <<<"$found"; }
check "it holds a lease when it raises a job" wait_for 20 holds
fleet_end fleet "the application noticed nothing"

write_policy 40 other
look agent
finds "a job that the agent has not read" warning jobs other 'the agent has not read it'
finds "... and a level" warning levels 'level 3' 'says DSCP 40 and SL 3, and the module has DSCP 24 and SL 3'
bash -c "$(of jobs other .mend)"
check "... until it is told to, by the command" wait_for 20 agent_is jobs '' ok
look agent
is "... all of it" "$(of levels '')" ""
cat >>"$file" <<-EOF2
	  - name: cache
	    for: job of class latency
	    when: dev.mtt_miss > 10%
	    do: job.level = 3
	    undo: {when: dev.mtt_miss < 5%}
EOF2
look policy
finds "a policy that asks what rxe does not tell" warning capable cache 'on no device'
like "... with the command that says more" "$(of capable cache .mend)" \
	"^swiftrdma policy check $file on rxe[01]$"
out=$(swiftrdma policy check "$file" 2>/dev/null)
like "policy check asks this machine, and says so" "$out" \
	"^checked for this machine's rxe0, rxe1; the agent \(pid $agent\) runs $file$"
like "... that does not tell what the file asks" "$out" '^cache .* idle +nothing measures dev.mtt_miss here \(swiftrdma_mlx5.ko does,'
kill $agent
wait $agent 2>/dev/null
swiftrdma-agent --dry-run --config "$file" >"$fleet_dir/agent" 2>&1 & agent=$!
check "an agent that only says what it would do" wait_for 20 agent_is runs '' warning
look agent
finds "... is named as such" warning runs '' "process $agent only logs"
kill $agent
wait $agent 2>/dev/null
rm "$file"

# --- who looks, and how it is shown -----------------------------------------------------

looked=$("${nobody[@]}" /tmp/progs/swiftrdma doctor 2>&1)
point $? "a user finds nothing wrong"
like "... and is told what was not looked at" "$looked" '[1-9] unknown \(root sees more\)'
like "... such as who uses RDMA" "$looked" 'only$|root can see'
found=$("${nobody[@]}" /tmp/progs/swiftrdma -j doctor)
finds "... and sees that the module is armed" ok armed swiftrdma.ko 'is loaded and armed'
check "text for a pipe has no colours" eval '! swiftrdma doctor module | grep -q $'"'\033'"
check "... for a terminal it has" eval 'script -qec "swiftrdma doctor module" /dev/null </dev/null | grep -q $'"'\033'"
swiftrdma doctor modul_ >/dev/null 2>&1
is "a check that there is not is neither a warning nor an error" $? 3

uninstall_modules
check "the module unloads" srdma_unload
ktap_end
