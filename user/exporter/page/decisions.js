// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// The list of decisions. A decision is marked in the plots while its line has the pointer or focus.

import { byId, keyed, make, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { knobName, knobText } from "./knob.js";
import { highlight, signOfEvent } from "./plots.js";
import { clock, store } from "./store.js";

const SHOWN = 50;

function whatText(e) {
	if (e.kind === "lease_end")
		return `lease ${e.lease} ${e.expired ? "ran out" : "was ended"}`;
	if (e.kind === "congestion")
		return "the device reports congested doorbells";
	if (e.kind === "lost")
		return "events were lost: some decisions are missing here";
	const of = e.job ? `job ${e.job}` : `QP ${e.qpn}`;

	return `${of}${e.dev ? ` on ${e.dev}` : ""}: ${e.clear ? `${knobName(e)} released` : knobText(e)}`;
}

function resultText(e) {
	const parts = [];

	if (e.kind !== "action")
		return "";
	if (e.error)
		parts.push(`refused: ${e.error}`);
	if (e.qps)
		parts.push(`${e.done} of ${format.plural(e.qps, "QP")} done`);
	if (e.pending)
		parts.push(`${e.pending} to be tried again`);
	if (e.cannot)
		parts.push(`${e.cannot} that cannot change`);
	return parts.join(", ");
}

const by = (e) => e.kind !== "action" ? "" : e.policy ? `by policy ${e.policy}` : "no policy decided it";

// A result that leaves queue pairs pending is told a second time: the last one is shown.
function latest(events) {
	const seen = new Set();

	return events.toReversed().filter((e) => {
		const key = e.kind === "action" ? `${e.batch}/${e.index}` : `n${e.n}`;

		return !seen.has(key) && seen.add(key);
	}).slice(0, SHOWN);
}

function create(e) {
	const item = make("li", { tabindex: "0", onpointerenter: () => highlight(e.n), onfocus: () => highlight(e.n) },
		make("span", { class: "when" }), make("span", { class: "sign", "aria-hidden": "true" }),
		make("span", { class: "what" }), make("span", { class: "quiet by" }),
		make("ul", { class: "values", "aria-label": "The values that it was decided by" }),
		make("p", { class: "reason" }), make("p", { class: "quiet result" }));

	item.addEventListener("pointerleave", () => highlight(null));
	item.addEventListener("blur", () => highlight(null));
	return item;
}

function fill(item, e) {
	const [when, sign, what, who, values, reason, result] = item.children;

	setText(when, clock(e.t));
	setText(sign, signOfEvent(e));
	setClass(sign, `sign ${e.kind !== "action" || e.error || e.cannot ? "bad" : e.clear ? "released" : "set"}`);
	setText(what, whatText(e));
	setText(who, by(e));
	keyed(values, e.values || [], (v) => v.signal, () => make("li"),
		(li, v) => setText(li, `${v.signal} ${v.value}`));
	values.hidden = !values.children.length;
	setText(reason, e.reason || "");
	reason.hidden = !e.reason;
	setText(result, resultText(e));
	result.hidden = !result.textContent;
}

export function drawDecisions() {
	keyed(byId("decisions"), latest(store.events), (e) => e.n, create, fill);
	byId("decisions-none").hidden = store.events.length > 0;
}
