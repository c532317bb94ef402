// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The heat map of UARs. One cell of a device can have the focus; arrow keys move it.

import { byId, keyed, make, setAttribute, setClass, setText } from "./dom.js";
import { openUar } from "./detail.js";
import * as format from "./format.js";
import { store } from "./store.js";

const STEPS = [0, 0.05, 0.2, 0.4, 0.6, 0.8];

function heatOf(uar) {
	return uar.coactive === undefined ? "unknown" :
		String(STEPS.findLastIndex((s) => uar.coactive >= s));
}

export function uarText(u) {
	const work = u.doorbells !== undefined ? `${format.rate(u.doorbells)} doorbells` :
		u.rate !== undefined ? format.rate(u.rate, u.unit) : "work is not counted";
	const who = u.kernel ? "the kernel's own" : u.comm ? `of ${u.comm} (pid ${u.pid}, ${u.owner})` : `of ${u.owner || "an unknown process"}`;

	return [
		`${u.page ? "UAR" : "User context"} ${u.uar} of ${u.dev}, ${who}`,
		`${format.plural(u.qps, "QP")}${u.active !== undefined ? `, ${u.active} active` : ""}${u.threads ? `, made by ${format.plural(u.threads, "thread")}` : ""}`,
		u.share !== undefined ? `${work}, ${format.ratio(u.share)} of the device's` : work,
		u.coactive !== undefined ? `two or more advanced in ${format.ratio(u.coactive)} of the readings` : "",
		u.contention === "hard" ? "contended" : u.contention === "some" ? "some contention" : "",
	].filter(Boolean).join("; ");
}

// The cell in the next row that is nearest to the place of this one.
function below(cells, from, down) {
	const at = from.getBoundingClientRect();
	const rows = cells.map((c) => [c, c.getBoundingClientRect()])
		.filter(([, r]) => down ? r.top > at.top + 4 : r.top < at.top - 4)
		.sort(([, a], [, b]) => (down ? a.top - b.top : b.top - a.top) || Math.abs(a.left - at.left) - Math.abs(b.left - at.left));

	return rows.length ? rows[0][0] : from;
}

function moveFocus(event) {
	const cells = [...event.currentTarget.children], at = cells.indexOf(document.activeElement);
	const to = {
		ArrowRight: () => cells[Math.min(at + 1, cells.length - 1)],
		ArrowLeft: () => cells[Math.max(at - 1, 0)],
		ArrowDown: () => below(cells, cells[at], true),
		ArrowUp: () => below(cells, cells[at], false),
		Home: () => cells[0],
		End: () => cells[cells.length - 1],
	}[event.key];

	if (!to || at < 0)
		return;
	event.preventDefault();
	cells.forEach((c) => setAttribute(c, "tabindex", "-1"));
	to().tabIndex = 0;
	to().focus();
}

function create(uar) {
	const tell = (event) => setText(byId("uar-text"), event.currentTarget.getAttribute("aria-label"));

	return make("button", {
		type: "button", tabindex: "-1", onclick: () => openUar(uar.dev, uar.uar), onfocus: tell, onpointerenter: tell,
	}, make("span", { class: "number" }), make("span"), make("span"), make("span", { class: "hot" }));
}

const workOf = (u) => u.rate ?? u.doorbells ?? 0;

function fill(cell, u, most) {
	const [number, whose, qps, hot] = cell.children;

	setClass(cell, `cell heat-${heatOf(u)}${u.contention === "hard" ? " hard" : u.contention === "some" ? " some" : ""}`);
	setText(number, `${u.uar}${u.contention === "hard" ? " !" : ""}`);
	setText(whose, u.kernel ? "kernel" : u.comm || u.owner || "unknown");
	setText(qps, format.plural(u.qps, "QP"));
	hot.style.width = `${most ? Math.round(100 * workOf(u) / most) : 0}%`;
	setAttribute(cell, "aria-label", uarText(u));
	if (document.activeElement === cell)
		setText(byId("uar-text"), uarText(u));
}

export function drawUars() {
	const state = store.state, hidden = state.all_uars - state.uars.length;
	const devices = state.devs.filter((d) => state.uars.some((u) => u.dev === d.name));

	keyed(byId("uars"), devices, (d) => d.name,
		(d) => make("section", {}, make("h3"), make("div", {
			class: "heat", role: "group", "aria-label": `UARs of ${d.name}`, onkeydown: moveFocus,
		})),
		(e, d) => {
			const grid = e.children[1], uars = state.uars.filter((u) => u.dev === d.name);
			const most = Math.max(...uars.map(workOf));

			setText(e.children[0], d.name);
			keyed(grid, uars, (u) => u.uar, create, (cell, u) => fill(cell, u, most));
			if (![...grid.children].some((c) => c.tabIndex === 0))
				grid.firstElementChild.tabIndex = 0;
		});
	if (!devices.length)
		setText(byId("uar-text"), "There is no UAR with queue pairs.");
	setText(byId("uars-hidden"), hidden > 0 ? `${format.plural(hidden, "quieter UAR")} of ${state.all_uars} not shown.` : "");
}

export function drawLegend() {
	const texts = STEPS.map((s, i) => i + 1 < STEPS.length ? `${format.ratio(s)} to ${format.ratio(STEPS[i + 1])}` : `${format.ratio(s)} and more`);

	byId("heat-legend").append(...texts.map((text, i) => make("li", {},
		make("span", { class: `swatch heat-${i}`, "aria-hidden": "true" }), make("span", { text }))),
	make("li", {}, make("span", { class: "swatch heat-unknown", "aria-hidden": "true" }), make("span", { text: "not known" })));
}
