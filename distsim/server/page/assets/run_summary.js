// The tab with what a run came to.

import { fill, h, notice } from "./dom.js";
import { bytes, count, number, percent, simulated, wall, when } from "./format.js";
import { isGoing } from "./status.js";

const LISTED = 50;
const NO_PACKETS = ["hops", "ties", "waits_for_pdc_id"];

/** The tab: element, close(). */
export function summaryTab(run) {
  const element = h("section", { "aria-label": "Summary" });
  const { facts } = run;
  fill(
    element,
    facts.info === null
      ? notice(
          "info",
          isGoing(facts.status)
            ? "The figures come when the run ends; records can be read while it goes on."
            : "This run has no run.json: it was ended before it could write one. What its records have is here.",
        )
      : null,
    (facts.info?.warnings ?? []).map((line) => notice("warning", line)),
    h("div", { class: "cards" }, cards(facts)),
    collectives(facts.info?.collectives ?? [], facts.info?.collectives_count),
    jobs(facts.info?.jobs ?? []),
    h("div", { class: "columns-2" }, figures("Packets", facts.info?.counts), about(facts)),
    facts.configuration_text
      ? h(
          "details",
          {},
          h("summary", {}, "Configuration"),
          h("pre", { class: "code", tabindex: "0" }, facts.configuration_text),
        )
      : null,
  );
  return { element, close: () => {} };
}

function cards(facts) {
  const { info, flows_summary: flows } = facts;
  const total = info?.flows;
  const of = flows?.flows ? flows : null;
  return [
    total
      ? card(
          "Flows",
          `${count(total.finished)} of ${count(total.total)}`,
          total.unfinished ? `${count(total.unfinished)} unfinished` : "all finished",
        )
      : of
        ? card("Flows", count(of.flows), "finished so far")
        : null,
    of
      ? card(
          "Completion time (us)",
          number(of.mean_us, 5),
          `p50 ${number(of.p50_us, 5)}, p99 ${number(of.p99_us, 5)}, max ${number(of.max_us, 5)}`,
        )
      : null,
    of
      ? card(
          "Goodput (Gb/s)",
          number(of.flow_goodput_gbps),
          `mean flow; busiest receiver ${number(of.receiver_goodput_gbps)}`,
        )
      : null,
    info
      ? card(
          "Packets",
          count(info.counts.created),
          ["dropped", "trimmed", "retransmitted"].map((name) => `${count(info.counts[name])} ${name}`).join(", "),
        )
      : null,
    info?.faults
      ? card("Lost to faults", count(info.faults.lost_packets), `frames, ${bytes(info.faults.lost_bytes)}`)
      : null,
    info
      ? card(
          "Simulated",
          simulated(info.simulated_s),
          `${count(info.counts.hops)} packet-hops in ${wall(info.wall.busy_s)}, ` +
            `${number(info.hops_per_s / 1e6, 3)} million a second`,
        )
      : null,
  ];
}

function card(name, value, more) {
  return h(
    "div",
    { class: "card" },
    h("h2", {}, name),
    h("p", { class: "card-value" }, value),
    h("p", { class: "note" }, more),
  );
}

function collectives(found, all) {
  if (!found.length) return null;
  return table(
    `Collectives (${count(all)})`,
    ["collective", "algorithm", "ranks", "bytes", "begin (us)", "time (us)"],
    found.map((one) => [
      one.collective,
      one.algorithm,
      count(one.members),
      count(one.size_bytes),
      number(one.begin_us, 7),
      number(one.time_us, 6),
    ]),
    all > found.length ? `The first ${found.length}; run.json has all.` : "",
  );
}

function jobs(found) {
  if (!found.length) return null;
  return table(
    `Jobs (${count(found.length)})`,
    ["job", "over", "last completion (us)"],
    found.slice(0, LISTED).map((one) => [one.name, one.over ? "yes" : "no", number(one.end_us, 7)]),
    "",
  );
}

function figures(name, values) {
  if (!values) return null;
  return h(
    "details",
    { open: true },
    h("summary", {}, `${name}: all counts`),
    table(
      "",
      ["count", "value", "of all created"],
      Object.entries(values).map(([key, value]) => [
        key.replaceAll("_", " "),
        count(value),
        NO_PACKETS.includes(key) ? "" : percent(value, values.created),
      ]),
      "",
    ),
  );
}

function about(facts) {
  const { info } = facts;
  const rows = [
    ["Path", facts.path],
    ["Id", facts.id],
    ["Started", when(facts.started)],
    ["Ended", when(facts.ended)],
    ["Seed", info?.seed],
    ["Ranks", count(info?.ranks ?? facts.ranks)],
    ["Configuration", info?.configuration_sha256],
    ["Wall time", info ? wall(info.wall.total_s) : ""],
    ["Greatest memory of a rank", info ? `${number(Math.max(...info.peak_memory_mb))} MB` : ""],
    [
      "Versions",
      info
        ? Object.entries(info.versions)
            .map(([name, version]) => `${name} ${version}`)
            .join(", ")
        : "",
    ],
  ];
  return h(
    "details",
    { open: true },
    h("summary", {}, "About the run"),
    h(
      "dl",
      { class: "facts" },
      rows
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
    ),
  );
}

/** A table; columns that hold nothing but numbers are set as numbers. */
function table(caption, names, rows, note) {
  const isNumber = (value) => value === "" || /^[\d.,e+-]+( %)?$/.test(value);
  const looks = names.map((_, index) => (rows.every((row) => isNumber(row[index])) ? "number" : null));
  const head = names.map((name, index) => h("th", { scope: "col", class: looks[index] }, name));
  const line = (row) => row.map((value, index) => h("td", { class: looks[index] }, value));
  const body = rows.map((row) => h("tr", {}, line(row)));
  return h(
    "div",
    { class: "scroll" },
    h("table", {}, caption ? h("caption", {}, caption) : null, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)),
    note ? h("p", { class: "note" }, note) : null,
  );
}
