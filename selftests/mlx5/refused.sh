#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Firmware that refuses: told with its syndrome, once, and not asked again until
# something changes.
#
#   scripts/vm --nic softhca|softhca-eth -- selftests/mlx5/refused.sh

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/mlx5.sh
. selftests/lib/mlx5.sh
# shellcheck source=selftests/lib/qpsh.sh
. selftests/lib/qpsh.sh
# shellcheck source=selftests/lib/standing.sh
. selftests/lib/standing.sh

# Commands, and what the device answers while it refuses: a bad parameter, that too much is
# asked for, that it is busy.
RTS2RTS=505 CREATE=782 MODIFY=785
BAD_PARAM=3 BUSY=6
refuse() { echo "$1 $2 ${3:-1000000}" >$hca_debug/hca0/fail_command; }
obey() { refuse $RTS2RTS $BAD_PARAM 0; }
commands() { summary mlx5_0 commands; }
# All attempts that a retry would make come within this time: they are 0.2 to 3.2 s apart.
asked_again() {
	local was

	was=$(commands)
	sleep 8
	echo $(($(commands) - was))
}
tclass_is() { [ "$(swiftrdma -j qp show comm mix | jq -c 'map(.tclass) | unique')" = "$1" ]; }
rate() { swiftrdma action set job mix bit_rate "$1" for 3000s 2>&1 | words; }
# What an act answers: its word and how many of the QPs are what, with error and syndrome.
said() { awk '{ for (i = 1; i < NF; i++) if ($i == "error" || $i == "syndrome") printf "%s ", $(i + 1) } END { print "" }' <<<"$1"; }
complaints_of() { dmesg | grep -c "the device refuses $1"; }

eth=$([ "$(cat /sys/class/infiniband/mlx5_0/ports/1/link_layer)" = Ethernet ] && echo yes)
if [ -z "$eth" ]; then
	if ! { wait_for 60 rmmod softhca && hca_load preset=cx5 time_scale=2000; }; then
		echo "Bail out! no device with scheduling elements"
		exit 1
	fi
fi

ktap_begin
dmesg -C
check "load, without what else a reading may ask of the device" eval \
	"srdma_load && mlx5_load detail=0 diag=0"
swiftrdma job set mix match comm=mix >/dev/null
qpsh_start a qpsh --dev mlx5_0 --comm mix && qp a 'create 4'
read -ra numbers <<<"${answer//qp /}"
for qpn in "${numbers[@]}"; do
	qp a "take $qpn rts"
done

if [ -n "$eth" ]; then
	nlreq LEVEL_SET doit 'level{level=6 sl=6}' >/dev/null
	is "an SL alone, which no QP on Ethernet takes, cannot be" "$(level mix 6)" "failed 4 0 0 4 0 0"
	is "... and why" "$(reasons | cut -d' ' -f2- | uniq -c | sed 's/^ *//')" \
		"4 EOPNOTSUPP the level has no value that this QP's link uses"
	nlreq LEVEL_SET doit 'level{level=6 dscp=48}' >/dev/null
	is "a DSCP alone can" "$(level mix 6)" "done 4 4 0 0 0 0"
	swiftrdma action clear all >/dev/null
	check "... and is taken back" wait_for 20 tclass_is '[0]'

	refuse $RTS2RTS $BAD_PARAM
	out=$(swiftrdma action set job mix level 3 for 3000s 2>&1)
	is "a class that the device refuses cannot be" "$(words <<<"$out")" "failed 4 0 0 4 0 0"
	is "... by its own word" "$(said "$out")" "EREMOTEIO $((16#500505)) "
	is "the list has the same" "$(listed)" "4 0 0 4 0 0"
	is "... with each QP and the syndrome" \
		"$(swiftrdma -j action show | jq -c '[.[] | select(.kind == "pending") | [.error, .syndrome]] | unique')" \
		"[[-121,$((16#500505))]]"
	like "... in words" "$(reasons)" 'the device refuses it, syndrome 0x00500505; tried again after a change'
	is "the log has it once for each" "$(complaints_of "another DSCP")" 4
	is "none is asked again" "$(asked_again)" 0
	swiftrdma job set other match uid=77 >/dev/null
	swiftrdma action set job other level 1 for 3000s >/dev/null
	is "nor when another job's level changes" "$(complaints_of "another DSCP") $(asked_again)" "4 0"
	obey
	swiftrdma action set job other level 2 for 3000s >/dev/null
	is "nor if it would obey now, which it does not say" "$(listed | head -n 1)" "4 0 0 4 0 0"
	is "another level is another matter" "$(swiftrdma action set job mix level 4 for 3000s 2>&1 | words)" \
		"done 4 4 0 0 0 0"
	refuse $RTS2RTS $BAD_PARAM
	level mix 3 >/dev/null
	obey
	swiftrdma action clear all >/dev/null
	check "taken back: all have their own again" wait_for 20 tclass_is '[0]'

	refuse $RTS2RTS $BUSY 3
	out=$(swiftrdma action set job mix level 5 for 3000s 2>&1)
	note "$out"
	check "a device that is busy is asked again" wait_for 20 tclass_is '[160]'
	swiftrdma action clear all >/dev/null

	refuse $RTS2RTS $BAD_PARAM
	qpn=${numbers[1]}
	out=$(swiftrdma action set dev mlx5_0 qpn "$qpn" udp_sport 50000 for 3000s 2>&1)
	is "a UDP source port that it refuses cannot be" "$(words <<<"$out") $(said "$out")" \
		"failed 1 0 0 1 0 0 EREMOTEIO $((16#500505)) "
	is "... and is not tried again" "$(asked_again)" 0
	obey
	is "another is" "$(swiftrdma action set dev mlx5_0 qpn "$qpn" udp_sport 50001 for 3000s 2>&1 | words)" \
		"done 1 1 0 0 0 0"
	swiftrdma action clear all >/dev/null
else
	refuse $RTS2RTS $BAD_PARAM
	out=$(swiftrdma action set job mix bit_rate 1Gbit/s for 3000s 2>&1)
	is "QPs that the device does not let into an element cannot be" "$(words <<<"$out")" \
		"failed 4 0 0 4 0 0"
	is "... by its own word" "$(said "$out")" "EREMOTEIO $((16#500505)) "
	is "the list has the same, with each QP" \
		"$(listed) $(swiftrdma -j action show | jq -c '[.[] | select(.kind == "pending") | [.knob, .error, .syndrome]] | unique')" \
		"4 0 0 4 0 0 [[\"bit_rate\",-121,$((16#500505))]]"
	is "the log has it once for each" "$(complaints_of "a scheduling element")" 4
	is "none is asked again" "$(asked_again)" 0
	obey
	is "another rate is another matter, but no other element" "$(rate 2Gbit/s)" "failed 4 0 0 4 0 0"
	swiftrdma action clear all >/dev/null
	gone() { [ "$(hca_gauge 0 objects sched_element)" = 0 ]; }
	check "taken back" wait_for 30 gone
	is "a new element is asked for" "$(rate 2Gbit/s)" "done 4 4 0 0 0 0"
	refuse $MODIFY $BAD_PARAM
	out=$(swiftrdma action set job mix bit_rate 3Gbit/s for 3000s 2>&1)
	is "a rate that it refuses to change to" "$(words <<<"$out") $(said "$out")" \
		"failed 4 0 0 4 0 0 EREMOTEIO $((16#500785)) "
	is "... is not asked for again" "$(asked_again)" 0
	echo "$MODIFY $BAD_PARAM 1 abcdef" >$hca_debug/hca0/fail_command
	is "another rate that it refuses for another reason: with that reason" \
		"$(said "$(swiftrdma action set job mix bit_rate 4Gbit/s for 3000s 2>&1)")" \
		"EREMOTEIO $((16#abcdef)) "
	is "the former one is" "$(obey; rate 2Gbit/s)" "done 4 4 0 0 0 0"
	refuse $RTS2RTS $BAD_PARAM
	swiftrdma action clear all >/dev/null
	is "QPs that it does not let out are not asked again, either" "$(asked_again)" 0
	obey
	check "but for the last time, when the provider goes" rmmod swiftrdma_mlx5
	check "... and then nothing is left" gone
	check "it comes again" mlx5_load detail=0 diag=0
	refuse $CREATE $BAD_PARAM
	out=$(swiftrdma action set job mix weight 7 for 3000s 2>&1)
	is "no element: none of the QPs can have it" "$(words <<<"$out") $(said "$out")" \
		"failed 4 0 0 4 0 0 EREMOTEIO $((16#500782)) "
	is "... and none is asked for again" "$(asked_again)" 0
	obey
	is "another weight is" "$(swiftrdma action set job mix weight 8 for 3000s 2>&1 | words)" "done 4 4 0 0 0 0"
	swiftrdma action clear all >/dev/null
	check "taken back" wait_for 30 gone
fi
qpsh_stop a
check "unload" both_unload
is "nothing else in the log" "$(mlx5_complaints | grep -v 'swiftrdma_mlx5:.*the device refuses')" ""
ktap_end
