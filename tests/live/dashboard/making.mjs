// Outputs as the server sends them, made for tests.
import { History } from "../../../src/breathcast/dashboard/history.mjs";

export const PERIOD = 0.1;

// One marker on a line: `truth` and, for each sample, what was forecast `steps` samples ahead (null: held back).
export function output(n, value, told, { steps = 2, ...changes } = {}) {
  const forecast = {
    horizon_ms: steps * 100,
    used_ms: steps * 100,
    steps,
    position: told === null ? null : [[told]],
    radius_mm: 1,
    rmse_mm: 1,
    no_prediction_rmse_mm: 2,
  };
  return {
    type: "output",
    sequence: n + 1,
    verdict: "taken",
    time: 1000 + n * PERIOD,
    state: "OK",
    position: [[value]],
    forecasts: [forecast],
    latency_ms: n,
    ...changes,
  };
}

export function history(truth, told, options) {
  const made = new History({ markers: 1, dimension: 1, horizons: 1, rate: 1 / PERIOD });
  truth.forEach((value, n) => made.take(output(n, value, told[n], options)));
  return made;
}
