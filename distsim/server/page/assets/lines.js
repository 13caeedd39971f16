// Lines, steps and bands in a plane, with a legend whose entries show and hide them.

import { button, h, s } from "./dom.js";
import { number } from "./format.js";
import { Plane } from "./plane.js";

const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4"];
const COLOURS = 8;
const ROOM = 26; // px that a text above a line needs from the top
export const MOST = 12; // lines that can be told apart

/**
 * A plot of lines. series: [{ name, begin, end, y, low, high, shape, colour, dash, marks, hollow }], arrays of equal
 * length; shape "line" joins (end, y), "step" holds y from each end to the next, "span" holds it from begin to end.
 * low, high: a band around it. levels: [{ value, name }], dashed lines across. unit: of y, for the tip.
 */
export function linePlot({ title, x, y, series, levels = [], height, unit = "" }) {
  const hidden = new Set();
  const shown = series.slice(0, MOST);
  const plane = new Plane({
    title,
    x,
    y,
    height,
    draw: (here) => [
      shown.filter((one) => !hidden.has(one)).map((one) => drawn(here, one, shown.indexOf(one))),
      levels.map((level) => levelLine(here, level)),
    ],
    at: (here, value) =>
      tipLines(
        shown.filter((one) => !hidden.has(one)),
        value,
        x,
        unit,
      ),
  });
  const legend = h(
    "div",
    { class: "legend", role: "group", "aria-label": `${title}: lines shown` },
    shown.map((one, place) => entry(one, place, hidden, plane)),
  );
  const more = series.length - shown.length;
  return {
    plane,
    element: h(
      "div",
      { class: "line-plot" },
      plane.element,
      legend,
      more > 0 ? h("p", { class: "note" }, `${more} further lines are not drawn.`) : null,
    ),
  };
}

function drawn(plane, one, place) {
  const look = { class: `line c${(one.colour ?? place) % COLOURS}`, "stroke-dasharray": dashOf(one, place) };
  const band = one.low
    ? s("path", { class: `band c${(one.colour ?? place) % COLOURS}`, d: bandPath(plane, one) })
    : null;
  const marks = one.marks
    ? one.y.map((value, index) =>
        s("circle", {
          class: `mark c${(one.colour ?? place) % COLOURS}${one.hollow?.[index] ? " hollow" : ""}`,
          cx: plane.px(one.end[index]),
          cy: plane.py(value),
          r: 3.5,
        }),
      )
    : null;
  return s("g", {}, band, s("path", { ...look, d: linePath(plane, one) }), marks);
}

function dashOf(one, place) {
  return DASHES[one.dash ?? Math.floor(place / COLOURS)] || null;
}

function linePath(plane, one) {
  const parts = [];
  let pen = false;
  for (let i = 0; i < one.y.length; i += 1) {
    if (one.y[i] === null) {
      pen = false;
      continue;
    }
    const [x, y] = [plane.px(one.end[i]).toFixed(1), plane.py(one.y[i]).toFixed(1)];
    if (one.shape === "span") {
      const from = plane.px(one.begin[i]).toFixed(1);
      const joined = pen && one.begin[i] <= one.end[i - 1];
      parts.push(`${joined ? "L" : "M"}${from} ${y}H${x}`);
    } else if (one.shape === "step") {
      parts.push(pen ? `H${x}V${y}` : `M${x} ${plane.py(0).toFixed(1)}V${y}`);
    } else {
      parts.push(`${pen ? "L" : "M"}${x} ${y}`);
    }
    pen = true;
  }
  return parts.join("");
}

function bandPath(plane, one) {
  const parts = [];
  for (let i = 0; i < one.y.length; i += 1) {
    if (one.low[i] === null || one.high[i] === null) continue;
    const [from, to] = [plane.px(one.begin[i]).toFixed(1), plane.px(one.end[i]).toFixed(1)];
    const [low, high] = [plane.py(one.low[i]).toFixed(1), plane.py(one.high[i]).toFixed(1)];
    parts.push(`M${from} ${low}H${to}V${high}H${from}Z`);
  }
  return parts.join("");
}

function levelLine(plane, level) {
  const y = plane.py(level.value);
  return s(
    "g",
    { class: "level" },
    s("line", { x1: plane.left, x2: plane.left + plane.inner[0], y1: y, y2: y }),
    s("text", { x: plane.left + plane.inner[0] - 4, y: y < ROOM ? y + 14 : y - 4, "text-anchor": "end" }, level.name),
  );
}

function tipLines(series, value, x, unit) {
  const found = series
    .map((one) => {
      const index = placeOf(one, value);
      return index < 0 || one.y[index] === null
        ? null
        : `${one.name}: ${number(one.y[index])}${unit && ` ${unit}`}${placed(one, index)}`;
    })
    .filter((line) => line !== null);
  return found.length ? [`${x.label}: ${number(value, 5)}`, ...found] : [];
}

/** Points say where they are; steps hold for a while. */
function placed(one, index) {
  return one.shape === "line" ? ` at ${number(one.end[index], 5)}` : "";
}

/** The index of what a series says of a value on the x axis, -1 for nothing. */
function placeOf(one, value) {
  const ends = one.end;
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] < value) low = middle + 1;
    else high = middle;
  }
  if (one.shape === "step") return ends[low] === value ? low : low - 1;
  if (one.shape === "span") return low < ends.length && one.begin[low] <= value ? low : -1;
  if (low === ends.length) return low - 1;
  return low > 0 && value - ends[low - 1] < ends[low] - value ? low - 1 : low;
}

function entry(one, place, hidden, plane) {
  const swatch = s(
    "svg",
    { class: "swatch", width: 26, height: 10, "aria-hidden": "true" },
    s("line", {
      class: `line c${(one.colour ?? place) % COLOURS}`,
      x1: 1,
      x2: 25,
      y1: 5,
      y2: 5,
      "stroke-dasharray": dashOf(one, place),
    }),
  );
  const key = button(
    swatch,
    () => {
      if (!hidden.delete(one)) hidden.add(one);
      key.setAttribute("aria-pressed", String(!hidden.has(one)));
      plane.redraw();
    },
    { "aria-pressed": "true", class: "legend-entry" },
  );
  key.append(h("span", {}, one.name));
  return key;
}
