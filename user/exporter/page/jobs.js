// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Jobs with their targets, and what is in force.

import { byId, columns, keyed, make, makeRow, numericColumns, setCell, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { knobName, knobText } from "./knob.js";
import { openJob } from "./detail.js";
import { leftMs } from "./summary.js";
import { store } from "./store.js";

let readAt = 0;

// One text for a knob that has the same value on all devices.
function forceText(job) {
	const texts = new Map();

	for (const k of job.in_force) {
		const text = knobText(k);

		texts.set(text, [...(texts.get(text) || []), k.dev]);
	}
	const all = new Set(job.in_force.map((k) => k.dev)).size;

	return [...texts].map(([text, devs]) => devs.length === all ? text : `${text} (${devs.join(", ")})`)
		.join(", ") || format.UNKNOWN;
}

function verdict(job) {
	if (job.met !== undefined)
		return job.met ? ["✓ met", "good"] : ["✗ missed", "bad"];
	return [job.slo_p99 ? "not measured" : "no target", "quiet"];
}

function whyNoP99(job) {
	return job.library ? "too few samples" : "no library";
}

function fillJob(row, job) {
	const c = row.cells, [text, tone] = verdict(job);

	setText(c[0].firstChild, job.name);
	setText(c[1], job.class);
	setCell(c[2], job.p99 === undefined ? whyNoP99(job) : format.time(job.p99));
	setCell(c[3], format.time(job.slo_p99));
	setCell(c[4], text);
	setClass(c[4], tone);
	setCell(c[5], format.time(job.p50));
	setCell(c[6], job.byte_rate === undefined ? format.rate(job.rate, job.unit) : format.bitrate(job.byte_rate));
	setCell(c[7], format.count(job.qps));
	setCell(c[8], forceText(job));
}

export function drawJobs() {
	const state = store.state, table = byId("jobs-table"), labels = columns(table);
	// Those that miss their target come first, then those that have one.
	const order = (j) => j.met === false ? 0 : j.slo_p99 ? 1 : 2;
	const jobs = [...state.jobs].sort((a, b) => order(a) - order(b) || a.name.localeCompare(b.name));
	const none = byId("jobs-none");

	keyed(table.tBodies[0], jobs, (j) => j.name, (job) => {
		const row = makeRow(labels, numericColumns(table));

		row.cells[0].append(make("button", {
			type: "button", class: "link", onclick: () => openJob(job.name),
		}));
		return row;
	}, fillJob);
	table.hidden = !jobs.length;
	none.hidden = jobs.length > 0 && jobs.length === state.all_jobs;
	setText(none, !jobs.length ? (state.admin ? "There is no job: swiftrdma job set makes one." :
		"The exporter may not see jobs, because it lacks CAP_NET_ADMIN.") :
		`${jobs.length} of ${state.all_jobs} jobs are shown.`);
}

// --- in force ------------------------------------------------------------------------

function targetText(o) {
	const dev = o.dev ? ` on ${o.dev}` : "";

	return o.job ? `job ${o.job}${dev}` : `QP ${o.qpn}${dev}`;
}

function endText(o) {
	const left = leftMs(o, readAt);

	return left ? format.time(Math.ceil(left / 100) * 1e8) : "now, unless renewed";
}

function fillOverride(row, o) {
	const c = row.cells;

	setText(c[0], targetText(o));
	setText(c[1], knobName(o));
	setText(c[2], o.in_force ? o.value : `${o.value} (outranked)`);
	setText(c[3], `${o.origin}, rank ${o.rank}, lease ${o.lease}`);
	setText(c[4], endText(o));
	setText(c[5], `${o.done} of ${o.qps}`);
	// The agent's reasons begin with the name of the policy.
	setText(c[6], o.reason || (o.policy ? `policy ${o.policy}` : format.UNKNOWN));
}

// Between readings only the time that is left goes on.
export function drawEnds() {
	const rows = byId("force-table").tBodies[0].keyed;

	for (const o of store.state?.overrides || []) {
		const row = rows?.get(keyOf(o));

		if (row)
			setText(row.cells[4], endText(o));
	}
}

const keyOf = (o) => [o.lease, o.job, o.dev, o.qpn, o.knob].join("|");

export function drawForce() {
	const state = store.state, table = byId("force-table"), labels = columns(table);
	const overrides = state.overrides || [], forced = state.jobs.filter((j) => j.in_force.length);

	readAt = Date.now();
	keyed(table.tBodies[0], overrides, keyOf, () => makeRow(labels, numericColumns(table)), fillOverride);
	table.hidden = !overrides.length;
	setText(byId("force-none"), overrides.length ? "" :
		state.overrides ? "Nothing: each queue pair has what its application asked for." :
		forced.length ? `${format.some(forced.map((j) => `job ${j.name}: ${forceText(j)}`))}. A recording does not have the leases.` :
		state.recording ? "Nothing that the recording tells." :
		"The exporter may not see it, because it lacks CAP_NET_ADMIN.");
}
