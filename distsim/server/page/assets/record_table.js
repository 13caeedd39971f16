// A page of a record's rows as a table, and what turns the pages.

import { button, field, fill, h, select } from "./dom.js";
import { cell, count } from "./format.js";

const SIZES = ["20", "50", "100", "500"];

/** onChange(): told when another page, order or size is wanted: `offset`, `limit`, `order`, `descending`. */
export class RecordTable {
  constructor(name, onChange) {
    Object.assign(this, { name, onChange, order: "", descending: false, offset: 0, limit: 50, total: null });
    this.element = h("div", { class: "records-body" }, h("p", { class: "note" }, "Reading …"));
  }

  /** Shows a page as the server sent it. */
  show(page) {
    this.page = page;
    const focused = document.activeElement?.dataset?.keep;
    const scrolled = this.element.querySelector(".scroll")?.scrollLeft ?? 0;
    const kind = (index) => (page.columns[index].kind === "text" ? null : "number");
    const cells = (row) => row.map((value, index) => h("td", { class: kind(index) }, cell(value)));
    const head = page.columns.map((column) => this.header(column));
    const rows = page.rows.map((row) => h("tr", {}, cells(row)));
    const table = h("table", { class: "rows" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
    const region = { class: "scroll", tabindex: "0", role: "region", "aria-label": `Rows of ${this.name}` };
    const none = rows.length === 0 ? h("p", { class: "note" }, "No row fits.") : null;
    fill(this.element, this.pager(rows.length), h("div", region, table), none);
    this.element.querySelector(".scroll").scrollLeft = scrolled;
    if (focused) this.element.querySelector(`[data-keep="${CSS.escape(focused)}"]`)?.focus();
  }

  /** How many rows there are altogether. */
  setTotal(total) {
    this.total = total;
    if (this.page) this.show(this.page);
  }

  header(column) {
    const mine = this.order === column.name;
    const attributes = {
      scope: "col",
      class: column.kind === "text" ? null : "number",
      "aria-sort": mine ? (this.descending ? "descending" : "ascending") : null,
    };
    const unit = column.unit ? h("span", { class: "unit" }, ` (${column.unit})`) : null;
    const text = [column.name, unit, mine ? (this.descending ? " ▼" : " ▲") : ""];
    const options = { title: column.meaning, dataset: { keep: `sort-${column.name}` } };
    return h(
      "th",
      attributes,
      button(text, () => this.sort(column.name), options),
    );
  }

  /** Ascending, descending, the record's own order. */
  sort(name) {
    if (this.order !== name) Object.assign(this, { order: name, descending: false });
    else if (!this.descending) this.descending = true;
    else Object.assign(this, { order: "", descending: false });
    this.go(0);
  }

  go(offset) {
    this.offset = Math.max(offset, 0);
    this.onChange();
  }

  pager(rows) {
    const { offset, limit, total } = this;
    const last = total === null ? rows < limit : offset + rows >= total;
    const end = total === null ? 0 : Math.floor(Math.max(total - 1, 0) / limit) * limit;
    const step = (text, to, disabled, name) =>
      button(text, () => this.go(to), { disabled, "aria-label": name, dataset: { keep: name } });
    const resize = (size) => {
      this.limit = Number(size);
      this.go(0);
    };
    const sizes = SIZES.map((size) => [size, size]);
    const shown = rows ? `rows ${count(offset + 1)} to ${count(offset + rows)}` : "no rows";
    return h(
      "div",
      { class: "row pager" },
      step("|‹", 0, offset === 0, "First page"),
      step("‹", offset - limit, offset === 0, "Previous page"),
      h("span", { class: "pager-text" }, shown, total === null ? "" : ` of ${count(total)}`),
      step("›", offset + limit, last, "Next page"),
      step("›|", end, last || total === null, "Last page"),
      field("Rows a page", select(sizes, String(limit), resize, { dataset: { keep: "sizes" } })),
    );
  }
}
