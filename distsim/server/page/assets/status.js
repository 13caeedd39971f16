// How a run stands: words, signs and colours, and the bar of its progress.

import { h } from "./dom.js";
import { count, number, simulated } from "./format.js";

const SIGNS = {
  running: "▶",
  validating: "…",
  provisioning: "…",
  completed: "✓",
  finished: "✓",
  unfinished: "!",
  interrupted: "■",
  terminated: "■",
  failed: "×",
  invalid: "×",
};
const GOING = new Set(["running", "validating", "provisioning"]);

/** Whether a run is still going on. */
export function isGoing(status) {
  return GOING.has(status);
}

/** A status as a badge: a sign and a word, so that colour alone says nothing. */
export function badge(status) {
  return h(
    "span",
    { class: `badge status-${status}` },
    h("span", { "aria-hidden": "true" }, SIGNS[status] ?? "?"),
    ` ${status}`,
  );
}

/** progress: { fraction (null: not known), flows_done, flows_total, simulated_s, left_s }. */
export function progressBar(progress, name) {
  const known = progress.fraction !== null && progress.fraction !== undefined;
  const value = known ? Math.round(progress.fraction * 1000) / 10 : null;
  return h(
    "div",
    { class: "progress" },
    h("progress", { max: 100, ...(known ? { value } : {}), "aria-label": `Progress of ${name}` }),
    h("span", { class: "progress-text" }, progressText(progress, value)),
  );
}

function progressText(progress, value) {
  const said = [
    value === null ? "" : `${number(value, 3)} %`,
    progress.flows_total
      ? `${count(progress.flows_done)} of ${count(progress.flows_total)} flows`
      : progress.flows_done
        ? `${count(progress.flows_done)} flows done`
        : "",
    progress.simulated_s ? `${simulated(progress.simulated_s)} simulated` : "",
  ];
  return said.filter(Boolean).join(", ") || "starting";
}
