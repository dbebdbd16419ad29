import assert from "node:assert/strict";
import { test } from "node:test";
import { contains, decisions, fault, spread, statistics, suggest } from "../../../src/breathcast/dashboard/gating.mjs";
import { history, PERIOD } from "./making.mjs";

const WINDOW = { kind: "axis", marker: 0, axis: 0, low: 0, high: 1 };
const close = (one, other) => assert.ok(Math.abs(one - other) < 1e-12, `${one} is not ${other}`);

test("a window holds its ends; a ball its surface; a missing coordinate is outside", () => {
  assert.deepEqual([-0.1, 0, 1, 1.1, NaN].map((x) => contains(WINDOW, [x])), [false, true, true, false, false]);
  const ball = { kind: "ball", marker: 0, centre: [1, 2, 3], radius: 5 };
  assert.ok(contains(ball, [4, 6, 3]));
  assert.ok(!contains(ball, [4, 6, 3.1]));
  assert.ok(!contains(ball, [4, NaN, 3]));
});

test("windows that cannot be used say why", () => {
  assert.equal(fault(WINDOW), "");
  assert.match(fault({ ...WINDOW, low: 1 }), /below/);
  assert.match(fault({ ...WINDOW, low: NaN }), /numbers/);
  assert.match(fault({ kind: "ball", centre: null, radius: 1 }), /reference/);
  assert.match(fault({ kind: "ball", centre: [1, 2, 3], radius: 0 }), /radius/);
});

test("the beam is decided two samples earlier, and is off without a forecast", () => {
  //                     0    1    2    3    4    5
  const truth = /*    */ [0.5, 0.5, 5.0, 5.0, 0.5, 0.5];
  const told = /*     */ [5.0, 5.0, 0.5, null, 0, 0]; // sample 2 is foreseen by 0, and so on
  const made = decisions(history(truth, told), WINDOW, 0);
  assert.deepEqual(made.map((one) => one.truth), [false, false, true, true]);
  assert.deepEqual(made.map((one) => one.forecast), [false, false, true, false]);
  assert.deepEqual(made.map((one) => one.delayed), [true, true, false, false]);
  assert.deepEqual(made.map((one) => one.held), [false, false, false, true]);
});

test("statistics are what can be counted by hand", () => {
  const truth = [0.5, 0.5, 5.0, 5.0, 0.2, 0.4];
  const told = [5.0, 5.0, 0.5, null, 0, 0];
  const made = decisions(history(truth, told), WINDOW, 0);
  const forecast = statistics(made, "forecast", WINDOW, PERIOD);
  close(forecast.total, 0.4);
  assert.equal(forecast.duty, 0.25);
  assert.equal(forecast.falseOn, 0);
  close(forecast.falseOff, 0.1);
  assert.equal(forecast.falseOffShare, 0.25);
  assert.equal(forecast.residual, null); // of one position nothing can be said
  close(forecast.held, 0.1);
  const delayed = statistics(made, "delayed", WINDOW, PERIOD);
  close(delayed.falseOn, 0.2);
  close(delayed.falseOff, 0.2);
  assert.equal(delayed.residual, 0); // both at 5.0
  const ideal = statistics(made, "truth", WINDOW, PERIOD);
  assert.equal(ideal.duty, 0.5);
  assert.equal(ideal.falseOn + ideal.falseOff, 0);
  close(ideal.residual, 0.1);
});

test("with nothing known there is nothing to say", () => {
  const none = statistics([], "forecast", WINDOW, PERIOD);
  assert.equal(none.duty, null);
  assert.equal(none.residual, null);
  assert.equal(none.falseOnShare, null);
});

test("a perfect forecast is never wrong; a missing position is not judged", () => {
  const truth = Array.from({ length: 100 }, (_, n) => Math.sin(n / 5));
  const told = truth.map((_, n) => Math.sin((n + 2) / 5));
  truth[50] = null;
  const made = decisions(history(truth, told), WINDOW, 0);
  assert.equal(made.length, 97);
  const found = statistics(made, "forecast", WINDOW, PERIOD);
  assert.equal(found.falseOn + found.falseOff, 0);
  assert.ok(statistics(made, "delayed", WINDOW, PERIOD).falseOn > 0);
});

test("the spread in space adds the variances of the axes", () => {
  close(spread([[0, 0], [2, 4]], [0, 1]), Math.sqrt(1 + 4));
  close(spread([[0, 0], [2, 4]], [1]), 2);
});

test("the suggested window lies where breathing rests", () => {
  const truth = Array.from({ length: 300 }, (_, n) => 10 * Math.sin(n / 12) ** 4);
  const found = suggest(history(truth, truth), 0);
  assert.ok(found.low < 0.1 && found.high > 3 && found.high < 4, JSON.stringify(found));
  const turned = suggest(history(truth.map((x) => -x), truth), 0);
  assert.ok(turned.high > -0.1 && turned.low < -3 && turned.low > -4, JSON.stringify(turned));
  assert.equal(suggest(history([1, 1], [1, 1]), 0), null);
});
