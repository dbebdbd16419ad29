// What the pictures show: positions with their forecasts, running errors, and the beam of the gating preview.
import { runningErrors } from "./errors.mjs";
import { LEFT, look, tint } from "./plot.mjs";

export const SHOWN_S = 30;
const SIGNS = { HOLD: "hold", FAULT: "fault", WARMUP: "warmup-ink", DEGRADED: "degraded-ink" };

// Where the picture begins and ends: it reaches into the future as far as the longest forecast shown.
export function span(history, chosen, now) {
  const newest = history.samples.at(-1);
  const ahead = Math.max(0, ...chosen.map((k) => newest?.forecasts[k]?.used ?? 0));
  return { from: now - SHOWN_S, to: now + Math.max(ahead, 0.5), now };
}

// Every so many samples is enough: more than two to a pixel cannot be seen.
const strideOf = (history, first, width) => Math.max(1, Math.floor((history.samples.length - first) / (2 * width)));

export function drawMotion(plot, history, { marker, axis, chosen, regions, now }) {
  const { from, to } = span(history, chosen, now);
  const { samples, period } = history;
  const column = marker * history.shape.dimension + axis;
  plot.begin(from, to, now);
  const longest = Math.max(0, ...chosen.map((k) => samples.at(-1)?.forecasts[k]?.used ?? 0));
  const first = samples.placeOf(from - longest);
  const stride = strideOf(history, first, plot.width);
  const lines = { truth: [], forecasts: chosen.map(() => []), none: [] };
  for (let place = first; place < samples.length; place += stride) {
    const sample = samples.at(place);
    const value = sample.position[column];
    lines.truth.push([sample.time, value]);
    lines.none.push([sample.time + longest, value]);
    chosen.forEach((k, n) => {
      const forecast = sample.forecasts[k];
      if (forecast) lines.forecasts[n].push([sample.time + forecast.used, forecast.position?.[column] ?? NaN, forecast.radius]);
    });
  }
  scaleTo(plot, lines.truth, from);
  plot.grid();
  plot.clip();
  drawStates(plot, history, first, stride);
  const gap = 2.5 * period * stride;
  if (regions) chosen.forEach((k, n) => plot.band(lines.forecasts[n], look(k).colour, gap));
  if (longest) plot.line(lines.none, { stroke: tint("none"), dash: [1, 3], width: 1.5, gap });
  plot.line(lines.truth, { stroke: tint("truth"), width: 3, gap });
  chosen.forEach((k, n) => plot.line(lines.forecasts[n], { stroke: look(k).colour, dash: look(k).dash, width: 1.8, gap }));
  drawNow(plot);
  plot.unclip();
}

// The scale follows the truth, with room for its region; a forecast gone astray leaves the picture, and not the scale.
function scaleTo(plot, truth, from) {
  let [low, high] = [Infinity, -Infinity];
  for (const [time, value] of truth) {
    if (time < from || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  plot.scale(low, high, { margin: 0.25 });
}

function drawNow(plot) {
  const { context } = plot;
  context.strokeStyle = tint("soft");
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(plot.x(plot.now), 0);
  context.lineTo(plot.x(plot.now), plot.bottom);
  context.stroke();
}

// A bar along the lower edge for each stretch that was not OK, with its name where there is room.
function drawStates(plot, history, first, stride) {
  const { samples, period } = history;
  let begun = first;
  for (let place = first; place <= samples.length; place += 1) {
    const state = samples.at(begun)?.state;
    if (samples.at(place)?.state === state && place < samples.length) continue;
    if (state in SIGNS) drawState(plot, state, samples.at(begun).time, samples.at(place - 1).time + period * stride);
    begun = place;
  }
}

function drawState(plot, state, from, to) {
  const { context } = plot;
  const [left, right] = [Math.max(LEFT, plot.x(from)), plot.x(to)];
  const heavy = state === "HOLD" || state === "FAULT";
  context.fillStyle = tint(SIGNS[state]);
  context.globalAlpha = heavy ? 0.22 : 0.1;
  context.fillRect(left, heavy ? 0 : plot.bottom - 4, right - left, plot.bottom);
  context.globalAlpha = 1;
  context.fillRect(left, plot.bottom - 3, right - left, 3);
  context.fillStyle = heavy ? tint("ink") : tint(SIGNS[state]);
  context.font = "bold 11px system-ui, sans-serif";
  context.textAlign = "left";
  if (right - left > context.measureText(state).width + 8) context.fillText(state, left + 4, plot.bottom - 7);
}

export function drawErrors(plot, history, { marker, chosen, now }) {
  const { from, to } = span(history, chosen, now);
  const first = history.samples.placeOf(from);
  plot.begin(from, to, now);
  const runs = chosen.map((k) => runningErrors(history, k, marker, first));
  let high = 0;
  for (const one of runs.flat()) high = Math.max(high, one.forecast ?? 0, one.none ?? 0);
  plot.scale(0, high, { margin: 0.08, least: 0.2 });
  plot.low = 0;
  plot.grid();
  plot.clip();
  const gap = 2.5 * history.period;
  chosen.forEach((k, n) => {
    const { colour, dash } = look(k);
    plot.line(runs[n].map((one) => [one.time, one.none]), { stroke: colour, dash: [1, 3], width: 1.6, gap });
    plot.line(runs[n].map((one) => [one.time, one.forecast]), { stroke: colour, dash, width: 2.2, gap });
  });
  drawNow(plot);
  plot.unclip();
}

const STRIPS = [["truth", "should be"], ["forecast", "forecast"], ["delayed", "delayed"]];

// Three rows: where the beam should have been on, and where each way to decide would have had it on.
export function drawStrips(plot, made, period, now) {
  plot.begin(now - SHOWN_S, now + 0.5, now);
  plot.seconds();
  const height = plot.bottom / STRIPS.length;
  STRIPS.forEach(([by, label], row) => {
    const top = row * height;
    drawStrip(plot, runsOf(made, by, period), { top: top + 16, height: height - 19, now });
    plot.context.fillStyle = tint("ink");
    plot.context.font = "12px system-ui, sans-serif";
    plot.context.textAlign = "left";
    plot.context.fillText(label, 2, top + 12);
  });
}

// Stretches of samples that are alike: {from, to, kind}, kind "on", "off", "falseOn" or "falseOff".
export function runsOf(made, by, period) {
  const runs = [];
  for (const one of made) {
    const kind = one[by] ? (one.truth ? "on" : "falseOn") : one.truth ? "falseOff" : "off";
    const last = runs.at(-1);
    if (last?.kind === kind && one.time - last.to < 1.5 * period) last.to = one.time + period;
    else runs.push({ kind, from: one.time, to: one.time + period });
  }
  return runs;
}

function drawStrip(plot, runs, { top, height }) {
  const { context } = plot;
  for (const { kind, from, to } of runs) {
    const [left, right] = [Math.max(LEFT, plot.x(from)), plot.x(to)];
    if (right <= LEFT) continue;
    context.fillStyle = kind === "falseOn" ? tint("flag") : tint("ink");
    if (kind === "on") context.fillStyle = tint("h3");
    if (kind === "on" || kind === "falseOn") context.fillRect(left, kind === "on" ? top : top - 4, right - left, kind === "on" ? height : height + 4);
    else context.fillRect(left, top + height - 1, right - left, 1);
    if (kind === "falseOff") hatch(context, left, top, right - left, height);
  }
}

function hatch(context, left, top, width, height) {
  context.save();
  context.beginPath();
  context.rect(left, top, width, height);
  context.clip();
  context.strokeStyle = tint("ink");
  context.lineWidth = 1;
  context.beginPath();
  for (let x = left - height; x < left + width; x += 4) {
    context.moveTo(x, top + height);
    context.lineTo(x + height, top);
  }
  context.stroke();
  context.restore();
}
