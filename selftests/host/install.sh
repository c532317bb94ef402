#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# make install puts everything where it says, nothing of the tests among it, and
# make uninstall takes away all of it and nothing else. Completion completes in the shells
# that are here.

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
		$(git ls-files 'kmod/*.[ch]' 'kmod/*Kbuild' 'include/*.h' Kbuild LICENSES |
			sed "s,^,644 $src/,")
		644 $src/dkms.conf
		755 $src/kernel-lacks
		755 $1/bin/swiftrdma
		644 $1/include/rdma/swiftrdma.h
		644 $1/include/rdma/swiftrdma_share.h
		644 $1/include/swiftrdma.h
		644 $1/lib/libswiftrdma.so.1
		644 $1/lib/modules-load.d/swiftrdma.conf
		644 $1/lib/pkgconfig/swiftrdma.pc
		755 $1/lib/swiftrdma/complete
		644 $1/lib/swiftrdma/manifest
		755 $1/lib/swiftrdma/swiftrdma-probe
		644 $1/lib/systemd/system/swiftrdma-agent.service
		644 $1/lib/systemd/system/swiftrdma-exporter.service
		755 $1/sbin/swiftrdma-agent
		755 $1/sbin/swiftrdma-exporter
		644 $1/share/bash-completion/completions/swiftrdma
		644 $1/share/fish/vendor_completions.d/swiftrdma.fish
		644 $1/share/zsh/site-functions/_swiftrdma
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
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' kmod/main.c)
src=/usr/src/swiftrdma-$version
is "all that belongs to it is there, and nothing else" "$(files)" "$(should_be /usr/local)"
is "nothing of the tests, and no module of one kernel" \
	"$(find "$root" -name '*softhca*' -o -name 'above*' -o -name '*.ko')" ""

bin=$root/usr/local/bin sbin=$root/usr/local/sbin
like "DKMS knows the source by the module's version" "$(<"$root$src/dkms.conf")" "^PACKAGE_VERSION=\"$version\""
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

# Completion: each shell asks the program that has the words.
complete=$root/usr/local/lib/swiftrdma/complete
words() { PATH=$bin:$PATH "$complete" "$@" | sort; }
usage=$("$bin/swiftrdma" --help)
objects=$(tr '\n' ' ' <<<"$usage" | sed 's/.*OBJECT  := { \([^}]*\)}.*/\1/' | tr -d '|' | xargs -n 1 | sort)
is "the objects are those of the command" "$(words '' | grep -vx help)" "$objects"
is "... after help, too" "$(words help '')" "$objects"
verbs() { "$bin/swiftrdma" "$1" help | sed -n "s/^\(Usage:\|      \) swiftrdma $1 \(\[ \)\?\([a-z]*\)\( .*\|$\)/\3/p" | sort -u; }
for object in dev port uar qp job action level module policy; do
	is "so are the commands of $object" "$(words $object '' | grep -vx -e help -e +files)" "$(verbs $object)"
done
knobs() { tr '\n' ' ' <<<"$("$bin/swiftrdma" action help)" | sed 's/.*KNOB   := { \([^}]*\)}.*/\1/' | tr -d '|' | xargs -n 1; }
missing=$(comm -23 <(knobs | sort) <(words action set ''))
is "all knobs are among the words" "$missing" ""
checks() { tr '\n' ' ' <<<"$("$bin/swiftrdma" probe help)" | sed 's/.*CHECK := { \([^}]*\)}.*/\1/' | tr -d '|' | xargs -n 1; }
missing=$(comm -23 <(checks | sort) <(words probe mlx5_0 ''))
is "so are all checks of the probe" "$missing" ""
like "the command finds the program of its probe" "$("$bin/swiftrdma" probe 2>&1)" 'a device is missing'
is "a word that is begun is completed" "$(words action c)" clear
is "options are completed before the object" "$(words --js)" --json
is "... and after it" "$(words qp show --js)" --json
is "... beside the object's own" "$(words top --b)" --batch
is "help completes objects" "$(words help qp)" qp
is "... and columns" "$(words help qp col)" columns
is "a value is of what comes before it" "$(words qp show state R)" "$(printf '%s\n' RESET RTR RTS)"
is "an option's value is no object" "$(words -i 2 q)" qp
# The installed files name the installed program.
sed "s,/usr/local/lib,$root/usr/local/lib," "$root/usr/local/share/bash-completion/completions/swiftrdma" >"$work/c.bash"
sed "s,/usr/local/lib,$root/usr/local/lib," "$root/usr/local/share/fish/vendor_completions.d/swiftrdma.fish" >"$work/c.fish"
mkdir "$work/zsh" "$work/home" "$work/kernel"
sed "s,/usr/local/lib,$root/usr/local/lib," "$root/usr/local/share/zsh/site-functions/_swiftrdma" >"$work/zsh/_swiftrdma"
touch "$work/zz.yaml"

# shellcheck disable=SC2016 # the inner shell's
in_bash() {
	PATH=$bin:$PATH bash -c '. "$1"; shift; COMP_WORDS=(swiftrdma "$@") COMP_CWORD=$#
		_swiftrdma swiftrdma "${!#}" ""; printf "%s\n" "${COMPREPLY[@]}"' sh "$work/c.bash" "$@"
}
in_fish() {
	PATH=$bin:$PATH HOME=$work/home fish --no-config -c "source $work/c.fish; complete -C '$*'" | cut -f 1
}
# zsh completes on a terminal only.
in_zsh() {
	PATH=$bin:$PATH HOME=$work/home python3 selftests/host/zsh_complete.py "$work/zsh" "swiftrdma $*"
}
is "bash completes" "$(in_bash action c)" clear
is "bash completes files" "$(in_bash policy check "$work/zz")" "$work/zz.yaml"
if command -v fish >/dev/null; then
	is "fish completes" "$(in_fish swiftrdma action c)" clear
	is "fish completes files" "$(in_fish "swiftrdma policy check $work/zz")" "$work/zz.yaml"
else
	skip "fish completes" "no fish"
fi
if command -v zsh >/dev/null; then
	is "zsh completes" "$(in_zsh action c)" "swiftrdma action clear "
	is "zsh leaves a value to follow" "$(in_zsh job set kv match cg)" "swiftrdma job set kv match cgroup="
	is "zsh completes files" "$(in_zsh policy check "$work/zz")" "swiftrdma policy check $work/zz.yaml "
else
	skip "zsh completes" "no zsh"
fi

# Over an older one, of which something is left and something was changed.
echo '# mine' >>"$root/etc/swiftrdma/policy.yaml"
do_make install
point $? "it installs over itself"
is "... with the same result" "$(files)" "$(should_be /usr/local)"
is "... and leaves the configuration as it was changed" "$(tail -n 1 "$root/etc/swiftrdma/policy.yaml")" '# mine'
like "... and names it" "$(<"$work/log")" '/etc/swiftrdma/policy.yaml was changed, it stays'
touch "$root/usr/local/bin/other"
do_make uninstall
point $? "it uninstalls"
like "... and names the changed configuration" "$(<"$work/log")" '/etc/swiftrdma/policy.yaml was changed, it stays'
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

make --no-print-directory install DESTDIR="$root" PREFIX=/opt/s LIBDIR=/opt/s/lib64 UNITDIR=/units \
	ZSHDIR=/zsh >"$work/log" 2>&1
is "other places are no different" \
	"$(cd "$root" && echo opt/s/lib64/* units/* zsh/*)" \
	"opt/s/lib64/libswiftrdma.so opt/s/lib64/libswiftrdma.so.1 opt/s/lib64/pkgconfig units/swiftrdma-agent.service units/swiftrdma-exporter.service zsh/_swiftrdma"
is "... and are known to pkg-config, and to the unit with the library" \
	"$(PKG_CONFIG_PATH=$root/opt/s/lib64/pkgconfig pkg-config --variable=libdir swiftrdma) $(
		sed -n 's/.*LD_PRELOAD=//p' "$root/opt/s/share/doc/swiftrdma/service-swiftrdma.conf")" \
	"/opt/s/lib64 /opt/s/lib64/libswiftrdma.so.1"
do_make uninstall /opt/s

# Into this system: refused before anything is installed.
say=$(make --no-print-directory install KVER=5.0.0-none PREFIX="$work/live" 2>&1)
[ $? -ne 0 ] && [ ! -e "$work/live" ]
point $? "without the kernel's headers it installs nothing"
like "... says that they are missing" "$say" '^install: there are no headers of the kernel 5.0.0-none'
like "... and which package has them" "$say" ' linux-headers-5.0.0-none,'

# kernel WORD...: what the module lacks in a kernel of this version and configuration.
lacks() {
	local version=$1

	shift
	printf '%s\n' "$@" >"$work/kernel/.config"
	scripts/kernel-lacks "$version" "$work/kernel"
}
needs=(CONFIG_INFINIBAND=m CONFIG_INFINIBAND_USER_ACCESS=m)
for version in 6.1.0-56-amd64 6.12.95 7.0.0-rc1 10.0; do
	is "a kernel $version has what the module needs" "$(lacks $version "${needs[@]}"; echo $?)" 0
done
like "one that is too old does not" "$(lacks 5.19.3-x "${needs[@]}"; echo $?)" '5.19.3-x: it is older than Linux 6.1\.'
like "nor one without InfiniBand" "$(lacks 6.6.1 CONFIG_INFINIBAND=m; echo $?)" \
	'6.6.1: it is built without CONFIG_INFINIBAND_USER_ACCESS\.'
ktap_end
