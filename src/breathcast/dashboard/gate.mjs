// The panel of the gating preview.
import { drawStrips, SHOWN_S } from "./charts.mjs";
import { id, number, offer, rows, say } from "./dom.mjs";
import { decisions, fault, statistics, suggest } from "./gating.mjs";
import { markerOf } from "./history.mjs";
import { AXES } from "./picture.mjs";
import { Plot } from "./plot.mjs";

const EVERY_MS = 250;
const ENOUGH_S = 10; // of breathing, before a window is suggested
const ROWS = [
  ["truth", "the truth (ideal)"],
  ["forecast", "the forecast"],
  ["delayed", "the delayed position"],
];

export class GatePanel {
  #session = null;
  #counted = -Infinity;
  #made = [];
  #centre = null;
  #begun = false;

  constructor() {
    this.plot = new Plot(id("strips"));
    id("window-form").addEventListener("submit", (event) => event.preventDefault());
    id("window-form").addEventListener("input", () => this.#changed());
    id("suggest").addEventListener("click", () => this.#suggest());
    id("reference").addEventListener("click", () => this.#refer());
    this.#kinds();
  }

  show(session) {
    this.#session = session;
    [this.#centre, this.#begun, this.#made] = [null, false, []];
    const { names, dimension } = session.shape;
    offer(id("gate-marker"), names);
    offer(id("gate-axis"), AXES.slice(0, dimension));
    const delays = session.summary.horizons.map(({ used_ms: used }) => `${Math.round(used)} ms`);
    offer(id("delay"), delays);
    id("delay").value = String(Math.min(1, delays.length - 1));
    for (const edge of ["low", "high"]) id(edge).value = "";
  }

  // The window as the form has it.
  get window() {
    const marker = Number(id("gate-marker").value || 0);
    if (id("kind").value === "ball") return { kind: "ball", marker, centre: this.#centre, radius: id("radius").valueAsNumber };
    return { kind: "axis", marker, axis: Number(id("gate-axis").value || 0), low: id("low").valueAsNumber, high: id("high").valueAsNumber };
  }

  // The window, if it can be drawn.
  get usable() {
    return fault(this.window) === "" ? this.window : null;
  }

  #changed() {
    this.#kinds();
    this.#counted = -Infinity;
  }

  #kinds() {
    const ball = id("kind").value === "ball";
    for (const element of document.querySelectorAll(".ball-only")) element.hidden = !ball;
    for (const element of document.querySelectorAll(".axis-only")) element.hidden = ball;
  }

  #suggest() {
    const found = suggest(this.#session.history, this.window.marker);
    if (found === null) return say(id("window-answer"), "Nothing has moved yet.");
    id("gate-axis").value = String(found.axis);
    id("low").value = found.low.toFixed(1);
    id("high").value = found.high.toFixed(1);
    return this.#changed();
  }

  #refer() {
    const newest = this.#session?.history.samples.at(-1);
    const position = newest && markerOf(newest.position, this.window.marker, this.#session.shape.dimension);
    this.#centre = position?.every(Number.isFinite) ? [...position] : null;
    this.#referred = this.window.marker;
    this.#changed();
  }

  #referred = 0;

  draw(words) {
    const session = this.#session;
    const { history } = session;
    if (!this.#begun && history.samples.length * history.period >= ENOUGH_S) {
      this.#begun = true;
      if (id("low").value === "" && id("high").value === "") this.#suggest();
    }
    if (this.#centre && this.window.marker !== this.#referred) this.#centre = null; // it was of another marker
    const window = this.window;
    const why = fault(window);
    say(id("window-answer"), why || place(window));
    const due = performance.now() - this.#counted >= EVERY_MS;
    if (due) this.#count(window, why);
    const shown = this.#made.slice(Math.max(0, this.#made.length - Math.ceil(SHOWN_S / history.period)));
    drawStrips(this.plot, why ? [] : shown, history.period, session.now());
    if (words) this.plot.cover(words);
  }

  #count(window, why) {
    this.#counted = performance.now();
    const { history } = this.#session;
    const k = Number(id("delay").value || 0);
    if (why) {
      this.#made = [];
      rows(id("gate-numbers"), []);
      say(id("gate-caption"), "Nothing is counted");
      return;
    }
    this.#made = decisions(history, window, k, history.since(Number(id("over").value)));
    const found = ROWS.map(([by, label]) => ({ label, ...statistics(this.#made, by, window, history.period) }));
    rows(id("gate-numbers"), found.map((one) => [one.label, ...numbers(one)]));
    const { total, held } = found[0];
    const without = held > 0 ? `; ${held.toFixed(1)} s of it without a forecast, which counts as off` : "";
    say(id("gate-caption"), `Counted over ${total.toFixed(0)} s${without}`);
  }
}

function place(window) {
  if (window.kind !== "ball") return "";
  return `Reference: ${window.centre.map((value) => number(value, 1)).join(", ")} mm.`;
}

function numbers({ duty, residual, falseOn, falseOnShare, falseOff, falseOffShare }) {
  const share = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)}%`);
  const spent = (seconds, part) => `${number(seconds, 1)} s (${share(part)})`;
  return [share(duty), `${number(residual)} mm`, spent(falseOn, falseOnShare), spent(falseOff, falseOffShare)];
}
