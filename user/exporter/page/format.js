// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Figures with their units, as the command swiftrdma writes them: about three digits.

function digits(v) {
	const n = Math.abs(v) >= 100 ? 0 : Math.abs(v) >= 10 ? 1 : 2;

	return String(Number(v.toFixed(n)));
}

function scaled(v, steps) {
	// A value that would be rounded up to the next unit is written in that.
	const [by, unit] = steps.find(([b]) => Math.abs(v) >= b * 0.9995) || steps[steps.length - 1];

	return `${digits(v / by)} ${unit}`;
}

export const UNKNOWN = "–";

function known(v) {
	return v !== undefined && v !== null && Number.isFinite(v);
}

export function time(ns) {
	return !known(ns) ? UNKNOWN : !ns ? "0 s" :
		scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]]);
}

export function bitrate(v) {
	return !known(v) ? UNKNOWN :
		scaled(v, [[1e12, "Tbit/s"], [1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]]);
}

export function rate(v, unit = "") {
	return !known(v) ? UNKNOWN :
		scaled(v, [[1e9, `G${unit}/s`], [1e6, `M${unit}/s`], [1e3, `k${unit}/s`], [1, `${unit}/s`]]);
}

export function ratio(v) {
	return known(v) ? `${digits(v * 100)} %` : UNKNOWN;
}

export function count(v) {
	return known(v) ? String(v) : UNKNOWN;
}

// A recording has no time of day: its times are those since its first reading. @fine: in a
// recording of less than some seconds.
export function clock(ms, recorded, fine = false) {
	const two = (v) => String(v).padStart(2, "0");

	if (!recorded) {
		const d = new Date(ms);

		return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
	}
	if (fine)
		return `${Math.round(ms)} ms`;
	const s = Math.floor(ms / 1000), tenths = Math.floor(ms / 100) % 10;

	return `${Math.floor(s / 60)}:${two(s % 60)}${tenths ? `.${tenths}` : ""}`;
}

// The first names of a list, and how many there are beside them.
export function some(names, n = 3) {
	return names.length <= n + 1 ? names.join(", ") : `${names.slice(0, n).join(", ")} and ${names.length - n} more`;
}

export function plural(n, one, many = `${one}s`) {
	return `${n} ${n === 1 ? one : many}`;
}
