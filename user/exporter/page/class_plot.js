// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The traffic of a port by class over time, one class upon the other.
/* global uPlot */

import { setAttribute } from "./dom.js";
import * as format from "./format.js";
import { axis, drawEvents, lineColour, shownTimes, style, timeAxis } from "./plots.js";
import { seriesOf, store } from "./store.js";

const HEIGHT = 130;
const AXIS = 84;	// px, for "100 Gbit/s"

const plots = new Map();	// port: { u, key }

// Traffic that has no class has no colour of one.
export const isPlain = (name) => ["other", "not by class", "all traffic"].includes(name);

// All classes that the port has had, so that each keeps its colour.
export function classNames(port) {
	const of = (kind) => seriesOf(kind).filter(([object]) => object === port).map(([, , name]) => name);

	return [...new Set([...of("class_tx"), ...of("class_rx")])].filter((name) => !isPlain(name)).sort();
}

// Each class, with what lies below it added: the last one is the sum.
function layers(port, way) {
	const list = seriesOf(`class_${way}`).filter(([object]) => object === port)
		.sort(([, , a], [, , b]) => isPlain(a) - isPlain(b) || a.localeCompare(b));
	const known = store.t.map((_, i) => list.some(([, values]) => values[i] !== null));
	let below = new Array(store.t.length).fill(0);

	return list.map(([, values, name]) => {
		below = below.map((v, i) => v + (values[i] ?? 0));
		return { name, values, top: below.map((v, i) => known[i] ? v : null) };
	});
}

function options(parts, names, speed, width) {
	const colour = (name) => isPlain(name) ? style("--plain") : lineColour(names.indexOf(name));

	return {
		width, height: HEIGHT, padding: [8, 30, 0, 0],
		cursor: { sync: { key: "time" }, drag: { x: false, y: false }, y: false, points: { show: false } },
		legend: { show: false },
		scales: { x: { time: false, range: shownTimes }, y: { range: (u, min, max) => [0, speed || Math.max(max, 1)] } },
		axes: [timeAxis(), axis({ size: AXIS, values: (u, v) => v.map((x) => x ? format.bitrate(x) : "0"), space: 34 })],
		// The highest layer is drawn first, and the lower ones over it.
		series: [{}, ...parts.map(({ name }) => ({
			stroke: colour(name), fill: colour(name), width: 1, points: { show: false },
		}))],
		hooks: { draw: [drawEvents] },
	};
}

export function drawClassPlot(holder, port, way, speed) {
	const parts = layers(port, way), names = classNames(port);
	const last = (values) => format.bitrate(values.findLast((v) => v !== null));
	const key = JSON.stringify([way, speed, names, parts.map((p) => p.name)]);
	const plot = plots.get(port);

	holder.hidden = !parts.length;
	setAttribute(holder, "aria-label", `${port} by class: ${parts.map((p) => `${p.name} ${last(p.values)}`).join(", ")}`);
	parts.reverse();
	const data = [store.t.map((t) => t / 1000), ...parts.map((p) => p.top)];

	if (plot && plot.key === key) {
		plot.u.setData(data);
		return;
	}
	plot?.u.destroy();
	plots.delete(port);
	if (parts.length)
		plots.set(port, { u: new uPlot(options(parts, names, speed, holder.clientWidth), data, holder), key });
}

export function fitClassPlots() {
	for (const { u } of plots.values())
		if (u.root.parentElement?.clientWidth)
			u.setSize({ width: u.root.parentElement.clientWidth, height: HEIGHT });
}

// The next drawing makes them anew, in the colours that hold then.
export function dropClassPlots() {
	for (const { u } of plots.values())
		u.destroy();
	plots.clear();
}
