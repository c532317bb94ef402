#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make install puts everything where it says, nothing of the tests among it, and
# make uninstall takes away all of it and nothing else.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# do_make TARGET [PREFIX]: what it said is in $work/log.
do_make() {
	make --no-print-directory "$1" DESTDIR="$root" PREFIX="${2:-/usr/local}" >"$work/log" 2>&1 ||
		{ sed 's/^/# /' "$work/log"; return 1; }
}

files() { (cd "$root" && find . -type f -printf '%m /%P\n' | sort -k 2); }
all() { (cd "$root" && find . -mindepth 1 -printf '%P\n' | sort); }

# should_be PREFIX: the files of an installation.
should_be() {
	local page

	sort -k 2 <<-EOF
		644 /etc/swiftrdma/policy.yaml
		644 /lib/modules/$kver/extra/swiftrdma.ko
		644 /lib/modules/$kver/extra/swiftrdma_mlx5.ko
		755 $1/bin/swiftrdma
		644 $1/include/rdma/swiftrdma.h
		644 $1/include/rdma/swiftrdma_share.h
		644 $1/include/swiftrdma.h
		755 $1/lib/libswiftrdma.so.1
		644 $1/lib/pkgconfig/swiftrdma.pc
		644 $1/lib/swiftrdma/manifest
		644 $1/lib/systemd/system/swiftrdma-agent.service
		644 $1/lib/systemd/system/swiftrdma-exporter.service
		755 $1/sbin/swiftrdma-agent
		755 $1/sbin/swiftrdma-exporter
		644 $1/share/bash-completion/completions/swiftrdma
		$(for page in user/policies/*; do echo "644 $1/share/doc/swiftrdma/examples/${page##*/}"; done)
		$(for page in user/exporter/prometheus/*; do echo "644 $1/share/doc/swiftrdma/prometheus/${page##*/}"; done)
		644 $1/share/doc/swiftrdma/service-swiftrdma.conf
		644 $1/share/man/man7/libswiftrdma.7
		644 $1/share/man/man5/swiftrdma-policy.5
		644 $1/share/man/man5/swiftrdma-recording.5
		644 $1/share/man/man5/swiftrdma-scenario.5
		644 $1/share/man/man8/swiftrdma-agent.8
		644 $1/share/man/man8/swiftrdma-exporter.8
		644 $1/share/man/man8/swiftrdma.8
	EOF
}

ktap_begin
umask 022
do_make install
point $? "it installs under DESTDIR"
kver=$(basename "$root"/lib/modules/*)
is "all that belongs to it is there, and nothing else" "$(files)" "$(should_be /usr/local)"
is "nothing of the tests" "$(find "$root" -name '*softhca*' -o -name 'above*' -o -name '*debug*')" ""

bin=$root/usr/local/bin sbin=$root/usr/local/sbin ko=$root/lib/modules/$kver/extra/swiftrdma.ko
version=$(modinfo -F version "$ko")
[ -n "$version" ]
point $? "the module has a version, $version"
is "the command has the same" "$("$bin/swiftrdma" -V)" "swiftrdma $version"
is "... and so has the agent" "$("$sbin/swiftrdma-agent" --version)" "swiftrdma-agent $version"
is "... and the exporter" "$("$sbin/swiftrdma-exporter" --version)" "swiftrdma-exporter $version"
for file in "$root"/etc/swiftrdma/policy.yaml "$root"/usr/local/share/doc/swiftrdma/examples/*; do
	"$sbin/swiftrdma-agent" --check --config "$file" >>"$work/check" 2>&1 || echo "$file" >>"$work/bad"
done
[ ! -e "$work/bad" ]
point $? "the agent finds nothing wrong with the policies installed"

for unit in swiftrdma-agent swiftrdma-exporter; do
	if command -v systemd-analyze >/dev/null; then
		# It looks for the programs, which are not in the root it looks at.
		sed "s,=/usr/local/,=$root/usr/local/," "$root/usr/local/lib/systemd/system/$unit.service" \
			>"$work/$unit.service"
		is "systemd finds nothing wrong with the unit $unit" \
			"$(systemd-analyze verify --man=no "$work/$unit.service" 2>&1)" ""
	else
		skip "systemd finds nothing wrong with the unit $unit" "no systemd-analyze"
	fi
done
is "the manuals are without a warning" \
	"$(for page in "$root"/usr/local/share/man/man?/*; do
		LC_ALL=C.UTF-8 groff -man -Tutf8 -ww -z "$page"
	done 2>&1)" ""
# shellcheck disable=SC2016 # the inner shell's
is "the completion completes" "$(PATH=$bin:$PATH bash -c '
	. "$1"; COMP_WORDS=(swiftrdma action c) COMP_CWORD=2; _swiftrdma; echo "${COMPREPLY[@]}"
	' sh "$root/usr/local/share/bash-completion/completions/swiftrdma")" clear

# Over an older one, of which something is left and something was changed.
echo '# mine' >>"$root/etc/swiftrdma/policy.yaml"
do_make install
point $? "it installs over itself"
is "... with the same result" "$(files)" "$(should_be /usr/local)"
is "... and leaves the configuration as it was changed" "$(tail -n 1 "$root/etc/swiftrdma/policy.yaml")" '# mine'
touch "$root/usr/local/bin/other"
do_make uninstall
point $? "it uninstalls"
is "... all but what is not, or no longer, its own" "$(all)" \
	"$(printf '%s\n' etc etc/swiftrdma etc/swiftrdma/policy.yaml usr usr/local usr/local/bin usr/local/bin/other)"
do_make uninstall && grep -q 'nothing is installed' "$work/log"
point $? "... and says when there is nothing to uninstall"

rm -rf "$root"
do_make install /usr
is "another prefix is no different" "$(files)" "$(should_be /usr)"
is "... and is known to unit and manuals" "$(grep -rlI /usr/local "$root")" ""
do_make uninstall /usr
is "unchanged it leaves nothing behind" "$(all)" ""
ktap_end
