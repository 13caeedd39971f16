// Numbers as text, with units.

const SI = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "u"],
  [1e-9, "n"],
];
const BYTES = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
  [1, "B"],
];
const TIMES = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "us"],
  [1e-9, "ns"],
];

/** A whole number with thousands apart; "" for nothing. */
export function count(value) {
  return value === null || value === undefined ? "" : Number(value).toLocaleString("en-US");
}

/** A number with so many significant digits and no trailing zeros. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  if (value === 0) return "0";
  if (Math.abs(value) >= 10 ** digits) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(digits)));
}

/** A number with a prefix of thousands: 12.5 k. */
export function short(value, digits = 4) {
  if (!value) return "0";
  const [scale, prefix] = SI.find(([size]) => Math.abs(value) >= size) ?? SI[SI.length - 1];
  return `${number(value / scale, digits)}${prefix ? ` ${prefix}` : ""}`;
}

/** Bytes in their largest unit. */
export function bytes(value) {
  if (value === null || value === undefined) return "";
  const [scale, unit] = BYTES.find(([size]) => value >= size) ?? BYTES[BYTES.length - 1];
  return `${number(value / scale, 4)} ${unit}`;
}

/** Seconds of simulation in the unit that suits them. */
export function simulated(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds === 0) return "0 s";
  const [scale, unit] = TIMES.find(([size]) => Math.abs(seconds) >= size) ?? TIMES[TIMES.length - 1];
  return `${number(seconds / scale, 6)} ${unit}`;
}

/** The unit that suits times up to so many seconds: [factor to multiply by, name]. */
export function timeUnit(most_s) {
  const [scale, unit] = TIMES.find(([size]) => most_s >= size) ?? TIMES[TIMES.length - 1];
  return [1 / scale, unit];
}

/** Wall time in seconds: 12.3 s, 4 min 05 s, 2 h 03 min. */
export function wall(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 60) return `${number(seconds, 3)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.round(seconds - 60 * minutes)).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A date as the reader's machine writes it; "" for none. */
export function when(text) {
  if (!text) return "";
  const date = typeof text === "number" ? new Date(text * 1000) : new Date(text);
  return Number.isNaN(date.getTime())
    ? String(text)
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** A cell of a record: integers in full, floats with up to nine digits, nothing for null. */
export function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return String(Number(value.toPrecision(9)));
}

/** A percentage of a part in a whole, "" when there is no whole. */
export function percent(part, whole) {
  return whole ? `${number((100 * part) / whole, 3)} %` : "";
}
