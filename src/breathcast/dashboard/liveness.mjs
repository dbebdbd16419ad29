// When to try again, and when not to believe the picture.
const FIRST_MS = 500;
const LONGEST_MS = 15000;

// How long to wait, in ms, before attempt `n` (0, 1, ...): doubled each time, up to a limit, and spread so that many pages do
// not come back in the same moment. `chance` is between 0 and 1.
export function backOff(n, chance = Math.random()) {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** n) * (0.75 + 0.5 * chance);
}

// What may be said of the picture. Ages in ms since the last sign of life; Infinity: never.
export function liveness({ connected, sampleAge, staleMs }) {
  if (!connected) return "disconnected";
  if (sampleAge === Infinity) return "waiting";
  return sampleAge > staleMs ? "stale" : "live";
}

// Outputs that were lost on the way, from their running numbers.
export class Sequence {
  newest = null;
  lost = 0;

  // Whether this one is new; what was seen before is to be left out.
  take(number) {
    if (this.newest !== null && number <= this.newest) return false;
    if (this.newest !== null) this.lost += number - this.newest - 1;
    this.newest = number;
    return true;
  }
}
