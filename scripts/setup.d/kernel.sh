# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/setup: the kernels the VM boots, one directory per version:
#
#   build/vm/kernel/<KVER>/boot/vmlinuz-<KVER>, lib/modules/<KVER>/
#   build/vm/kernel/<KVER>/vmlinux         uncompressed, boots in half the time
#   build/vm/kernel/{stock,rt,bpo,new,debug}   which version has that role

: "${build:?}" "${kernels:?}"

# A module loads only into the kernel whose headers it was built with, so a
# kernel is usable only as a pair.
headers_dir() { echo "/usr/src/linux-headers-$1"; }

kernel_ready() {
	local kver

	kver=$(readlink "$kernels/$1") || return 1
	[ -e "$kernels/$kver/lib/modules/$kver/modules.dep" ] &&
		[ -e "$kernels/$kver/boot/vmlinuz-$kver" ] &&
		[ -e "$kernels/$kver/lib/modules/$kver/build/Makefile" ]
}

# The concrete package a metapackage stands for.
kernel_of_metapackage() {
	apt-cache depends "$1" | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# The payload of a bzImage, as Documentation/x86/boot.rst describes it. QEMU
# enters an ELF kernel through its PVH note, which saves the guest from
# unpacking itself under emulation.
extract_vmlinux() {
	local bzimage=$1 out=$2 sects offset length start unpack

	sects=$(od -An -tu1 -j $((0x1f1)) -N1 "$bzimage")
	offset=$(od -An -tu4 -j $((0x248)) -N4 "$bzimage")
	length=$(od -An -tu4 -j $((0x24c)) -N4 "$bzimage")
	start=$(((sects + 1) * 512 + offset))
	case $(od -An -tx1 -j $start -N2 "$bzimage" | tr -d ' ') in
	fd37) unpack="xz --single-stream -dc" ;;
	1f8b) unpack="gzip -dc" ;;
	28b5) unpack="zstd -dc" ;;
	*) return 1 ;;
	esac
	# Unpackers call the payload's last word, its unpacked size, trailing garbage. The
	# result is good if it is an ELF file.
	tail -c +$((start + 1)) "$bzimage" | head -c "$length" |
		$unpack >"$out.tmp" 2>/dev/null || true
	if [ "$(head -c 4 "$out.tmp" | od -An -tx1 | tr -d ' ')" != 7f454c46 ]; then
		rm -f "$out.tmp"
		return 1
	fi
	mv "$out.tmp" "$out"
}

# kernel_unpack KVER PACKAGE FETCH...: FETCH DIR PACKAGE downloads it.
kernel_unpack() {
	local kver=$1 package=$2 dir=$kernels/$1 tmp

	shift 2
	[ -e "$dir/lib/modules/$kver/modules.dep" ] && return 0
	say "kernel for the VM: $package (unpacked, not installed)"
	tmp=$(mktemp -d "$kernels/.new.XXXXXX")
	"$@" "$tmp" "$package"
	dpkg -x "$tmp"/linux-image-*.deb "$tmp"
	rm -rf "${tmp:?}"/*.deb "${tmp:?}/usr/share"
	chmod 755 "$tmp"
	# Debian 13 and later keep /lib in /usr, also inside packages.
	[ -d "$tmp/lib/modules" ] || mv "$tmp/usr/lib" "$tmp/lib"
	depmod -b "$tmp" "$kver"
	ln -sfn "$(headers_dir "$kver")" "$tmp/lib/modules/$kver/build"
	extract_vmlinux "$tmp/boot/vmlinuz-$kver" "$tmp/vmlinux" ||
		say "note: cannot unpack $kver's vmlinux, the VM will boot the bzImage"
	rm -rf "$dir"
	mv "$tmp" "$dir"
}

kernel_headers() {
	[ -e "$(headers_dir "$1")/Makefile" ] && return 0
	say "kernel headers: linux-headers-$1"
	apt_install "linux-headers-$1" && return 0
	apt_update
	apt_install "linux-headers-$1"
}

# kernel_setup ROLE METAPACKAGE. A version once unpacked stays, although the
# archive moves on, as long as its headers are there or can be had.
kernel_setup() {
	local role=$1 meta=$2 package kver

	if kver=$(readlink "$kernels/$role") && [ -e "$kernels/$kver/lib/modules/$kver/modules.dep" ]; then
		kernel_headers "$kver" && return 0
		say "headers of $kver are gone from the archive, taking a new kernel"
	fi
	package=$(kernel_of_metapackage "$meta")
	if [ -z "$package" ]; then
		apt_update
		package=$(kernel_of_metapackage "$meta")
	fi
	[ -n "$package" ] || die "apt knows no $meta"
	kver=${package#linux-image-}
	# Headers first, because stale lists show here.
	if ! kernel_headers "$kver"; then
		package=$(kernel_of_metapackage "$meta")
		kver=${package#linux-image-}
		kernel_headers "$kver" || { tail -n 20 "$build/apt.log" >&2; die "cannot install linux-headers-$kver"; }
	fi
	kernel_unpack "$kver" "$package" fetch_or_update
	ln -sfn "$kver" "$kernels/$role"
}

# Newer headers depend on their kernel's package, so these are unpacked as well.
headers_unpack() {
	local kver=$1 dir=$kernels/$1 tmp package headers=usr/src/linux-headers-$1

	[ -e "$dir/$headers/Makefile" ] && return 0
	say "kernel headers: linux-headers-$kver (unpacked, not installed)"
	tmp=$(mktemp -d "$kernels/.new.XXXXXX")
	for package in "linux-headers-$kver" \
		       $(suite_apt bookworm-backports apt-cache depends "linux-headers-$kver" | sed -n 's/.*Depends: \(linux-\(headers\|kbuild\)-.*\)/\1/p'); do
		fetch_suite bookworm-backports "$tmp" "$package"
	done
	for package in "$tmp"/*.deb; do
		dpkg -x "$package" "$tmp/x"
	done
	# The only absolute path in the headers.
	# shellcheck disable=SC2016
	sed -i 's,include /usr/src/,include $(dir $(realpath $(lastword $(MAKEFILE_LIST))))../,' "$tmp/x/$headers/Makefile"
	# Beside the kernel: the links between them are relative.
	mkdir -p "$dir/usr/src" "$dir/usr/lib"
	mv "$tmp/x"/usr/src/* "$dir/usr/src/"
	mv "$tmp/x"/usr/lib/linux-kbuild-* "$dir/usr/lib/"
	ln -sfn "../../../$headers" "$dir/lib/modules/$kver/build"
	rm -rf "$tmp"
}

fetch_suite() { suite_fetch "$@" || die "cannot download $3 of $1"; }

# newest_in REGEX SUITE...: the newest package, by name, whose name matches.
newest_in() {
	local regex=$1 suite

	shift
	for suite; do
		suite_apt "$suite" apt-cache search --names-only "$regex"
	done | cut -d' ' -f1 | sort -V | tail -n 1
}

kernel_setup_backports() {
	local package kver

	kernel_ready bpo && return 0
	suite_update bookworm-backports || true
	package=$(newest_in '^linux-image-6\.12\.[0-9.]+\+deb12-amd64$' bookworm-backports)
	[ -n "$package" ] || die "bookworm-backports has no 6.12 kernel"
	kver=${package#linux-image-}
	kernel_unpack "$kver" "$package" fetch_suite bookworm-backports
	headers_unpack "$kver"
	ln -sfn "$kver" "$kernels/bpo"
}

# The initramfs wants a static busybox. It is unpacked too: as a package it
# would drive out the busybox that the host's own initramfs uses.
busybox_setup() {
	local tmp

	[ ! -x "$build/vm/busybox" ] || return 0
	say "for the VM's initramfs: busybox-static (unpacked, not installed)"
	tmp=$(mktemp -d "$build/vm/.busybox.XXXXXX")
	fetch_or_update "$tmp" busybox-static
	dpkg -x "$tmp"/busybox-static_*.deb "$tmp"
	mv "$(find "$tmp" -name busybox -type f -perm -u+x | head -n 1)" "$build/vm/busybox"
	rm -rf "$tmp"
}
