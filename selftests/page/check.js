// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// check.js RECORDING PORT SHOTS: looks at the page in Chromium, of a recording of page_story.
// Prints a line "ok NAME" or "not ok NAME: WHAT IT IS" for each test, and writes pictures to SHOTS.

import { spawn } from "node:child_process";

import { openBrowser, openPage } from "./browser.js";
import { lowContrast, overflowing, unnamed } from "./legible.js";

const [recording, port, shots] = process.argv.slice(2);
const url = `http://127.0.0.1:${port}/`;
let failed = false;

function test(name, is, wanted) {
	const same = wanted instanceof RegExp ? wanted.test(is) : JSON.stringify(is) === JSON.stringify(wanted);

	console.log(same ? `ok ${name}` : `not ok ${name}: ${JSON.stringify(is)}, wanted ${wanted instanceof RegExp ? wanted : JSON.stringify(wanted)}`);
	failed ||= !same;
}

async function serve(...options) {
	const exporter = spawn("swiftrdma-exporter", ["--replay", recording, "--web.listen-address", `127.0.0.1:${port}`, ...options], { stdio: "ignore" });

	for (let i = 0; i < 100; i++) {
		if (await fetch(`${url}-/healthy`).then((a) => a.ok, () => false))
			return exporter;
		await new Promise((done) => setTimeout(done, 100));
	}
	throw new Error("the exporter does not answer");
}

const end = (child) => new Promise((done) => {
	child.once("exit", done);
	child.kill();
});

const text = (page, selector) => page.$eval(selector, (e) => e.innerText.replace(/\s+/g, " ").trim());
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.innerText.replace(/\s+/g, " ").trim()));
const focused = (page) => page.evaluate(() => document.activeElement.innerText || document.activeElement.id);

// Plots are drawn a little later than the rest.
async function until(what) {
	for (let i = 0; i < 100; i++) {
		if (await what())
			return true;
		await new Promise((done) => setTimeout(done, 100));
	}
	return false;
}

async function press(page, ...keys) {
	for (const key of keys)
		await page.keyboard.press(key);
}

// --- what it shows -------------------------------------------------------------------

async function figures(page) {
	test("the summary", await texts(page, "#summary .value"), ["✓ 0 of 1", "▲ 97 %", "✗ 1", "1 job"]);
	test("the time is that of the recording", await text(page, "#status"), "At 1:29 of the recording");
	test("kv: its p99, its target, and that it is met", await texts(page, "#jobs-table tbody tr:first-child > *"),
		["kv", "latency", "30.1 us", "50 us", "✓ met", "11.9 us", "10 kWQEBB/s", "24", "level 1"]);
	test("a job without the library says so", (await texts(page, "#jobs-table tbody tr:nth-child(2) > *"))[2], "no library");
	test("the port's use", await text(page, ".port .facts"), "sends 97 Gbit/s, 97 % of 100 Gbit/s");
	test("... by class", await texts(page, ".port .legend li"), ["priority 0 92 Gbit/s", "priority 3 5 Gbit/s"]);
	test("... as a bar", await page.$$eval(".port .part", (all) => all.map((e) => e.style.width)), ["92%", "5%"]);
	test("decisions, the last first", await texts(page, "#decisions .what"),
		["lease 4 ran out", "job bulk: bit_rate 50 Gbit/s", "job kv: level 1"]);
	test("... at their times", await texts(page, "#decisions .when"), ["1:19", "1:14", "0:59"]);
	test("... with the values", await texts(page, "#decisions > li:nth-child(3) .values li"),
		["port.util 97 %", "job.p99 700 us", "job.slo_p99 50 us"]);
	test("... and what came of them", (await texts(page, "#decisions .result"))[1],
		"refused: Operation not supported, 0 of 4 QPs done, 4 that cannot change");
	test("UARs, and which is contended", await texts(page, ".cell"), ["18 ! kv 24 QPs", "19 bulk 4 QPs", "20 train 8 QPs"]);
	test("... by their colours", await page.$$eval(".cell", (all) => all.map((e) => e.className)),
		["cell heat-5 hard", "cell heat-2 some", "cell heat-0"]);
	test("... and how hot each is", await page.$$eval(".cell .hot", (all) => all.map((e) => e.style.width)), ["11%", "100%", "0%"]);
	test("... by their names", await page.$eval(".cell", (e) => e.getAttribute("aria-label")),
		/^UAR 18 of mlx5_0, of kv \(pid 1001, unit:kv.service\); 24 QPs, 24 active, made by 16 threads; .*; contended$/);
	test("what is in force", await text(page, "#force-none"), "job kv: level 1. A recording does not have the leases.");
}

async function plots(page) {
	test("plots tell their last values", await page.$$eval(".plot", (all) => all.map((e) => e.getAttribute("aria-label"))),
		["mlx5_0/1 97 %", "kv 30.1 us, kv target 50 us", "kv, bulk, module", "mlx5_0/1 by class: priority 0 92 Gbit/s, priority 3 5 Gbit/s"]);
	const drawn = () => page.$$eval(".plot canvas", (all) => all.filter((c) => {
		const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height), colours = new Set();

		for (let i = 0; i < data.length; i += 4)
			colours.add(data.slice(i, i + 4).join());
		return colours.size > 5;
	}).length);

	test("... and are drawn", await until(async () => await drawn() === 4), true);
	test("the legend has them, too", (await texts(page, "#plot-p99 .u-series:not(.target)"))[1], /^kv:?\s*30.1 us, target 50 us$/);
	const over = await page.$("#plot-p99 .u-over"), box = await over.boundingBox();

	await page.mouse.move(box.x + box.width / 2, box.y + 20);
	test("a pointer shows the values of its time in all plots", [await text(page, "#plot-p99 .u-series:nth-child(2)"), await text(page, "#plot-ports .u-series:nth-child(2)")],
		["kv700 us, target 50 us", "mlx5_0/197 %"]);
	await page.mouse.move(5, 5);
}

// --- a click, and keys ---------------------------------------------------------------

async function clicks(page) {
	await page.click("#jobs-table tbody button");
	await page.waitForSelector("#detail-table tbody tr");
	test("a click on a job opens its QPs", [await text(page, "#detail-title"), (await page.$$("#detail-table tbody tr")).length], ["Job kv", 24]);
	await page.click("#detail-table tbody tr:nth-child(3) button");
	await page.waitForSelector("#explain-text dt");
	test("a click on a QP explains it", await text(page, "#explain-title"), "What explains QP 102 of mlx5_0");
	test("... as qp explain does", await text(page, "#explain-text"), /UAR: yes, two or more of its 24 QPs advanced in 80 % of the readings/);
	await page.screenshot({ path: `${shots}/detail.png` });
	await press(page, "Escape");
	test("Escape closes it", await page.$eval("#detail", (e) => e.open), false);
	test("... and the focus is where it was", await focused(page), "kv");
	await page.click(".cell:nth-child(2)");
	await page.waitForSelector("#detail-table tbody tr");
	test("a click on a UAR opens its QPs", [await text(page, "#detail-title"), (await page.$$("#detail-table tbody tr")).length], ["UAR 19 of mlx5_0", 4]);
	await page.click("#detail-close");
}

async function keys(page) {
	await page.reload();
	await page.waitForSelector(".cell");
	await press(page, "Tab");
	test("the first Tab offers to skip", await focused(page), "Skip to the jobs");
	await press(page, "Enter", "Tab");
	test("... to the first job", await focused(page), "kv");
	await press(page, "Enter");
	await page.waitForSelector("#detail-table tbody tr");
	test("Enter opens it, with the focus inside", await page.evaluate(() => document.activeElement.closest("dialog") !== null), true);
	await press(page, "Tab", "Tab", "Enter");
	await page.waitForSelector("#explain-text dt");
	test("a QP is explained by Enter", await text(page, "#explain-title"), /^What explains QP 10\d of mlx5_0$/);
	await press(page, "Escape", "Tab", "Tab", "Tab");
	test("Tab goes through the jobs to the heat map, which is one stop", await focused(page), /^18 !/);
	await press(page, "ArrowRight");
	test("arrows move in it", await focused(page), /^19/);
	test("... and say where they are", await text(page, "#uar-text"), /^UAR 19 of mlx5_0, of bulk/);
	await press(page, "End");
	test("End goes to the last", await focused(page), /^20/);
	await press(page, "Home", "Enter");
	await page.waitForSelector("#detail-table tbody tr");
	test("Enter opens a UAR", await text(page, "#detail-title"), "UAR 18 of mlx5_0");
	await press(page, "Escape");
}

// --- how it looks --------------------------------------------------------------------

async function look(browser, name, options) {
	const { page, faults, hosts } = await openPage(browser, url, options);

	await page.waitForSelector(".cell");
	await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
	test(`${name}: nothing to scroll sideways`, await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
	test(`${name}: no text is cut off`, await page.evaluate(overflowing), []);
	test(`${name}: text stands out from its ground`, await page.evaluate(lowContrast), []);
	if (name === "narrow") {
		await page.click("#jobs-table tbody button");
		await page.waitForSelector("#detail-table tbody tr");
		await page.screenshot({ path: `${shots}/narrow-detail.png` });
		test("narrow: neither in a dialog", await page.evaluate(overflowing), []);
	}
	test(`${name}: no fault`, faults, []);
	test(`${name}: no other host is asked`, [...hosts], [new URL(url).host]);
	await page.close();
}

async function dark(browser) {
	const ground = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
	const { page } = await openPage(browser, url, { dark: true });
	const colour = () => page.$eval("#plot-ports canvas", (c) => {
		const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height), n = new Map();

		for (let i = 0; i < data.length; i += 4)
			if (data[i + 3] === 255)
				n.set(data.slice(i, i + 3).join(), (n.get(data.slice(i, i + 3).join()) || 0) + 1);
		return [...n.keys()];
	});
	// The line of the port.
	const isDark = await until(async () => (await colour()).includes("86,180,233"));

	test("dark: the ground is", await ground(page), "rgb(17, 22, 28)");
	await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
	test("... and light, when that is wished for", await ground(page), "rgb(246, 247, 249)");
	test("... with the plots", [isDark, await until(async () => (await colour()).includes("0,114,178"))], [true, true]);
	await page.close();
}

// --- as time goes on -----------------------------------------------------------------

async function follow(browser) {
	let exporter = await serve("--replay-speed", "5", "--interval", "100ms");
	const { page, faults } = await openPage(browser, url);
	const status = (wanted) => page.waitForFunction((w) => new RegExp(w).test(document.getElementById("status").textContent), { timeout: 30000 }, wanted)
		.then(() => true, () => false);

	test("readings come by themselves", await status("At 0:[3-9]\\d"), true);
	await page.waitForFunction(() => document.querySelector("#decisions .what"), { timeout: 30000 });
	test("... and decisions", (await texts(page, "#decisions .what")).at(-1), "job kv: level 1");
	await page.focus("#jobs-table tbody tr:nth-child(2) button");
	await status("At 1:[12]");
	test("the focus stays over readings", await focused(page), "bulk");
	await end(exporter);
	test("an exporter that is gone is told", await status("does not answer"), true);
	exporter = await serve("--replay-speed", "0");
	test("... and one that is back", await status("At 1:29"), true);
	test("no fault but that one", faults.filter((f) => !/ERR_(CONNECTION|INCOMPLETE|EMPTY)/.test(f)), []);
	await page.close();
	return exporter;
}

// -------------------------------------------------------------------------------------

const browser = await openBrowser();
let exporter = await serve("--replay-speed", "0");

try {
	const { page, faults, hosts } = await openPage(browser, url);

	await page.waitForSelector(".cell");
	await figures(page);
	await plots(page);
	await clicks(page);
	await keys(page);
	test("each control has a name", await unnamed(page), []);
	test("no fault: no error, no violation of the policy", faults, []);
	test("no other host is asked", [...hosts], [new URL(url).host]);
	await page.close();
	await look(browser, "light", { width: 1280 });
	await look(browser, "dark", { width: 1280, dark: true });
	await look(browser, "narrow", { width: 400 });
	await look(browser, "narrow-dark", { width: 400, dark: true });
	await look(browser, "wide", { width: 2200 });
	await dark(browser);
	await end(exporter);
	exporter = await follow(browser);
} catch (error) {
	test("it goes on to its end", error.stack, "");
} finally {
	await browser.close();
	await end(exporter);
}
process.exit(failed ? 1 : 0);
