// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Devices and their ports: a bar of the port's speed, divided by class.

import { classNames, drawClassPlot, isPlain } from "./class_plot.js";
import { byId, keyed, make, setAttribute, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { store } from "./store.js";

// The direction that is busier, and its classes; what no class has is "not by class".
function partsOf(port) {
	const way = (port.rx ?? 0) > (port.tx ?? 0) ? "rx" : "tx", all = port[way] ?? 0;
	const parts = port.classes.filter((c) => c[way] > 0)
		.map((c) => ({ name: c.name, rate: c[way] }));
	const sum = parts.reduce((n, p) => n + p.rate, 0);

	if (!parts.length && all > 0)
		parts.push({ name: "all traffic", rate: all });
	else if (all > sum * 1.01)
		parts.push({ name: "not by class", rate: all - sum });
	return { way, all: Math.max(all, sum), parts };
}

function create() {
	return make("article", { class: "port" },
		make("h3"), make("p", { class: "quiet facts" }),
		make("div", { class: "bar", role: "img" }), make("ul", { class: "legend" }), make("div", { class: "plot", role: "img" }), make("p", { class: "facts" }));
}

const colourClass = (names, p) => isPlain(p.name) ? "plain" : `c${names.indexOf(p.name) % 8}`;

const percent = (part, whole) => `${Math.min(100, 100 * part / whole)}%`;

function fill(e, port) {
	const [title, facts, bar, legend, plot, more] = e.children, { way, all, parts } = partsOf(port);
	const speed = port.speed || all || 1, key = (p) => p.name;
	const names = classNames(`${port.dev}/${port.port}`);
	const use = port.speed ? `, ${format.ratio(all / port.speed)} of ${format.bitrate(port.speed)}` : ", speed unknown";
	const known = port.tx !== undefined;

	setText(title, `${port.dev}, port ${port.port}${port.netdev ? ` (${port.netdev})` : ""}`);
	setText(facts, known ? `${way === "tx" ? "sends" : "receives"} ${format.bitrate(all)}${use}` : "no traffic was read yet");
	setAttribute(bar, "aria-label", parts.map((p) => `${p.name} ${format.bitrate(p.rate)}`).join(", ") || "no traffic");
	keyed(bar, parts, key, () => make("span"), (span, p) => {
		setClass(span, `part ${colourClass(names, p)}`);
		span.style.width = percent(p.rate, speed);
	});
	keyed(legend, parts, key, () => make("li", {}, make("span", { "aria-hidden": "true" }), make("span"), make("strong")), (li, p) => {
		setClass(li.children[0], `swatch ${colourClass(names, p)}`);
		setText(li.children[1], p.name);
		setText(li.children[2], format.bitrate(p.rate));
	});
	drawClassPlot(plot, `${port.dev}/${port.port}`, way, port.speed);
	setText(more, [
		port.pauses > 0 && `the switch pauses it ${format.rate(port.pauses)}`,
		port.cnps > 0 && `congestion is notified ${format.rate(port.cnps)}`,
	].filter(Boolean).join("; "));
	more.hidden = !more.textContent;
}

function deviceText(d) {
	return [
		format.plural(d.qps, "QP"), d.active_qps !== undefined && `${d.active_qps} active`,
		format.plural(d.uars, "UAR"),
		d.qpc_miss !== undefined && `QP cache misses ${format.ratio(d.qpc_miss)}`,
		d.mtt_miss !== undefined && `translation misses ${format.ratio(d.mtt_miss)}`,
		d.pcie_stall !== undefined && `PCIe stalled ${format.ratio(d.pcie_stall)} of the time`,
		d.db_congestion > 0 && `doorbells congested ${format.rate(d.db_congestion)}`,
	].filter(Boolean).join(", ");
}

export function drawPorts() {
	const state = store.state;

	keyed(byId("ports"), state.devs, (d) => d.name,
		() => make("section", {}, make("h3", { class: "device" }), make("p", { class: "quiet" }), make("div")),
		(e, d) => {
			setText(e.children[0], d.name);
			setText(e.children[1], deviceText(d));
			keyed(e.children[2], state.ports.filter((p) => p.dev === d.name), (p) => p.port, create, fill);
		});
}
