// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// demo.js URL SHOTS: looks at the page while the demo runs, as somebody would who watches it: the
// port fills, the decision appears, the p99 falls. Writes a picture of each to SHOTS, and prints
// what was seen. Exit status 1: something of it was not, or the page had a fault.

import { openBrowser, openPage } from "./browser.js";

const [url, shots] = process.argv.slice(2);
const PATIENCE = 600000;	// ms; the guest is slow
const units = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
let failed = false;

function tell(seen, text) {
	console.log(`  ${seen ? "yes" : "NO "}  the page: ${text}`);
	failed ||= !seen;
}

// The guest has to boot first.
async function wait(what, times) {
	for (let i = 0; i < times; i++) {
		const is = await what();

		if (is !== null && is !== undefined && is !== false)
			return is;
		await new Promise((done) => setTimeout(done, 500));
	}
	return null;
}

const busiest = (page) => page.evaluate(() => Number.parseFloat(
	document.querySelector("#summary > :nth-child(2) .value")?.textContent.replace(/^\D*/, "")));

const decision = (page) => page.evaluate(() => [...document.querySelectorAll("#decisions > li")]
	.map((li) => [li.querySelector(".what").textContent, [...li.querySelectorAll(".values li")].map((v) => v.textContent)])
	.find(([what]) => what === "job kv: level 1"));

// ns; undefined: it is not known
async function p99(page) {
	const text = await page.evaluate(() => [...document.querySelectorAll("#jobs-table tbody tr")]
		.find((row) => row.cells[0].textContent === "kv")?.cells[2].textContent || "");
	const [, number, unit] = text.match(/^([\d.]+) (\w+)$/) || [];

	return number && Number(number) * units[unit];
}

const shot = (page, name) => page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });

async function watch(page) {
	const full = await wait(async () => (await busiest(page)) >= 90 && busiest(page), PATIENCE / 500);
	let worst = 0;

	tell(full, full ? `the port fills, ${full} % of its speed are in use` : "the port does not fill");
	await shot(page, "1-port-full");
	const made = await wait(async () => {
		worst = Math.max(worst, await p99(page) || 0);
		return decision(page);
	}, PATIENCE / 500);

	tell(made, made ? `the decision appears: ${made[0]}, by ${made[1].join(", ")}` : "no decision appears");
	await shot(page, "2-decision");
	const now = await wait(async () => {
		const is = await p99(page);

		worst = Math.max(worst, is || 0);
		return is && is < worst / 2 && is;
	}, PATIENCE / 500);

	tell(now, now ? `the p99 of kv falls, from ${worst / 1e6} ms to ${now / 1e6} ms` : "the p99 of kv does not fall");
	await shot(page, "3-p99-falls");
	await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
	await shot(page, "3-p99-falls-dark");
}

const browser = await openBrowser();

try {
	const up = await wait(() => fetch(`${url}-/healthy`).then((a) => a.ok, () => null), 600);

	if (!up)
		throw new Error("the exporter does not answer");
	const { page, faults, hosts } = await openPage(browser, url);

	await watch(page);
	tell(!faults.length && hosts.size === 1, faults.length ? `faults: ${faults.join("; ")}` : "no fault, and no other host was asked");
} catch (error) {
	tell(false, error.message);
} finally {
	await browser.close();
}
process.exit(failed ? 1 : 0);
