// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Elements that stay while their text changes, so that focus and selection survive a reading.

import { UNKNOWN } from "./format.js";

export const byId = (id) => document.getElementById(id);

export function make(tag, options = {}, ...children) {
	const e = document.createElement(tag);

	for (const [name, value] of Object.entries(options)) {
		if (name === "text")
			e.textContent = value;
		else if (name === "class")
			e.className = value;
		else if (name.startsWith("on"))
			e.addEventListener(name.slice(2), value);
		else
			e.setAttribute(name, value);
	}
	e.append(...children);
	return e;
}

export function setText(e, text) {
	if (e.textContent !== text)
		e.textContent = text;
}

export function setAttribute(e, name, value) {
	if (e.getAttribute(name) !== value)
		e.setAttribute(name, value);
}

export function setClass(e, value) {
	if (e.className !== value)
		e.className = value;
}

// Makes the children of @parent those of @items, in this order. A child keeps its element as
// long as there is an item with its key. @create makes an element, @update fills it.
export function keyed(parent, items, key, create, update) {
	const old = parent.keyed || new Map(), now = new Map();
	let at = parent.firstElementChild;

	for (const item of items) {
		const k = key(item), e = old.get(k) || create(item);

		now.set(k, e);
		if (e === at)
			at = at.nextElementSibling;
		else
			parent.insertBefore(e, at);
		// In its place it has its width.
		update(e, item);
	}
	for (const [k, e] of old)
		if (!now.has(k))
			e.remove();
	parent.keyed = now;
}

// Unknown figures take no line in a narrow window.
export function setCell(cell, text) {
	setText(cell, text);
	cell.toggleAttribute("data-empty", text === UNKNOWN);
}

// A row of a table whose cells are named, for a narrow window in which each is a line.
export function makeRow(labels, numeric = []) {
	const row = make("tr");

	labels.forEach((label, i) => {
		const cell = make(i ? "td" : "th", { "data-label": label });

		if (!i)
			cell.setAttribute("scope", "row");
		if (numeric.includes(i))
			cell.classList.add("n");
		row.append(cell);
	});
	return row;
}

export const columns = (table) => [...table.tHead.rows[0].cells].map((c) => c.textContent);
export const numericColumns = (table) => [...table.tHead.rows[0].cells]
	.flatMap((c, i) => c.classList.contains("n") ? [i] : []);
