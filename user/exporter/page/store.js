// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What the exporter told: the last reading, the points of the last minutes, and events.

import * as format from "./format.js";

// As many points as the exporter keeps of a recording.
const POINTS = 20000;
const EVENTS = 256;

export const store = {
	state: null,		// the last reading
	t: [],			// times of the points, ms
	series: new Map(),	// name: values at these times, null where unknown
	events: [],		// oldest first
};

export const isRecorded = () => Boolean(store.state && store.state.recording);

// A time of a reading or event, for people.
export function clock(ms) {
	const last = store.t.length ? store.t[store.t.length - 1] : 0;

	return format.clock(ms, isRecorded(), last < 5000);
}

function addEvents(events) {
	const last = store.events.length ? store.events[store.events.length - 1].n : -1;

	store.events.push(...events.filter((e) => e.n > last));
	store.events.splice(0, Math.max(0, store.events.length - EVENTS));
}

export function takeTrend(trend) {
	store.t = trend.t;
	store.series = new Map(Object.entries(trend.series));
	store.events = [];
	addEvents(trend.events);
}

function addPoint(t, points) {
	const n = store.t.length;

	if (t === undefined || (n && t <= store.t[n - 1]))
		return;
	store.t.push(t);
	for (const values of store.series.values())
		values.push(null);
	for (const [name, v] of Object.entries(points)) {
		if (!store.series.has(name))
			store.series.set(name, new Array(n + 1).fill(null));
		store.series.get(name)[n] = v;
	}
	if (n >= POINTS) {
		store.t.shift();
		for (const [name, values] of store.series) {
			values.shift();
			if (values.every((v) => v === null))
				store.series.delete(name);
		}
	}
}

export function takeState(message) {
	store.state = message.state;
	addPoint(message.state.t, message.state.points || {});
	addEvents(message.events);
}

// Series of a kind, by object: seriesOf("p99") has ["kv", values]; of a class ["mlx5_0/1",
// values, "priority 3"].
export function seriesOf(kind) {
	const list = [];

	for (const [name, values] of store.series) {
		const [k, object, part] = name.split("|");

		if (k === kind)
			list.push([object, values, part]);
	}
	return list;
}
