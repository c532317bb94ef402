// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// demo.js URL SHOTS: looks at the page while the demo runs, as somebody would who watches it: the
// port fills, the decision appears, the p99 falls. Writes a picture of each to SHOTS, and prints
// what was seen. Exit status 1: something of it was not, or the page had a fault.

import { openBrowser, openPage } from "./browser.js";

const [url, shots] = process.argv.slice(2);
let failed = false;

function tell(seen, text) {
	console.log(`  ${seen ? "yes" : "NO "}  the page: ${text}`);
	failed ||= !seen;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const answers = () => fetch(`${url}-/healthy`, { signal: AbortSignal.timeout(20000) }).then((a) => a.ok, () => false);

// The guest has to boot first.
async function boot() {
	for (let i = 0; i < 600; i++) {
		if (await answers())
			return;
		await pause(500);
	}
	throw new Error("the exporter does not answer");
}

// What becomes true, until the demo has ended; null: it does not.
async function wait(what) {
	while (true) {
		const is = await what();

		if (is)
			return is;
		if (!await answers())
			return null;
		await pause(500);
	}
}

const busiest = (page) => page.evaluate(() => Number.parseFloat(
	document.querySelector("#summary > :nth-child(2) .value")?.textContent.replace(/^\D*/, "")));
const isFull = async (page) => (await busiest(page)) >= 90;

// Decisions to raise kv, the last first, each with its values: ["port.util 100 %", ...]
const decisions = (page) => page.evaluate(() => [...document.querySelectorAll("#decisions > li")]
	.filter((li) => li.querySelector(".what").textContent === "job kv: level 1")
	.map((li) => [...li.querySelectorAll(".values li")].map((v) => v.textContent)));

const units = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
const inNs = (text) => {
	const [, number, unit] = text.match(/^([\d.]+) (\w+)$/) || [];

	return number ? Number(number) * units[unit] : 0;
};

// p99, target and verdict of kv, as they are shown.
const kv = (page) => page.evaluate(() => {
	const row = [...document.querySelectorAll("#jobs-table tbody tr")].find((r) => r.cells[0].textContent === "kv");

	return row ? [2, 3, 4].map((i) => row.cells[i].textContent) : ["", "", ""];
});

const shot = (page, name) => page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });

async function step(page, name, what, seen, missing) {
	const is = await wait(what);

	tell(is, is ? seen(is) : missing);
	await shot(page, name);
	return is;
}

async function watch(page) {
	let worst = "";
	const note = (p99) => {
		if (inNs(p99) > inNs(worst))
			worst = p99;
	};

	await step(page, "1-port-full", async () => await isFull(page) && busiest(page),
		(full) => `the port fills, ${full} % of its speed are in use`, "the port does not fill");
	await step(page, "2-decision", async () => (await decisions(page))[0],
		(values) => `the decision appears, by ${values.slice(0, 2).join(", ")}`, "no decision appears");
	await step(page, "3-target-missed", async () => {
		const [p99, target, verdict] = await kv(page);

		worst = p99;
		return await isFull(page) && verdict === "✗ missed" && target;
	}, (target) => `kv has a target of ${target}, and misses it: p99 ${worst}`, "kv does not miss its target");
	await step(page, "4-decision-by-p99", async () => (await decisions(page))
		.find((values) => values.some((v) => /^job\.p99 \d/.test(v)) && values.some((v) => /^job\.slo_p99 \d/.test(v))),
	(values) => `a decision by it appears: ${values.filter((v) => /p99 /.test(v)).join(", ")}`, "no decision by the p99 appears");
	await step(page, "5-p99-falls", async () => {
		const [p99] = await kv(page);

		note(p99);
		return await isFull(page) && inNs(p99) && inNs(p99) < inNs(worst) * 2 / 3 && p99;
	}, (p99) => `the p99 of kv falls from ${worst} to ${p99} while the port is full`, "the p99 of kv does not fall");
	await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
	await shot(page, "5-p99-falls-dark");
}

const browser = await openBrowser();

try {
	await boot();
	const { page, faults, hosts } = await openPage(browser, url);

	await watch(page);
	// An exporter that has ended is no fault of the page.
	const own = faults.filter((f) => !/net::ERR_/.test(f));

	tell(!own.length && hosts.size === 1, own.length ? `faults: ${own.join("; ")}` : "no fault, and no other host was asked");
} catch (error) {
	tell(false, error.message);
} finally {
	await browser.close();
}
process.exit(failed ? 1 : 0);
