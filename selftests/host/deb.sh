#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The Debian packages: what is in them and how it was built. packages.sh installs them.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
ktap_begin
if ! command -v dh_dkms >/dev/null || ! command -v lintian >/dev/null; then
	skip "the packages build" "no debhelper, dh-dkms or lintian: scripts/setup --packages"
	ktap_end
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/deb

# package NAME: its file.
package() { echo "$out/$1"_*.deb; }
unpack() { mkdir -p "$work/$1" && dpkg -x "$(package "$1")" "$work/$1"; }
field() { dpkg-deb -f "$(package "$1")" "$2"; }

scripts/deb "$out" >"$work/log" 2>&1
point $? "the packages build"
[ -e "$(package swiftrdma)" ] || { sed 's/^/# /' "$work/log"; ktap_end; }
is "all of them" "$(cd "$out" && printf '%s\n' *.deb | cut -d_ -f1 | LC_ALL=C sort | xargs)" \
	"libswiftrdma-dev libswiftrdma1 libswiftrdma1-dbgsym swiftrdma swiftrdma-dbgsym swiftrdma-dkms swiftrdma-probe swiftrdma-probe-dbgsym"
is "lintian has no error and no warning" "$(lintian --allow-root --fail-on error,warning "$out"/*.changes 2>&1)" ""
is "... and nothing is overridden" "$(find debian -name '*lintian-overrides')" ""
is "the compiler does not warn" "$(grep -E 'warning: .*\[-W' "$out/log")" ""
for name in swiftrdma swiftrdma-dkms swiftrdma-probe libswiftrdma1 libswiftrdma-dev; do
	unpack $name
	like "$name has a version of its own for this commit" "$(field $name Version)" \
		"^$(dpkg-parsechangelog -S Version)\\+git[0-9]{14}\\.[0-9a-f]+(\\.changed)?$"
done
version=$(sed -n 's/^MODULE_VERSION("\(.*\)");$/\1/p' kmod/main.c)
is "the version begins with the module's" "$(dpkg-parsechangelog -S Version)" "$version"

is "what scripts/setup installs for the programs is what the packages are built with" \
	"$(sed -n 's/^[[:space:]]*programs: *//p' scripts/setup | tr ' ' '\n' | grep -e -dev$ |
		grep -vxFf <(sed -n '/^Build-Depends:/,/^Standards/p' debian/control | tr -d ' ,'))" ""

# Installing by hand and packaging are one thing.
make --no-print-directory install DESTDIR="$work/root" PREFIX=/usr >/dev/null
for name in swiftrdma swiftrdma-dkms swiftrdma-probe libswiftrdma1 libswiftrdma-dev; do
	dpkg -x "$(package $name)" "$work/packages"
done
files() { (cd "$1" && find . -type f -printf '%f\n' | sort -u); }
is "they have all that make install installs, but its manifest" \
	"$(comm -23 <(files "$work/root") <(files "$work/packages" | sed 's/\.gz$//' | sort -u))" \
	manifest
is "nothing of the tests" "$(find "$work"/*swiftrdma* -name '*softhca*' -o -name 'above*' -o -name '*.ko')" ""
is "its file of policies is a conffile, and that alone" \
	"$(dpkg-deb -I "$(package swiftrdma)" conffiles)" /etc/swiftrdma/policy.yaml
is "the units start the programs of the package" \
	"$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$work"/swiftrdma/lib/systemd/system/*.service | xargs)" \
	"/usr/sbin/swiftrdma-agent /usr/sbin/swiftrdma-exporter"
is "no place of make install is left in them" "$(grep -rlI /usr/local "$work"/*swiftrdma*/)" ""
is "only the package of the probe needs the libraries of RDMA devices" \
	"$(for name in swiftrdma swiftrdma-probe; do field $name Depends | grep -c ibverbs-providers; done | xargs)" "0 1"
is "the module is loaded at each start" \
	"$(grep -v '^#' "$work/swiftrdma-dkms/usr/lib/modules-load.d/swiftrdma.conf")" swiftrdma

for file in swiftrdma/usr/bin/swiftrdma swiftrdma/usr/sbin/swiftrdma-{agent,exporter} \
	swiftrdma-probe/usr/lib/swiftrdma/swiftrdma-probe libswiftrdma1/usr/lib/*/libswiftrdma.so.1; do
	# shellcheck disable=SC2086 # the pattern
	path=$(echo "$work"/$file) name=${file##*/}
	sections=$(readelf -SW "$path")
	unlike=$(grep -oE '\.(symtab|debug_info)' <<<"$sections")
	is "$name is stripped" "$unlike" ""
	id=$(readelf -n "$path" | sed -n 's/.*Build ID: //p')
	like "... and its debug symbols are in a package apart" \
		"$(dpkg -c "$(package "${file%%/*}-dbgsym")")" "/${id:0:2}/${id:2}\\.debug$"
	like "... all symbols are bound at the start, and read only then" \
		"$(readelf -dlW "$path")" 'NOW'
	like "... as the ELF header says" "$(readelf -lW "$path")" GNU_RELRO
	like "... it checks its stack" "$(readelf -sW --dyn-syms "$path")" __stack_chk_fail
	like "... and its buffers" "$(readelf -sW --dyn-syms "$path")" '__[a-z]*printf_chk'
	is "... and is at any address" "$(readelf -hW "$path" | grep -c 'DYN')" 1
done
is "the library has its symbols by version" \
	"$(dpkg-deb -I "$(package libswiftrdma1)" symbols | grep -c '^ swiftrdma_')" \
	"$(sed -n '/^SWIFTRDMA_1.0/,/local/p' user/lib/libswiftrdma.map | grep -c '^[[:space:]]*swiftrdma_')"
for unit in swiftrdma-agent swiftrdma-exporter; do
	sed "s,=/usr/sbin/,=$work/swiftrdma/usr/sbin/," "$work/swiftrdma/lib/systemd/system/$unit.service" >"$work/$unit.service"
	is "systemd finds nothing wrong with $unit" "$(systemd-analyze verify --man=no "$work/$unit.service" 2>&1)" ""
done
ktap_end
