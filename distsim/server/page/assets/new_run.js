// Starting a run: a shipped or pasted configuration, checked while it is written, with messages beside the lines.

import { get, post } from "./api.js";
import { delayed, field, fill, h, notice } from "./dom.js";
import { Editor } from "./editor.js";

const CHECK_MS = 700;
const NAME = "[A-Za-z0-9][A-Za-z0-9_\\-]{0,99}";

/** The view: element, close(). from: { run: id, config: id of a template }, whose configuration it begins with. */
export function newRunView(from) {
  const view = new NewRunView();
  view.open(from);
  return { element: view.element, title: "Start a run", close: () => view.close() };
}

class NewRunView {
  constructor() {
    Object.assign(this, { valid: false, asked: null, named: false });
    this.check = delayed(() => this.validate(), CHECK_MS);
    this.editor = new Editor("Configuration (YAML)", () => {
      this.fresh();
      this.check();
    });
    this.templates = h(
      "select",
      { on: { change: () => this.choose(this.templates.value) } },
      h("option", { value: "" }, "Choose …"),
    );
    this.says = h("div", { class: "check-says", "aria-live": "polite" });
    this.name = h("input", {
      name: "name",
      required: true,
      pattern: NAME,
      maxlength: 100,
      size: 22,
      title: "letters, digits, - and _",
      on: {
        input: () => {
          this.named = true;
        },
      },
    });
    this.ranks = h("input", { name: "ranks", type: "number", min: 1, max: 4096, value: "1", required: true });
    this.seed = h("input", { name: "seed", type: "number", min: 0, placeholder: "as written" });
    this.duration = h("input", {
      name: "duration",
      size: 8,
      placeholder: "as written",
      pattern: "\\d{1,9}(\\.\\d{1,12})?(ps|ns|us|ms|s|m|h)",
      title: "a number and a unit, e.g. 5ms",
    });
    this.yes = h("input", { type: "checkbox", name: "yes" });
    this.start = h("button", { type: "submit", class: "primary", disabled: true }, "Start");
    this.element = h(
      "section",
      { "aria-label": "Start a run" },
      h("h1", { tabindex: "-1" }, "Start a run"),
      h(
        "form",
        {
          class: "new-run",
          on: {
            submit: (event) => {
              event.preventDefault();
              this.submit();
            },
          },
        },
        h(
          "div",
          { class: "row" },
          field("Shipped configuration", this.templates),
          h(
            "label",
            { class: "field" },
            h("span", { class: "field-name" }, "or a file"),
            h("input", {
              type: "file",
              accept: ".yaml,.yml,text/yaml",
              on: { change: (event) => this.read(event.target.files[0]) },
            }),
          ),
        ),
        h(
          "p",
          { class: "note", id: "editor-help" },
          "Choose one, or write or paste a configuration. It is checked as you write; ",
          "messages stand beside their lines.",
        ),
        this.editor.element,
        this.says,
        h(
          "div",
          { class: "row options" },
          field("Name", this.name),
          field("Ranks", this.ranks),
          field("Seed", this.seed),
          field("Simulated time, at most", this.duration),
          h("label", { class: "field check" }, this.yes, h("span", {}, "Run even if it takes over a day")),
        ),
        h("div", { class: "row" }, this.start),
      ),
    );
  }

  async open(from) {
    try {
      const { templates } = await get("/api/v1/templates?limit=100");
      this.templates.append(
        ...templates.map((template) =>
          h("option", { value: template.id }, `${template.name}: ${template.description}`),
        ),
      );
      if (from.run) this.fillIn((await get(`/api/v1/page/runs/${from.run}`)).configuration_text);
      else if (from.config) this.choose(from.config);
    } catch (error) {
      fill(this.says, notice("error", error.message));
    }
  }

  close() {
    this.asked?.abort();
    this.editor.close();
  }

  async choose(id) {
    if (!id) return;
    this.templates.value = id;
    try {
      this.fillIn((await get(`/api/v1/templates/${id}`)).text);
    } catch (error) {
      fill(this.says, notice("error", error.message));
    }
  }

  async read(file) {
    if (!file) return;
    this.templates.value = "";
    this.fillIn(await file.text());
  }

  fillIn(text) {
    this.editor.text = text;
    this.named = false;
    this.fresh();
    this.validate();
  }

  /** The text has changed: what is known of it holds no more. */
  fresh() {
    this.valid = false;
    this.start.disabled = true;
  }

  async validate() {
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    const { text } = this.editor;
    if (!text.trim()) {
      this.editor.show([]);
      fill(this.says);
      return;
    }
    this.proposeName(text);
    fill(this.says, h("p", { class: "note" }, "Checking …"));
    try {
      const found = await post("/api/v1/configurations/validate", { text }, { signal: asked.signal });
      if (!asked.signal.aborted) this.tell(found);
    } catch (error) {
      if (error.name !== "AbortError") fill(this.says, notice("error", error.message));
    }
  }

  proposeName(text) {
    const written = /^simulation:\s*["']?([A-Za-z0-9][\w-]*)/m.exec(text)?.[1];
    if (!this.named && written) this.name.value = written;
  }

  tell(found) {
    this.valid = found.valid;
    this.start.disabled = !found.valid;
    const all = [...found.errors, ...found.warnings];
    this.editor.show(all);
    const general = all.filter((one) => one.line === null);
    const errors = found.errors.length;
    const said = found.valid
      ? `Valid: ${found.info.map((one) => one.message).join("; ")}`
      : `${errors} ${errors === 1 ? "problem" : "problems"}`;
    fill(
      this.says,
      h(
        "p",
        { class: found.valid ? "valid" : "invalid" },
        found.valid ? "✓ " : "× ",
        said,
        errors > general.length && !found.valid ? ", beside the lines" : "",
      ),
      general.map((one) => notice(one.severity, one.message)),
    );
  }

  async submit() {
    if (!this.valid) return;
    this.start.disabled = true;
    const text = (input) => input.value.trim();
    try {
      const made = await post("/api/v1/configurations", { name: text(this.name), text: this.editor.text });
      await post(`/api/v1/configurations/${made.id}/validate`);
      const run = await post("/api/v1/simulations", {
        configurationId: made.id,
        configurationVersion: made.version,
        name: text(this.name),
        ranks: Number(this.ranks.value),
        yes: this.yes.checked,
        ...(text(this.seed) ? { seed: Number(this.seed.value) } : {}),
        ...(text(this.duration) ? { duration: text(this.duration) } : {}),
      });
      location.hash = `#/simulations/${run.id}`;
    } catch (error) {
      fill(this.says, notice("error", error.message));
      this.start.disabled = false;
    }
  }
}
