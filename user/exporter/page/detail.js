// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// At a click on a job or UAR: its queue pairs, and what qp explain says of one of them.

import { byId, columns, keyed, make, makeRow, numericColumns, setCell, setText } from "./dom.js";
import * as format from "./format.js";
import { store } from "./store.js";

let query = null, explained = null, asked = 0;

async function ask(path) {
	const answer = await fetch(path);

	if (!answer.ok)
		throw new Error(answer.status === 404 ? "It is not there any more." : (await answer.text()).trim());
	return answer.json();
}

const query_ = (fields) => new URLSearchParams(fields).toString();

// --- qp explain ----------------------------------------------------------------------

function showExplanation(says) {
	const topics = Object.entries(says).filter(([, sentences]) => sentences.length);

	keyed(byId("explain-text"), topics, ([topic]) => topic,
		() => make("div", {}, make("dt"), make("dd")),
		(e, [topic, sentences]) => {
			setText(e.children[0], topic);
			keyed(e.children[1], sentences, (s) => s, () => make("p"), (p, s) => setText(p, s));
		});
}

async function explain(dev, qpn, focus) {
	explained = { dev, qpn };
	setText(byId("explain-title"), `What explains QP ${qpn} of ${dev}`);
	byId("explain").hidden = false;
	try {
		showExplanation((await ask(`explain?${query_({ dev, qpn })}`)).says);
	} catch (error) {
		showExplanation({ qp: [error.message] });
	}
	if (focus)
		byId("explain-title").focus();
}

// --- queue pairs ---------------------------------------------------------------------

function create(qp) {
	const table = byId("detail-table"), row = makeRow(columns(table), numericColumns(table));

	row.cells[0].append(make("button", {
		type: "button", class: "link", onclick: () => explain(qp.dev, qp.qpn, true),
	}));
	return row;
}

function fill(row, qp) {
	const c = row.cells;

	setText(c[0].firstChild, `${qp.dev} ${qp.qpn}`);
	setCell(c[1], qp.type);
	setCell(c[2], qp.state);
	setCell(c[3], qp.job || format.UNKNOWN);
	setCell(c[4], qp.comm ? `${qp.comm}${qp.pid ? ` (${qp.pid})` : ""}` : format.UNKNOWN);
	setCell(c[5], format.count(qp.uar));
	setCell(c[6], qp.rate !== undefined ? format.rate(qp.rate, qp.unit) : format.rate(qp.doorbells));
	setCell(c[7], format.count(qp.level));
	setCell(c[8], format.time(qp.queue_delay ?? qp.latency));
}

async function refresh() {
	const number = ++asked;

	try {
		const { all, qps } = await ask(`qps?${query}`);

		if (number !== asked)
			return;
		setText(byId("detail-text"), all > qps.length ? `The ${qps.length} busiest of ${format.plural(all, "queue pair")}` :
			all ? `${format.plural(all, "queue pair")}, the busiest first` : "It has no queue pair.");
		keyed(byId("detail-table").tBodies[0], qps, (q) => `${q.dev}/${q.qpn}`, create, fill);
	} catch (error) {
		if (number === asked)
			setText(byId("detail-text"), error.message);
	}
}

function open(title, fields) {
	query = query_(fields);
	explained = null;
	byId("explain").hidden = true;
	setText(byId("detail-title"), title);
	setText(byId("detail-text"), "");
	keyed(byId("detail-table").tBodies[0], [], (q) => q, create, fill);
	byId("detail").showModal();
	return refresh();
}

export const openJob = (name) => open(`Job ${name}`, { job: name });
export const openUar = (dev, uar) => open(`UAR ${uar} of ${dev}`, { dev, uar });

// With each reading, while it is open.
export function drawDetail() {
	if (!byId("detail").open || !store.state.up)
		return;
	refresh();
	if (explained)
		explain(explained.dev, explained.qpn, false);
}

export function prepareDetail() {
	const dialog = byId("detail");

	byId("detail-close").addEventListener("click", () => dialog.close());
	// A click beside the dialog is one on its backdrop.
	dialog.addEventListener("click", (event) => {
		if (event.target === dialog)
			dialog.close();
	});
}
