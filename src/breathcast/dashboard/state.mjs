// The state, big, and what an operator can do about it.
import { id, remember, remembered, say, show } from "./dom.mjs";
import { address, ask } from "./server.mjs";

const MEANING = {
  OK: ["✓", "Forecasts leave."],
  DEGRADED: ["▲", "Forecasts leave; be careful."],
  WARMUP: ["…", "No forecast yet."],
  HOLD: ["■", "No forecast leaves."],
  FAULT: ["✕", "The session is broken; no forecast leaves."],
};
const QUIET_MS = 1000; // between two announcements: a state that flutters must not drown the reader
const SETTLE_MS = 300; // before one: what is over by then, like the opening of a line, is not worth a word

// What is to be shown: what the session says, unless that can no longer be true.
export function shownState(session, ended) {
  if (session === null) return { state: "NONE", sign: "?", word: "NO DATA", meaning: "No session is shown.", why: "" };
  const { state, detail } = session.status;
  const last = `Last heard: ${state}.`;
  if (ended) return { state: "NONE", sign: "?", word: "ENDED", meaning: "The session has ended.", why: last };
  const line = session.liveness;
  if (line === "disconnected") return { state: "NONE", sign: "?", word: "NO LINE", meaning: "The server cannot be heard.", why: last };
  // A state that lets forecasts through is believed only as long as samples come; HOLD is believed at once.
  if (line !== "live" && (state === "OK" || state === "DEGRADED")) {
    return { state: "NONE", sign: "?", word: "STALE", meaning: "Nothing has come lately.", why: last };
  }
  const [sign, meaning] = MEANING[state] ?? ["?", ""];
  return { state, sign, word: state, meaning, why: detail };
}

export class StatePanel {
  #told = "";
  #spokeAt = -Infinity;
  #timer = null;
  #session = null;

  // `acted()` after the operator did something.
  constructor(acted) {
    this.acted = acted;
    id("by").value = remembered("by", "");
    id("rearm-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#act();
    });
  }

  update(session, ended) {
    this.#session = session;
    const shown = shownState(session, ended);
    id("state").dataset.state = shown.state;
    say(id("sign"), shown.sign);
    say(id("word"), shown.word);
    say(id("meaning"), shown.meaning);
    say(id("why"), shown.why);
    const since = session && shown.state !== "NONE" ? new Date(session.summary.since * 1000).toLocaleTimeString() : "";
    say(id("since"), since && `Since ${since}`);
    document.title = session ? `${shown.word} · ${session.name} · breathcast` : "breathcast";
    this.#offer(session && shown.state !== "NONE" ? session.needs : "");
    this.#announce(session, shown);
  }

  #offer(needs) {
    const form = id("rearm-form");
    if (!needs && form.contains(document.activeElement)) id("state").focus();
    show(form, Boolean(needs));
    if (!needs) {
      say(id("rearm-answer"), "");
      return;
    }
    form.dataset.needs = needs;
    say(id("rearm"), needs === "rearm" ? "Re-arm" : "Resume from the journal");
    const text = needs === "rearm" ? "Latched: no forecast leaves before somebody has looked." : "Only a resume from the journal helps.";
    say(id("rearm-text"), text);
  }

  async #act() {
    const [session, button, by] = [this.#session, id("rearm"), id("by").value.trim()];
    if (session === null || button.disabled) return;
    remember("by", by);
    button.disabled = true;
    say(id("rearm-answer"), "Asking the server");
    try {
      const rest = id("rearm-form").dataset.needs;
      await ask(address(session.name, `/${rest}`), { method: "POST", body: rest === "rearm" ? { by: by || "unnamed" } : {} });
      say(id("rearm-answer"), "Done; the next sample decides.");
    } catch (error) {
      say(id("rearm-answer"), `Not done: ${error.message}. ${error.cure ?? ""}`);
    } finally {
      button.disabled = false;
      this.acted();
    }
  }

  // To screen readers, at most so often; the newest wins. Details that change with each sample are left out.
  #announce(session, shown) {
    const cause = session?.status.cause ?? "";
    const told = `${session?.name}: ${shown.word}/${shown.state === "NONE" ? "" : cause}`;
    if (told === this.#told) return;
    this.#told = told;
    clearTimeout(this.#timer);
    const wait = Math.max(SETTLE_MS, this.#spokeAt + QUIET_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#spokeAt = performance.now();
      const grave = ["HOLD", "FAULT", "NONE"].includes(shown.state) && session !== null;
      const text = `${session?.name ?? ""} ${shown.word}. ${shown.meaning} ${shown.why}`.trim();
      say(id(grave ? "shouted" : "said"), text);
      say(id(grave ? "said" : "shouted"), "");
    }, wait);
  }
}
