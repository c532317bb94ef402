// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Debian's Chromium without a window, and what every test of the page watches for.

import puppeteer from "puppeteer-core";

const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";

export async function openBrowser() {
	return puppeteer.launch({
		executablePath: CHROMIUM,
		// In a container root has no sandbox; the page is the exporter's own.
		args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
	});
}

// A page on which what it must not do is noted: requests to other hosts, violations of its
// Content-Security-Policy, and errors of its scripts.
export async function openPage(browser, url, { width = 1280, height = 1000, dark = false } = {}) {
	const page = await browser.newPage(), faults = [], hosts = new Set();

	page.on("request", (r) => hosts.add(new URL(r.url()).host));
	page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
	page.on("console", (m) => ["error", "warn", "warning"].includes(m.type()) && faults.push(`${m.type()}: ${m.text()}`));
	await page.evaluateOnNewDocument(() => document.addEventListener("securitypolicyviolation",
		(e) => console.error(`policy ${e.violatedDirective} against ${e.blockedURI}`)));
	await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
	await page.setViewport({ width, height });
	await page.goto(url, { waitUntil: "load" });
	await page.waitForFunction(() => document.documentElement.dataset.reading, { timeout: 30000 })
		.catch((error) => { throw new Error(`${error.message}; ${faults.join("; ")}`); });
	return { page, faults, hosts };
}
