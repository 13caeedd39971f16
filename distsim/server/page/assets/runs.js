// The list of runs, kept up to date while any is going on.

import { get, post, remove } from "./api.js";
import { announce, button, delayed, field, fill, h, notice, select } from "./dom.js";
import { count, simulated, wall, when } from "./format.js";
import { badge, isGoing, progressBar } from "./status.js";

const BUSY_MS = 1500;
const IDLE_MS = 8000;
const STATUSES = [
  ["", "all"],
  ["running", "running"],
  ["finished", "finished"],
  ["unfinished", "unfinished"],
  ["interrupted", "interrupted"],
  ["failed", "failed"],
];

/** The view: element, close(). */
export function runsView() {
  const view = new RunsView();
  view.poll();
  return { element: view.element, title: "Runs", close: () => view.close() };
}

class RunsView {
  constructor() {
    Object.assign(this, {
      runs: null,
      known: new Map(),
      text: "",
      status: "",
      timer: 0,
      asked: new AbortController(),
      shown: "",
    });
    this.list = h("div", { class: "runs" }, h("p", { class: "note" }, "Looking for runs …"));
    this.says = h("div", {});
    const search = h("input", {
      type: "search",
      size: 24,
      placeholder: "name or path",
      on: {
        input: delayed(() => {
          this.text = search.value.trim().toLowerCase();
          this.show();
        }, 150),
      },
    });
    this.element = h(
      "section",
      { "aria-label": "Runs" },
      h(
        "div",
        { class: "row head" },
        h("h1", { tabindex: "-1" }, "Runs"),
        h("a", { class: "primary", href: "#/new" }, "Start a run"),
      ),
      h(
        "div",
        { class: "row" },
        field("Search", search),
        field(
          "Status",
          select(STATUSES, "", (status) => {
            this.status = status;
            this.show();
          }),
        ),
      ),
      this.says,
      this.list,
    );
    this.wake = () => {
      if (!document.hidden) this.poll();
    };
    document.addEventListener("visibilitychange", this.wake);
  }

  close() {
    clearTimeout(this.timer);
    this.asked.abort();
    document.removeEventListener("visibilitychange", this.wake);
  }

  async poll() {
    clearTimeout(this.timer);
    try {
      this.runs = (await get("/api/v1/page/runs", { signal: this.asked.signal })).runs;
      fill(this.says);
      this.tellChanges();
      this.show();
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(this.says, notice("error", error.message));
    }
    const going = this.runs?.some((run) => isGoing(run.status));
    if (!document.hidden) this.timer = setTimeout(() => this.poll(), going ? BUSY_MS : IDLE_MS);
  }

  tellChanges() {
    for (const run of this.runs) {
      const before = this.known.get(run.id);
      if (before !== undefined && before !== run.status) announce(`${run.name} is ${run.status}`);
      this.known.set(run.id, run.status);
    }
  }

  show() {
    if (this.runs === null) return;
    const there = this.runs.filter(
      (run) =>
        (!this.status || run.status === this.status) &&
        (!this.text || `${run.name} ${run.path} ${run.id}`.toLowerCase().includes(this.text)),
    );
    const shown = JSON.stringify(there);
    if (shown === this.shown) return; // nothing new: focus and selection stay
    this.shown = shown;
    const focused = document.activeElement?.dataset?.keep;
    fill(this.list, there.length ? table(there, this) : empty(this.runs.length));
    if (focused) this.list.querySelector(`[data-keep="${CSS.escape(focused)}"]`)?.focus();
  }

  async act(text, call) {
    if (!window.confirm(text)) return;
    try {
      await call();
      await this.poll();
    } catch (error) {
      fill(this.says, notice("error", error.message));
    }
  }
}

function empty(all) {
  return all
    ? h("p", { class: "note" }, "No run fits.")
    : notice(
        "info",
        "There are no runs in this directory yet. ",
        h("a", { href: "#/new" }, "Start one"),
        ", or run distsim run CONFIG -o a directory below it.",
      );
}

function table(runs, view) {
  const names = ["Name", "Status", "Flows", "Simulated", "Ranks", "Started", "Took", "Actions"];
  const numbers = new Set(["Flows", "Simulated", "Ranks", "Took"]);
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "run-table" },
      h("caption", { class: "visually-hidden" }, "Runs, the newest first"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          names.map((name) => h("th", { scope: "col", class: numbers.has(name) ? "number" : null }, name)),
        ),
      ),
      h(
        "tbody",
        {},
        runs.map((run) => row(run, view)),
      ),
    ),
  );
}

function row(run, view) {
  const going = isGoing(run.status);
  const path = `/api/v1/simulations/${run.id}`;
  return h(
    "tr",
    { dataset: { run: run.id } },
    h(
      "th",
      { scope: "row" },
      h("a", { href: `#/simulations/${run.id}`, dataset: { keep: `open-${run.id}` } }, run.name),
      run.path !== run.name ? h("div", { class: "path" }, run.path) : null,
    ),
    h("td", {}, badge(run.status), run.error ? h("div", { class: "path" }, run.error) : null),
    going
      ? h("td", { colspan: 2 }, progressBar(run.progress ?? {}, run.name))
      : [
          h(
            "td",
            { class: "number" },
            run.flows.total ? `${count(run.flows.finished)} of ${count(run.flows.total)}` : "",
          ),
          h("td", { class: "number" }, simulated(run.simulated_s)),
        ],
    h("td", { class: "number" }, count(run.ranks)),
    h("td", {}, when(run.started)),
    h("td", { class: "number" }, run.started && run.ended ? wall(run.ended - run.started) : ""),
    h(
      "td",
      {},
      going && run.can_terminate
        ? button(
            "Terminate",
            () => view.act(`Terminate ${run.name}? Its rows so far are kept.`, () => post(`${path}/terminate`)),
            { dataset: { keep: `end-${run.id}` } },
          )
        : null,
      !going && run.can_delete
        ? button(
            "Delete",
            () => view.act(`Delete ${run.name} with all of its files? This cannot be undone.`, () => remove(path)),
            { class: "quiet", dataset: { keep: `delete-${run.id}` } },
          )
        : null,
    ),
  );
}
