# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Findings of swiftrdma doctor, and the commands that mend them. Needs ktap.sh and
# module.sh.

modules_dir=/lib/modules/$(uname -r)
modules_index=$(mktemp -d)

# install_modules FILE...: puts modules where modprobe finds them. depmod reads only these
# and their dependencies; reading all modules of a distribution's kernel takes a minute in
# the VM.
install_modules() {
	local needed files

	cp -p "$modules_dir"/modules.* "$modules_index"/ || return
	mkdir -p "$modules_dir/extra" && cp "$@" "$modules_dir/extra/" || return
	needed=$(modinfo -F depends "$@" | tr , '\n' | sort -u)
	# modprobe does not know modules that were installed just now.
	mapfile -t files < <(for module in $needed; do
		modprobe --show-depends "$module" 2>/dev/null
	done | awk '$1 == "insmod" { print $2 }' | sort -u)
	depmod "$(uname -r)" "$modules_dir"/extra/*.ko "${files[@]}"
}
uninstall_modules() {
	rm -rf "$modules_dir/extra"
	cp -p "$modules_index"/* "$modules_dir"/
}

# look CHECK...: runs doctor; its findings are in $found, its status in $ended.
look() {
	found=$(swiftrdma -j doctor "$@" 2>&1)
	# shellcheck disable=SC2034 # for the test
	ended=$?
}

# of RULE OBJECT [WHAT]: prints WHAT (a jq filter; default: everything) of the findings with
# this rule and an object that begins with OBJECT. A call of jq is slow in the VM.
of() {
	jq -rc --arg r "$1" --arg o "$2" \
		".[] | select(.rule == \$r and (.object | startswith(\$o))) | ${3:-.}" <<<"$found"
}

# finds NAME VERDICT RULE OBJECT PATTERN: the sentence of such a finding matches.
finds() { like "$1" "$(of "$3" "$4" '.verdict + " " + .says')" "^$2 .*$5"; }

# mends NAME RULE OBJECT CHECK...: runs the command of the finding as printed; after that
# there is no such finding any more.
mends() {
	local name=$1 rule=$2 object=$3 command out

	shift 3
	command=$(of "$rule" "$object" '.mend // empty' | head -n 1)
	out=$(bash -c "$command" 2>&1) || {
		note "$command: $out"
		command=''
	}
	[ -n "$command" ]
	point $? "$name: it says how${command:+: $command}"
	look "$@"
	is "... and then finds it well" \
		"$(of "$rule" "$object" 'select(.verdict != "ok") | .verdict + " " + .says')" ""
}
