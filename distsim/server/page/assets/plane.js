// The area of a plot: axes with units, zooming by wheel, drag, keys and buttons, and what stands under the pointer.

import { announce, button, fill, h, s } from "./dom.js";
import { number } from "./format.js";
import { Scale } from "./scales.js";

const MARGIN = { top: 8, right: 14, bottom: 42 };
const STEP = 1.3; // a notch of the wheel, a key
const PAN = 0.15;
const DRAG_PX = 4; // less is a click
let planes = 0;

/**
 * title: of the plot. x, y: { label, kind: "linear" | "log", full: [least, greatest], ticks: [[value, text]] } or, for
 * y, { bands: [names] }, from top to bottom. height: in px. left: room for the names of the y axis, px.
 * draw(plane): elements of what is inside the axes. at(plane, x, y): lines of text on what stands there, [] for
 * nothing. Zooming: x by the wheel, + - and arrows, y with Shift as well; drag moves, double click and 0 show all.
 */
export class Plane {
  constructor({ title, x, y, height = 280, left = 58, draw, at = () => [] }) {
    Object.assign(this, { title, x, y, height, left, draw, at });
    this.bands = y.bands ?? null;
    this.sx = new Scale(x.kind ?? "linear", x.full);
    this.sy = new Scale(y.kind ?? "linear", this.bands ? [0, this.bands.length] : y.full);
    this.width = 640;
    this.number = planes += 1;
    this.dragged = null;
    this.svg = s("svg", {
      class: "plane",
      tabindex: "0",
      role: "img",
      "aria-label": title,
      "aria-roledescription": "plot that can be zoomed",
      "aria-describedby": `plane-help-${this.number}`,
      height,
      on: {
        wheel: (event) => this.onWheel(event),
        keydown: (event) => this.onKey(event),
        dblclick: () => this.reset(),
        pointerdown: (event) => this.onDown(event),
        pointermove: (event) => this.onMove(event),
        pointerup: (event) => this.onUp(event),
        pointercancel: (event) => this.onUp(event),
        pointerleave: () => this.showTip(null),
      },
    });
    this.tip = h("div", { class: "tip", hidden: true });
    this.element = h(
      "div",
      { class: "plane-box" },
      this.tools(),
      h("div", { class: "plane-frame" }, this.svg, this.tip),
      h(
        "p",
        { class: "visually-hidden", id: `plane-help-${this.number}` },
        "Plus and minus zoom, arrow keys move, with Shift along the vertical axis, 0 shows all.",
      ),
    );
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.element);
  }

  /** Ends what the plane watches; call it when the plot is taken away. */
  close() {
    this.observer.disconnect();
  }

  get inner() {
    return [Math.max(this.width - this.left - MARGIN.right, 50), this.height - MARGIN.top - MARGIN.bottom];
  }

  /** Where a value stands, px. */
  px(value) {
    return this.left + this.sx.share(value) * this.inner[0];
  }

  py(value) {
    const share = this.sy.share(value);
    return MARGIN.top + (this.bands ? share : 1 - share) * this.inner[1];
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.render();
    });
  }

  reset() {
    this.sx.reset();
    this.sy.reset();
    this.changed();
  }

  zoom(factor, { x = 0.5, y = 0.5, vertical = false } = {}) {
    if (vertical) this.sy.zoom(factor, y);
    else this.sx.zoom(factor, x);
    this.changed();
  }

  changed() {
    this.redraw();
    const [low, high] = this.sx.ends;
    this.shown.textContent = this.sx.zoomed || this.sy.zoomed ? `${number(low, 5)} to ${number(high, 5)}` : "";
    clearTimeout(this.saying);
    this.saying = setTimeout(
      () => announce(`${this.title}: ${this.x.label} ${number(low, 5)} to ${number(high, 5)}`),
      600,
    );
  }

  tools() {
    this.shown = h("span", { class: "plane-shown" });
    return h(
      "div",
      { class: "plane-tools", role: "toolbar", "aria-label": `${this.title}: view` },
      this.shown,
      button("+", () => this.zoom(STEP * STEP), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
      button("−", () => this.zoom(1 / STEP / STEP), { "aria-label": "Zoom out", title: "Zoom out (-)" }),
      button("All", () => this.reset(), { "aria-label": "Show all", title: "Show all (0)" }),
    );
  }

  resized() {
    const width = Math.floor(this.element.clientWidth);
    if (width > 0 && width !== this.width) {
      this.width = width;
      this.render();
    }
  }

  render() {
    const [width, height] = this.inner;
    const clip = `clip-${this.number}`;
    this.svg.setAttribute("width", this.width);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    [this.svg.dataset.x0, this.svg.dataset.x1] = this.sx.ends;
    fill(
      this.svg,
      s("defs", {}, s("clipPath", { id: clip }, s("rect", { x: this.left, y: MARGIN.top, width, height }))),
      s("rect", { class: "plane-back", x: this.left, y: MARGIN.top, width, height }),
      this.axisX(),
      this.bands ? this.axisBands() : this.axisY(),
      s("g", { "clip-path": `url(#${clip})` }, this.draw(this)),
      (this.cursor = s("line", { class: "cursor", y1: MARGIN.top, y2: MARGIN.top + height, visibility: "hidden" })),
    );
  }

  axisX() {
    const [width, height] = this.inner;
    const bottom = MARGIN.top + height;
    const inside = (value) => this.sx.share(value) >= -1e-9 && this.sx.share(value) <= 1 + 1e-9;
    const ticks = (this.x.ticks ?? this.sx.ticks(width / 90)).filter(([value]) => inside(value));
    return s(
      "g",
      { class: "axis" },
      ticks.map(([value, text]) => [
        s("line", { class: "grid", x1: this.px(value), x2: this.px(value), y1: MARGIN.top, y2: bottom }),
        s("text", { x: this.px(value), y: bottom + 16, "text-anchor": "middle" }, text),
      ]),
      s(
        "text",
        { class: "axis-label", x: this.left + width / 2, y: bottom + 35, "text-anchor": "middle" },
        this.x.label,
      ),
    );
  }

  axisY() {
    const [width, height] = this.inner;
    const ticks = this.y.ticks ?? this.sy.ticks(height / 45);
    const middle = MARGIN.top + height / 2;
    return s(
      "g",
      { class: "axis" },
      ticks
        .filter(([value]) => this.sy.share(value) >= -1e-9 && this.sy.share(value) <= 1 + 1e-9)
        .map(([value, text]) => [
          s("line", { class: "grid", x1: this.left, x2: this.left + width, y1: this.py(value), y2: this.py(value) }),
          s("text", { x: this.left - 6, y: this.py(value) + 4, "text-anchor": "end" }, text),
        ]),
      s(
        "text",
        { class: "axis-label", x: 13, y: middle, "text-anchor": "middle", transform: `rotate(-90 13 ${middle})` },
        this.y.label,
      ),
    );
  }

  axisBands() {
    const room = this.inner[1] / (this.sy.view[1] - this.sy.view[0]);
    const every = Math.max(1, Math.ceil(12 / room));
    const letters = Math.floor((this.left - 8) / 6.2);
    return s(
      "g",
      { class: "axis" },
      this.bands.map((name, place) => {
        const y = this.py(place + 0.5);
        if (place % every !== 0 || y < MARGIN.top || y > MARGIN.top + this.inner[1]) return null;
        const text = name.length > letters ? `${name.slice(0, letters - 1)}…` : name;
        return s("text", { x: this.left - 6, y: y + 4, "text-anchor": "end" }, text, s("title", {}, name));
      }),
    );
  }

  onWheel(event) {
    event.preventDefault();
    const [x, y] = this.shares(event);
    const turned = event.deltaY || event.deltaX; // with Shift browsers turn the wheel sideways
    this.zoom(turned < 0 ? STEP : 1 / STEP, { x, y, vertical: event.shiftKey });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const up = event.shiftKey;
    const down = this.bands ? PAN : -PAN;
    const action = {
      "+": () => this.zoom(STEP, { vertical: false }),
      "=": () => this.zoom(STEP, {}),
      "*": () => this.zoom(STEP, { vertical: true }),
      "-": () => this.zoom(1 / STEP, {}),
      _: () => this.zoom(1 / STEP, { vertical: true }),
      0: () => this.reset(),
      Home: () => this.reset(),
      ArrowLeft: () => this.move(-PAN, 0),
      ArrowRight: () => this.move(PAN, 0),
      ArrowUp: () => (up ? this.zoom(STEP, { vertical: true }) : this.move(0, -down)),
      ArrowDown: () => (up ? this.zoom(1 / STEP, { vertical: true }) : this.move(0, down)),
    }[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  }

  move(x, y) {
    this.sx.pan(x);
    this.sy.pan(y);
    this.changed();
  }

  onDown(event) {
    if (event.button !== 0) return;
    this.dragged = { x: event.clientX, y: event.clientY, moved: false };
    this.svg.setPointerCapture(event.pointerId);
  }

  onMove(event) {
    if (this.dragged === null) {
      this.showTip(event);
      return;
    }
    const [dx, dy] = [event.clientX - this.dragged.x, event.clientY - this.dragged.y];
    if (!this.dragged.moved && Math.hypot(dx, dy) < DRAG_PX) return;
    Object.assign(this.dragged, { x: event.clientX, y: event.clientY, moved: true });
    this.showTip(null);
    this.move(-dx / this.inner[0], (this.bands ? -dy : dy) / this.inner[1]);
  }

  onUp() {
    this.dragged = null;
  }

  shares(event) {
    const box = this.svg.getBoundingClientRect();
    const [width, height] = this.inner;
    const y = (event.clientY - box.top - MARGIN.top) / height;
    return [(event.clientX - box.left - this.left) / width, this.bands ? y : 1 - y];
  }

  showTip(event) {
    const [x, y] = event === null ? [-1, -1] : this.shares(event);
    const lines = x >= 0 && x <= 1 && y >= 0 && y <= 1 ? this.at(this, this.sx.at(x), this.sy.at(y)) : [];
    this.tip.hidden = lines.length === 0;
    this.cursor?.setAttribute("visibility", lines.length > 0 ? "visible" : "hidden");
    if (lines.length === 0) return;
    const place = this.left + x * this.inner[0];
    this.cursor.setAttribute("x1", place);
    this.cursor.setAttribute("x2", place);
    fill(
      this.tip,
      lines.map((line) => h("div", {}, line)),
    );
    this.tip.classList.toggle("tip-left", x > 0.6);
    this.tip.style.left = `${place}px`;
  }
}
