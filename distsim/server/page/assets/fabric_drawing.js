// The drawing of a fabric: boxes, links coloured by load, one stop of the Tab key, arrow keys from node to node.

import { fill, s } from "./dom.js";
import { count, number } from "./format.js";
import { attachments, label, layout } from "./fabric_layout.js";
import { loadClass } from "./palette.js";

const MANY = 100; // links, beyond which they are drawn thinner
const SPREAD = 5; // px between both directions of a link

/** graph: as the server sends it. onSelect(index of a group, or -1). */
export class FabricDrawing {
  constructor(graph, onSelect) {
    Object.assign(this, { graph, onSelect, selected: -1, current: graph.groups.length - 1, width: 0, load: null });
    this.thin = graph.edges.length > MANY ? 100 : 33; // percent for a px of width
    this.svg = s("svg", {
      class: "fabric",
      role: "group",
      "aria-label": "The fabric, tiers from the NICs at the bottom up to the spines",
      on: { keydown: (event) => this.onKey(event) },
    });
  }

  /** Draws for a width in px. */
  resize(width) {
    if (width === this.width || width <= 0) return;
    this.width = width;
    const { boxes, rows, height } = layout(this.graph, width);
    this.boxes = boxes;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    const ends = attachments(this.graph, boxes);
    this.edges = this.graph.edges.map((edge, index) => this.edge(edge, ends[index]));
    this.groups = this.graph.groups.map((group, index) => this.group(group, index));
    fill(
      this.svg,
      rows.map((row) =>
        s(
          "text",
          { class: "tier-name", x: 4, y: row.y + 10 },
          tierName(row),
          s("tspan", { x: 4, dy: 14, class: "tier-count" }, count(row.nodes)),
        ),
      ),
      s(
        "g",
        { class: "links" },
        this.edges.map((edge) => edge.element),
      ),
      this.groups,
    );
    this.paint();
  }

  /** Shows loads: { up: [percent or null by edge], down, way: "both" | "up" | "down" }. */
  show(load) {
    this.load = load;
    this.paint();
  }

  edge(edge, at) {
    const [low, high] = [this.boxes[edge.lower], this.boxes[edge.upper]];
    const ends = { x1: at.lower, y1: low.y, x2: at.upper, y2: high.y + high.height };
    const length = Math.hypot(ends.x2 - ends.x1, ends.y2 - ends.y1) || 1;
    const apart = Math.min(SPREAD, low.step / 3) / 2;
    const [dx, dy] = [((ends.y2 - ends.y1) / length) * apart, (-(ends.x2 - ends.x1) / length) * apart];
    const line = (sign) =>
      s("line", { x1: ends.x1 + sign * dx, y1: ends.y1 + sign * dy, x2: ends.x2 + sign * dx, y2: ends.y2 + sign * dy });
    const [up, down] = [line(1), line(-1)];
    const title = s("title", {});
    return { up, down, title, element: s("g", { class: "link" }, title, down, up) };
  }

  group(group, index) {
    const box = this.boxes[index];
    return s(
      "g",
      {
        class: `node tier-${group.tier}${group.count > 1 ? " several" : ""}${box.width < 24 ? " narrow" : ""}`,
        role: "button",
        tabindex: index === this.current ? "0" : "-1",
        "aria-pressed": "false",
        "aria-label": this.said(index),
        on: { click: () => this.select(index), focus: () => this.goTo(index, false) },
      },
      group.count > 1
        ? s("rect", { class: "behind", x: box.x + 3, y: box.y - 3, width: box.width, height: box.height, rx: 3 })
        : null,
      s("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 3 }),
      s("text", { x: box.x + box.width / 2, y: box.y + 16, "text-anchor": "middle" }, label(group, box)),
      s("title", {}, this.said(index)),
    );
  }

  said(index) {
    const group = this.graph.groups[index];
    return group.count > 1 ? `${count(group.count)} nodes: ${group.name}` : group.name;
  }

  paint() {
    if (!this.edges) return;
    this.edges.forEach((drawn, index) => {
      const edge = this.graph.edges[index];
      const dim = this.selected >= 0 && edge.lower !== this.selected && edge.upper !== this.selected;
      drawn.element.classList.toggle("dim", dim);
      for (const way of ["up", "down"]) {
        const percent = this.load?.[way][index] ?? null;
        const hidden = this.load !== null && this.load.way !== "both" && this.load.way !== way;
        drawn[way].setAttribute(
          "class",
          hidden
            ? "load hidden-load"
            : percent === null
              ? "load unknown"
              : percent === 0
                ? "load idle"
                : loadClass(percent),
        );
        drawn[way].setAttribute("stroke-width", percent === null ? 1 : (1 + percent / this.thin).toFixed(2));
      }
      drawn.title.textContent = this.linkText(index);
    });
    this.groups.forEach((element, index) => element.setAttribute("aria-pressed", String(index === this.selected)));
  }

  /** One line on a link: its ends, its cables, its loads. */
  linkText(index) {
    const edge = this.graph.edges[index];
    const [low, high] = [this.graph.groups[edge.lower], this.graph.groups[edge.upper]];
    const cables = edge.cables > 1 ? `, ${count(edge.cables)} cables` : "";
    const loads = ["up", "down"]
      .map((way) => [way, this.load?.[way][index] ?? null])
      .filter(([, percent]) => percent !== null)
      .map(([way, percent]) => `${way} ${number(percent, 3)} %`);
    const said = loads.length ? `: ${loads.join(", ")}` : "";
    return `${low.name} to ${high.name}${cables}, ${number(edge.gbps)} Gb/s${said}`;
  }

  select(index) {
    this.selected = this.selected === index ? -1 : index;
    this.goTo(index, false);
    this.paint();
    this.onSelect(this.selected);
  }

  goTo(index, focus = true) {
    this.groups[this.current]?.setAttribute("tabindex", "-1");
    this.current = index;
    this.groups[index].setAttribute("tabindex", "0");
    if (focus) this.groups[index].focus();
  }

  onKey(event) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.select(this.current);
    } else if (event.key === "Escape" && this.selected >= 0) {
      this.select(this.selected);
    } else {
      const next = this.neighbour(event.key);
      if (next === null) return;
      event.preventDefault();
      this.goTo(next);
    }
  }

  /** The nearest group in the direction of an arrow key; null for none, or another key. */
  neighbour(key) {
    const here = this.boxes[this.current];
    const [x, y] = [here.x + here.width / 2, here.y];
    const distance = (box) => Math.abs(box.x + box.width / 2 - x) + 3 * Math.abs(box.y - y);
    const fits = {
      ArrowLeft: (box) => box.y === y && box.x < here.x,
      ArrowRight: (box) => box.y === y && box.x > here.x,
      ArrowUp: (box) => box.y < y,
      ArrowDown: (box) => box.y > y,
    }[key];
    if (fits === undefined) return null;
    let best = null;
    this.boxes.forEach((box, index) => {
      if (fits(box) && (best === null || distance(box) < distance(this.boxes[best]))) best = index;
    });
    return best;
  }
}

function tierName(row) {
  return { NIC: "NICs", rack: "Racks", fabric: "Fabric", spine: "Spines" }[row.name] ?? `Tier ${row.tier}`;
}
