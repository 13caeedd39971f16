// The tab with the fabric of a run: links by load at an instant, a slider over time, the busiest links as a table.

import { get } from "./api.js";
import { ramp } from "./areas.js";
import { button, field, fill, h, notice, select } from "./dom.js";
import { FabricDrawing } from "./fabric_drawing.js";
import { count, number, simulated, timeUnit } from "./format.js";
import { linePlot } from "./lines.js";

const LISTED = 10;
const FRAME_MS = 250;
const WAYS = ["up", "down"];

/** The tab: element, close(). */
export function fabricTab(run) {
  const element = h("section", { "aria-label": "Fabric" }, h("p", { class: "note" }, "Looking at the fabric …"));
  const asked = new AbortController();
  let view = null;
  open();
  return {
    element,
    close: () => {
      asked.abort();
      view?.close();
    },
  };

  async function open() {
    try {
      const { signal } = asked;
      const graph = await get(`${run.page}/fabric`, { signal });
      if (graph.missing) {
        fill(element, notice("info", `There is no fabric to draw: ${graph.missing}.`));
        return;
      }
      const load = await get(`${run.page}/fabric/load`, { signal });
      view = new FabricView(graph, load);
      fill(element, view.element);
      view.open();
    } catch (error) {
      if (error.name !== "AbortError") fill(element, notice("error", error.message));
    }
  }
}

class FabricView {
  constructor(graph, load) {
    Object.assign(this, { graph, load, slot: 0, way: "both", figure: "mean", timer: 0 });
    this.drawing = new FabricDrawing(graph, () => this.tell());
    this.box = h("div", { class: "fabric-box" }, this.drawing.svg);
    this.details = h("div", { class: "details", "aria-live": "polite" });
    this.observer = new ResizeObserver(() => this.drawing.resize(Math.max(Math.floor(this.box.clientWidth), 320)));
    this.element = h(
      "div",
      {},
      graph.note ? notice("info", graph.note) : null,
      load.begin_s.length
        ? this.controls()
        : graph.edges.length
          ? notice(
              "info",
              "There is no load to show: nd-stats has no rows of this run yet, or ",
              "SimulationParameters.EnableNetDeviceStatLogging is false.",
            )
          : null,
      this.box,
      load.begin_s.length ? ramp(100, "% of a link's rate", "load") : null,
      this.trendBox ?? null,
      this.details,
    );
  }

  open() {
    this.observer.observe(this.box);
    this.drawing.resize(Math.max(Math.floor(this.box.clientWidth), 320));
    if (this.load.begin_s.length) this.move(this.busiestSlot());
    else this.tell();
  }

  close() {
    clearInterval(this.timer);
    this.observer.disconnect();
    this.trend?.close();
  }

  controls() {
    const last = this.load.begin_s.length - 1;
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: last,
      step: 1,
      "aria-label": "Time",
      class: "slider",
      disabled: last === 0,
      on: { input: () => this.move(Number(this.slider.value)) },
    });
    this.time = h("output", { class: "slider-time" });
    this.play = button("Play", () => this.toggle(), { disabled: last === 0 });
    if (last > 0) {
      const trend = this.trendPlot();
      this.trend = trend.plane;
      this.trendBox = h("details", { open: true }, h("summary", {}, "All links over time"), trend.element);
    }
    return h(
      "div",
      { class: "fabric-controls" },
      h("div", { class: "row" }, this.play, this.slider, this.time),
      h(
        "div",
        { class: "row" },
        field(
          "Direction",
          select(
            [
              ["both", "both"],
              ["up", "up, towards the spines"],
              ["down", "down, towards the NICs"],
            ],
            "both",
            (way) => {
              this.way = way;
              this.paint();
            },
          ),
        ),
        field(
          "Of several cables",
          select(
            [
              ["mean", "their mean"],
              ["max", "the busiest"],
            ],
            "mean",
            (figure) => {
              this.figure = figure;
              this.paint();
            },
          ),
        ),
      ),
    );
  }

  /** Mean and greatest load of all drawn links by direction. */
  trendPlot() {
    const { load } = this;
    const [factor, unit] = timeUnit(load.end_s[load.end_s.length - 1]);
    const [begin, end] = [load.begin_s, load.end_s].map((times) => times.map((time) => time * factor));
    const series = WAYS.flatMap((way, colour) =>
      [
        ["mean", mean],
        ["max", most],
      ].map(([figure, join], dash) => ({
        name: figure === "mean" ? `${way}, mean of all links` : `${way}, busiest link`,
        shape: "span",
        colour,
        dash,
        begin,
        end,
        y: begin.map((_, slot) => join(load[figure][way].map((values) => values[slot]))),
      })),
    );
    return linePlot({
      title: "Load of links over time",
      series,
      height: 170,
      unit: "%",
      x: { label: `simulation time (${unit})`, full: [begin[0], end[end.length - 1]] },
      y: { label: "load (%)", full: [0, 105] },
    });
  }

  busiestSlot() {
    const sums = this.load.begin_s.map((_, slot) =>
      WAYS.reduce((sum, way) => sum + (mean(this.load.mean[way].map((values) => values[slot])) ?? 0), 0),
    );
    return sums.indexOf(Math.max(...sums));
  }

  move(slot) {
    this.slot = slot;
    const { begin_s: begin, end_s: end } = this.load;
    const text = `${simulated(begin[slot])} to ${simulated(end[slot])}`;
    this.slider.value = String(slot);
    this.slider.setAttribute("aria-valuetext", text);
    this.time.textContent = `${text} (${slot + 1} of ${begin.length})`;
    this.paint();
  }

  toggle() {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = 0;
      this.play.textContent = "Play";
      return;
    }
    this.play.textContent = "Pause";
    this.timer = setInterval(() => this.move((this.slot + 1) % this.load.begin_s.length), FRAME_MS);
  }

  paint() {
    const at = (way) => this.load[this.figure][way].map((values) => values[this.slot]);
    this.now = { up: at("up"), down: at("down"), way: this.way };
    this.drawing.show(this.now);
    this.tell();
  }

  /** The chosen node's links, or the busiest of all, as a table. */
  tell() {
    const { selected } = this.drawing;
    const mine = this.graph.edges
      .map((edge, index) => ({ edge, index }))
      .filter(({ edge }) => selected < 0 || edge.lower === selected || edge.upper === selected);
    const busy = ({ index }) =>
      Math.max(
        ...WAYS.filter((way) => this.way === "both" || this.way === way).map((way) => this.now?.[way][index] ?? -1),
      );
    const rows = mine.sort((one, other) => busy(other) - busy(one)).slice(0, LISTED);
    if (rows.length === 0) {
      fill(this.details, selected < 0 ? null : h("p", {}, this.drawing.said(selected)));
      return;
    }
    const name = selected < 0 ? "The busiest links" : `${this.drawing.said(selected)}: ${count(mine.length)} links`;
    fill(
      this.details,
      h(
        "table",
        {},
        h("caption", {}, mine.length > LISTED && selected >= 0 ? `${name}, the busiest ${LISTED}` : name),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["lower end", "upper end", "cables", "Gb/s", "up (%)", "down (%)"].map((text) =>
              h("th", { scope: "col" }, text),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(({ edge, index }) =>
            h(
              "tr",
              {},
              h("td", {}, this.graph.groups[edge.lower].name),
              h("td", {}, this.graph.groups[edge.upper].name),
              h("td", { class: "number" }, count(edge.cables)),
              h("td", { class: "number" }, number(edge.gbps)),
              WAYS.map((way) => h("td", { class: "number" }, number(this.now?.[way][index] ?? null, 3))),
            ),
          ),
        ),
      ),
    );
  }
}

function mean(values) {
  const there = values.filter((value) => value !== null);
  return there.length ? there.reduce((sum, value) => sum + value, 0) / there.length : null;
}

function most(values) {
  const there = values.filter((value) => value !== null);
  return there.length ? there.reduce((greatest, value) => Math.max(greatest, value), 0) : null;
}
