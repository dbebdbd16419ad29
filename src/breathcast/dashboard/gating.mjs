// The gating preview: what a beam would have done in the last seconds. docs/dashboard.md has the formulas.
import { distance } from "./errors.mjs";
import { markerOf } from "./history.mjs";

// A window is {kind: "axis", marker, axis, low, high} or {kind: "ball", marker, centre, radius}.
export function contains(window, position) {
  if (window.kind === "ball") return distance(position, window.centre) <= window.radius;
  const value = position[window.axis];
  return value >= window.low && value <= window.high;
}

// Why a window cannot be used; an empty text if it can.
export function fault(window) {
  if (window.kind === "ball") {
    if (!window.centre || ![...window.centre].every(Number.isFinite)) return "Take a reference position first.";
    return window.radius > 0 ? "" : "Give a radius above 0.";
  }
  if (!Number.isFinite(window.low) || !Number.isFinite(window.high)) return "Give two numbers.";
  return window.low < window.high ? "" : "Low must be below high.";
}

// For each sample from `first` on, whose position and whose origin are known: should the beam have been on (`truth`),
// and was it, by the forecast and by the delayed position? Without a forecast the beam is off.
export function decisions(history, window, k, first = 0) {
  const { dimension } = history.shape;
  const of = (numbers) => markerOf(numbers, window.marker, dimension);
  const made = [];
  for (let place = first; place < history.samples.length; place += 1) {
    const sample = history.samples.at(place);
    const origin = history.originOf(place, k);
    const position = of(sample.position);
    if (!origin || !position.every(Number.isFinite)) continue;
    const told = origin.forecasts[k]?.position ?? null;
    made.push({
      time: sample.time,
      position,
      truth: contains(window, position),
      forecast: told !== null && contains(window, of(told)),
      delayed: contains(window, of(origin.position)),
      held: told === null,
    });
  }
  return made;
}

// Root of the summed variances of the positions: over an axis its standard deviation. Null for less than two positions.
export function spread(positions, axes) {
  if (positions.length < 2) return null;
  let variance = 0;
  for (const axis of axes) {
    const mean = positions.reduce((sum, position) => sum + position[axis], 0) / positions.length;
    variance += positions.reduce((sum, position) => sum + (position[axis] - mean) ** 2, 0) / positions.length;
  }
  return Math.sqrt(variance);
}

// The numbers of one way to decide, `by` = "truth", "forecast" or "delayed". Each sample stands for one period.
export function statistics(made, by, window, period) {
  const count = (test) => made.reduce((sum, one) => sum + (test(one) ? 1 : 0), 0);
  const on = made.filter((one) => one[by]);
  const axes = window.kind === "ball" ? [...window.centre.keys()] : [window.axis];
  const total = made.length;
  const share = (number) => (total === 0 ? null : number / total);
  const falseOn = count((one) => one[by] && !one.truth);
  const falseOff = count((one) => !one[by] && one.truth);
  return {
    total: total * period,
    on: on.length * period,
    duty: share(on.length),
    residual: spread(on.map((one) => one.position), axes),
    falseOn: falseOn * period,
    falseOff: falseOff * period,
    falseOnShare: share(falseOn),
    falseOffShare: share(falseOff),
    held: count((one) => one.held) * period,
  };
}

// The axis that moves most, and the part of its range where breathing rests longest: a window to begin with.
export function suggest(history, marker, seconds = 30) {
  const { dimension } = history.shape;
  const columns = Array.from({ length: dimension }, () => []);
  for (let place = history.since(seconds); place < history.samples.length; place += 1) {
    const position = markerOf(history.samples.at(place).position, marker, dimension);
    position.forEach((value, axis) => Number.isFinite(value) && columns[axis].push(value));
  }
  const ranges = columns.map((values) => quantiles(values));
  const widest = ranges.reduce((best, range, axis) => (range.width > ranges[best].width ? axis : best), 0);
  const { low, middle, high, width } = ranges[widest];
  if (!(width > 0)) return null;
  // Breathing rests at one end (mostly the exhaled one), so the median lies nearer to it.
  const margin = 0.05 * width;
  const part = middle - low < high - middle ? [low - margin, low + 0.35 * width] : [high - 0.35 * width, high + margin];
  return { kind: "axis", marker, axis: widest, low: part[0], high: part[1] };
}

function quantiles(values) {
  if (values.length === 0) return { low: NaN, middle: NaN, high: NaN, width: -1 };
  const sorted = values.sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return { low: at(0.02), middle: at(0.5), high: at(0.98), width: at(0.98) - at(0.02) };
}
