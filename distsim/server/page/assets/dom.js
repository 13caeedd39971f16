// Making elements. Text is only ever set as text: nothing that a run or the server says is read as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element. attributes: "class", "aria-...", "on" (event -> handler), "dataset", properties such as value,
 * checked, disabled, hidden; a value of null, undefined or false leaves the attribute out.
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An SVG element, as `h`. */
export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Puts children into an element in place of what it has. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** A button. options: attributes as for `h`. */
export function button(text, onClick, options = {}) {
  return h("button", { type: "button", ...options, on: { click: onClick, ...(options.on ?? {}) } }, text);
}

/** A label with its control. */
export function field(text, control, options = {}) {
  control.id ||= `field-${(fields += 1)}`;
  return h("div", { class: "field", ...options }, h("label", { class: "field-name", for: control.id }, text), control);
}
let fields = 0;

/** A select of [value, text] pairs. */
export function select(pairs, value, onChange, options = {}) {
  const element = h(
    "select",
    { ...options, on: { change: () => onChange(element.value) } },
    pairs.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  return element;
}

/** Says something to screen readers without moving the focus. */
export function announce(text) {
  const live = document.getElementById("announcer");
  if (live !== null) live.textContent = text;
}

/** A box that says what is going on or what went wrong. kind: "info", "warning" or "error". */
export function notice(kind, ...children) {
  const sign = { info: "i", warning: "!", error: "×" }[kind];
  return h(
    "div",
    { class: `notice ${kind}`, role: kind === "error" ? "alert" : null },
    h("span", { class: "notice-sign", "aria-hidden": "true" }, sign),
    h("div", {}, children),
  );
}

/** A value that changes at most once in `wait_ms`: calls after the last one within that time are put off. */
export function delayed(action, wait_ms) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait_ms);
  };
}

const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "indeterminate", "open", "readOnly"]);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) {
        element.addEventListener(event, handler, event === "wheel" ? { passive: false } : undefined);
      }
    } else if (name === "dataset") {
      Object.assign(element.dataset, value);
    } else if (PROPERTIES.has(name) && name in element) {
      if (value !== undefined && value !== null) element[name] = value;
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
