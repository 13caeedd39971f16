// The tab with the records of a run: a table with filters, an order and pages, and the files to download.

import { get, query } from "./api.js";
import { button, field, fill, h, notice, select } from "./dom.js";
import { exportRecord, fetchFile } from "./downloads.js";
import { bytes } from "./format.js";
import { RecordFilters } from "./record_filters.js";
import { RecordTable } from "./record_table.js";

const FIRST = ["nd-stats", "perf"]; // shown first, where the run has them

/** The tab: element, close(). */
export function recordsTab(run) {
  const view = new RecordsView(run);
  view.open();
  return { element: view.element, close: () => view.asked?.abort() };
}

class RecordsView {
  constructor(run) {
    Object.assign(this, { run, records: [], record: null, asked: null });
    this.head = h("div", {});
    this.says = h("div", { class: "download-says", "aria-live": "polite" });
    this.body = h("div", {}, h("p", { class: "note" }, "Reading …"));
    this.element = h("section", { "aria-label": "Records" }, this.head, this.says, this.body);
  }

  async open() {
    try {
      this.records = (await get(`${this.run.page}/records`)).records;
    } catch (error) {
      fill(this.body, notice("error", error.message));
      return;
    }
    const names = this.records.map((record) => record.name);
    if (names.length) this.choose(FIRST.find((name) => names.includes(name)) ?? names[0]);
    else fill(this.body, notice("info", "There are no records yet; the first rows come after one report interval."));
  }

  choose(name) {
    this.record = this.records.find((record) => record.name === name);
    this.filters = new RecordFilters(
      this.record.columns,
      () => {
        this.table.offset = 0;
        this.table.total = null;
        this.load(true);
      },
      () => this.load(false),
    );
    this.table = new RecordTable(name, () => this.load(false));
    this.showHead();
    fill(this.body, this.filters.element, this.table.element);
    this.load(true);
  }

  showHead() {
    const { record, run } = this;
    const names = this.records.map((each) => [each.name, each.name]);
    const one = record.files.length === 1;
    const csv = () => (one ? fetchFile(run, record.files[0].name) : exportRecord(run, record.name, "csv"));
    const title = one ? record.files[0].name : `the ${record.files.length} shards merged`;
    const size = bytes(record.files.reduce((sum, file) => sum + file.bytes, 0));
    fill(this.says);
    fill(
      this.head,
      h(
        "div",
        { class: "row" },
        field(
          "Record",
          select(names, record.name, (name) => this.choose(name), { class: "record-choice" }),
        ),
        this.button("Download CSV", csv, { title }),
        this.button("Download Parquet", () => exportRecord(run, record.name, "parquet")),
        run.hasInfo() ? this.button("Download run.json", () => fetchFile(run, run.infoFile())) : null,
      ),
      h("p", { class: "note" }, `A row for ${record.row_for}; written ${record.written}. `),
      h("p", { class: "note" }, one ? `One file, ${size}.` : `${record.files.length} shards, ${size}.`),
    );
  }

  /** A button that is off, and says so, while its file is made. */
  button(text, action, options = {}) {
    const made = button(
      text,
      async () => {
        made.disabled = true;
        fill(this.says, "Making the file …");
        try {
          await action();
          fill(this.says);
        } catch (error) {
          fill(this.says, notice("error", error.message));
        } finally {
          made.disabled = false;
        }
      },
      options,
    );
    return made;
  }

  /** Asks for the page that is wanted; recount: for the number of rows too. */
  async load(recount) {
    this.asked?.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    const { table, filters } = this;
    const path = `${this.run.page}/records/${this.record.name}`;
    const { where, shown: columns } = filters;
    const { order, offset, limit } = table;
    const descending = table.descending ? "true" : "";
    try {
      table.show(await get(`${path}/rows${query({ where, columns, order, descending, offset, limit })}`, { signal }));
      if (recount || table.total === null) {
        table.setTotal((await get(`${path}/count${query({ where })}`, { signal })).rows);
      }
    } catch (error) {
      if (error.name !== "AbortError") fill(table.element, notice("error", error.message));
    }
  }
}
