// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The head of the page: what is shown, and the four things to look at first.

import { byId, keyed, make, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { clock, isRecorded, store } from "./store.js";

// What the leases of overrides leave, less the time since they were read.
export const leftMs = (override, readAt) => Math.max(0, override.left_ms - (Date.now() - readAt));

function busiest(state) {
	let most = null;

	for (const p of state.ports) {
		const use = p.speed ? Math.max(p.tx ?? 0, p.rx ?? 0) / p.speed : null;

		if (use !== null && (!most || use > most.use))
			most = { name: `${p.dev}/${p.port}`, use, speed: p.speed };
	}
	return most;
}

function tiles(state) {
	const judged = state.jobs.filter((j) => j.met !== undefined);
	const missed = judged.filter((j) => !j.met);
	const port = busiest(state);
	const crowded = state.uars.filter((u) => u.contention === "hard");
	const forced = (state.overrides || []).filter((o) => o.in_force);
	const jobsForced = state.jobs.filter((j) => j.in_force.length);

	return [
		{
			key: "slo", name: "Jobs that miss their target",
			value: judged.length ? `${missed.length} of ${judged.length}` : "none measured",
			tone: missed.length ? "bad" : judged.length ? "good" : "",
			text: missed.length ? format.some(missed.map((j) => j.name)) :
				judged.length ? "all meet it" : "no job has a target and a p99",
		},
		{
			key: "port", name: "Busiest port", value: port ? format.ratio(port.use) : "unknown",
			tone: port && port.use > 0.8 ? "warn" : "",
			text: port ? `${port.name}, of ${format.bitrate(port.speed)}` : "no port tells its speed",
		},
		{
			key: "uars", name: "Contended UARs", value: String(crowded.length),
			tone: crowded.length ? "bad" : "",
			text: crowded.length ? format.some([...new Set(crowded.map((u) => u.comm || u.owner))]) :
				`of ${format.plural(state.all_uars, "UAR")}`,
		},
		{
			key: "force", name: "In force",
			value: state.overrides ? format.plural(forced.length, "change") :
				format.plural(jobsForced.length, "job"),
			tone: "", text: state.overrides ? "each ends with its lease" : "leases are not in a recording",
		},
	];
}

const signs = { bad: "✗ ", good: "✓ ", warn: "▲ ", "": "" };

function drawTiles(state) {
	keyed(byId("summary"), tiles(state), (t) => t.key,
		() => make("div", { class: "tile" }, make("dt"), make("dd", { class: "value" }), make("dd", { class: "quiet" })),
		(e, t) => {
			setText(e.children[0], t.name);
			setText(e.children[1], signs[t.tone] + t.value);
			setClass(e.children[1], `value ${t.tone}`);
			setText(e.children[2], t.text);
		});
}

export function setStatus(text, tone) {
	setText(byId("status"), text);
	setClass(byId("status"), `status ${tone}`);
}

export function drawHead() {
	const state = store.state;

	setText(byId("source"), isRecorded() ? `Recording ${state.recording}` : "Figures of this host");
	if (!state.up) {
		setStatus(`No reading: ${state.why}`, "bad");
		setText(byId("agent"), "");
		return;
	}
	setStatus(isRecorded() ? `At ${clock(state.t)} of the recording` :
		`Read at ${clock(state.t)}`, "good");
	setText(byId("agent"), !state.armed ? "The module is disarmed: it changes nothing" :
		state.agent === undefined ? "" : state.agent ? `The agent acts by ${state.policy_file}` :
		"No agent runs, so nothing is decided");
	document.title = `SwiftRDMA${isRecorded() ? `: ${state.recording}` : ""}`;
	drawTiles(state);
}
