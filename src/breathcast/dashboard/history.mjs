// What a session said lately, ready to be drawn: outputs go in, and each sample finds the forecasts that were made for it.
import { Ring } from "./ring.mjs";

export const KEPT_S = 300;
const SHOWN_S = 31;
const NUMBERS = 3e6; // at most kept: many markers and horizons shorten the past, never the drawn 30 s

export class History {
  // `shape`: markers, dimension, horizons, rate.
  constructor(shape) {
    const { markers, dimension, horizons, rate } = shape;
    this.shape = shape;
    this.period = 1 / rate;
    const room = Math.floor(NUMBERS / (markers * dimension * (horizons + 1)));
    this.samples = new Ring(Math.ceil(Math.max(SHOWN_S * rate, Math.min(KEPT_S * rate, room))));
  }

  // Takes an output; false if it brought no new sample. What went wrong with a sample never enters the picture.
  take(output) {
    if (output.verdict !== "taken" || output.time === null || output.position === null) return false;
    const newest = this.samples.at(-1);
    // A device that begins anew counts from 0 again; an ascending time is what everything here rests on.
    if (newest && output.time <= newest.time) this.samples.clear();
    this.samples.push({
      time: output.time,
      state: output.state,
      latency: output.latency_ms,
      position: this.#flat(output.position),
      forecasts: output.forecasts.map((forecast) => ({
        steps: forecast.steps,
        used: forecast.used_ms / 1000,
        radius: forecast.radius_mm,
        position: forecast.position === null ? null : this.#flat(forecast.position),
      })),
    });
    return true;
  }

  #flat(rows) {
    const { markers, dimension } = this.shape;
    const numbers = new Float64Array(markers * dimension).fill(NaN);
    rows.slice(0, markers).forEach((row, marker) => {
      row?.slice(0, dimension).forEach((value, axis) => {
        if (Number.isFinite(value)) numbers[marker * dimension + axis] = value;
      });
    });
    return numbers;
  }

  // The sample from which the forecast of horizon `k` for the sample at `place` was made. Undefined if it was lost.
  originOf(place, k) {
    const sample = this.samples.at(place);
    const forecast = sample?.forecasts[k];
    if (!forecast) return undefined;
    // Without losses it is simply `steps` places back; else it is looked for by its time.
    const wanted = sample.time - forecast.used;
    const near = (candidate) =>
      candidate !== undefined && Math.abs(candidate.time - wanted) <= this.period / 2 ? candidate : undefined;
    return near(place >= forecast.steps ? this.samples.at(place - forecast.steps) : undefined) ?? this.#nearest(wanted, near);
  }

  #nearest(time, near) {
    const after = this.samples.placeOf(time);
    const [left, right] = [after > 0 ? this.samples.at(after - 1) : undefined, this.samples.at(after)];
    if (left && right) return near(right.time - time < time - left.time ? right : left);
    return near(left ?? right);
  }

  // Places of the samples of the last `seconds`.
  since(seconds) {
    const newest = this.samples.at(-1);
    return newest === undefined ? 0 : this.samples.placeOf(newest.time - seconds);
  }
}

// The coordinates of one marker in the numbers of a sample.
export function markerOf(numbers, marker, dimension) {
  return numbers.subarray(marker * dimension, (marker + 1) * dimension);
}
