// From values to places on an axis and back, and where its ticks stand.

/** An axis of numbers. kind: "linear" or "log". full: [least, greatest] value. Zooming changes `view`. */
export class Scale {
  constructor(kind, full) {
    this.log = kind === "log" && full[0] > 0;
    const [least, greatest] = [this.to(full[0]), this.to(full[1])];
    const room = greatest > least ? 0 : Math.abs(greatest) * 0.05 || 0.5;
    this.full = [least - room, greatest + room];
    this.view = [...this.full];
  }

  to(value) {
    return this.log ? Math.log10(value) : value;
  }

  from(place) {
    return this.log ? 10 ** place : place;
  }

  /** The values at both ends of what is shown. */
  get ends() {
    return this.view.map((place) => this.from(place));
  }

  /** Where a value stands: 0 at the beginning of the axis, 1 at its end. */
  share(value) {
    return (this.to(value) - this.view[0]) / (this.view[1] - this.view[0]);
  }

  /** The value at a share of the axis. */
  at(share) {
    return this.from(this.view[0] + share * (this.view[1] - this.view[0]));
  }

  /** Shows a factor less (> 1: nearer) around a share of the axis; never more than everything. */
  zoom(factor, share = 0.5) {
    const width = Math.min(Math.max((this.view[1] - this.view[0]) / factor, this.width * 1e-6), this.width);
    const fixed = this.view[0] + share * (this.view[1] - this.view[0]);
    this.show(fixed - share * width, width);
  }

  /** Moves what is shown by a share of it. */
  pan(share) {
    const width = this.view[1] - this.view[0];
    this.show(this.view[0] + share * width, width);
  }

  reset() {
    this.view = [...this.full];
  }

  get zoomed() {
    return this.view[0] > this.full[0] || this.view[1] < this.full[1];
  }

  get width() {
    return this.full[1] - this.full[0];
  }

  show(begin, width) {
    const first = Math.min(Math.max(begin, this.full[0]), this.full[1] - width);
    this.view = [first, first + width];
  }

  /** About so many [value, text] pairs at round values of what is shown. */
  ticks(wanted) {
    const [begin, end] = this.view;
    if (this.log && end - begin > 0.9) return logTicks(begin, end, wanted);
    const [low, high] = this.ends;
    return linearTicks(low, high, wanted);
  }
}

function linearTicks(low, high, wanted) {
  const step = roundStep((high - low) / Math.max(wanted, 1));
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place += 1) {
    const value = place * step || 0; // not -0
    found.push([value, tickText(value, digits)]);
  }
  return found;
}

function logTicks(begin, end, wanted) {
  const decades = end - begin;
  const within = decades * 3 <= wanted * 1.5 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / Math.max(wanted, 1)));
  const found = [];
  for (let decade = Math.floor(begin); decade <= end; decade += 1) {
    for (const one of decade % every === 0 ? within : []) {
      const place = decade + Math.log10(one);
      if (place >= begin - 1e-9 && place <= end + 1e-9)
        found.push([10 ** place, tickText(one * 10 ** decade, Math.max(0, -decade))]);
    }
  }
  return found;
}

function roundStep(rough) {
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * size >= rough * (1 - 1e-9));
  return step * size;
}

function tickText(value, digits) {
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4))
    return value
      .toExponential(2)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  return value.toLocaleString("en-US", {
    minimumFractionDigits: Math.min(digits, 12),
    maximumFractionDigits: Math.min(digits, 12),
  });
}
