// The dashboard: finds the sessions, follows one of them, and draws it as long as it is alive.
import { id, remember, remembered, say, show } from "./dom.mjs";
import { GatePanel } from "./gate.mjs";
import { listen } from "./keys.mjs";
import { listSessions, tellErrors, tellHealth, tellLine } from "./lists.mjs";
import { Picture } from "./picture.mjs";
import { ask } from "./server.mjs";
import { LiveSession } from "./session.mjs";
import { StatePanel } from "./state.mjs";
import { nextTheme } from "./theme.mjs";

const LIST_MS = 2000;
const FRAME_MS = 1000 / 30;
const CALM_MS = 500; // between pictures, where motion is unwelcome or nothing moves
const NUMBERS_MS = 250;
const COVERS = { stale: "STALE · not live", disconnected: "NO LINE · not live", waiting: "NO SAMPLES · not live" };

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const picture = new Picture();
const gate = new GatePanel();
const panel = new StatePanel(() => look());
let session = null;
let summaries = [];
let ended = false;
let failures = 0;

function choose(name) {
  const summary = summaries.find((one) => one.name === name);
  if (!summary || session?.name === name) return;
  session?.close();
  session = null; // the new one reports a change before it is whole
  session = new LiveSession(summary, changed);
  remember("session", name);
  picture.show(session);
  gate.show(session);
  refresh();
}

let lookSoon = null;

// The state or the line changed: show it at once, and fetch what only the list knows.
function changed() {
  if (session === null) return;
  panel.update(session, ended);
  lookSoon ??= setTimeout(() => {
    lookSoon = null;
    look();
  }, 100);
}

// Asks for the list of sessions.
async function look() {
  try {
    summaries = await ask("api/sessions");
    failures = 0;
    show(id("alarm"), false);
  } catch (error) {
    failures += 1;
    const text = error.status ? `The server refuses: ${error.message}. ${error.cure}` : "The server cannot be reached. Nothing here is live.";
    say(id("alarm"), text);
    show(id("alarm"), true);
    // An open line to a server that does not answer is dead, though nobody has said so.
    if (failures === 2 && session?.connected) session.stream.again();
    return;
  }
  const summary = summaries.find((one) => one.name === session?.name);
  ended = session !== null && summary === undefined;
  if (summary) session.hear(summary);
  if (session === null || (ended && summaries.length > 0 && session.history.samples.length === 0)) {
    const last = remembered("session", "");
    choose(summaries.some((one) => one.name === last) ? last : summaries[0]?.name);
  }
  refresh();
}

// The numbers and words; slower than the pictures, since they are read.
function refresh() {
  listSessions(summaries, session?.name, choose);
  panel.update(session, ended);
  tellLine(session, ended);
  if (session === null) return;
  tellHealth(session);
  tellErrors(session);
}

let drawn = -Infinity;
let covered = "";

function frame(time) {
  requestAnimationFrame(frame);
  if (session === null) return;
  const words = ended ? "ENDED · not live" : (COVERS[session.liveness] ?? "");
  document.body.classList.toggle("frozen", words !== "");
  const pause = calm.matches || words ? CALM_MS : FRAME_MS - 4;
  if (time - drawn < pause && words === covered) return;
  [drawn, covered] = [time, words];
  picture.draw(gate.usable, words);
  gate.draw(words);
}

function nextSession() {
  const place = summaries.findIndex((one) => one.name === session?.name);
  if (summaries.length) choose(summaries[(place + 1) % summaries.length].name);
}

function go(name) {
  id(name).focus();
  id(name).scrollIntoView({ block: "start", behavior: "auto" });
}

listen([
  ["1-9", "show or hide the forecast with this number", (key) => picture.toggleHorizon(Number(key) - 1)],
  ["m", "next marker", () => picture.nextMarker()],
  ["s", "next session", nextSession],
  ["r", "regions on or off", () => id("regions").click()],
  ["p", "go to the positions", () => go("motion")],
  ["g", "go to the gating preview", () => go("gating")],
  ["a", "go to the re-arm button, where there is one (it does not press it)", () => id("rearm").focus()],
  ["t", "theme: auto, dark, light", nextTheme],
]);
addEventListener("online", () => session && !session.connected && session.stream.again());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && session && !session.connected) session.stream.again();
});
ask("api/about").then((about) => say(id("version"), `${about.name} ${about.version}`), () => undefined);
setInterval(look, LIST_MS);
setInterval(refresh, NUMBERS_MS);
look();
requestAnimationFrame(frame);
