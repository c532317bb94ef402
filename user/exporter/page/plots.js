// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Three plots on one time axis: use of ports, p99 of jobs with their targets, and decisions.
/* global uPlot */

import { byId, make, setAttribute } from "./dom.js";
import * as format from "./format.js";
import { knobText } from "./knob.js";
import { clock, isRecorded, seriesOf, store } from "./store.js";

// Plots with more lines than that are not legible.
const LINES = 8;
const LANE = 30;	// px
const AXIS = 68;	// px; one width for all plots, so that their times stand above each other
const DASHES = [[], [8, 4], [2, 3]];

let highlighted = null;

export const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const lineColour = (i) => style(`--c${i % LINES}`);

// The times that are shown, s.
export function shownTimes() {
	const seconds = Number(byId("range").value), n = store.t.length;
	const end = n ? store.t[n - 1] / 1000 : 0, first = n ? store.t[0] / 1000 : 0;
	const from = seconds ? Math.max(first, end - seconds) : first;

	return from < end ? [from, end] : [end - 1, end];
}

// --- lines ---------------------------------------------------------------------------

function portLines() {
	const speed = new Map((store.state?.ports || []).map((p) => [`${p.dev}/${p.port}`, p.speed]));
	const rx = new Map(seriesOf("rx").map(([port, values]) => [port, values]));

	return seriesOf("tx").filter(([port]) => speed.get(port)).slice(0, LINES)
		.map(([port, tx], i) => ({
			label: port, colour: i,
			values: tx.map((v, k) => v === null ? null :
				Math.max(v, rx.get(port)?.[k] ?? 0) / speed.get(port)),
		}));
}

// Jobs that miss their target come first, then those that are nearest to it.
function jobsToDraw() {
	const near = (job) => job.slo_p99 && job.p99 ? job.p99 / job.slo_p99 : 0;
	const all = seriesOf("p99").map(([job]) => job);
	const jobs = new Map((store.state?.jobs || []).map((j) => [j.name, j]));

	if (all.length <= LINES)
		return all;
	return all.sort((a, b) => near(jobs.get(b) || {}) - near(jobs.get(a) || {}))
		.slice(0, LINES).sort();
}

function jobLines() {
	const p99 = new Map(seriesOf("p99")), slo = new Map(seriesOf("slo"));
	const lines = [];

	jobsToDraw().forEach((job, i) => {
		lines.push({ label: job, colour: i, values: p99.get(job), target: slo.get(job) });
		if (slo.has(job))
			lines.push({ label: `${job} target`, colour: i, isTarget: true, values: slo.get(job) });
	});
	return lines;
}

// --- events --------------------------------------------------------------------------

const laneOf = (e) => e.job || (e.qpn !== undefined ? `QP ${e.qpn}` : "module");

export const colourOfEvent = (e) => e.kind === "action" ? (e.error || e.cannot ? style("--bad") :
	e.clear ? style("--c2") : style("--c0")) : style("--bad");

export const signOfEvent = (e) => e.kind !== "action" ? "◆" : e.clear ? "▼" : "▲";

function lanes() {
	const names = [...new Set(store.events.map(laneOf))];

	return names.slice(0, LINES);
}

export function drawEvents(u) {
	const { ctx, bbox } = u;

	ctx.save();
	ctx.setLineDash([]);
	for (const e of store.events) {
		const x = Math.round(u.valToPos(e.t / 1000, "x", true));

		if (x < bbox.left || x > bbox.left + bbox.width)
			continue;
		ctx.strokeStyle = colourOfEvent(e);
		ctx.globalAlpha = highlighted === e.n ? 1 : 0.45;
		ctx.lineWidth = (highlighted === e.n ? 3 : 1) * devicePixelRatio;
		ctx.beginPath();
		ctx.moveTo(x, bbox.top);
		ctx.lineTo(x, bbox.top + bbox.height);
		ctx.stroke();
	}
	ctx.restore();
}

// Behind its mark, or before it, where neither a mark nor a text stands; else it is left out.
function drawText(ctx, text, x, y, from, to) {
	const width = ctx.measureText(text).width, gap = 8 * devicePixelRatio;
	const left = x + gap + width <= to ? x + gap : x - gap - width;

	if (left < from)
		return x + gap;
	ctx.fillStyle = style("--text");
	ctx.textAlign = "left";
	ctx.fillText(text, left, y);
	return Math.max(left + width, x) + gap;
}

function drawLane(u, events, lane) {
	const { ctx, bbox } = u, right = bbox.left + bbox.width, y = u.valToPos(lane + 0.5, "y", true);
	const marks = events.map((e) => ({ e, x: u.valToPos(e.t / 1000, "x", true) }))
		.filter(({ x }) => x >= bbox.left && x <= right);
	let from = bbox.left;

	marks.forEach(({ e, x }, i) => {
		const to = i + 1 < marks.length ? marks[i + 1].x - 8 * devicePixelRatio : right;

		ctx.fillStyle = colourOfEvent(e);
		ctx.textAlign = "center";
		ctx.fillText(signOfEvent(e), x, y);
		from = e.kind === "action" && !e.clear ? drawText(ctx, knobText(e), x, y, from, to) : x + 8 * devicePixelRatio;
	});
}

function drawMarks(u) {
	const { ctx } = u;

	drawEvents(u);
	ctx.save();
	ctx.font = `${13 * devicePixelRatio}px ${style("--font")}`;
	ctx.textBaseline = "middle";
	lanes().forEach((name, lane) => drawLane(u, store.events.filter((e) => laneOf(e) === name), lane));
	ctx.restore();
}

// --- plots ---------------------------------------------------------------------------

export function axis(extra) {
	const font = `12px ${style("--font")}`;

	return {
		stroke: style("--quiet"), font, labelFont: font,
		grid: { stroke: style("--grid"), width: 1 }, ticks: { stroke: style("--grid"), width: 1, size: 4 },
		...extra,
	};
}

export const timeAxis = () => axis({ values: times, space: 90, size: 30 });

const times = (u, splits) => splits.map((s) => clock(s * 1000));
const last = (values) => values.findLast((v) => v !== null);

// A decade above and below what is there.
function decades(u, min, max) {
	if (!(max > 0))
		return [1e3, 1e6];
	const lo = Math.floor(Math.log10(Math.max(1, min))), hi = Math.ceil(Math.log10(max));

	return [10 ** lo, 10 ** Math.max(hi, lo + 1)];
}

// The powers of ten from @min to @max.
function powers(min, max) {
	const list = [];

	for (let e = Math.ceil(Math.log10(min) - 1e-6); 10 ** e <= max * 1.000001; e++)
		list.push(10 ** e);
	return list;
}

const kinds = {
	"plot-ports": {
		height: 170, lines: portLines, text: format.ratio, draw: drawEvents,
		scale: { range: [0, 1] }, y: { size: AXIS, values: (u, v) => v.map(format.ratio) },
		none: "The speed of no port is known, or nothing was read yet.",
	},
	"plot-p99": {
		height: 210, lines: jobLines, text: format.time, draw: drawEvents,
		scale: { distr: 3, range: decades },
		y: {
			size: AXIS,
			splits: (u, axis_, min, max) => powers(min, max), values: (u, v) => v.map(format.time),
		},
		none: "No job has a p99: libswiftrdma measures it, in the processes of jobs.",
	},
	"plot-decisions": {
		lines: () => lanes().map((label) => ({ label, values: [] })), draw: drawMarks,
		text: () => "", none: "No decision yet.",
	},
};

const plots = new Map();	// id: { u, key }

function options(id, kind, lines, width) {
	const onLanes = id === "plot-decisions";
	const y = onLanes ? {
		size: AXIS, splits: () => lines.map((_, i) => i + 0.5), grid: { show: false }, ticks: { show: false },
		values: () => lines.map((l) => l.label),
	} : kind.y;

	return {
		width, height: onLanes ? lines.length * LANE + 44 : kind.height,
		padding: [10, 30, 0, 0],
		cursor: { sync: { key: "time" }, drag: { x: false, y: false }, y: false },
		legend: { show: !onLanes },
		scales: {
			x: { time: false, range: shownTimes },
			y: onLanes ? { range: [0, lines.length], dir: -1 } : kind.scale,
		},
		axes: [timeAxis(), axis(y)],
		series: [
			{ label: "at", value: (u, v) => clock(v === null ? last(store.t) : v * 1000) },
			...(onLanes ? [{ label: "none", show: false }] : lines.map((l) => ({
				label: l.label, stroke: lineColour(l.colour), width: l.isTarget ? 1.5 : 2, class: l.isTarget ? "target" : "line",
				dash: l.isTarget ? [5, 4] : DASHES[Math.floor(l.colour / 4) % DASHES.length],
				points: { show: false }, spanGaps: true,
				// Without a pointer the legend has the last values.
				value: (u, v, i, at) => valueText(kind, u.data, i, at, l.target),
			}))),
		],
		hooks: { draw: [kind.draw] },
	};
}

// The value of line @i at a point, and the target, which is the next line.
function valueText(kind, data, i, at, hasTarget) {
	const value = (k) => at === null ? last(data[k]) : data[k][at];

	return kind.text(value(i)) + (hasTarget ? `, target ${kind.text(value(i + 1))}` : "");
}

// For those who do not see the plot: what its lines are now.
function describe(lines, kind) {
	return lines.map((l) => l.values.length ? `${l.label} ${kind.text(last(l.values))}` : l.label).join(", ");
}

function drawPlot(id) {
	const kind = kinds[id], holder = byId(id), lines = kind.lines();
	const key = JSON.stringify([lines.map((l) => l.label), isRecorded()]);
	const data = [store.t.map((t) => t / 1000),
		...(id === "plot-decisions" ? [store.t.map(() => null)] : lines.map((l) => l.values))];
	let plot = plots.get(id);

	setAttribute(holder, "role", "img");
	setAttribute(holder, "aria-label", lines.length ? describe(lines, kind) : kind.none);
	if (plot && plot.key === key) {
		plot.u.setData(data);
		return;
	}
	plot?.u.destroy();
	plots.delete(id);
	holder.replaceChildren();
	if (!lines.length || !store.t.length) {
		holder.append(make("p", { class: "quiet", text: kind.none }));
		return;
	}
	plots.set(id, { u: new uPlot(options(id, kind, lines, holder.clientWidth), data, holder), key });
}

export function drawPlots() {
	for (const id of Object.keys(kinds))
		drawPlot(id);
}

// The colours are those of the style sheet, which may have changed.
export function redrawPlots() {
	for (const { u } of plots.values())
		u.destroy();
	plots.clear();
	drawPlots();
}

export function highlight(number) {
	highlighted = number;
	for (const { u } of plots.values())
		u.redraw(false);
}

export function watchSize() {
	const observer = new ResizeObserver((entries) => {
		for (const { target } of entries) {
			const plot = plots.get(target.id);

			if (plot && target.clientWidth)
				plot.u.setSize({ width: target.clientWidth, height: plot.u.height });
		}
	});

	for (const id of Object.keys(kinds))
		observer.observe(byId(id));
}
