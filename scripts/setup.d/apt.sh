# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/setup: packages of this release, by the host's apt.

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root for: $*"
	fi
}

# Once per run: an archive that has changed answers 404 for old lists.
# Continues if a source cannot be reached, because others may have all packages.
updated=
apt_update() {
	[ -z "$updated" ] || return 0
	updated=1
	say "apt-get update"
	as_root apt-get -qq -o DPkg::Lock::Timeout=600 update >/dev/null 2>&1 ||
		say "warning: apt-get update had errors, going on with what there is"
}

# fetch DIR PACKAGE: download one package's file into DIR, unprivileged where
# apt's sandbox user cannot write there.
fetch() {
	(cd "$1" && apt-get -qq -o APT::Sandbox::User=root download "$2" >/dev/null 2>&1)
}

fetch_or_update() {
	fetch "$@" || { apt_update; fetch "$@"; } || die "cannot download $2"
}
