# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# shellcheck shell=bash
#
# Runs scripts of selftests/page, which drive Debian's Chromium through puppeteer-core.

browser_dir=build/page-tests

# browser_why: why there is none; nothing: there is one, and puppeteer-core is installed.
browser_why() {
	[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || { echo "Chromium is not there (scripts/setup --browser)"; return; }
	command -v npm >/dev/null || { echo "npm is not there (scripts/setup)"; return; }
	cmp -s selftests/page/package-lock.json $browser_dir/installed || browser_install ||
		echo "npm does not install what selftests/page/package-lock.json lists: $(tail -n 1 $browser_dir/npm.log)"
}

browser_install() {
	mkdir -p $browser_dir
	cp selftests/page/package.json selftests/page/package-lock.json $browser_dir/
	(cd $browser_dir && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >$browser_dir/npm.log 2>&1 &&
		cp selftests/page/package-lock.json $browser_dir/installed
}

# browser_script NAME: the path by which node runs a script; it finds packages beside itself only.
browser_script() {
	cp selftests/page/*.js $browser_dir/
	echo "$browser_dir/$1"
}
