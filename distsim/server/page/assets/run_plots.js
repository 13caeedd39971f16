// The tab with the plots of a run.

import { get, query, saveText } from "./api.js";
import { button, field, fill, h, notice, select } from "./dom.js";
import { cell, count } from "./format.js";
import { PLOTS, rowsOf } from "./plots.js";

const LISTED = 100; // rows of the table below a plot

/** The tab: element, close(). */
export function plotsTab(run) {
  const chooser = h("div", { class: "choices", role: "group", "aria-label": "Plots" });
  const options = h("form", {
    class: "plot-options",
    on: {
      submit: (event) => {
        event.preventDefault();
        show();
      },
    },
  });
  const place = h("div", { class: "plot-place", "aria-live": "off" });
  const element = h("section", { "aria-label": "Plots" }, chooser, options, place);
  let plots = [];
  let chosen = null;
  let planes = [];
  let asked = null;

  async function open() {
    try {
      plots = (await get(`${run.page}/plots`)).plots;
    } catch (error) {
      fill(place, notice("error", error.message));
      return;
    }
    choose(plots[0].name);
  }

  function choose(name) {
    chosen = plots.find((plot) => plot.name === name);
    fill(
      chooser,
      plots.map((plot) =>
        button(plot.title, () => choose(plot.name), { "aria-pressed": String(plot === chosen), title: plot.summary }),
      ),
    );
    fill(
      options,
      chosen.takes.includes("nodes")
        ? field("Nodes", h("input", { name: "node", size: 18, placeholder: "NIC-0, Rack*" }))
        : null,
      chosen.takes.includes("flows")
        ? field("Flows", h("input", { name: "flow", size: 18, placeholder: "32.0.0.1:1" }))
        : null,
      chosen.takes.includes("top")
        ? field(
            "At most",
            select(
              [
                ["", "as fit"],
                ["3", "3"],
                ["6", "6"],
                ["10", "10"],
                ["20", "20"],
                ["40", "40"],
              ],
              "",
              show,
              { name: "top" },
            ),
          )
        : null,
      chosen.takes.length ? h("button", { type: "submit" }, "Show") : null,
    );
    show();
  }

  async function show() {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    clear();
    fill(place, h("p", { class: "note" }, "Working it out …"));
    const given = new FormData(options);
    const list = (name) =>
      String(given.get(name) ?? "")
        .split(",")
        .map((one) => one.trim())
        .filter(Boolean);
    try {
      const found = await get(
        `${run.page}/plots/${chosen.name}${query({ node: list("node"), flow: list("flow"), top: given.get("top") })}`,
        { signal },
      );
      if (!signal.aborted) draw(found);
    } catch (error) {
      if (error.name !== "AbortError") fill(place, notice("error", error.message));
    }
  }

  function draw(found) {
    if (found.missing) {
      fill(place, notice("info", `${found.missing}.`));
      return;
    }
    const make = PLOTS[chosen.name];
    const made = make === undefined ? [] : make(rowsOf(found.columns));
    planes = made.filter((one) => one.plane).map((one) => one.plane);
    fill(
      place,
      h(
        "p",
        { class: "note" },
        chosen.summary,
        ". Wheel or + and - zoom, drag or arrow keys move; with Shift the wheel and arrows zoom the vertical axis; ",
        "double click or 0 shows all.",
      ),
      made.map((one) =>
        one.plane
          ? h("figure", { class: "figure" }, one.heading ? h("figcaption", {}, one.heading) : null, one.element)
          : h("p", { class: "note" }, one),
      ),
      table(found.columns, `${run.name}-${chosen.name}`, make === undefined),
    );
  }

  function clear() {
    planes.forEach((plane) => plane.close());
    planes = [];
  }

  open();
  return {
    element,
    close: () => {
      asked?.abort();
      clear();
    },
  };
}

/** What was drawn, as a table and as a file. */
function table(columns, name, open) {
  const names = Object.keys(columns);
  const rows = rowsOf(columns);
  const csv = () =>
    [names, ...rows.map((row) => names.map((key) => quoted(row[key])))].map((line) => line.join(",")).join("\n");
  return h(
    "details",
    { open },
    h("summary", {}, `The ${count(rows.length)} rows behind it`),
    button("Download as CSV", () => saveText(`${csv()}\n`, `${name}.csv`, "text/csv")),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows behind the plot" },
      h(
        "table",
        { class: "rows" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            names.map((key) => h("th", { scope: "col" }, key)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.slice(0, LISTED).map((row) =>
            h(
              "tr",
              {},
              names.map((key) => h("td", {}, cell(row[key]))),
            ),
          ),
        ),
      ),
    ),
    rows.length > LISTED ? h("p", { class: "note" }, `The first ${LISTED}; the file has all.`) : null,
  );
}

function quoted(value) {
  const text = value === null ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
