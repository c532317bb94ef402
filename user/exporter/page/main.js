// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Follows the exporter's events, and draws each reading.

import { dropClassPlots, fitClassPlots } from "./class_plot.js";
import { drawDecisions } from "./decisions.js";
import { drawDetail, prepareDetail } from "./detail.js";
import { byId } from "./dom.js";
import { drawEnds, drawForce, drawJobs } from "./jobs.js";
import { drawPlots, redrawPlots, watchSize } from "./plots.js";
import { drawPorts } from "./ports.js";
import { drawHead, setStatus } from "./summary.js";
import { drawLegend, drawUars } from "./uars.js";
import { store, takeState, takeTrend } from "./store.js";

let drawing = false;
let events = null;

// Readings that come at once are drawn once.
function draw() {
	drawing = false;
	if (!store.state)
		return;
	drawHead();
	drawPlots();
	drawDecisions();
	if (store.state.up) {
		drawJobs();
		drawForce();
		drawPorts();
		drawUars();
		drawDetail();
	}
	document.documentElement.dataset.reading = store.state.reading;
}

function drawSoon() {
	if (!drawing)
		requestAnimationFrame(draw);
	drawing = true;
}

function redraw() {
	dropClassPlots();
	redrawPlots();
	draw();
}

function follow() {
	events = new EventSource("events");
	events.addEventListener("trend", (e) => takeTrend(JSON.parse(e.data)));
	events.addEventListener("state", (e) => {
		takeState(JSON.parse(e.data));
		drawSoon();
	});
	events.addEventListener("error", () => {
		setStatus(events.readyState === EventSource.CLOSED ? "The exporter refuses: reload the page to try again" :
			"The exporter does not answer; trying again", "bad");
	});
}

// A tab that nobody sees is no viewer: a browser has few connections to a host for all its tabs.
function followIfSeen() {
	events?.close();
	events = null;
	if (document.visibilityState === "visible")
		follow();
}

prepareDetail();
drawLegend();
watchSize();
byId("range").addEventListener("change", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", fitClassPlots);
setInterval(drawEnds, 500);
document.addEventListener("visibilitychange", followIfSeen);
followIfSeen();
