// The list of sessions, the numbers of one, and how the line is.
import { id, made, number, pairs, rows, say, show } from "./dom.mjs";
import { latency } from "./errors.mjs";
import { SHOWN_S } from "./charts.mjs";

// One button a session, in place, so that the focus stays where it is.
export function listSessions(summaries, current, choose) {
  const list = id("sessions");
  show(id("no-sessions"), summaries.length === 0);
  while (list.children.length > summaries.length) list.lastElementChild.remove();
  summaries.forEach((summary, n) => {
    const button = list.children[n] ?? list.appendChild(made("button", "", { type: "button" }, [made("span"), made("span")]));
    say(button.firstElementChild, summary.name);
    say(button.lastElementChild, summary.state);
    button.setAttribute("aria-pressed", String(summary.name === current));
    button.onclick = () => choose(summary.name);
  });
}

const DAY_MS = 86_400_000;
const LINES = {
  live: "Live",
  waiting: "Connected; no samples come",
  stale: "STALE",
  disconnected: "NO LINE",
};

// How old the picture is: it must never look alive when it is not.
export function tellLine(session, ended) {
  const kind = session === null ? "connecting" : ended ? "disconnected" : session.liveness;
  id("line").dataset.line = kind;
  say(id("line-text"), session === null ? "Looking for sessions" : lineText(session, kind, ended));
}

function lineText(session, kind, ended) {
  const name = `${session.name} · `;
  if (ended) return `${name}the session has ended`;
  if (kind === "live") return `${name}${LINES.live} · ${number(session.status.clock.rate_hz, 1)} Hz`;
  if (kind === "stale") return `${name}STALE: last sample ${Math.round(session.sampleAge / 1000)} s ago`;
  if (kind === "waiting") return name + LINES.waiting;
  const wait = session.retryAt === null ? 0 : Math.ceil((session.retryAt - performance.now()) / 1000);
  return `${name}${LINES.disconnected}; ${wait > 0 ? `trying again in ${wait} s` : "trying again"}`;
}

export function tellHealth(session) {
  const { status, history, summary } = session;
  const { counters, clock } = status;
  const { p50, p99 } = latency(history, SHOWN_S);
  const late = summary.settings.limits.deadline_ms;
  const counter = (name, label) => [label, String(counters[name] ?? 0), session.isNews(name)];
  pairs(id("health"), [
    ["Latency p50", `${number(p50, 2)} ms`],
    ["Latency p99", `${number(p99, 2)} ms`, p99 > late],
    ["Rate", `${number(clock.rate_hz, 2)} Hz of ${summary.settings.rate}`],
    ["Clock", clock.used === "device" ? "of the device" : "arrival"],
    ["Clock offset", offsetText(clock.offset_ms)],
    ["Jitter", `${number(clock.jitter_ms, 1)} ms`],
    ["Gaps", String(clock.gaps)],
    counter("received", "Samples received"),
    counter("missing", "Samples missing"),
    counter("late", "Late"),
    counter("early", "Early"),
    counter("duplicate", "Duplicate"),
    counter("invalid", "With a marker invalid"),
    counter("foreign", "From another source"),
    counter("refused", "Refused"),
    ["Dropped for this page", String(session.dropped)],
    ["Lost on the way here", String(Math.max(0, session.sequence.lost - session.dropped))],
    ["Method", summary.settings.method],
    ["Source", summary.source ?? "none yet"],
    ["Journal", summary.journal === null ? "none is kept" : "kept"],
  ]);
}

// Many devices count from when they were switched on; then the offset says nothing to a reader.
function offsetText(offset) {
  return Math.abs(offset) > DAY_MS ? "another origin" : `${number(offset, 1)} ms`;
}

export function tellErrors(session) {
  const { forecasts } = session;
  say(id("window"), String(session.summary.settings.error_window_s));
  const lines = (forecasts ?? []).map((one) => [
    number(one.used_ms, 0),
    number(one.rmse_mm),
    number(one.no_prediction_rmse_mm),
    number(one.rmse_mm !== null && one.no_prediction_rmse_mm > 0 ? one.rmse_mm / one.no_prediction_rmse_mm : null),
    number(one.radius_mm),
  ]);
  rows(id("errors"), lines);
}
