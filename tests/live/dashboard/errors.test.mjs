import assert from "node:assert/strict";
import { test } from "node:test";
import { errorAt, latency, quantile, runningErrors } from "../../../src/breathcast/dashboard/errors.mjs";
import { backOff, liveness, Sequence } from "../../../src/breathcast/dashboard/liveness.mjs";
import { history } from "./making.mjs";

test("errors of the forecast and of no prediction are taken at the same sample", () => {
  const made = history([0, 0, 3, 4], [1, 10, 0, 0]);
  assert.equal(errorAt(made, 1, 0, 0), null);
  assert.deepEqual(errorAt(made, 2, 0, 0), { forecast: 2, none: 3 });
  assert.deepEqual(errorAt(made, 3, 0, 0), { forecast: 6, none: 4 });
});

test("where either is unknown, neither counts", () => {
  assert.equal(errorAt(history([0, 0, 3], [null, 1, 1]), 2, 0, 0), null);
  assert.equal(errorAt(history([0, 0, null], [1, 1, 1]), 2, 0, 0), null);
  assert.equal(errorAt(history([null, 0, 1], [1, 1, 1]), 2, 0, 0), null);
});

test("a running error is the root mean square of the last seconds, and forgets", () => {
  const truth = [0, 0, 0, 0, 0, 0, 0, 0];
  const told = [3, 4, 0, 0, 0, 0, 0, 0];
  const run = runningErrors(history(truth, told), 0, 0, 0, 0.25);
  assert.equal(run.length, 8);
  assert.equal(run[1].forecast, null);
  assert.equal(run[2].forecast, 3);
  assert.ok(Math.abs(run[3].forecast - Math.sqrt(25 / 2)) < 1e-12);
  assert.ok(Math.abs(run[4].forecast - Math.sqrt(25 / 3)) < 1e-12);
  assert.ok(run[7].forecast < 1e-6);
  assert.equal(run[7].none, 0);
});

test("a running error that begins later is the same", () => {
  const truth = Array.from({ length: 60 }, (_, n) => Math.sin(n / 3));
  const told = truth.map((value) => value + 0.1);
  const made = history(truth, told);
  const [whole, part] = [runningErrors(made, 0, 0, 0, 1), runningErrors(made, 0, 0, 40, 1)];
  assert.equal(part.length, 20);
  part.forEach((one, n) => assert.ok(Math.abs(one.forecast - whole[40 + n].forecast) < 1e-9));
});

test("quantiles are values that were there", () => {
  const values = Array.from({ length: 100 }, (_, n) => 100 - n);
  assert.equal(quantile(values, 0.5), 50);
  assert.equal(quantile(values, 0.99), 99);
  assert.equal(quantile(values, 1), 100);
  assert.equal(quantile([], 0.5), null);
  assert.equal(quantile([NaN, 7], 0.5), 7);
});

test("latency is of the last seconds alone", () => {
  const made = history(new Array(50).fill(0), new Array(50).fill(0)); // the latency of sample n is n
  assert.deepEqual(latency(made, 0.95), { p50: 44, p99: 49 });
});

test("waiting doubles up to a limit, and is spread", () => {
  assert.deepEqual([0, 1, 2, 3].map((n) => backOff(n, 0.5)), [500, 1000, 2000, 4000]);
  assert.equal(backOff(30, 0.5), 15000);
  assert.ok(backOff(3, 0) < backOff(3, 1));
});

test("only a fresh sample on a good line is live", () => {
  const of = (connected, sampleAge) => liveness({ connected, sampleAge, staleMs: 500 });
  assert.equal(of(true, 20), "live");
  assert.equal(of(true, 501), "stale");
  assert.equal(of(true, Infinity), "waiting");
  assert.equal(of(false, 20), "disconnected");
});

test("holes in the running numbers are counted, repeats are left out", () => {
  const sequence = new Sequence();
  assert.deepEqual([5, 6, 6, 4, 9].map((number) => sequence.take(number)), [true, true, false, false, true]);
  assert.equal(sequence.lost, 2);
});
