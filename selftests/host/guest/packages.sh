#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a VM of its own: packages.sh DIR installs, upgrades, removes and purges the packages of
# DIR/before and DIR/now under a real systemd, as an administrator does it, while programs run
# whose class the agent has raised.

cd "$(dirname "$0")/../../.." || exit 1
. selftests/lib/ktap.sh
. selftests/lib/module.sh
. selftests/lib/proc.sh
. selftests/lib/fleet.sh
. selftests/lib/systemd.sh

# The installed programs, not those of the tree.
dir=$1
PATH=/usr/lib/ccache:${PATH//$PWD\/build\/bin:/}
export CCACHE_CONFIGPATH=$dir/ccache.conf
unit=swiftrdma-agent.service
units=/etc/systemd/system:/lib/systemd/system
policy=/etc/swiftrdma/policy.yaml
headers=$(realpath "/lib/modules/$(uname -r)/build")
names=(swiftrdma swiftrdma-dkms libswiftrdma1 libswiftrdma-dev)
pairs=2
own="client 0:$pairs server 0:$pairs"
raised="client 160:$pairs server 160:$pairs"

# A lease is longer than an agent takes to start here.
write_policy() {
	cat >$policy <<-EOF2
		agent: {interval: 100ms, lease: 60s}
		levels: [{level: 5, dscp: 40}]
		jobs:
		  - {name: fleet, class: latency, match: [{cgroup: /fleet}]}
		policies:
		  - name: up
		    for: job of class latency
		    when: job.qps > 0
		    hold: 2s
		    do: job.level = 5
		    undo: {when: job.qps == 0}
	EOF2
}

# Packages without debug symbols: DIR NAME...
files() {
	local name from=$1

	shift
	for name; do
		echo "$dir/$from/$name"_*.deb
	done
}
log=/tmp/dpkg.log
run_dpkg() { in_system dpkg --force-confdef --force-confold "$@" >$log 2>&1; }
state() { echo "$(ctl is-enabled $unit 2>/dev/null) $(ctl is-active $unit)"; }
show_log() { tail -n 15 $log | sed 's/^/#   /'; }
is_active() { ctl is-active --quiet $unit; }
installed() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null; }
ko() { modinfo -n "$1" 2>/dev/null; }
loaded() { cat /sys/module/swiftrdma/srcversion 2>/dev/null; }
lease() { swiftrdma -j action show | jq -c '[.[] | select(.kind == "override") | .lease, .value]'; }

ktap_begin
mark_dmesg
# Units of the host would start, too, and its policy may be to start none.
rm -rf {/etc,/lib}/systemd/system/*.wants /usr/sbin/policy-rc.d
start_systemd $units
point $? "systemd runs"

# --- A kernel without what the module needs ---

sed -i 's/^CONFIG_INFINIBAND_USER_ACCESS=.*/# CONFIG_INFINIBAND_USER_ACCESS is not set/' "$headers/.config"
# shellcheck disable=SC2046
run_dpkg -i $(files now swiftrdma-dkms)
point $? "on a kernel without what the module needs the package installs"
like "... and says what that is" "$(<$log)" "for the kernel $(uname -r): it is built without CONFIG_INFINIBAND_USER_ACCESS\\."
is "... once" "$(grep -c 'is built without' $log)" 1
is "... and builds nothing" "$(ko swiftrdma)" ""
[ $ktap_failed -eq 0 ] || show_log
run_dpkg -P swiftrdma-dkms
point $? "... and is purged"
sed -i 's/^# CONFIG_INFINIBAND_USER_ACCESS is not set/CONFIG_INFINIBAND_USER_ACCESS=m/' "$headers/.config"

# --- Installed ---

first=before
[ -e "$dir/before" ] || first=now
start=$SECONDS
# shellcheck disable=SC2046
run_dpkg -i $(files $first "${names[@]}")
point $? "the packages install ($((SECONDS - start)) s)"
[ $ktap_failed -eq 0 ] || show_log
like "DKMS has built the module for this kernel" "$(ko swiftrdma)" "^/lib/modules/$(uname -r)/updates/dkms/swiftrdma.ko"
like "... and that of mlx5" "$(ko swiftrdma_mlx5)" /updates/dkms/swiftrdma_mlx5.ko
is "the agent is neither enabled nor started" "$(state)" "disabled inactive"
is "the agent finds nothing wrong with its file" "$(swiftrdma-agent --check)" "$policy: 0 jobs, 0 policies, nothing wrong"
like "pkg-config finds the library" "$(pkg-config --libs swiftrdma)" '^-lswiftrdma'
write_policy
srdma_loaded
[ $? -ne 0 ] && ctl enable --now $unit >/dev/null 2>&1 && srdma_loaded
point $? "to enable the agent loads the module"
is "... and starts it, now and later" "$(state)" "enabled active"
fleet job --pairs $pairs --both --watch 50 --rate 100
fleet_has job "^$raised " 60
point $? "... which acts"
check "swiftrdma run finds the library" sh -c \
	"swiftrdma -d run --job fleet --cgroup /fleet -- true 2>&1 | grep -q 'library /usr/lib/.*/libswiftrdma.so.1'"
for package in "${names[@]}"; do
	dpkg -L "$package"
done | sort -u >/tmp/had

# --- Upgraded ---

if [ $first = before ]; then
	pid=$(pgrep -x swiftrdma-agent) module=$(loaded) before=$(lease)
	fleet_lines job '^classes '
	changes=${#lines[@]}
	start=$SECONDS
	# shellcheck disable=SC2046
	run_dpkg -i $(files now "${names[@]}")
	point $? "they are upgraded ($((SECONDS - start)) s), from $(dpkg-deb -f "$(files before swiftrdma)" Version)"
	is "... to the other version" "$(installed swiftrdma)" "$(dpkg-deb -f "$(files now swiftrdma)" Version)"
	like "... the module is built" "$(ko swiftrdma)" /updates/dkms/swiftrdma.ko
	is "the loaded module stays" "$(loaded)" "$module"
	like "... and the package says how to have the other" "$(<$log)" 'stays loaded as it was'
	wait_for 60 is_active
	is "the agent is enabled and active" "$(state)" "enabled active"
	[ "$(pgrep -x swiftrdma-agent)" != "$pid" ]
	point $? "... another one ($pid, $(pgrep -x swiftrdma-agent))"
	like "the changed policy file stays" "$(<$policy)" '  - name: up'
	nap 5
	is "what was in force is, under the same lease" "$(lease)" "$before"
	fleet_lines job '^classes '
	is "... and no QP had another class in between" "${#lines[@]}" "$changes"
fi
[ $ktap_failed -eq 0 ] || show_log

# --- Started anew ---

check "the agent stops" ctl stop $unit
fleet_has job "^$own " 30
point $? "... and the QPs have their own class back"
check "the module unloads" srdma_unload
stop_systemd
/lib/systemd/systemd-modules-load
srdma_loaded && [ "$(loaded)" = "$(modinfo -F srcversion swiftrdma)" ]
point $? "at the next start the installed module is loaded"
start_systemd $units
wait_for 60 is_active
point $? "... and the agent, as it is enabled"
fleet_has job "^$raised " 60
point $? "... which acts"

# --- Removed ---

run_dpkg -r swiftrdma-dkms
point $? "the module's package is removed under the agent"
[ $ktap_failed -eq 0 ] || show_log
fleet_has job "^$own " 30
point $? "... and the QPs have their own class back"
srdma_loaded
is "... and the module is gone" $? 1
is "... from the disk, too" "$(ko swiftrdma)$(dkms status swiftrdma)" ""
is "the agent waits for it" "$(ctl is-active $unit)" active
run_dpkg -r "${names[@]}"
point $? "the others are removed"
is "... the agent, too" "$(pgrep -x swiftrdma-agent)" ""
is "the policy file stays" "$(grep -c 'name: up' $policy)" 1
fleet_end job "the application noticed nothing"

# --- Purged ---

run_dpkg -P "${names[@]}"
point $? "they are purged"
[ $ktap_failed -eq 0 ] || show_log
# A directory may be another package's, too.
while read -r path; do
	if [ -d "$path" ]; then
		dpkg -S "$path" >/dev/null 2>&1 || echo "$path"
	elif [ -e "$path" ] || [ -L "$path" ]; then
		echo "$path"
	fi
done </tmp/had >/tmp/left
is "none of their files is left" "$(grep -vxF /. /tmp/left)" ""
is "nor what they wrote" "$(find /etc /run /var /boot "/lib/modules/$(uname -r)/updates" -xdev \
	-name '*swiftrdma*' -not -path '/run/vm/*' 2>/dev/null)" ""
is "nor where it was in systemd" "$(ctl is-enabled $unit 2>&1 | grep -o 'No such file')" "No such file"
is "the kernel complained of nothing" "$(dmesg_complaints | grep -v swiftrdma:)" ""
stop_systemd
ktap_end
