import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../../../src/breathcast/dashboard/history.mjs";
import { Ring } from "../../../src/breathcast/dashboard/ring.mjs";
import { history, output } from "./making.mjs";

test("a ring keeps the newest, in order", () => {
  const ring = new Ring(3);
  for (let time = 0; time < 5; time += 1) ring.push({ time });
  assert.deepEqual([0, 1, 2].map((place) => ring.at(place).time), [2, 3, 4]);
  assert.equal(ring.at(-1).time, 4);
  assert.equal(ring.at(3), undefined);
  assert.equal(ring.at(-4), undefined);
});

test("a ring finds times, before, between, at and after what it has", () => {
  const ring = new Ring(3);
  for (let time = 0; time < 5; time += 1) ring.push({ time });
  assert.deepEqual([-1, 2, 2.5, 4, 9].map((time) => ring.placeOf(time)), [0, 0, 1, 2, 3]);
});

test("an emptied ring is empty, and one for nothing is refused", () => {
  const ring = new Ring(2);
  ring.push({ time: 1 });
  ring.clear();
  assert.equal(ring.length, 0);
  assert.equal(ring.at(0), undefined);
  assert.throws(() => new Ring(0), RangeError);
});

test("each sample finds the forecast that was made for it", () => {
  const made = history([0, 1, 2, 3], [20, 21, 22, 23]);
  assert.equal(made.originOf(0, 0), undefined);
  assert.equal(made.originOf(1, 0), undefined);
  assert.equal(made.originOf(2, 0).forecasts[0].position[0], 20);
  assert.equal(made.originOf(3, 0).forecasts[0].position[0], 21);
});

test("a lost output leaves a hole, and does not shift the forecasts", () => {
  const made = new History({ markers: 1, dimension: 1, horizons: 1, rate: 10 });
  for (const n of [0, 1, 3, 4, 5]) made.take(output(n, n, 100 + n));
  assert.equal(made.originOf(2, 0).forecasts[0].position[0], 101); // sample 3, from 1
  assert.equal(made.originOf(3, 0), undefined); // sample 4 needs 2, which was lost
  assert.equal(made.originOf(4, 0).forecasts[0].position[0], 103);
});

test("what brought no sample does not enter, and missing coordinates are no numbers", () => {
  const made = new History({ markers: 1, dimension: 1, horizons: 1, rate: 10 });
  assert.equal(made.take(output(0, 1, 1, { verdict: "duplicate" })), false);
  assert.equal(made.take(output(0, 1, 1, { verdict: null })), false);
  assert.equal(made.take(output(0, 1, 1, { time: null })), false);
  assert.equal(made.take(output(0, null, null)), true);
  assert.ok(Number.isNaN(made.samples.at(0).position[0]));
  assert.equal(made.samples.at(0).forecasts[0].position, null);
});

test("a clock that begins anew begins a new picture", () => {
  const made = history([0, 1, 2], [0, 1, 2]);
  made.take(output(0, 7, 7));
  assert.equal(made.samples.length, 1);
});

test("many markers shorten the past but never the picture", () => {
  const rate = 30;
  const small = new History({ markers: 3, dimension: 3, horizons: 3, rate });
  assert.equal(small.samples.capacity, 300 * rate);
  const large = new History({ markers: 64, dimension: 3, horizons: 16, rate });
  assert.equal(large.samples.capacity, 31 * rate);
});
