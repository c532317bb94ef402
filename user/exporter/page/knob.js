// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
// Knobs without the object that they are of: "level", not "job.level".

export const knobName = (k) => k.knob.replace(/^job\./, "");

export const knobText = (k) => `${knobName(k)} ${k.value}`;
