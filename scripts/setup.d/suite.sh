# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/setup: packages of another Debian suite (bookworm-backports, sid).
# apt keeps the lists and the state of each suite in build/vm/apt/<suite>. Nothing in
# the host's /etc/apt or /var/lib/apt is changed.
#
#   suite_update SUITE               once a run: download the suite's lists
#   suite_apt SUITE COMMAND ARG...   an apt program (apt-get, apt-cache) in that suite
#   suite_fetch SUITE DIR PACKAGE    download a package's file into DIR
#   suite_fetch_source SUITE DIR PACKAGE   download its upstream source's archive
#
# Packages can be downloaded and unpacked this way, not installed: the suite's state
# says that no package is installed.

: "${build:?}"

# The mirror that the host has its own packages from.
suite_mirror() {
	local uri

	# shellcheck disable=SC2016
	uri=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 2>/dev/null |
		grep -v -e -security | head -n 1)
	echo "${uri:-http://deb.debian.org/debian}"
}

suite_apt() {
	local dir=$build/vm/apt/$1

	shift
	(unset APT_CONFIG && APT_CONFIG=$dir/apt.conf exec "$@")
}

suite_configure() {
	local suite=$1 dir=$build/vm/apt/$1 type

	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/none"
	: >"$dir/status"
	for type in deb deb-src; do
		echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(suite_mirror) $suite main"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-END
	Dir::Etc::SourceList "$dir/sources.list";
	Dir::Etc::SourceParts "$dir/none";
	Dir::Etc::Preferences "$dir/none/preferences";
	Dir::Etc::PreferencesParts "$dir/none";
	Dir::State "$dir";
	Dir::State::Lists "$dir/lists";
	Dir::State::Status "$dir/status";
	Dir::Cache "$dir/cache";
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	END
}

declare -A suite_updated=()
suite_update() {
	[ -z "${suite_updated[$1]:-}" ] || return 0
	suite_updated[$1]=1
	suite_configure "$1"
	say "apt-get update of $1, in build/vm/apt"
	# Work trees share build/vm, and apt refuses to wait for its lists.
	(flock 7 && suite_apt "$1" apt-get -qq update) 7>"$build/vm/apt/$1/.lock" >"$build/vm/apt/$1/log" 2>&1 &&
		return 0
	tail -n 5 "$build/vm/apt/$1/log" >&2
	return 1
}

suite_fetch() {
	(cd "$2" && suite_apt "$1" apt-get -qq download "$3") >>"$build/vm/apt/$1/log" 2>&1
}

# The upstream source alone: Debian's part of it is the packaging.
suite_fetch_source() {
	(cd "$2" && suite_apt "$1" apt-get -qq source --download-only --tar-only "$3") >>"$build/vm/apt/$1/log" 2>&1
}
