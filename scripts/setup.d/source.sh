# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/setup: the few files of the kernel's source tree that its own
# tools are: checkpatch, kernel-doc, the kselftest harness. Debian packages
# them nowhere but in linux-source.

: "${build:?}" "${source_series:?}"
source_tree=$build/linux-source

source_paths() {
	cat <<-EOF
	scripts/checkpatch.pl
	scripts/spelling.txt
	scripts/const_structs.checkpatch
	scripts/kernel-doc
	scripts/Lindent
	scripts/coccinelle
	tools/testing/selftests/kselftest.h
	tools/testing/selftests/kselftest_harness.h
	tools/testing/selftests/kselftest_install.sh
	tools/testing/selftests/lib.mk
	tools/testing/selftests/kselftest
	tools/testing/selftests/net/forwarding/lib.sh
	tools/include/nolibc
	LICENSES
	.clang-format
	COPYING
	EOF
}

source_ready() { [ -e "$source_tree/.complete" ]; }

# The archive is a tarball in a package: it is read as a stream, never stored.
source_setup() {
	local tmp name=linux-source-$source_series

	source_ready && return 0
	say "checkpatch and the kselftest harness: from $name (a minute)"
	tmp=$(mktemp -d "$build/.source.XXXXXX")
	fetch_or_update "$tmp" "$name"
	mkdir "$tmp/tree"
	# tar reports paths this version lacks; checkpatch decides if it worked.
	dpkg --fsys-tarfile "$tmp/$name"_*.deb |
		tar -xO "./usr/src/$name.tar.xz" |
		xz -dc -T0 |
		tar -x -C "$tmp/tree" --strip-components=1 --files-from=<(source_paths | sed "s,^,$name/,") 2>/dev/null || true
	[ -e "$tmp/tree/scripts/checkpatch.pl" ] && [ -e "$tmp/tree/tools/testing/selftests/lib.mk" ] ||
		die "$name does not hold what was expected"
	touch "$tmp/tree/.complete"
	chmod 755 "$tmp/tree"
	rm -rf "$source_tree"
	mv "$tmp/tree" "$source_tree"
	rm -rf "$tmp"
}
