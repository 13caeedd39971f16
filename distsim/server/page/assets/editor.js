// A text area with line numbers and, beside each line, what the check found there.

import { fill, h } from "./dom.js";

const LINE_PX = 20; // as in the style sheet
const PAD_PX = 8;
const MESSAGE_GAP_PX = 4;

/** label: of the text area. onInput(text). */
export class Editor {
  constructor(label, onInput) {
    this.found = [];
    this.area = h("textarea", {
      class: "editor-text",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "off",
      rows: 24,
      "aria-label": label,
      "aria-describedby": "editor-help",
      on: {
        input: () => {
          this.numbers();
          onInput(this.area.value);
        },
        scroll: () => this.follow(),
        keydown: (event) => this.onKey(event),
      },
    });
    this.gutter = h("div", { class: "editor-gutter", "aria-hidden": "true" });
    this.notes = h("div", { class: "editor-notes" });
    this.element = h(
      "div",
      { class: "editor" },
      h("div", { class: "editor-side" }, this.gutter),
      this.area,
      h(
        "div",
        { class: "editor-side editor-notes-side", role: "list", "aria-label": "Messages beside the lines" },
        this.notes,
      ),
    );
    this.observer = new ResizeObserver(() => this.place());
    this.observer.observe(this.notes);
    this.numbers();
  }

  get text() {
    return this.area.value;
  }

  set text(value) {
    this.area.value = value;
    this.area.scrollTop = 0;
    this.area.scrollLeft = 0;
    this.numbers();
    this.follow();
  }

  close() {
    this.observer.disconnect();
  }

  /** Shows what the check found: [{ line (null: of no line), message, severity }]. */
  show(found) {
    this.found = found;
    this.area.setAttribute("aria-invalid", String(found.some((one) => one.severity === "error")));
    this.numbers();
    const marked = found.filter((one) => one.line !== null).sort((one, other) => one.line - other.line);
    fill(
      this.notes,
      marked.map((one) =>
        h(
          "div",
          { class: `editor-note ${one.severity}`, role: "listitem", dataset: { line: one.line } },
          h(
            "button",
            { type: "button", title: one.message, on: { click: () => this.goTo(one.line) } },
            `Line ${one.line}: ${one.message}`,
          ),
        ),
      ),
    );
    this.place();
  }

  /** Puts the cursor at the beginning of a line. */
  goTo(line) {
    const lines = this.area.value.split("\n");
    const begin = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(begin, begin + (lines[line - 1] ?? "").length);
    this.area.scrollTop = Math.max(0, (line - 6) * LINE_PX);
    this.follow();
  }

  numbers() {
    const count = this.area.value.split("\n").length;
    const worst = new Map();
    for (const one of this.found) {
      if (one.line !== null && worst.get(one.line) !== "error") worst.set(one.line, one.severity);
    }
    fill(
      this.gutter,
      Array.from({ length: count }, (_, index) => {
        const severity = worst.get(index + 1);
        return h(
          "div",
          { class: severity ? `has ${severity}` : null, dataset: severity ? { line: index + 1 } : {} },
          severity ? (severity === "error" ? "× " : "! ") : "",
          index + 1,
        );
      }),
    );
  }

  /** Messages stand at their lines, below one another where they would overlap. */
  place() {
    let free = 0;
    for (const note of this.notes.children) {
      const top = Math.max(PAD_PX + (Number(note.dataset.line) - 1) * LINE_PX, free);
      note.style.top = `${top}px`;
      free = top + note.offsetHeight + MESSAGE_GAP_PX;
    }
    this.notes.style.height = `${Math.max(free, this.area.scrollHeight)}px`;
  }

  follow() {
    this.gutter.style.transform = `translateY(${-this.area.scrollTop}px)`;
    this.notes.style.transform = `translateY(${-this.area.scrollTop}px)`;
  }

  /** Enter keeps the indentation. Tab is left to the keyboard's user: it leaves the field. */
  onKey(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { selectionStart: at, value } = this.area;
    const begin = value.lastIndexOf("\n", at - 1) + 1;
    const indent = /^[ ]*/.exec(value.slice(begin, at))[0];
    if (!indent) return;
    event.preventDefault();
    this.area.setRangeText(`\n${indent}`, at, this.area.selectionEnd, "end");
    this.area.dispatchEvent(new Event("input"));
  }
}
