// The plots of a run: from the columns that the server sends to lines, bars and heat maps. A row of PLOTS per plot.

import { barPlot, heatPlot } from "./areas.js";
import { bytes, count, number, timeUnit } from "./format.js";
import { linePlot } from "./lines.js";

const TIER_COLOUR = { NIC: 0, rack: 1, fabric: 2, spine: 3, other: 4 };

/** name -> function of the plot's rows (objects) to a list of { plane, element, heading } and texts. */
export const PLOTS = {
  "completion-cdf": completion,
  bandwidth,
  utilisation,
  "port-heatmap": heatmaps,
  windows,
  bottlenecks,
  losses,
};

/** Rows as objects from { columns: { name: [values] } }. */
export function rowsOf(columns) {
  const names = Object.keys(columns);
  const length = names.length ? columns[names[0]].length : 0;
  return Array.from({ length }, (_, index) => Object.fromEntries(names.map((name) => [name, columns[name][index]])));
}

function completion(rows) {
  const [factor, unit] = timeUnit(most(rows, "completion_us") / 1e6);
  const scaled = rows.map((row) => ({ ...row, time: (row.completion_us / 1e6) * factor }));
  const series = parts(scaled, "series").map(([name, part]) => ({
    name: `${name} (${count(part[0].messages)} messages)`,
    shape: "step",
    end: pick(part, "time"),
    y: pick(part, "fraction"),
  }));
  const [first, last] = [least(scaled, "time"), most(scaled, "time")];
  return [
    linePlot({
      title: "Completion times of messages",
      series,
      height: 340,
      x: {
        label: `completion time (${unit})`,
        kind: first > 0 && last > first ? "log" : "linear",
        full: [first, last],
      },
      y: { label: "share of messages", full: [0, 1.02] },
      levels: [
        { value: 0.5, name: "p50" },
        { value: 0.99, name: "p99" },
      ],
    }),
  ];
}

function bandwidth(rows) {
  const sizes = [...new Set(pick(rows, "size_bytes"))].sort((a, b) => a - b);
  const every = Math.ceil(sizes.length / 12);
  const series = parts(rows, "job").map(([name, part]) => ({
    name,
    shape: "line",
    end: pick(part, "size_bytes"),
    y: pick(part, "busbw_GBps"),
    marks: true,
    hollow: pick(part, "extrapolated"),
  }));
  const ideals = [...new Set(pick(rows, "ideal_GBps").filter((value) => value !== null))];
  const top = Math.max(most(rows, "busbw_GBps"), most(rows, "ideal_GBps")) * 1.1 || 1;
  const out = [
    linePlot({
      title: "Bus bandwidth against size",
      series,
      height: 340,
      unit: "GB/s",
      x: {
        label: "size",
        kind: sizes[0] > 0 ? "log" : "linear",
        full: [sizes[0], sizes[sizes.length - 1]],
        ticks: sizes.filter((_, place) => place % every === 0).map((size) => [size, bytes(size)]),
      },
      y: { label: "bus bandwidth (GB/s)", full: [0, top] },
      levels: ideals.map((value) => ({ value, name: `most that the network allows: ${number(value)} GB/s` })),
    }),
  ];
  if (rows.some((row) => row.extrapolated)) out.push("Hollow points were extrapolated, not simulated.");
  return out;
}

function utilisation(rows) {
  const [factor, unit] = timeUnit(most(rows, "end_s"));
  const full = [least(rows, "begin_s") * factor, most(rows, "end_s") * factor];
  return parts(rows, "tier").map(([tier, ports]) => {
    const series = parts(ports, "direction").flatMap(([way, part], place) =>
      ["mean", "max"].map((figure) => ({
        name: figure === "mean" ? `${way}, mean of ${count(most(part, "ports"))} ports` : `${way}, busiest port`,
        shape: "span",
        colour: place,
        dash: figure === "mean" ? 0 : 1,
        begin: pick(part, "begin_s").map((value) => value * factor),
        end: pick(part, "end_s").map((value) => value * factor),
        y: pick(part, `${figure}_percent`),
      })),
    );
    return {
      heading: `${tier} ports`,
      ...linePlot({
        title: `Utilisation of ${tier} ports`,
        series,
        height: 210,
        unit: "%",
        x: { label: `simulation time (${unit})`, full },
        y: { label: "utilisation (%)", full: [0, 105] },
      }),
    };
  });
}

function heatmaps(rows) {
  const drawn = rows.filter((row) => row.port !== null);
  const [factor, unit] = timeUnit(most(drawn, "end_s"));
  const full = [least(drawn, "begin_s") * factor, most(drawn, "end_s") * factor];
  const maps = parts(drawn, "what").map(([what, part]) => {
    const names = [...new Set(pick(part, "port"))];
    const place = new Map(names.map((name, index) => [name, index]));
    const cells = part.map((row) => ({
      row: place.get(row.port),
      begin: row.begin_s * factor,
      end: row.end_s * factor,
      value: row.value,
    }));
    const all = part[0].ports;
    return {
      heading: names.length < all ? `${what} (${names.length} of ${count(all)} ports that had any)` : what,
      ...heatPlot({ title: what, unit: part[0].unit, names, cells, x: { label: `simulation time (${unit})`, full } }),
    };
  });
  return [...maps, ...rows.map((row) => row.note).filter((note) => note !== null)];
}

function windows(rows) {
  const [factor, unit] = timeUnit(most(rows, "end_s"));
  const full = [least(rows, "begin_s") * factor, most(rows, "end_s") * factor];
  const spans = rows.some((row) => row.begin_s < row.end_s);
  const panel = (title, label, unitOfY, name, scale) => {
    const scaled = (value) => (value === null ? null : value * scale);
    const series = parts(rows, "flow").map(([flow, part]) => {
      const there = spans ? part : part.filter((row) => row[name] !== null);
      return {
        name: flow,
        shape: spans ? "span" : "line",
        begin: pick(there, "begin_s").map((value) => value * factor),
        end: pick(there, "end_s").map((value) => value * factor),
        y: pick(there, name).map(scaled),
        ...(spans
          ? { low: pick(there, band(name, "min")).map(scaled), high: pick(there, band(name, "max")).map(scaled) }
          : {}),
      };
    });
    const top = Math.max(most(rows, band(name, "max")) * scale, 1e-9);
    return {
      heading: title,
      ...linePlot({
        title,
        series,
        height: 240,
        unit: unitOfY,
        x: { label: `simulation time (${unit})`, full },
        y: { label, full: [0, top * 1.05] },
      }),
    };
  };
  return [
    panel("Congestion windows", "window (KB)", "KB", "cwnd_B", 1e-3),
    panel("Round-trip times", "round trip (us)", "us", "rtt_us", 1),
    spans
      ? "Mean of each NIC's report intervals; the band reaches from the least to the greatest sample."
      : "Windows at each packet of a flow; round-trip times of its ACKs.",
  ];
}

function band(name, figure) {
  const cut = name.lastIndexOf("_");
  return `${name.slice(0, cut)}_${figure}${name.slice(cut)}`;
}

function bottlenecks(rows) {
  const tiers = [...new Set(pick(rows, "tier"))];
  return [
    barPlot({
      title: "Links by volume",
      label: "sent since the start (GB, on the wire)",
      rows: rows.map((row) => ({
        name: row.link,
        value: row.sent_GB,
        colour: TIER_COLOUR[row.tier] ?? 4,
        text:
          `${number(row.mean_percent, 3)} %, at most ${number(row.max_percent, 3)} %` +
          (row.drops ? `, ${count(row.drops)} dropped` : ""),
      })),
      groups: tiers.map((tier) => ({ name: `${tier} ports`, colour: TIER_COLOUR[tier] ?? 4 })),
    }),
    "At the bars: utilisation, mean and greatest of the report intervals.",
  ];
}

function losses(rows) {
  const shown = rows.reduce((sum, row) => sum + row.lost_packets, 0);
  return [
    barPlot({
      title: "Losses by link",
      label: "frames lost",
      rows: rows.map((row) => ({
        name: row.link,
        value: row.lost_packets,
        colour: 1,
        text: `${count(row.lost_packets)} (${number(row.lost_KB)} KB)`,
      })),
    }),
    `${count(shown)} of ${count(rows[0].total_packets)} lost frames are of the links shown.`,
  ];
}

function pick(rows, name) {
  return rows.map((row) => row[name]);
}

/** The least and the greatest value of a column; rows may be too many for the arguments of a call. */
function least(rows, name) {
  return rows.reduce((smallest, row) => Math.min(smallest, row[name] ?? smallest), Infinity);
}

function most(rows, name) {
  return rows.reduce((greatest, row) => Math.max(greatest, row[name] ?? 0), 0);
}

/** Rows by the value of a column, in the order in which values come up: [[value, rows]]. */
function parts(rows, name) {
  const found = new Map();
  for (const row of rows) {
    if (!found.has(row[name])) found.set(row[name], []);
    found.get(row[name]).push(row);
  }
  return [...found];
}
