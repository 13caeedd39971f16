// Bars and heat maps in a plane whose vertical axis is a list of names.

import { h, s } from "./dom.js";
import { number } from "./format.js";
import { heatClass, HEAT_STEPS } from "./palette.js";
import { Plane } from "./plane.js";

const ROW = 20;
const CELL = 15;

/** Horizontal bars. rows: [{ name, value, text, colour }]; groups: [{ name, colour }] for the legend. */
export function barPlot({ title, label, rows, groups = [] }) {
  const most = greatest(rows);
  const plane = new Plane({
    title,
    height: 60 + ROW * rows.length,
    left: 210,
    x: { label, full: [0, most * 1.3] },
    y: { bands: rows.map((row) => row.name) },
    draw: (here) => rows.map((row, place) => bar(here, row, place)),
    at: (here, x, y) => {
      const row = rows[Math.floor(y)];
      return row ? [row.name, `${label}: ${number(row.value)}`, row.text] : [];
    },
  });
  const legend = h(
    "div",
    { class: "legend" },
    groups.map((group) =>
      h(
        "span",
        { class: "legend-entry" },
        s(
          "svg",
          { class: "swatch", width: 14, height: 10, "aria-hidden": "true" },
          s("rect", { class: `bar c${group.colour}`, width: 14, height: 10 }),
        ),
        group.name,
      ),
    ),
  );
  return { plane, element: h("div", {}, plane.element, legend) };
}

function bar(plane, row, place) {
  const [top, bottom] = [plane.py(place + 0.14), plane.py(place + 0.86)];
  const [from, to] = [plane.px(0), plane.px(row.value)];
  return s(
    "g",
    {},
    s("rect", { class: `bar c${row.colour}`, x: from, y: top, width: Math.max(to - from, 0), height: bottom - top }),
    s("text", { class: "bar-text", x: to + 5, y: (top + bottom) / 2 + 4 }, row.text),
  );
}

/** A heat map. cells: [{ row (index into names), begin, end, value }]; x: the axis of time. */
export function heatPlot({ title, unit, names, cells, x }) {
  const most = greatest(cells);
  const byRow = names.map((_, row) => cells.filter((cell) => cell.row === row));
  const plane = new Plane({
    title,
    x,
    y: { bands: names },
    left: 180,
    height: 55 + Math.max(CELL * names.length, 40),
    draw: (here) => heat(here, cells, most),
    at: (here, value, y) => {
      const hit = byRow[Math.floor(y)]?.find((cell) => cell.begin <= value && value <= cell.end);
      return hit ? [names[hit.row], `${number(value, 5)}: ${number(hit.value)} ${unit}`] : [];
    },
  });
  return { plane, element: h("div", {}, plane.element, ramp(most, unit)) };
}

/** A path for each shade: thousands of cells are a few elements. */
function heat(plane, cells, most) {
  const paths = Array.from({ length: HEAT_STEPS }, () => []);
  for (const cell of cells) {
    const [from, to] = [plane.px(cell.begin), plane.px(cell.end)];
    if (to < plane.left || from > plane.left + plane.inner[0]) continue;
    const [top, bottom] = [plane.py(cell.row + 0.06), plane.py(cell.row + 0.94)];
    const shade = Math.min(Math.floor((cell.value / most) * HEAT_STEPS), HEAT_STEPS - 1);
    paths[shade].push(`M${px(from)} ${px(top)}H${px(Math.max(to, from + 1))}V${px(bottom)}H${px(from)}Z`);
  }
  return paths.map((path, shade) => (path.length ? s("path", { class: heatClass(shade), d: path.join("") }) : null));
}

function greatest(ones) {
  return ones.reduce((most, one) => Math.max(most, one.value), 1e-12);
}

function px(value) {
  return value.toFixed(1);
}

/** The scale of shades from 0 to the greatest value. kind: "heat", or "load" for those of links. */
export function ramp(most, unit, kind = "heat") {
  const wide = 12;
  return h(
    "div",
    { class: "ramp", "aria-label": `shades from 0 to ${number(most)} ${unit}`, role: "img" },
    h("span", {}, "0"),
    s(
      "svg",
      { width: HEAT_STEPS * wide, height: 12 },
      Array.from({ length: HEAT_STEPS }, (_, shade) =>
        s("rect", { class: `${kind}-${shade}`, x: shade * wide, width: wide, height: 12 }),
      ),
    ),
    h("span", {}, `${number(most)} ${unit}`),
  );
}
