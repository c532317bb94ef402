#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The page of swiftrdma-exporter in Debian's Chromium, from a recording: figures, plots, clicks,
# keys, dark and narrow, and that it asks no other host. The tests are in selftests/page/check.js;
# pictures of the page stay in build/page-shots.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
# shellcheck source=selftests/lib/browser.sh
. selftests/lib/browser.sh
PATH=$PWD/build/bin:$PATH
work=$(mktemp -d /tmp/page.XXXXXX)
trap 'rm -rf "$work"' EXIT
shots=build/page-shots

ktap_begin
why=$(browser_why)
if [ -n "$why" ]; then
	skip "the page in Chromium" "$why"
	ktap_end
	exit
fi
mkdir -p $shots
build/bench/page_story "$work/story.rec"
point $? "a recording is made, in which things happen"
while IFS= read -r line; do
	case $line in
	'ok '*) point 0 "${line#ok }" ;;
	'not ok '*) point 1 "${line#not ok }" ;;
	*) note "$line" ;;
	esac
done < <(node "$(browser_script check.js)" "$work/story.rec" 19893 $shots 2>&1; echo "status $?" >"$work/status")
is "all of them were run" "$(cat "$work/status")" "status $((ktap_failed))"
is "there are pictures" "$(cd $shots && echo detail.png light.png dark.png narrow.png wide.png | xargs ls | wc -l)" 5
ktap_end
