# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Part of scripts/check-full: the table of its parts, and the matrix of their results.
#
#   parts           KERNEL/SUITE, in the order in which they are run
#   part_cmd[PART]  how it is run
#   part_deps[PART] files and directories that its result depends on
#   $logs           where the results are

parts=()
declare -A part_cmd=() part_deps=()
kernels='stock rt bpo new debug'

# A suite gets half an hour, and another one if the guest hangs: at most an hour in all.
limit=1700

# Dependencies of all suites in a VM, and of those on the software ConnectX.
vm_deps='kmod include user scripts/vm scripts/vm.d scripts/setup.d selftests/lib selftests/progs
	selftests/bench selftests/modules selftests/Makefile selftests/progs.mk Makefile Kbuild version.mk'
hca_deps="$vm_deps $(printf '%s ' selftests/softhca/*.[ch] selftests/softhca/Kbuild)"

# part KERNEL/SUITE DEPS CMD...
part() {
	local name=$1 deps cmd

	read -r -d '' -a deps <<<"$2"
	shift 2
	printf -v cmd '%q ' "$@"
	parts+=("$name")
	part_deps[$name]=${deps[*]}
	part_cmd[$name]=$cmd
}

# vm_part KERNEL SUITE NIC SCRIPT [VAR=VALUE|WRAPPER]...: SCRIPT in a VM. Some suites get a whole hour, and
# no second try: pyverbs', the one of 11,000 moves, and those that start many programs on the debug kernel,
# where a program takes seven times as long.
# The long form runs on stock; that of the fuzzers on the debug kernel as well, which sees what they break.
vm_part() {
	local kernel=$1 suite=$2 nic=$3 script=$4 deps=$vm_deps options=() run=(in_vm "$limit") full=

	shift 4
	[ "$nic" = rxe ] || deps=$hca_deps
	# KASAN's shadow needs room.
	[ "$kernel" != debug ] || options=(--mem 4G)
	case $kernel/$suite in
	*/clients/pyverbs*|stock/runtime/full/move-rxe|debug/clients/*|debug/runtime/full/*|debug/runtime/attach*) run=(in_vm_once 3500) ;;
	esac
	case $kernel/$suite in stock/*|debug/runtime/full/knobs*|debug/runtime/attach*) full=1 ;; esac
	part "$kernel/$suite" "$deps $script" "${run[@]}" "$kernel-${suite//\//-}" \
		--kernel "$kernel" --nic "$nic" "${options[@]}" -- env FULL=$full \
		"$@" bash "$script"
}

# The NICs that the head of a suite lists. Programs that connect only by rdma_cm, for instance,
# need IP addresses, which choose the device.
nics_of() { sed -n 's/^#   scripts\/vm --nic \([a-z|-]*\) .*/\1/p' "$1" | head -n 1 | tr '|' ' '; }

host_parts() {
	local file name seconds

	part host/unit 'user include selftests/unit selftests/lib selftests/data' unit_tests
	for file in selftests/host/*.sh; do
		name=$(basename "$file" .sh)
		seconds=$limit
		# It builds everything twice before its guest runs.
		[ "$name" != packages ] || seconds=3500
		part "host/$name" "$vm_deps scripts debian Documentation README.md selftests/host selftests/page selftests/kernel/unload.sh" \
			logged "host-$name" timeout -k 5 $seconds "$file"
	done
	# It reads from the unit tests which of the shipped files they run.
	part_deps[host/policy]+=" selftests/unit"
	part_deps[host/orphan]+=" selftests/softhca"
	for file in selftests/fuzz/fuzz_*.c; do
		name=$(basename "$file" .c)
		part "host/$name" "user include $file selftests/fuzz/corpus/$name" fuzz_test "$name"
	done
}

# runs_on KERNEL SUITE: whether the suite tells something on that kernel. The long suites that
# compare rates and latencies do not on the debug kernel, whose checks take most of the time,
# nor on rt, which differs from stock in how it schedules and locks, and has no transparent
# huge pages.
runs_on() {
	case $1/$2 in
	*/full/knobs|*/full/migrate|*/full/move|*/full/move_states) ;;
	debug/full/*|rt/full/*|rt/huge) return 1 ;;
	esac
}

# A client's suite takes 10 to 50 minutes on the debug kernel, which is there to find faults of the module.
# So each client runs there on one NIC: the NIC on which it uses most of the module, if that takes less than an
# hour. The other kernels compare the results of clients on all NICs.
declare -A debug_nic=([fabric]=softhca-eth [fio]=softhca-eth [mpi]=softhca [pingpong]=rxe [pyverbs]=rxe
	[rdmacm]=softhca [ucx]=softhca)

# hca_parts KERNEL SUITE SCRIPT: a part for each link layer of the software ConnectX that the suite lists. On rt and
# debug only three suites run on both link layers: those that test code of the module which differs by link layer.
hca_parts() {
	local kernel=$1 suite=$2 script=$3 nic end=

	for nic in $(nics_of "$script"); do
		vm_part "$kernel" "$suite$end" "$nic" "$script"
		case $kernel/$suite in
		*/refused|*/peer|*/offers) ;;
		rt/*|debug/*) break ;;
		esac
		end=-eth
	done
}

kernel_parts() {
	local kernel=$1 file name nic client

	for file in selftests/kernel/*.sh; do
		name=$(basename "$file" .sh)
		vm_part "$kernel" "kernel/$name" rxe "$file"
		part_deps[$kernel/kernel/$name]+=" selftests/kernel/top.py"
	done
	for file in selftests/kernel/full/*.sh; do
		name=$(basename "$file" .sh)
		# The long suites run on one kernel, the racing ones also on the preemptible kernel.
		case $kernel/$name in
		stock/*|rt/cycles|rt/unload_rounds|rt/storm) ;;
		*) continue ;;
		esac
		vm_part "$kernel" "kernel/full/$name" rxe "$file"
		part_deps[$kernel/kernel/full/$name]+=" selftests/kernel"
	done
	for file in selftests/mlx5/*.sh selftests/mlx5/full/*.sh; do
		name=${file#selftests/mlx5/}
		name=${name%.sh}
		runs_on "$kernel" "$name" || continue
		hca_parts "$kernel" "mlx5/$name" "$file"
	done
	for file in selftests/softhca/tests/*.sh; do
		hca_parts "$kernel" "softhca/$(basename "$file" .sh)" "$file"
	done
	for client in selftests/clients/*.sh; do
		name=$(basename "$client" .sh)
		for nic in $(nics_of "$client"); do
			[ "$kernel" != debug ] || [ "$nic" = "${debug_nic[$name]:?is not set for this client}" ] || continue
			vm_part "$kernel" "clients/$name-$nic" "$nic" "$client"
			part_deps[$kernel/clients/$name-$nic]+=" selftests/clients/allreduce.c"
		done
	done
	for file in selftests/runtime/*.sh selftests/runtime/full/*.sh; do
		name=${file#selftests/runtime/}
		name=${name%.sh}
		runs_on "$kernel" "$name" || continue
		for nic in $(nics_of "$file"); do
			vm_part "$kernel" "runtime/$name-$nic" "$nic" "$file"
		done
	done
	newest_rdma_core_parts "$kernel"
	pair_parts "$kernel"
}

# Suites in two guests, of one kernel and, for 6.1 and 6.12, with the newest one at the other end.
pair_parts() {
	local kernel=$1 file name options=()

	[ "$kernel" != debug ] || options=(--mem 4G)
	for file in selftests/pair/*.sh; do
		name=$(basename "$file" .sh)
		part "$kernel/pair/$name" "$vm_deps $file" in_pair $limit "$kernel-pair-$name" \
			--kernel "$kernel" --nic rxe "${options[@]}" "$file"
		case $kernel in stock|bpo)
			part "$kernel/pair/$name-new" "$vm_deps $file" in_pair $limit \
				"$kernel-pair-$name-new" --kernel "$kernel,new" --nic rxe "$file"
			;;
		esac
	done
}

# The same suites, whose programs run with the newest rdma-core.
newest_rdma_core_parts() {
	local kernel=$1 with=selftests/lib/newest-rdma-core

	vm_part "$kernel" rdma-core/counts rxe selftests/kernel/counts.sh $with
	vm_part "$kernel" rdma-core/pingpong-rxe rxe selftests/clients/pingpong.sh $with
	vm_part "$kernel" rdma-core/pingpong-softhca softhca selftests/clients/pingpong.sh $with
	vm_part "$kernel" rdma-core/pingpong-softhca-eth softhca-eth selftests/clients/pingpong.sh $with
	vm_part "$kernel" rdma-core/uars softhca selftests/mlx5/uars.sh $with
	! runs_on "$kernel" full/place ||
		vm_part "$kernel" rdma-core/place softhca selftests/mlx5/full/place.sh $with
	vm_part "$kernel" rdma-core/records softhca selftests/mlx5/records.sh $with
	vm_part "$kernel" rdma-core/devx softhca selftests/mlx5/devx.sh $with
	vm_part "$kernel" rdma-core/eth softhca-eth selftests/mlx5/eth.sh $with
}

all_parts() {
	local kernel

	host_parts
	for kernel in $kernels; do
		kernel_parts "$kernel"
	done
}

unit_tests() {
	local test

	for test in build/unit/test_*; do
		[ -e "selftests/unit/${test##*/}.c" ] || continue
		CMOCKA_MESSAGE_OUTPUT=TAP FULL=1 timeout -k 5 900 "$test" 2>&1 || echo "not ok - ${test##*/}: status $?"
	done | logged host-unit cat
}

# A million executions, continuing with the corpus of the last run.
fuzz_test() { logged "host-$1" run_fuzzer "$1" "build/fuzz/corpus/$1" 1500 -runs=1000000; }

# Reads the cells that the table has, by part. States are in build/, so a new clone has none.
declare -A cells_before=()
read_matrix() {
	local suite cells names i

	while IFS='|' read -r -a cells; do
		suite=${cells[0]}
		read -r -a names <<<"$kernels"
		[ -z "${part_cmd[host/$suite]:-}" ] || names=(host)
		for ((i = 1; i < ${#cells[@]} && i <= ${#names[@]}; i++)); do
			cells_before[${names[i - 1]}/$suite]=${cells[i]}
		done
	done < <(sed -n '/^\.\. the matrix begins/,/^\.\. the matrix ends/p' "$1" |
		 grep -E '^[a-z]' | sed 's/  \+/|/g')
}

# The cell of a part: the commit of its last run, and the number of failures.
cell() {
	local id failed

	read -r _ id _ failed _ < <(state_of "$1"; echo)
	case ${failed:-} in
	'') [ -n "${part_cmd[$1]:-}" ] && echo "${cells_before[$1]:-not run}" || echo "\-" ;;
	0) echo "$id" ;;
	*) echo "$id **$failed failed**" ;;
	esac
}

# Writes the table between two lines of testing.rst. A suite of the host has no kernel of
# its own. A part that was not run here keeps its cell.
matrix() {
	local doc=Documentation/testing.rst kernel suite row
	local rule='================================  ========================  ========================  ========================  ========================  ========================'
	local suites

	read_matrix $doc
	mapfile -t suites < <(printf '%s\n' "${parts[@]#*/}" | awk '!seen[$0]++')
	{
		sed '/^\.\. the matrix begins/q' $doc
		printf '\n%s\n%-32s  %-24s  %-24s  %-24s  %-24s  %s\n%s\n' "$rule" suite stock rt 6.12 new debug "$rule"
		for suite in "${suites[@]}"; do
			if [ -n "${part_cmd[host/$suite]:-}" ]; then
				printf '%-32s  %s\n' "$suite" "$(cell "host/$suite")"
				continue
			fi
			row=$(printf '%-32s' "$suite")
			for kernel in $kernels; do
				row+=$(printf '  %-24s' "$(cell "$kernel/$suite")")
			done
			echo "${row%"${row##*[! ]}"}"
		done
		printf '%s\n\n' "$rule"
		sed -n '/^\.\. the matrix ends/,$p' $doc
	} >"${logs:?}/testing.rst"
	cp "$logs/testing.rst" $doc
}
