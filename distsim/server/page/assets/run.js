// One run: its head with live status, and tabs.

import { get, post } from "./api.js";
import { announce, button, fill, h, notice } from "./dom.js";
import { filesTab } from "./run_files.js";
import { fabricTab } from "./run_fabric.js";
import { logTab } from "./run_log.js";
import { plotsTab } from "./run_plots.js";
import { recordsTab } from "./run_records.js";
import { summaryTab } from "./run_summary.js";
import { badge, isGoing, progressBar } from "./status.js";

const POLL_MS = 1500;
const TABS = [
  ["summary", "Summary", summaryTab],
  ["plots", "Plots", plotsTab],
  ["fabric", "Fabric", fabricTab],
  ["records", "Records", recordsTab],
  ["files", "Files", filesTab],
  ["log", "Log", logTab],
];

/** The view of a run; tab: which of TABS, the first for another name. */
export function runView(id, tab) {
  const view = new RunView(id, tab);
  view.open();
  return view;
}

class RunView {
  constructor(id, tab) {
    this.run = new RunHandle(id);
    this.tab = TABS.some(([name]) => name === tab) ? tab : TABS[0][0];
    this.title = "Run";
    this.asked = new AbortController();
    this.timer = 0;
    this.head = h("div", { class: "run-head" }, h("h1", { tabindex: "-1" }, "Run"));
    this.says = h("div", {});
    this.panel = h("div", { role: "tabpanel", id: "panel", tabindex: "-1", "aria-labelledby": `tab-${this.tab}` });
    this.element = h("section", {}, this.head, this.says, this.tabs(), this.panel);
  }

  async open() {
    if (await this.refresh()) this.showTab();
    this.plan();
  }

  close() {
    clearTimeout(this.timer);
    this.asked.abort();
    this.content?.close();
  }

  /** Goes to another tab without leaving the run. */
  turn(tab) {
    if (!TABS.some(([name]) => name === tab)) return false;
    if (tab !== this.tab) {
      this.tab = tab;
      this.tabList.replaceWith(this.tabs());
      this.panel.setAttribute("aria-labelledby", `tab-${tab}`);
      if (this.run.facts !== null) this.showTab(); // else once they are there
      if (this.arrowed) document.getElementById(`tab-${tab}`).focus();
    }
    this.arrowed = false;
    return true;
  }

  tabs() {
    const link = ([name, text]) =>
      h(
        "a",
        {
          role: "tab",
          id: `tab-${name}`,
          href: `#/simulations/${this.run.id}/${name}`,
          "aria-selected": String(name === this.tab),
          "aria-controls": "panel",
          tabindex: name === this.tab ? "0" : "-1",
        },
        text,
      );
    this.tabList = h(
      "div",
      {
        class: "tabs",
        role: "tablist",
        "aria-label": "Views of the run",
        on: { keydown: (event) => this.onKey(event) },
      },
      TABS.map(link),
    );
    return this.tabList;
  }

  onKey(event) {
    const at = TABS.findIndex(([name]) => name === this.tab);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (event.key === " ") {
      event.preventDefault();
      event.target.click();
    }
    if (next === undefined) return;
    event.preventDefault();
    this.arrowed = true;
    location.hash = `#/simulations/${this.run.id}/${TABS[(next + TABS.length) % TABS.length][0]}`;
  }

  showTab() {
    this.content?.close();
    this.content = TABS.find(([name]) => name === this.tab)[2](this.run);
    fill(this.panel, this.content.element);
  }

  async refresh() {
    try {
      const before = this.run.facts;
      await this.run.load(this.asked.signal);
      this.title = this.run.name;
      document.title = `${this.run.name} – distsim`;
      this.showHead();
      fill(this.says);
      const now = this.run.facts;
      if (before !== null && before.status !== now.status) announce(`${now.name} is ${now.status}`);
      if (before !== null && (before.status !== now.status || before.has_files !== now.has_files)) this.showTab();
      return true;
    } catch (error) {
      if (error.name !== "AbortError") fill(this.says, notice("error", error.message));
      return this.run.facts !== null;
    }
  }

  plan() {
    if (this.run.facts !== null && !isGoing(this.run.facts.status)) return;
    this.timer = setTimeout(async () => {
      if (!document.hidden) await this.refresh();
      if (!this.asked.signal.aborted) this.plan();
    }, POLL_MS);
  }

  showHead() {
    const { facts } = this.run;
    const going = isGoing(facts.status);
    const shown = JSON.stringify([facts.status, facts.progress, facts.error, facts.configuration_text !== ""]);
    if (shown === this.shown) return;
    this.shown = shown;
    const focused = document.activeElement?.dataset?.keep;
    const again = { title: "Show what has been recorded by now", dataset: { keep: "again" } };
    fill(
      this.head,
      h(
        "div",
        { class: "row head" },
        h("h1", { tabindex: "-1" }, facts.name),
        badge(facts.status),
        going ? button("Refresh", () => this.showTab(), again) : null,
        going && facts.can_terminate
          ? button("Terminate", () => this.terminate(), { dataset: { keep: "terminate" } })
          : null,
        facts.configuration_text
          ? h("a", { class: "quiet-link", href: `#/new?run=${this.run.id}` }, "New run from this one")
          : null,
      ),
      facts.path !== facts.name ? h("p", { class: "path" }, facts.path) : null,
      going ? progressBar(facts.progress ?? {}, facts.name) : null,
      facts.error ? notice("error", facts.error) : null,
    );
    if (focused) this.head.querySelector(`[data-keep="${CSS.escape(focused)}"]`)?.focus();
  }

  async terminate() {
    if (!window.confirm(`Terminate ${this.run.name}? Its rows so far are kept.`)) return;
    try {
      await post(`${this.run.api}/terminate`);
      await this.refresh();
    } catch (error) {
      fill(this.says, notice("error", error.message));
    }
  }
}

/** What the tabs know of a run. */
class RunHandle {
  constructor(id) {
    this.id = id;
    this.api = `/api/v1/simulations/${id}`;
    this.page = `/api/v1/page/runs/${id}`;
    this.facts = null;
  }

  async load(signal) {
    this.facts = await get(this.page, { signal });
  }

  get name() {
    return this.facts?.name ?? "run";
  }

  hasInfo() {
    return this.facts.info !== null;
  }

  infoFile() {
    return `${this.facts.name}-run.json`;
  }
}
