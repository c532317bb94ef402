#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The Debian packages in a VM, with systemd and DKMS: those of the commit before, built from
# `git archive`, are installed, upgraded to those of this tree, removed and purged. See
# guest/packages.sh.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
for program in dh_dkms dkms ccache; do
	command -v $program >/dev/null && continue
	ktap_begin
	skip "the packages are installed in a VM" "no $program: scripts/setup --packages"
	ktap_end
done
# Not below /tmp, which the guest has its own of.
work=$(mktemp -d "$PWD/build/packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
kver=$(readlink build/vm/kernel/stock)

# Emulated, gcc takes a minute for a file. What DKMS compiles in the guest is therefore first
# compiled out here, by the same commands in the same place, and kept by ccache.
cat >"$work/ccache.conf" <<-EOF2
	cache_dir = $work/ccache
	sloppiness = file_stat_matches, file_stat_matches_ctime, include_file_mtime, include_file_ctime, time_macros, locale
EOF2
cat >"$work/compile" <<'EOF2'
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /var/lib/dkms
dpkg -x "$1" "$2/source"
for source in "$2"/source/usr/src/swiftrdma-*; do
	PATH=/usr/lib/ccache:$PATH dkms build --sourcetree "${source%/*}" -m swiftrdma -v "${source##*-}" -k "$3"
done
rm -rf "$2/source"
EOF2
# build TREE NAME: packages in $work/NAME, and their module in the cache.
build() {
	"$1/scripts/deb" "$work/$2" &&
		CCACHE_CONFIGPATH=$work/ccache.conf unshare --mount bash "$work/compile" \
			"$work/$2"/swiftrdma-dkms_*.deb "$work" "$kver"
}

# With changes that are not committed, the commit before is the last one.
before=HEAD
[ -n "$(git status --porcelain)" ] || before=HEAD~1
mkdir "$work/tree"
git archive "$before" | tar -x -C "$work/tree" || exit 1
{
	{ [ ! -e "$work/tree/scripts/deb" ] || build "$work/tree" before; } && build "$PWD" now
} >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
rm -rf "$work/tree"
make --no-print-directory bench-progs >/dev/null || exit 1
scripts/vm --nic rxe --mem 3G --timeout 2400 -- bash selftests/host/guest/packages.sh "$work"
