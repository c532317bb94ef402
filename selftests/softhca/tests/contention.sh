#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The contention model at work: registers, cache, classes, rates; what the device
# tells of it, and that all of it is counted. Compared are ratios of modelled
# rates and counts, never times.
#
#   scripts/vm --nic softhca -- selftests/softhca/tests/contention.sh

cd "$(dirname "$0")/../../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/hca.sh
. selftests/lib/hca.sh
# shellcheck source=selftests/lib/proc.sh
. selftests/lib/proc.sh

scale=2000
tmp=$(mktemp -d /tmp/contention.XXXXXX)

field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2"; }
# holds EXPR: awk's
holds() { awk "BEGIN { exit !($1) }"; }
crowd() { local name=$1; shift; build/bench/crowd "$@" >"$tmp/$name"; }

# misses_of HCA, hits_of HCA: of all contexts
misses_of() { awk '$1 ~ /^(qpc|mtt|cqc)$/ { n += $3 } END { print n }' "$hca_debug/hca$1/cache"; }
hits_of() { awk '$1 ~ /^(qpc|mtt|cqc)$/ { n += $2 } END { print n }' "$hca_debug/hca$1/cache"; }

# Where the QPs are, while they are at work: REGISTERS with QPS each
placed() {
	awk -v q="$1" '$3 == q { n++ } END { print n + 0 }' $hca_debug/hca0/registers
}

# cached NAME QPS: the share of uses of contexts that missed, of so many QPs
cached() {
	local hits misses

	hits=$(hits_of 0) misses=$(misses_of 0)
	crowd "$1" --qps "$2" --regions 4096 --random --size 64 --depth 4 --window 64 --duration 3 || return
	awk -v h=$(($(hits_of 0) - hits)) -v m=$(($(misses_of 0) - misses)) \
		'BEGIN { print m / (h + m) }' >"$tmp/$1.ratio"
}

# latency SL: p50 of small messages next to 32 QPs of bulk in class 0, in us
latency() {
	local pid

	build/bench/crowd --qps 32 --size 16384 --depth 2 --sl 0 --duration 20 >"$tmp/bulk" & pid=$!
	sleep 4
	cat $hca_debug/hca0/classes >"$tmp/classes"
	build/bench/lat --client-dev mlx5_0 --server-dev mlx5_1 --sl "$1" --interval 1000 \
		--duration 6 --json >"$tmp/lat" || return
	kill $pid
	wait $pid 2>/dev/null
	field p50_us "$tmp/lat"
}

# kept: how much was late until here, for whoever reads the log
kept() { note "late: $(hca_gauge 0 time late) of $(hca_gauge 0 time executed), $1"; }

ktap_begin
without() { [ ! -e $hca_debug/hca0/registers ]; }
check "no preset, no model" without
check "bytes pass" hca_warm_up

# An idle device looks for work 100 times a second, or less often. A kernel with self-checks takes
# several times as long for that.
pid=$(pgrep -x softhca)
sleep 1
was=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
sleep 10
now=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
is "idle: below $((5 * slowness)) % of a CPU ($((now - was)) ticks of 1000)" $((now - was < 50 * slowness)) 1

check "unload" rmmod softhca
refused() { ! hca_load preset=cx7; }
check "no load with an unknown preset" refused
refused() { ! hca_load time_scale=0; }
check "no load at no pace" refused
check "load cx5" hca_load preset=cx5 time_scale=$scale
check "bytes pass" hca_warm_up
objects=$(cat $hca_debug/hca*/objects)

# --- Doorbell registers ----------------------------------------------------

check "64 QPs, a register each" crowd alone --registers 64 --duration 3 --events
crowd four --registers 4 --duration 5 --events & pid=$!
crowded() { [ "$(placed 16)" = 4 ]; }
check "4 registers have 16 QPs each" wait_for 30 crowded
wait $pid
check "64 QPs on 4 registers" [ -s "$tmp/four" ]
alone=$(field rate "$tmp/alone") four=$(field rate "$tmp/four")
check "crowding costs most of the rate ($alone/s, $four/s)" holds "$alone > 3 * $four"
# A host that holds the poller up now and then lets a few pile up on any register.
alone=$(field raised "$tmp/alone") four=$(field raised "$tmp/four")
check "alone, less than one register in eight meets congestion ($alone of 64)" \
	holds "$alone < 64 / 8"
check "in a crowd, every one does ($four times on 4)" holds "$four >= 4"
check "... and its end" holds "$(field cleared "$tmp/four") >= 1"
is "raised as often as the model says" "$(hca_gauge 0 time congestion_raised)" \
	"$(hca_gauge 0 time congestion_cleared)"
is "nobody waits any more" "$(awk 'NR > 1 { n += $5 } END { print n }' $hca_debug/hca0/registers)" 0

kept registers

# --- Counters --------------------------------------------------------------

# MTT misses, MTT hits, work done; cleared
is "SET_DIAGNOSTIC_PARAMS" "$(hca_command 16 08200000 00000000 0003 0000 1c000000 \
	"$(printf '%032d' 0)" 00000801 00000802 00002003 | head -n 1)" 00000000
before=$(hca_gauge 0 time posted)
check "1000 messages and more" crowd counted --qps 16 --messages 1000
posted=$(field posted "$tmp/counted")
is "the model got what was posted" $(($(hca_gauge 0 time posted) - before)) "$posted"
is "... and has done all of it" "$(hca_gauge 0 time posted)" \
	$(($(hca_gauge 0 time "done") + $(hca_gauge 0 time dropped)))
mapfile -t diag < <(hca_command 64 08210000 00000000 00010000 00000000)
is "MTT misses and hits are its uses" $((16#${diag[7]} + 16#${diag[11]})) "$posted"
is "work done is what was posted" "${diag[12]:0:4} $((16#${diag[15]}))" "2003 $posted"
unknown() { ! hca_command 16 08200000 00000000 0001 0000 0c000000 "$(printf '%032d' 0)" 00000999; }
check "an unknown counter is refused" unknown

# --- Cache -----------------------------------------------------------------

# Two units, that fetches show.
check "no registers, a cache of 16 KiB" eval \
	"hca_param 0 uar_ps 0 && hca_param 0 cache_bytes 16384 && hca_param 0 pus 2"
check "16 QPs fit" cached few 16
check "96 QPs do not" cached many 96
few=$(<"$tmp/few.ratio") many=$(<"$tmp/many.ratio")
check "misses grow beyond capacity ($few, $many)" holds "$few < 0.1 && $many > 0.4"
few=$(field rate "$tmp/few") many=$(field rate "$tmp/many")
check "... and cost ($few/s, $many/s)" holds "$few > 1.5 * $many"
# MPCNT, group 0: the share of a second in which reads stalled, and in how many.
mapfile -t mpcnt < <(hca_command 272 08050000 00000001 00009051 00000000 "$(printf '%0512d' 0)")
check "MPCNT tells of it" holds "$((16#${mpcnt[20]:-0})) > 0"
check "never more than it holds" holds "$(hca_gauge 0 cache bytes) <= 16384"
nonsense() { ! hca_param 0 "$1" "$2" 2>/dev/null; }
check "a parameter that is none is refused" nonsense no_such 1
check "a value out of range is refused" nonsense jitter_pct 101
hca_param 0 cache_bytes 2097152
hca_param 0 pus 16

kept cache

# --- Classes and rates -----------------------------------------------------

same=$(latency 0)
check "backlog of class 0 shows" holds "$(awk '$1 == "0" { print $3 }' "$tmp/classes") > 0"
own=$(latency 1)
check "a class of its own protects a small flow ($same us, $own us)" holds "$same > 1.5 * $own"
check "class 1 was used" holds "$(hca_gauge 0 classes 1 4) > 0"

kept classes

check "QPs in two leaves, one of 1 Gbit/s" \
	crowd rates --qps 8 --size 4096 --leaf 1000:1 --leaf 0:1 --duration 4
gbps=$(awk -v n="$(field leaf0 "$tmp/rates")" -v s="$(field seconds "$tmp/rates")" -v f=$scale \
	'BEGIN { print n * (4096 + 26) * 8 / (s / f) / 1e9 }')
check "the rate is kept ($gbps Gbit/s)" holds "$gbps > 0.5 && $gbps < 1.2"
check "shares of 1 and 4" crowd shares --qps 8 --size 4096 --leaf 0:1 --leaf 0:4 --duration 4
check "... are given ($(field leaf0 "$tmp/shares"), $(field leaf1 "$tmp/shares"))" holds \
	"$(field leaf1 "$tmp/shares") > 2 * $(field leaf0 "$tmp/shares")"

check "a tenth of the link" hca_param 0 link_bps 10000000000
crowd slow --qps 8 --size 4096 --duration 3
check "... carries a tenth" holds "$(field rate "$tmp/slow") < 0.2 * \
	($(field rate "$tmp/shares"))"
hca_param 0 link_bps 100000000000
check "at another pace" eval "echo 4000 >$hca_debug/hca0/time_scale"
crowd half --qps 8 --size 4096 --duration 3
check "... all is slower" holds "$(field rate "$tmp/half") < 0.7 * ($(field rate "$tmp/shares"))"

# --- What must not depend on any of it --------------------------------------

late=$(hca_gauge 0 time late) executed=$(hca_gauge 0 time executed)
check "modelled time was kept ($late of $executed late)" holds "$executed > 1000 && $late < 0.2 * $executed"
is "all objects are gone" "$(cat $hca_debug/hca*/objects)" "$objects"
check "unload" rmmod softhca
check "load cx6" hca_load preset=cx6 time_scale=100
points_of build/progs/hcabytes mlx5_0 mlx5_1
points_of build/progs/hcabad mlx5_0 mlx5_0
dmesg -C
check "unload" rmmod softhca
is "nothing is left" "$(dmesg | grep -c ' 0 objects left')" 2
rm -rf "$tmp"
ktap_end
