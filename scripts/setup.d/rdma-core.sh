# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/setup: the newest rdma-core that Debian has the source of, in
# build/vm/rdma-core. Nothing is installed: its libraries find their providers in
# obj/, and a program uses them with LD_LIBRARY_PATH=build/vm/rdma-core/obj/lib.

: "${build:?}"
rdma_core_dir=$build/vm/rdma-core

# Builds the libraries that the suites use, and libefa, which perftest is linked with,
# because libraries of two versions do not work together.
rdma_core_targets='ibverbs mlx5 rdmacm efa
	ibv_devinfo ibv_rc_pingpong ibv_ud_pingpong rping udaddy'

rdma_core_ready() { [ -e "$rdma_core_dir/version" ]; }

# The provider's target has the version of its ABI in its name.
rdma_core_build() {
	local obj=$1 src=$2

	cmake -GNinja -S "$src" -B "$obj" -DIN_PLACE=1 -DNO_PYVERBS=1 -DNO_MAN_PAGES=1 \
		-DENABLE_STATIC=0 -DCMAKE_BUILD_TYPE=RelWithDebInfo || return
	# shellcheck disable=SC2086
	nice ninja -C "$obj" $rdma_core_targets \
		"$(ninja -C "$obj" -t targets all | sed -n 's/^\(rxe-rdmav[0-9]*\):.*/\1/p')" || return
	# libibverbs warns of each driver that is named here and was not built.
	find "$obj/etc/libibverbs.d" -type f ! -name 'mlx5.driver' ! -name 'rxe.driver' -delete
}

rdma_core_setup() {
	local suite dir version

	rdma_core_ready && return 0
	rm -rf "$rdma_core_dir"
	mkdir -p "$rdma_core_dir"
	# The build contains its own path, which therefore must not be that of a link.
	dir=$(cd "$rdma_core_dir" && pwd -P)
	for suite in sid trixie; do
		suite_update $suite && suite_fetch_source $suite "$dir" rdma-core && break
		suite=
	done
	[ -n "$suite" ] || die "no source of rdma-core could be downloaded (build/vm/apt/*/log)"
	version=$(find "$dir" -name 'rdma-core_*.orig.tar.*' | sed 's/.*_\(.*\)\.orig.*/\1/')
	say "building rdma-core $version of $suite (log: $dir/log)"
	mkdir "$dir/src"
	tar -xf "$dir"/rdma-core_*.orig.tar.* -C "$dir/src" --strip-components=1
	rdma_core_build "$dir/obj" "$dir/src" >"$dir/log" 2>&1 ||
		{ tail -n 30 "$dir/log" >&2; die "rdma-core $version does not build"; }
	echo "$version" >"$dir/version"
}
