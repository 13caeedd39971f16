// What of a record is wanted: filters, all of which hold, and the columns that are shown.

import { button, fill, h, select } from "./dom.js";

const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "contains"];

/** columns: of the record. onFilter(), onColumns(): told when what is wanted has changed. */
export class RecordFilters {
  constructor(columns, onFilter, onColumns) {
    Object.assign(this, { columns, onFilter, onColumns, where: [], hidden: new Set() });
    this.chips = h("ul", { class: "chips", "aria-label": "Filters that hold" });
    this.element = h("div", {}, this.form(), this.chips, this.chooser());
  }

  /** Names of the columns that are shown; [] for all. */
  get shown() {
    if (this.hidden.size === 0) return [];
    const names = this.columns.map((column) => column.name).filter((name) => !this.hidden.has(name));
    return names.length ? names : [this.columns[0].name];
  }

  form() {
    const names = this.columns.map((one) => one.name);
    const first = names.includes("component_name") ? "component_name" : names[0];
    const pairs = (values) => values.map((value) => [value, value]);
    const column = select(pairs(names), first, () => {}, { "aria-label": "Column" });
    const operator = select(pairs(OPERATORS), "contains", () => {}, { "aria-label": "Comparison" });
    const value = h("input", { "aria-label": "Value", size: 16, placeholder: "value" });
    const add = (event) => {
      event.preventDefault();
      this.where.push(`${column.value} ${operator.value} ${value.value.trim()}`);
      this.changed();
    };
    const name = h("span", { class: "field-name" }, "Filter");
    const submit = h("button", { type: "submit" }, "Add filter");
    return h(
      "form",
      { class: "row", on: { submit: add }, "aria-label": "Filter" },
      name,
      column,
      operator,
      value,
      submit,
    );
  }

  changed() {
    fill(
      this.chips,
      this.where.map((text, index) => h("li", {}, h("code", {}, text), this.remover(text, index))),
    );
    this.onFilter();
  }

  remover(text, index) {
    const remove = () => {
      this.where.splice(index, 1);
      this.changed();
      (this.chips.querySelector("button") ?? this.element.querySelector("input")).focus();
    };
    return button("×", remove, { "aria-label": `Remove the filter ${text}` });
  }

  chooser() {
    const boxes = this.columns.map((column) => this.box(column));
    const all = (shown) => {
      this.hidden = new Set(shown ? [] : this.columns.slice(1).map((column) => column.name));
      boxes.forEach(({ input }, index) => (input.checked = shown || index === 0));
      this.onColumns();
    };
    return h(
      "details",
      { class: "columns" },
      h("summary", {}, `Columns (${this.columns.length})`),
      h("div", { class: "row" }, [button("All", () => all(true)), button("Only the first", () => all(false))]),
      h(
        "div",
        { class: "column-list" },
        boxes.map(({ label }) => label),
      ),
    );
  }

  box(column) {
    const change = () => {
      if (input.checked) this.hidden.delete(column.name);
      else this.hidden.add(column.name);
      this.onColumns();
    };
    const input = h("input", { type: "checkbox", checked: true, on: { change } });
    const unit = column.unit ? h("span", { class: "unit" }, column.unit) : null;
    return { input, label: h("label", { title: column.meaning }, input, column.name, unit) };
  }
}
