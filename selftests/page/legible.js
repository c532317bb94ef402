// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// What makes a page hard to read. The first two functions run in the page.

// Elements whose text is cut off, or reaches out of the window.
export function overflowing() {
	const found = [];

	for (const e of document.querySelectorAll("body *:not(.plot *, .skip)")) {
		const style = getComputedStyle(e), box = e.getBoundingClientRect();

		if (!e.checkVisibility() || !box.width || !e.textContent.trim())
			continue;
		if (style.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1 && !e.matches(".plot"))
			found.push(`${e.tagName} ${e.className} is cut off: ${e.textContent.slice(0, 40)}`);
		if (style.textOverflow === "ellipsis")
			found.push(`${e.tagName} ${e.className} has an ellipsis`);
		if (box.right > innerWidth + 1 || box.left < -1)
			found.push(`${e.tagName} ${e.className} reaches out: ${e.textContent.slice(0, 40)}`);
	}
	return found;
}

// Texts of less contrast than WCAG's AA asks for.
export function lowContrast() {
	const rgb = (c) => c.match(/[\d.]+/g).map(Number);
	const linear = (v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
	const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
	const ground = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgb(getComputedStyle(e).backgroundColor);

			if (c.length < 4 || c[3] === 1)
				return c;
		}
		return [255, 255, 255];
	};
	const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);

	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;

		if (!walk.currentNode.textContent.trim() || !e.checkVisibility())
			continue;
		const a = light(rgb(getComputedStyle(e).color)), b = light(ground(e));
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

		if (contrast < 4.5)
			found.push(`${contrast.toFixed(1)}: ${walk.currentNode.textContent.trim().slice(0, 40)} (${e.tagName} ${e.className})`);
	}
	return found;
}

// Controls and pictures that a screen reader has no name for.
export async function unnamed(page) {
	const roles = ["button", "link", "combobox", "image", "img", "group", "dialog"], found = [];
	const visit = (node) => {
		if (roles.includes(node.role) && !node.name)
			found.push(`${node.role} without a name`);
		(node.children || []).forEach(visit);
	};

	visit(await page.accessibility.snapshot({ interestingOnly: false }));
	return found;
}
