// The tab with the result files of a run, each to download.

import { get, query } from "./api.js";
import { button, fill, h, notice } from "./dom.js";
import { fetchFile } from "./downloads.js";

const LIMIT = 100;

/** The tab: element, close(). */
export function filesTab(run) {
  const list = h("tbody", {});
  const more = h("div", {});
  const says = h("div", { "aria-live": "polite" });
  const element = h(
    "section",
    { "aria-label": "Files" },
    says,
    h(
      "table",
      {},
      h("caption", { class: "visually-hidden" }, "Result files"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["File", "Type", "Size", ""].map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      list,
    ),
    more,
  );
  const asked = new AbortController();

  async function load(next) {
    try {
      const found = await get(`${run.api}/results${query({ limit: LIMIT, next })}`, { signal: asked.signal });
      list.append(...found.files.map(row));
      fill(more, found.pagination.hasMore ? button("More", () => load(found.pagination.nextCursor)) : null);
      if (!list.children.length) fill(says, notice("info", "This run has no files yet."));
    } catch (error) {
      if (error.name !== "AbortError") fill(says, notice("error", error.message));
    }
  }

  function row(file) {
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, file.name),
      h("td", {}, file.type),
      h("td", { class: "number" }, file.size),
      h(
        "td",
        {},
        button(
          "Download",
          async () => {
            try {
              await fetchFile(run, file.name);
              fill(says);
            } catch (error) {
              fill(says, notice("error", error.message));
            }
          },
          { "aria-label": `Download ${file.name}` },
        ),
      ),
    );
  }

  if (run.facts.has_files) load("");
  else fill(says, notice("info", "This run has no files yet."));
  return { element, close: () => asked.abort() };
}
