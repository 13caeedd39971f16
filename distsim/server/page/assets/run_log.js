// The tab with what a run printed.

import { get, query } from "./api.js";
import { fill, h, notice } from "./dom.js";
import { isGoing } from "./status.js";

const POLL_MS = 2000;
const LIMIT = 100;
const MOST = 2000; // lines that are kept

/** The tab: element, close(). */
export function logTab(run) {
  const text = h("pre", { class: "code log", tabindex: "0", role: "log", "aria-label": "Log" });
  const says = h("div", {});
  const asked = new AbortController();
  let cursor = "";
  let seen = 0; // lines of the page that the cursor leads to
  let timer = 0;

  async function load() {
    try {
      for (;;) {
        const found = await get(`${run.api}/logs${query({ limit: LIMIT, next: cursor })}`, { signal: asked.signal });
        text.append(...found.logs.slice(seen).map(line));
        seen = found.logs.length;
        if (!found.pagination.hasMore) break;
        cursor = found.pagination.nextCursor;
        seen = 0;
      }
      while (text.children.length > MOST) text.firstChild.remove();
      fill(
        says,
        text.children.length
          ? null
          : notice("info", "Nothing was printed; the log of a run that was not started here is not known."),
      );
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(says, notice(error.status === 404 ? "info" : "error", error.message));
    }
    if (isGoing(run.facts.status)) timer = setTimeout(load, POLL_MS);
  }

  load();
  return {
    element: h("section", { "aria-label": "Log" }, says, text),
    close: () => {
      clearTimeout(timer);
      asked.abort();
    },
  };
}

function line(entry) {
  return h(
    "div",
    { class: `log-${entry.level}` },
    h("span", { class: "log-time" }, entry.timestamp.slice(11, 19)),
    ` ${entry.message}`,
  );
}
