// Errors of the forecasts and of no prediction, on the same samples.
import { markerOf } from "./history.mjs";

export const WINDOW_S = 3;

// The distance between two positions; NaN if a coordinate is missing.
export function distance(one, other) {
  let sum = 0;
  for (let axis = 0; axis < one.length; axis += 1) sum += (one[axis] - other[axis]) ** 2;
  return Math.sqrt(sum);
}

// The error at one sample: of the forecast that was made for it, and of having taken the position of that time instead.
// Both or neither, for else they would not be comparable.
export function errorAt(history, place, k, marker) {
  const origin = history.originOf(place, k);
  const told = origin?.forecasts[k]?.position;
  if (!told) return null;
  const { dimension } = history.shape;
  const truth = markerOf(history.samples.at(place).position, marker, dimension);
  const forecast = distance(markerOf(told, marker, dimension), truth);
  const none = distance(markerOf(origin.position, marker, dimension), truth);
  return Number.isFinite(forecast) && Number.isFinite(none) ? { forecast, none } : null;
}

// For each sample from `first` on: root mean squares over the last `window` seconds, null where nothing is known.
export function runningErrors(history, k, marker, first = 0, window = WINDOW_S) {
  const { samples } = history;
  const begin = first < samples.length ? samples.placeOf(samples.at(first).time - window) : first;
  const squares = [];
  const told = [];
  let [left, forecast, none, count] = [0, 0, 0, 0];
  for (let place = begin; place < samples.length; place += 1) {
    const { time } = samples.at(place);
    const error = errorAt(history, place, k, marker);
    squares.push({ time, forecast: error ? error.forecast ** 2 : 0, none: error ? error.none ** 2 : 0, known: error !== null });
    const newest = squares.at(-1);
    [forecast, none, count] = [forecast + newest.forecast, none + newest.none, count + newest.known];
    for (; squares[left].time <= time - window; left += 1) {
      const gone = squares[left];
      [forecast, none, count] = [forecast - gone.forecast, none - gone.none, count - gone.known];
    }
    // The sums can fall below zero by rounding.
    const root = (sum) => (count > 0 ? Math.sqrt(Math.max(0, sum) / count) : null);
    if (place >= first) told.push({ time, forecast: root(forecast), none: root(none) });
  }
  return told;
}

// The value below which this share of the values lies (nearest rank); null if there are none.
export function quantile(values, share) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

// Latency over the samples of the last `seconds`.
export function latency(history, seconds) {
  const values = [];
  for (let place = history.since(seconds); place < history.samples.length; place += 1) {
    values.push(history.samples.at(place).latency);
  }
  return { p50: quantile(values, 0.5), p99: quantile(values, 0.99) };
}
